"""A value of the wrong type is found in whichever source gives it, even where ROS would drop it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.parameter import Parameter

from prism_planner.nodes.parameter_sources import mistyped
from prism_planner.nodes.supervisor import Stack, StackError, StackOptions

KINDS = {
    "limit": Parameter.Type.DOUBLE,
    "steps": Parameter.Type.INTEGER,
    "on": Parameter.Type.BOOL,
    "inner.names": Parameter.Type.STRING_ARRAY,
}
SHIPPED = Path(__file__).parents[2] / "scenarios" / "spine" / "outdoor" / "campus_loop.yaml"


def found(tmp_path: Path, *texts: str, node: str = "planner") -> list[tuple[str, str]]:
    arguments = ["x", "--ros-args"]
    for index, text in enumerate(texts):
        path = tmp_path / f"{index}.yaml"
        path.write_text(text, encoding="utf-8")
        arguments += ["--params-file", str(path)]
    return [(Path(source).name, name) for source, name, _ in mistyped(KINDS, arguments, node)]


def test_right_types_in_every_spelling_pass(tmp_path: Path) -> None:
    text = "planner: {ros__parameters: {limit: %s, steps: 3, on: false, inner: {names: [a, b]}}}"
    assert found(tmp_path, *(text % limit for limit in ("1.5", "1", "1e3", "-2.5E1"))) == []
    assert found(tmp_path, "/**: {ros__parameters: {inner.names: [], unknown: 7}}", "") == []


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("limit: '0.5 m'", "limit"),
        ("limit: true", "limit"),
        ("steps: many", "steps"),
        ("steps: 5.5", "steps"),
        ("steps: true", "steps"),
        ("'on': 1", "on"),
        ("inner: {names: [1]}", "inner.names"),
        ("inner: {names: a}", "inner.names"),
    ],
)
@pytest.mark.parametrize("section", ["planner", "/**", "/robot_1/planner", "/**/planner", "/*/*"])
def test_a_wrong_type_is_found_under_any_name_of_the_node(
    tmp_path: Path, section: str, value: str, name: str
) -> None:
    good = "planner: {ros__parameters: {limit: 1.0, steps: 3, 'on': true, inner.names: [a]}}"
    bad = f"{section}: {{ros__parameters: {{{value}}}}}"
    assert found(tmp_path, good, bad) == [("1.yaml", name)]
    assert found(tmp_path, bad, good) == [("0.yaml", name)]


def test_other_nodes_do_not_matter(tmp_path: Path) -> None:
    assert found(tmp_path, "other: {ros__parameters: {steps: many}}") == []


def test_the_command_line_counts_too() -> None:
    arguments = ["x", "--ros-args", "-p", "steps:=many", "-p", "other:limit:=no", "--param", "planner:on:=3"]
    assert [name for _, name, _ in mistyped(KINDS, arguments, "planner")] == ["steps", "on"]


def test_a_stack_with_a_mistyped_limit_does_not_start(tmp_path: Path, domain_id: int) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(
        "skill_server: {ros__parameters: {safety: {max_path_length: '0.5 km'}}}\n", encoding="utf-8"
    )
    options = StackOptions(
        scenario=SHIPPED,
        parameter_files=(site,),
        run_directory=tmp_path / "run",
        domain_id=domain_id,
        local_only=True,
    )
    with (
        Stack(options) as stack,
        pytest.raises(StackError, match=r"site\.yaml.*safety\.max_path_length.*0\.5 km.*double"),
    ):
        stack.wait_ready(60)
