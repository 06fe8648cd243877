"""Looking at graphs and converting them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from prism_planner.graph.spine_json import load_file
from prism_planner.worlds.scenario import load_scenario

PAPER = {
    "objects": [{"name": "bench_1", "coords": [1, 2], "description": "made of [red]wood[/red]"}],
    "regions": [{"name": "a_1", "coords": [0, 0]}, {"name": "b_1", "coords": [3, 0]}],
    "object_edges": [["bench_1", "a_1"]],
    "region_edges": [["a_1", "b_1"]],
    "robot_location": "a_1",
}
TASKS = [{"task": "Is there a bench?", "answer": "(?i)yes", "init_node": "b_1"}]


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "paper.json"
    path.write_text(json.dumps(PAPER))
    return path


def test_show_lists_regions_and_what_is_seen(prism, paper):
    result = prism("graph", "show", paper, "--picture", "graph.svg")
    assert result.returncode == 0, result.stderr
    assert "regions 2, objects 1, ways 1; the robot is in a_1" in result.stdout
    assert "bench_1 (1, 2)  description: made of [red]wood[/red]" in result.stdout
    assert "to b_1" in result.stdout
    assert (paper.parent / "graph.svg").read_text().count("bench_1") >= 1


def test_show_reads_scenarios_whole(prism, campus, without_ros):
    result = prism("graph", "show", campus, **without_ros)
    assert result.returncode == 0, result.stderr
    assert "field_1" in result.stdout  # hidden in the scenario


def test_convert_takes_the_papers_words_to_spines(prism, paper):
    assert prism("graph", "convert", paper, "graph.json").returncode == 0
    converted = json.loads((paper.parent / "graph.json").read_text())
    assert converted["object_connections"] == [["bench_1", "a_1"]]
    assert load_file(paper.parent / "graph.json") == load_file(paper)


def test_convert_makes_scenarios(prism, paper, tmp_path):
    assert prism("graph", "convert", paper, "my_world.yaml").returncode == 0
    scenario = load_scenario(tmp_path / "my_world.yaml")
    assert (scenario.name, scenario.world.robot, scenario.tasks) == ("my-world", "a_1", ())

    (tmp_path / "tasks.json").write_text(json.dumps({"graph": PAPER, "tasks": TASKS}))
    assert prism("graph", "convert", "tasks.json", "tasks.yaml").returncode == 0
    task = load_scenario(tmp_path / "tasks.yaml").tasks[0]
    assert (task.instruction, task.start, task.success[0].answer_matches) == (
        "Is there a bench?",
        "b_1",
        "(?i)yes",
    )


def test_convert_writes_a_scenarios_world_as_a_graph(prism, campus, tmp_path):
    assert prism("graph", "convert", campus, "campus.json").returncode == 0
    graph = load_file(tmp_path / "campus.json")
    assert graph.robot_location == load_scenario(campus).world.robot


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["show", "absent.json"], "absent.json: cannot be read"),
        (["show", "absent.yaml"], "absent.yaml: cannot be read"),
        (["show", "paper.json", "--picture", "graph.gif"], ".png, .svg or .pdf"),
        (["convert", "paper.json", "graph.txt"], "graph.txt: a graph is written to a .json file"),
        (["convert", "paper.json", "absent/graph.json"], "absent/graph.json"),
        (["convert", "paper.json", "absent/graph.yaml"], "absent/graph.yaml"),
    ],
)
def test_bad_input(refused, paper, arguments, expected):  # noqa: ARG001 - the file must exist
    assert expected in refused("graph", *arguments)


def test_a_reader_that_stops_early_is_no_error(paper):
    command = f"{sys.executable} -m prism_planner.cli.main graph show {paper} | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
