"""Language models behind one protocol, and what constrains them."""

import os

# llama.cpp's threads wait for each other hundreds of times per token, by spinning. On a busy computer the
# spinning thread keeps the one it waits for off the core. After a short spin they shall sleep. OpenMP reads
# this once, when llama.cpp is loaded; what the user has set stays (a count would win over a policy).
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
