"""The offline side of PRISM: synthetic scenarios, elicitation of plans, training and export."""
