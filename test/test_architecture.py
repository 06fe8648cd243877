"""The dependency rule: which part of the code may import which."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "prism_planner"

# Part -> the parts it may import besides itself. Modules directly in prism_planner/ serve all parts and
# import none of them; the command line may import anything.
MAY_IMPORT: dict[str, set[str]] = {
    "graph": set(),
    "language": set(),
    "skills": {"graph"},
    "worlds": {"graph", "skills"},
    "domains": {"worlds", "graph", "language", "skills"},
    "models": {"language"},
    "evaluation": {"domains", "worlds", "graph", "language", "skills", "models"},
    "nodes": {"domains", "tamp", "vln", "graph", "language", "evaluation", "worlds", "skills", "models"},
}
ROS_MODULES = {"rclpy", "launch", "launch_ros", "tf2_ros", "prism_msgs"}
PARTS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of everything that the module at `path` imports, at any depth."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def offences(folder: Path, forbidden: Callable[[str], bool]) -> list[str]:
    """`path:line imports name` for every import under `folder` for which `forbidden(name)` holds."""
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted(folder.rglob("*.py"))
        for line, name in imports(path)
        if forbidden(name)
    ]


def part_of(name: str) -> str | None:
    """The part of prism_planner that a dotted name lies in; None outside of the parts."""
    first, *rest = name.split(".")
    return rest[0] if first == "prism_planner" and rest and rest[0] in PARTS else None


@pytest.mark.parametrize("part", [part for part in PARTS if part in MAY_IMPORT])
def test_part_imports_only_what_lies_below_it(part: str) -> None:
    allowed = MAY_IMPORT[part] | {part, None}
    assert offences(PACKAGE / part, lambda name: part_of(name) not in allowed) == []


def test_every_part_has_a_rule() -> None:
    assert set(PARTS) - set(MAY_IMPORT) - {"cli"} == set()


def test_shared_modules_import_no_part() -> None:
    shared = sorted(PACKAGE.glob("*.py"))
    found = [f"{path.name}:{line}" for path in shared for line, name in imports(path) if part_of(name)]
    assert found == []


@pytest.mark.parametrize("part", [part for part in PARTS if part != "nodes"])
def test_only_nodes_import_ros(part: str) -> None:
    assert offences(PACKAGE / part, lambda name: name.split(".")[0] in ROS_MODULES) == []


def test_robot_side_never_imports_the_training_side() -> None:
    offline = {"torch", "transformers", "peft", "datasets", "accelerate", "prism_distill"}
    assert offences(PACKAGE, lambda name: name.split(".")[0] in offline) == []


def test_rule_sees_relative_and_nested_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    module = tmp_path / "prism_planner" / "graph" / "bad.py"
    module.parent.mkdir(parents=True)
    module.write_text("def f():\n    from ..nodes import server\n    import rclpy.node\n", encoding="utf-8")
    assert list(imports(module)) == [(2, "prism_planner.nodes.server"), (3, "rclpy.node")]
