"""SPINE's JSON: lossless both ways, and every malformed file gets an answer that helps."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.graph.spine_json import (
    GraphFormatError,
    dumps,
    load_file,
    load_task_file,
    loads,
    save_file,
)

PARK: dict[str, Any] = {
    "objects": [{"name": "bench_1", "coords": [18, 8.5], "description": "made of wood"}],
    "regions": [{"name": "road_1", "coords": [0, 0]}, {"name": "grove_1", "coords": [18, 6]}],
    "object_connections": [["bench_1", "grove_1"]],
    "region_connections": [["grove_1", "road_1"]],
    "robot_location": "road_1",
}

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
tricky = st.sampled_from(["json:", "attribute:", "name", "coords", "description", "a"])
keys = st.lists(tricky | words, min_size=1, max_size=3).map("".join)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
texts = words | st.sampled_from(["1", "1.50", '"x"', "null", "[1,2]", "[1, 2]", "{", "NaN"])


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(["a", "b 1", "c-2", "d.3", "_e", "日本"]), max_size=5, unique=True))
    split = draw(st.integers(0, len(names)))
    regions, objects = names[:split], names[split:]

    def node(name: str) -> dict[str, Any]:
        extra = draw(
            st.dictionaries(keys.filter(lambda k: k not in ("name", "coords")), values | texts, max_size=3)
        )
        return {"name": name, "coords": [draw(numbers), draw(numbers)], **extra}

    pairs = [(a, b) for i, a in enumerate(regions) for b in regions[i + 1 :]]
    views = [(a, b) for a in objects for b in regions]
    return {
        "objects": [node(name) for name in objects],
        "regions": [node(name) for name in regions],
        "object_connections": [list(p) for p in draw(st.lists(st.sampled_from(views), unique=True))]
        if views
        else [],
        "region_connections": [list(p) for p in draw(st.lists(st.sampled_from(pairs), unique=True))]
        if pairs
        else [],
        "robot_location": draw(st.sampled_from([None, *regions])),
    }


def unambiguous(file: dict[str, Any]) -> bool:
    """Whether no node has a key in the reserved escape, or two keys that mean one attribute."""
    return not any(
        key.startswith(("attribute:", "json:"))
        for kind in ("objects", "regions")
        for n in file[kind]
        for key in n
    )


@given(files())
def test_what_can_be_read_is_written_back_the_same(file: dict[str, Any]) -> None:
    if unambiguous(file):
        graph = loads(json.dumps(file))
    else:
        try:
            graph = loads(json.dumps(file))
        except GraphFormatError:
            return
    written = json.loads(dumps(graph))
    assert written == file
    assert [list(node) for node in written["objects"]] == [list(node) for node in file["objects"]]


@given(st.dictionaries(keys, texts, max_size=4), st.tuples(numbers, numbers))
def test_any_graph_is_read_back_the_same(attributes: dict[str, str], coords: tuple[float, float]) -> None:
    graph = SceneGraph.from_deltas(
        [GraphDelta(add_nodes=(Node(name="n", kind="region", coords=coords, attributes=attributes),))]
    )
    assert loads(dumps(graph)) == graph


def test_numbers_are_written_as_people_write_them() -> None:
    assert '"coords": [18, 8.5]' in dumps(loads(json.dumps(PARK)))
    assert '"coords": [18, 6]' in dumps(loads(json.dumps(PARK).replace("[18, 6]", "[18.0, 6]")))


def test_values_that_are_not_text_are_kept_as_json() -> None:
    file = json.loads(json.dumps(PARK))
    file["objects"][0] |= {"height": 0.5, "tags": ["wet", None]}
    graph = loads(json.dumps(file))
    assert graph.node("bench_1").attributes == {
        "description": "made of wood",
        "json:height": "0.5",
        "json:tags": '["wet", null]',
    }


def test_the_papers_words_for_connections_are_read_too() -> None:
    text = (
        json.dumps(PARK)
        .replace("object_connections", "object_edges")
        .replace("region_connections", "region_edges")
    )
    assert loads(text) == loads(json.dumps(PARK))


def test_files_are_written_whole_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    graph = loads("\ufeff".encode() + json.dumps(PARK).encode())
    save_file(graph, path)
    assert load_file(path) == graph
    assert [p.name for p in tmp_path.iterdir()] == ["graph.json"]
    with pytest.raises(GraphFormatError, match="cannot be written"):
        save_file(graph, tmp_path / "missing" / "graph.json")


def changed(**changes: Any) -> str:
    return json.dumps(PARK | changes)


def region(**changes: Any) -> str:
    return changed(
        regions=[{"name": "road_1", "coords": [0, 0]} | changes, {"name": "grove_1", "coords": [18, 6]}]
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1, column 1: is not JSON"),
        ('{"regions": [}', "line 1, column 14: is not JSON"),
        (b"\xff\xfe\x00", "byte 0: is not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[]", "the file: expected an object with regions and objects, not a list"),
        ("{}", "regions: is missing"),
        ('{"regions": [], "regions": []}', "the key 'regions' stands twice"),
        (
            changed(region_conections=[]),
            "region_conections: is not a key of a graph: did you mean 'region_connections'?",
        ),
        (changed(region_edges=[]), "region_edges: region_connections is given under both its names"),
        (changed(regions={}), "regions: expected a list of regions, not a dict"),
        (changed(regions=[3]), "regions[0]: expected an object such as"),
        (changed(regions=[{"name": "a"}]), "regions[0].coords: is missing"),
        (region(name=7), "regions[0].name: expected text, not 7"),
        (region(name="a\nb"), "regions[0].name: 'a\\nb' is not a node name"),
        (region(name="x" * 65), "regions[0].name: a node name has at most 64 characters"),
        (region(name="grove_1"), "regions[1].name: the name 'grove_1' is used twice"),
        (region(name="bench_1"), "the name 'bench_1' is used twice"),
        (region(coords=[1, 2, 3]), "regions[0].coords: expected [x, y] in metres, not 3 values"),
        (region(coords={"x": 1}), "regions[0].coords: expected [x, y] in metres, not a dict"),
        (region(coords=["1", 2]), "regions[0].coords[0]: expected a number of metres, not '1'"),
        (region(coords=[1, True]), "regions[0].coords[1]: expected a number of metres, not True"),
        (
            region(coords=[float("nan"), 2]),
            "regions[0].coords[0]: expected a finite number of metres, not nan",
        ),
        (
            region(coords=[1, float("inf")]),
            "regions[0].coords[1]: expected a finite number of metres, not inf",
        ),
        (region(coords=[10**400, 2]), "regions[0].coords[0]: expected a finite number of metres"),
        (region(coords=[2**53 + 1, 2]), "regions[0].coords: cannot be kept exactly"),
        (region(height=float("nan")), "regions[0].height: expected finite numbers"),
        (region(note="\ud800"), "regions[0].'note': holds half of a surrogate pair"),
        (
            changed(robot_location="raod_1"),
            "robot_location: there is no region 'raod_1': did you mean 'road_1'",
        ),
        (
            changed(robot_location="bench_1"),
            "robot_location: 'bench_1' is one of the objects: expected one of the regions",
        ),
        (
            changed(robot_location=["road_1"]),
            "robot_location: expected the name of one of the regions, not a list",
        ),
        (
            changed(region_connections=[["road_1"]]),
            "region_connections[0]: expected a [region, region] pair, not 1",
        ),
        (
            changed(region_connections=["ab"]),
            "region_connections[0]: expected a [region, region] pair, not 'ab'",
        ),
        (
            changed(region_connections=[["road_1", "road_1"]]),
            "region_connections[0]: 'road_1' is connected to itself",
        ),
        (
            changed(region_connections=[["road_1", "bench_1"]]),
            "region_connections[0][1]: 'bench_1' is one of the objects",
        ),
        (
            changed(object_connections=[["grove_1", "bench_1"]]),
            "object_connections[0][0]: 'grove_1' is one of the regions",
        ),
        (
            changed(object_connections=[["bench_1", "grove_2"]]),
            "object_connections[0][1]: there is no region 'grove_2'",
        ),
    ],
)
def test_malformed_files_are_told_where_and_what(text: str | bytes, says: str) -> None:
    with pytest.raises(GraphFormatError) as error:
        loads(text, source="park.json")
    assert str(error.value).startswith("park.json: ")
    assert says in str(error.value)
    assert len(str(error.value)) < 400


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(GraphFormatError, match="5000 digits"):
        loads('{"regions": [{"name": "a", "coords": [1, ' + "1" * 5000 + "]}]}")


@given(st.recursive(values, lambda inner: st.dictionaries(st.sampled_from([*PARK, "name", "coords"]), inner)))
def test_any_json_is_a_graph_or_a_clear_error(data: Any) -> None:
    with contextlib.suppress(GraphFormatError):
        assert loads(dumps(loads(json.dumps(data)))) == loads(json.dumps(data))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(GraphFormatError, match="cannot be read") as error:
            load_file(path)
        assert str(path) in str(error.value)


def task_file(tmp_path: Path, **changes: Any) -> Path:
    task = {"task": "Is there a bench?", "answer": "(?i)yes", "init_node": "road_1"}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps({"graph": PARK, "tasks": [task, task | changes]}))
    return path


def test_task_files_are_read(tmp_path: Path) -> None:
    path = task_file(tmp_path, acceptance_criterion="visits the grove", level=3)
    file = load_task_file(path)
    assert file.graph == loads(json.dumps(PARK))
    assert (file.tasks[0].task, file.tasks[0].answer, file.tasks[0].init_node) == (
        "Is there a bench?",
        "(?i)yes",
        "road_1",
    )
    assert file.tasks[0].acceptance_criterion is None
    assert file.tasks[1].acceptance_criterion == "visits the grove"
    assert file.tasks[1].extra == {"level": 3}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": " "}, "tasks[1].task: is empty"),
        ({"task": 3}, "tasks[1].task: expected text, not 3"),
        ({"answer": "("}, "tasks[1].answer: is not a regular expression"),
        ({"init_node": "road_9"}, "tasks[1].init_node: there is no region 'road_9': did you mean 'road_1'?"),
        ({"init_node": "bench_1"}, "tasks[1].init_node: 'bench_1' is one of the objects"),
    ],
)
def test_malformed_tasks_are_told_where_and_what(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    path = task_file(tmp_path, **changes)
    with pytest.raises(GraphFormatError) as error:
        load_task_file(path)
    assert str(path) in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"tasks": []}, "graph: is missing"),
        ({"graph": PARK}, "tasks: is missing"),
        ({"graph": PARK, "tasks": {}}, "tasks: expected a list of tasks"),
        ({"graph": PARK, "tasks": [{"task": "go"}]}, "tasks[0].answer: is missing"),
        (
            {"graph": PARK | {"robot_location": "x"}, "tasks": []},
            "graph.robot_location: there is no region 'x'",
        ),
        ([], "the file: expected an object with graph and tasks"),
    ],
)
def test_malformed_task_files_are_told_where_and_what(tmp_path: Path, data: Any, says: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(data))
    with pytest.raises(GraphFormatError) as error:
        load_task_file(path)
    assert says in str(error.value)
