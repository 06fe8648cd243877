#!/usr/bin/env bash
# Rewrite requirements/lock.txt: the newest versions that satisfy requirements/*.in together.
#
#   scripts/lock.sh [PYTHON]
#
# Resolve on the oldest Python that is supported (3.10, the default), so that one lock serves all: a
# release that runs there has wheels for the later ones too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${1:-python3.10}
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT

"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --upgrade pip
"$venv/bin/python" -m pip install --quiet --upgrade \
  -r requirements/runtime.in -r requirements/ros.in -r requirements/dev.in

{
  echo "# Every package of the environment, written by scripts/lock.sh with $("$python" --version)."
  # Some ROS 2 wheels carry the metadata of packages that do not exist on an index; only what pip itself
  # installed is listed.
  "$venv/bin/python" - <<'PYTHON'
from importlib.metadata import distributions

pins = {
    f"{d.metadata['Name']}=={d.version}"
    for d in distributions()
    if (d.read_text("INSTALLER") or "").strip() == "pip"
}
print(*sorted(pins, key=str.lower), sep="\n")
PYTHON
} > requirements/lock.txt.new
mv requirements/lock.txt.new requirements/lock.txt
echo "requirements/lock.txt: $(grep -c == requirements/lock.txt) packages"
