"""The ament_python package `prism_planner`: what it installs and which executables it offers."""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "prism_planner"


def tree(folder: str) -> list[tuple[str, list[str]]]:
    """Every file under `folder`, laid out the same way under share/prism_planner."""
    files: dict[str, list[str]] = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files.setdefault(f"share/{PACKAGE}/{path.parent}", []).append(str(path))
    return list(files.items())


setup(
    name=PACKAGE,
    version="0.1.0",
    description="Language planning that runs on the robot",
    license="Apache-2.0",
    maintainer="PRISM maintainers",
    maintainer_email="maintainers@prism-planner.org",
    python_requires=">=3.10",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*", "prism_distill", "prism_distill.*"]),
    package_data={"": [f"**/*.{kind}" for kind in ("txt", "yaml", "json", "lark")]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        *tree("launch"),
        *tree("config"),
        *tree("models"),
        *tree("scenarios"),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "prism = prism_planner.cli.main:main",
            "scene_graph_server = prism_planner.nodes.scene_graph_server:main",
            "skill_server = prism_planner.nodes.skill_server:main",
            "slm_planner = prism_planner.nodes.slm_planner:main",
        ],
        "prism_planner.commands": [
            f"{name} = prism_distill.cli:{name}"
            for name in ("distill", "synthesize", "elicit", "train", "export", "report")
        ],
        "prism_planner.domains": [
            "spine = prism_planner.domains.spine:SpineDomain",
        ],
    },
)
