#!/usr/bin/env bash
# Rewrite requirements/lock.txt and lock-distill.txt: the newest versions that satisfy requirements/*.in.
#
#   scripts/lock.sh [PYTHON [PYTHON]]
#
# Resolve on the oldest Python that is supported, so that one lock serves all: a release that runs there has
# wheels for the later ones too. That is 3.10 for what runs on a robot, 3.11 for distillation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

oldest=${1:-python3.10}
distilling=${2:-python3.11}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# pins PYTHON ARGUMENTS...: what pip installs with these arguments, one pin a line.
pins() {
  local python=$1 venv=$scratch/$1
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --upgrade pip
  "$venv/bin/python" -m pip install --quiet --upgrade "${@:2}"
  # Some ROS 2 wheels carry the metadata of packages that do not exist on an index; only what pip itself
  # installed is listed. A build of a version (+cpu) is the index's business.
  "$venv/bin/python" - <<'PYTHON'
from importlib.metadata import distributions

pins = {
    f"{d.metadata['Name']}=={d.version.partition('+')[0]}"
    for d in distributions()
    if (d.read_text("INSTALLER") or "").strip() == "pip"
}
print(*sorted(pins, key=str.lower), sep="\n")
PYTHON
}

# write FILE TITLE PYTHON: the pins on standard input, whole or not at all.
write() {
  { echo "# $2, written by scripts/lock.sh with $("$3" --version)."; cat; } > "$1.new"
  mv "$1.new" "$1"
  echo "$1: $(grep -c == "$1") packages"
}

robot=(-r requirements/runtime.in -r requirements/ros.in -r requirements/dev.in)
pins "$oldest" "${robot[@]}" | write requirements/lock.txt "Every package of the environment" "$oldest"
pins "$distilling" --constraint requirements/lock.txt "${robot[@]}" -r requirements/distill.in \
  | grep -vxFf requirements/lock.txt \
  | write requirements/lock-distill.txt "What requirements/distill.in adds to lock.txt" "$distilling"
