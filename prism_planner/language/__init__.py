"""Language models behind one protocol, and what constrains them."""
