"""Scenario files: what is read, and what every mistake is answered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_planner.worlds.marked_yaml import YamlError, parse_marked_yaml
from prism_planner.worlds.scenario import ScenarioError, load_scenario, load_scenarios
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.spine_scenario import SpineScenario
from prism_planner.worlds.success import judge

from .conftest import CAMPUS

Write = Callable[[str], Path]


def test_a_scenario_is_read(campus: SpineScenario) -> None:
    assert campus.name == "campus"
    assert campus.tasks[0].cell == "exploration/under"
    bench = campus.world.objects[0]
    # YAML's unquoted `no` is a truth value; as an attribute it is the word.
    assert bench.hidden_attributes == {"occupied": "no", "shade": "under a large oak"}
    assert bench.visible_attributes == {"category": "bench"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("format: prism-scenario/1\n", "# A comment.\n", "format: is missing"),
        ("prism-scenario/1", "prism-scenario/2", "expected `prism-scenario/1`, got 'prism-scenario/2'"),
        ("domain: spine", "domain: spin", "unknown domain 'spin'; known domains: spine"),
        ("name: campus", "name: ''", "name: must not be empty"),
        ("platform: ugv", "platform: boat", "expected 'ugv' or 'uav', got 'boat'"),
        ("platform: ugv", "platfrom: ugv", "unknown key; did you mean `platform`?"),
        ("robot: road_1", "robot: rood_1", "no region named 'rood_1'; did you mean 'road_1'?"),
        ("robot: road_1", "robot: car_1", "'car_1' is an object; the robot starts in a region"),
        ("robot: road_1", "robot: grove_1", "hidden; the robot must start in a region it knows"),
        ("world:\n  robot: road_1\n", "world:\n", "world.robot: is missing; add `robot:`"),
        ("at: [10, 0]", "at: [10, .nan]", "world.regions[1].at[1]: expected a finite number, got nan"),
        ("at: [10, 0]", "at: [10]", "world.regions[1].at"),
        ("at: [10, 0]", "at: here", "expected a list, got 'here'"),
        ("name: road_2,", "name: road_1,", "'road_1' is already the name of world.regions[0]"),
        ("name: sign_1,", "name: road_1,", "'road_1' is already the name of world.regions[0]"),
        ("name: sign_1,", "name: 'sign;1',", "is not a node name"),
        ("seen_from: [grove_1]", "seen_from: [sign_1]", "'sign_1' is an object; seen_from lists regions"),
        ("seen_from: [grove_1]", "seen_from: [grove_2]", "did you mean 'grove_1'?"),
        ("seen_from: [grove_1]", "seen_from: []", "seen from nowhere, so it can never be found"),
        ("[road_2, lot_1]]", "[road_2, lot_2]]", "world.edges[2][1]: no region named 'lot_2'"),
        ("[road_2, lot_1]]", "[road_2, car_1]]", "'car_1' is an object; an edge joins two regions"),
        ("[road_2, lot_1]]", "[road_2, road_2]]", "joins 'road_2' to itself"),
        ("[road_2, lot_1]]", "[road_2, road_1]]", "road_2 - road_1 is listed twice"),
        ("at: [18, 6], hidden", "at: [1800, 6], hidden", "can never be found"),
        ("hidden: true}\n    - {name: lot_1", "hidden: perhaps}\n    - {name: lot_1", "boolean"),
        ("kind: exploration", "kind: search", "expected 'mapping' or 'exploration'"),
        ("{visited: grove_1}", "{visitd: grove_1}", "unknown key; did you mean `visited`?"),
        ("{visited: grove_1}", "{visited: grove}", "no region named 'grove'; did you mean 'grove_1'?"),
        ("{visited: grove_1}", "{visited: car_1}", "'car_1' is an object; `visited` names a region"),
        ("{visited: grove_1}", "{visited: grove_1, mapped: grove_1}", "exactly one key"),
        ("{visited: grove_1}", "{}", "exactly one key"),
        ("{visited: grove_1}", "{visited: []}", "at least 1 item"),
        ("{inspected: bench_1}", "{inspected: grove_1}", "is a region; `inspected` names an object"),
        ("{inspected: bench_1}", "{answer_matches: '('}", "is not a regular expression"),
        ("{inspected: bench_1}", "{answer_says: maybe}", "expected 'yes' or 'no', got 'maybe'"),
        ("inspected bench_1]", "saw bench_1]", "expected a deed (visited, mapped,"),
        ("inspected bench_1]", "inspected bnch_1]", "did you mean 'bench_1'?"),
        ("[bench_1]}\n", "[unicorn]}\n", "no node or category named 'unicorn'"),
        ("I want a shady place to read", "'  '", "tasks[0].instruction: must not be empty"),
        ("instruction: I", "start: grove_1\n    instruction: I", "tasks[0].start: 'grove_1' is hidden"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_line_field_and_fix(
    scenario_file: Write, old: str, new: str, says: str
) -> None:
    line = CAMPUS[: CAMPUS.index(old)].count("\n") + 1
    path = scenario_file(CAMPUS.replace(old, new, 1))
    with pytest.raises(ScenarioError) as error:
        load_scenario(path)
    message = str(error.value).splitlines()[0]
    assert message.startswith(f"{path}:{line}: ")
    assert says in message


def test_a_key_given_twice_is_refused(scenario_file: Write) -> None:
    path = scenario_file(CAMPUS.replace("description: a red car", "attributes: {colour: red}"))
    with pytest.raises(ScenarioError, match=r":17: the key 'attributes' is given twice, first on line 16"):
        load_scenario(path)


def test_all_mistakes_are_reported_at_once(scenario_file: Write) -> None:
    text = CAMPUS.replace("[road_1, road_2]", "[road_1, rod_2]").replace("visited: grove_1", "visited: x")
    with pytest.raises(ScenarioError) as error:
        load_scenario(scenario_file(text))
    assert len(error.value.problems) == 2


@pytest.mark.parametrize(
    "text", ["", "[]", "- a", "a: [", "a: *b", "\t", "a: !!python/object:x y", "x: 2001-99-99", "? [a]\n: b"]
)  # fmt: skip
def test_text_that_is_no_scenario(scenario_file: Write, text: str) -> None:
    with pytest.raises(ScenarioError, match=r"world\.yaml:\d+: "):
        load_scenario(scenario_file(text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        load_scenario(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9")
    with pytest.raises(ScenarioError, match="save it as UTF-8"):
        load_scenario(tmp_path / "latin.yaml")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ScenarioError, match=r"no \*\.yaml scenario in this directory"):
        load_scenarios([empty])


def test_anchors_are_read_once_each() -> None:
    laughs = "a0: &a0 [lol]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 20)
    )
    assert parse_marked_yaml(laughs).data["a0"] == ["lol"]


@pytest.mark.parametrize("text", ["[" * 10_000, "[" * 100 + "]" * 100, "a: &a [*a]\nb: {b: {}, b: {}}"])
def test_absurd_yaml_is_refused(text: str) -> None:
    with pytest.raises(YamlError):
        parse_marked_yaml(text)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_yaml_or_a_yaml_error(text: str) -> None:
    try:
        parse_marked_yaml(text)
    except YamlError as error:
        assert error.problem


@settings(deadline=None)
@given(st.integers(0, len(CAMPUS)), st.integers(1, 30), st.text(max_size=10))
def test_a_damaged_scenario_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, junk: str
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "world.yaml"
    text = CAMPUS[:start] + junk + CAMPUS[start + length :]
    path.write_text(text.encode("utf-8", "replace").decode("utf-8"), encoding="utf-8")
    try:
        SemanticGraphWorld(load_scenario(path))
    except ScenarioError as error:
        assert str(error).startswith(str(path))


def test_directories_are_read_in_order_and_names_are_unique(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.yaml").write_text(CAMPUS.replace("name: campus", "name: second"))
    (tmp_path / "deep" / "a.yaml").write_text(CAMPUS.replace("name: campus", "name: third"))
    (tmp_path / "a.yaml").write_text(CAMPUS)
    assert [s.name for s in load_scenarios([tmp_path])] == ["campus", "second", "third"]
    twice = [tmp_path / "b.yaml", tmp_path, tmp_path / "deep" / ".." / "b.yaml"]
    assert [s.name for s in load_scenarios(twice)] == ["second", "campus", "third"]
    (tmp_path / "c.yaml").write_text(CAMPUS)
    with pytest.raises(ScenarioError, match="'campus' is already the name of"):
        load_scenarios([tmp_path])


TASK_FILE = {
    "graph": {
        "regions": [{"name": "road_1", "coords": [0, 0]}, {"name": "road_2", "coords": [9, 0]}],
        "objects": [{"name": "car_1", "coords": [9, 1], "description": "a red car", "damage": "a dent"}],
        "region_edges": [["road_1", "road_2"]],
        "object_edges": [["car_1", "road_2"]],
    },
    "tasks": [
        {"task": "Is the car damaged?", "answer": "(?i)dent", "init_node": "road_1"},
        {"task": "Where is the car?", "answer": "road_2", "init_node": "road_2"},
    ],
}


def test_a_task_file_is_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "lot.json"
    path.write_text(json.dumps(TASK_FILE))
    scenario = load_scenario(path)
    assert scenario.name == "lot"
    worlds = [SemanticGraphWorld(scenario, task=task) for task in scenario.tasks]
    assert [world.known.robot_location for world in worlds] == ["road_1", "road_2"]
    # What is not a description has to be found out by inspection.
    assert worlds[0].known.node("car_1").attributes == {"description": "a red car"}
    worlds[0].record.finish("There is a dent.")
    assert judge(scenario.tasks[0], worlds[0].record).success
    assert not judge(scenario.tasks[1], worlds[0].record).success


def test_a_bad_task_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lot.json"
    for text in ("{", "[]", json.dumps(TASK_FILE | {"tasks": []})):
        path.write_text(text)
        with pytest.raises(ScenarioError, match=r"lot\.json: "):
            load_scenario(path)


def test_a_task_file_that_makes_no_scenario_is_refused_by_field(tmp_path: Path) -> None:
    region = TASK_FILE["graph"]["regions"][0] | {"": "an attribute without a name"}
    graph = TASK_FILE["graph"] | {"regions": [region, *TASK_FILE["graph"]["regions"][1:]]}
    path = tmp_path / "lot.json"
    path.write_text(json.dumps(TASK_FILE | {"graph": graph}))
    with pytest.raises(ScenarioError, match=r"lot\.json: attributes"):
        load_scenario(path)
