"""Parameters are typed, ranged and described; spelling mistakes are noticed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import yaml
from pydantic import BaseModel, Field

rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from rclpy.context import Context  # noqa: E402
from rclpy.node import Node  # noqa: E402

from prism_planner.nodes.parameters import (  # noqa: E402
    NodeParameters,
    ParameterError,
    declare_parameters,
    unknown_parameters,
)
from prism_planner.nodes.safety import SafetyParameters, safety_limits  # noqa: E402
from prism_planner.nodes.scene_graph_server import SceneGraphParameters  # noqa: E402
from prism_planner.nodes.share import robot_names, robot_parameters, share_directory  # noqa: E402
from prism_planner.nodes.skill_server import SkillServerParameters  # noqa: E402
from prism_planner.nodes.slm_planner import SlmPlannerParameters  # noqa: E402
from prism_planner.skills.keep_out import Circle, Polygon  # noqa: E402


class Inner(NodeParameters):
    depth: float = Field(1.0, ge=0.0, le=5.0, description="Metres.")


class Example(NodeParameters):
    rate: float = Field(10.0, gt=0.0, description="Hertz.")
    count: int = Field(3, ge=1, le=9, description="How many.")
    mode: Literal["slow", "fast"] = Field("slow", description="How.")
    on: bool = Field(True, description="Whether.")
    names: tuple[str, ...] = Field((), description="Which.")
    inner: Inner = Field(default_factory=Inner)


@pytest.fixture
def make_node(domain_id: int) -> Iterator[object]:
    nodes, contexts = [], []

    def make(*arguments: str, name: str = "example") -> Node:
        context = Context()
        rclpy.init(args=["x", "--ros-args", *arguments], context=context, domain_id=domain_id)
        contexts.append(context)
        nodes.append(Node(name, context=context))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    for context in contexts:
        context.try_shutdown()


def test_defaults(make_node) -> None:
    assert declare_parameters(make_node(), Example) == Example()


def test_values_from_the_command_line_and_yaml_forms(make_node, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("/**:\n  ros__parameters:\n    rate: 2\n    names: [a, b]\n    inner: {depth: 3}\n")
    node = make_node("--params-file", str(file), "-p", "mode:=fast", "-p", "count:=7")
    parameters = declare_parameters(node, Example)
    assert parameters == Example(rate=2.0, count=7, mode="fast", names=("a", "b"), inner=Inner(depth=3.0))


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("count:=99", "count"),
        ("count:=many", "count"),
        ("rate:=0.0", "rate"),
        ("rate:=.nan", "rate"),
        ("mode:=warp", "mode"),
        ("inner.depth:=9.0", "inner.depth"),
        ("on:=3", "on"),
    ],
)
def test_a_bad_value_is_named(make_node, argument: str, name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        declare_parameters(make_node("-p", argument), Example)


def test_spelling_mistakes_are_found(make_node) -> None:
    node = make_node("-p", "ratee:=3.0", "-p", "inner.width:=1.0", "-p", "use_sim_time:=false")
    declare_parameters(node, Example)
    assert unknown_parameters(node) == ["inner.width", "ratee"]


def test_descriptors_tell_range_and_meaning(make_node) -> None:
    node = make_node()
    declare_parameters(node, Example)
    count = node.describe_parameter("count")
    assert (count.description, count.integer_range[0].to_value) == ("How many.", 9)
    assert node.describe_parameter("inner.depth").floating_point_range[0].to_value == 5.0
    assert "slow, fast" in node.describe_parameter("mode").additional_constraints


@pytest.mark.parametrize("model", [SceneGraphParameters, SkillServerParameters, SlmPlannerParameters])
def test_every_parameter_is_described_and_every_number_has_a_range(model: type[NodeParameters]) -> None:
    def check(model: type[BaseModel]) -> None:
        for name, field in model.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                check(field.annotation)
                continue
            assert field.description, name
            if field.annotation in (int, float):
                assert field.metadata, f"{name} has no range"

    check(model)


@pytest.mark.parametrize("robot", robot_names())
@pytest.mark.parametrize(
    ("node_name", "model"),
    [
        ("scene_graph_server", SceneGraphParameters),
        ("skill_server", SkillServerParameters),
        ("slm_planner", SlmPlannerParameters),
    ],
)
@pytest.mark.parametrize("namespace", ["", "/robot_1"])
def test_the_shipped_files_set_known_parameters(
    make_node, robot: str, node_name: str, model: type[NodeParameters], namespace: str
) -> None:
    arguments = ["--params-file", str(robot_parameters(robot))]
    if namespace:
        arguments += ["-r", f"__ns:={namespace}"]
    node = make_node(*arguments, name=node_name)
    declare_parameters(node, model)
    assert unknown_parameters(node) == []
    section = yaml.safe_load(robot_parameters(robot).read_text())[f"/**/{node_name}"]["ros__parameters"]
    first = next(iter(section))
    assert node.get_parameter(first).value == section[first]


def test_an_unknown_robot_lists_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"jackal"):
        robot_parameters("../etc/passwd")


def test_keep_out_areas_are_read() -> None:
    limits = safety_limits(
        SafetyParameters(
            keep_out_areas=("pond: circle 3.0,-4.5 radius 2", "stairs: polygon 0,0 4,0 4,3"),
            keep_out_regions=("dock_1",),
        )
    )
    assert limits.keep_out_circles == (Circle(name="pond", center=(3.0, -4.5), radius=2.0),)
    assert limits.keep_out_polygons == (Polygon(name="stairs", vertices=((0, 0), (4, 0), (4, 3))),)
    assert limits.keep_out_regions == {"dock_1"}


@pytest.mark.parametrize(
    ("area", "said"),
    [
        ("pond", "is not an area"),
        ("pond: circle 3 4 radius 2", "is not an area"),
        ("pond: circle 3,4 radius -2", "greater than or equal to 0"),
        ("p: polygon 0,0 1,1", "at least 3"),
        ("p: polygon 0,0 1,1 2,2", "no area"),
    ],
)
def test_a_bad_keep_out_area_is_an_error_with_the_right_form(area: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        safety_limits(SafetyParameters(keep_out_areas=(area,)))


def test_an_unknown_skill_in_the_allowed_ones_is_an_error() -> None:
    with pytest.raises(ParameterError, match="allowed_skills"):
        safety_limits(SafetyParameters(allowed_skills=("goto", "fly")))


@pytest.mark.parametrize(
    ("node_name", "model"),
    [
        ("scene_graph_server", SceneGraphParameters),
        ("skill_server", SkillServerParameters),
        ("slm_planner", SlmPlannerParameters),
    ],
)
def test_the_documentation_lists_every_parameter_with_its_default(
    make_node, node_name: str, model: type[NodeParameters]
) -> None:
    node = make_node(name=node_name)
    declare_parameters(node, model)
    text = (share_directory() / "docs" / "ros_interfaces.md").read_text()
    section = text.split(f"### {node_name}\n")[1].split("\n## ")[0].split("\n### ")[0]
    rows = dict(re.findall(r"^\| `([\w.]+)` \| `(.*?)` \|", section, re.MULTILINE))
    own = {
        name
        for name in node.get_parameters_by_prefix("")
        if name not in ("use_sim_time", "start_type_description_service")
    }
    assert rows.keys() == own
    for name in own:
        value = node.get_parameter(name).value
        if isinstance(value, list):
            assert rows[name] == f"[{', '.join(value)}]"
        elif isinstance(value, bool):
            assert rows[name] == str(value).lower()
        else:
            assert rows[name].strip('"') == str(value)
