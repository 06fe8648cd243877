"""Language models behind one protocol, and what constrains them."""

import os

# llama.cpp's threads wait for each other hundreds of times per token. Waiting in a loop, OpenMP's default,
# starves the thread that is waited for as soon as anything else wants a core, and a robot's computer is
# never idle. OpenMP reads this once, when llama.cpp is loaded; a value that the user has set stays.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
