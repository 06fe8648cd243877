"""Let the Python of .venv/ find ROS 2 and the packages built in install/, with nothing sourced.

scripts/setup.sh copies this module into .venv/ together with a .pth file that calls `activate` at every
start of that interpreter. The search path of the dynamic linker is fixed when a process starts; where
it lacks the wanted folders, the process replaces itself once with the same command. The ROS 2 wheels do
likewise for their own folders; doing both here saves a second replacement.
"""

import os
import sys
from pathlib import Path

PATH_VARIABLES = (
    "LD_LIBRARY_PATH",
    "AMENT_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "PYTHONPATH",
)
RESTARTED = "_PRISM_OVERLAY_RESTARTED"


def overlay_environment(venv: Path, environment: dict[str, str]) -> dict[str, str]:
    """The values of PATH_VARIABLES that the packages in `venv` and in install/ beside it need.

    Folders that the user set stay, behind ours. Those of another ROS 2 installation are dropped: its
    rclpy and its libraries must not mix with the ones here.
    """
    install = venv.parent / "install"
    packages = [install / "prism_planner", install / "prism_msgs", venv]
    wheel_libraries = sorted(venv.glob("lib/python3*/*/ros_*.libs"))
    ours = {
        "LD_LIBRARY_PATH": [install / "prism_msgs" / "lib", venv / "lib", *wheel_libraries],
        "AMENT_PREFIX_PATH": [prefix for prefix in packages if (prefix / "share").is_dir()],
    }
    given = {name: [p for p in environment.get(name, "").split(os.pathsep) if p] for name in PATH_VARIABLES}
    foreign = [
        prefix
        for prefix in {*given["AMENT_PREFIX_PATH"], *given["COLCON_PREFIX_PATH"]}
        if Path(prefix, "share/ament_index/resource_index/packages/rclpy").exists()
        and Path(prefix).resolve() != venv.resolve()
    ]
    values = {}
    for name, folders in given.items():
        kept = [p for p in folders if not any(p == f or p.startswith(f + os.sep) for f in foreign)]
        values[name] = os.pathsep.join(dict.fromkeys([*map(str, ours.get(name, [])), *kept]))
    return values


def activate() -> None:
    """Put the environment in place, restarting this interpreter if its linker path was incomplete."""
    venv = Path(sys.prefix)
    sys.path.extend(sorted(map(str, venv.parent.glob("install/prism_msgs/lib/python3*/*-packages"))))
    wanted = overlay_environment(venv, dict(os.environ))
    changed = any(wanted[name] != os.environ.get(name, "") for name in ("LD_LIBRARY_PATH", "PYTHONPATH"))
    for name, value in wanted.items():
        if value:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)
    os.environ["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    process = str(os.getpid())  # a restart keeps it, so no process restarts twice
    if changed and os.environ.get(RESTARTED) != process:
        os.environ[RESTARTED] = process
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
