"""Where the files that come with the package are: config/, launch/, scenarios/."""

from __future__ import annotations

from pathlib import Path

PACKAGE = "prism_planner"


def share_directory() -> Path:
    """The source tree where the package runs from it, otherwise its installed share directory."""
    source = Path(__file__).resolve().parents[2]
    if (source / "config").is_dir() and (source / "package.xml").is_file():
        return source
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory(PACKAGE))


def robot_names() -> list[str]:
    """The robots that have a parameter file in config/."""
    return sorted(path.stem for path in (share_directory() / "config").glob("*.yaml"))


def robot_parameters(robot: str) -> Path:
    """The parameter file of a robot. Raises ValueError, which lists the robots that have one."""
    path = share_directory() / "config" / f"{robot}.yaml"
    if robot not in robot_names():
        raise ValueError(f"there is no robot {robot!r}; config/ has: {', '.join(robot_names()) or 'none'}")
    return path
