"""One planning step from the shell."""

from __future__ import annotations

import json

import pytest


def test_a_plan_from_a_scenario(prism, campus, tmp_path):
    result = prism(
        "plan",
        "--scenario",
        campus,
        "--model",
        "expert",
        "--json",
        "plan.json",
        "Is there debris on the path?",
    )
    assert result.returncode == 0, result.stderr
    assert "map_region(path_1)" in result.stdout
    data = json.loads((tmp_path / "plan.json").read_text())
    assert data["plan"]["plan"][0] == {"action": "map_region", "region": "path_1"}
    assert data["model"] == "expert"
    assert data["raw"].startswith("goal:")


def test_a_shipped_scenario_has_a_name(prism):
    result = prism("plan", "--scenario", "campus-loop", "--model", "expert", "Inspect the car")
    assert result.returncode == 0, result.stderr


def test_a_plan_from_a_graph_without_ros(prism, tmp_path, without_ros):
    graph = {
        "regions": [{"name": "hall_1", "coords": [0, 0]}, {"name": "office_1", "coords": [5, 0]}],
        "objects": [{"name": "desk_1", "coords": [5, 1]}],
        "object_edges": [["desk_1", "office_1"]],
        "region_edges": [["hall_1", "office_1"]],
        "robot_location": "hall_1",
    }
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    result = prism("plan", "--graph", "graph.json", "--model", "expert", "Go to the desk", **without_ros)
    assert result.returncode == 0, result.stderr
    assert "goto(office_1)" in result.stdout


def test_without_a_model_the_expert_plans_and_says_so(prism, campus):
    from prism_planner.language.registry import default_adapter

    if default_adapter("spine") is not None:
        pytest.skip("a distilled adapter is in the registry")
    result = prism("plan", "--scenario", campus, "Map the path")
    assert "expert" in result.stdout
    assert "no language model" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["Go to the desk"], "either --graph FILE or --scenario FILE"),
        (["--scenario", "nowhere.yaml", "Go"], "nowhere.yaml: there is no such scenario"),
        (["--graph", "absent.json", "Go"], "absent.json: cannot be read"),
        (["--scenario", "campus-loop", ""], "the task is empty"),
        (["--scenario", "campus-loop", " \t\n"], "the task is empty"),
        (["--scenario", "campus-loop", "go " * 3400], "at most 1000 are accepted"),
        (["--scenario", "campus-loop", "--model", "expert", "道は空いていますか"], "English"),
    ],
    ids=["no graph", "no scenario", "no file", "empty", "blank", "10,000 characters", "Japanese"],
)
def test_bad_input(refused, arguments, expected):
    assert expected in refused("plan", *arguments)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "graph.json: line 1"),
        ("[]", "graph.json: the file"),
        ('{"regions": [{"name": "a", "coords": [0, NaN]}]}', "graph.json: "),
        (
            '{"regions": [{"name": "a", "coords": [0, 0]}], "region_edges": [["a", "b"]]}',
            "region_connections[0]",
        ),
        ('{"regions": [{"name": "a", "coords": [0, 0]}]}', "robot_location: is missing"),
    ],
)
def test_malformed_graphs_are_named(refused, tmp_path, content, expected):
    (tmp_path / "graph.json").write_text(content)
    assert expected in refused("plan", "--graph", "graph.json", "Go to a")


def test_an_unknown_model_is_an_error_of_its_own(refused, campus):
    message = refused("plan", "--scenario", campus, "--model", "gpt-17", "Map the path", code=3)
    assert "gpt-17" in message


def test_a_truncated_model_file(refused, campus, tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    message = refused("plan", "--scenario", campus, "--model", "broken.gguf", "Map the path", code=3)
    assert "broken.gguf" in message


def test_an_endpoint_that_is_down(refused, campus):
    message = refused(
        "plan",
        *("--scenario", campus, "--model", "openai:none", "Map the path"),
        code=3,
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        OPENAI_API_KEY="none",
    )
    assert "127.0.0.1:9" in message


def test_a_plan_over_distances_that_overflow(prism, tmp_path):
    graph = {
        "regions": [{"name": "hall_1", "coords": [0, 0]}, {"name": "moon_1", "coords": [1e308, 2]}],
        "region_connections": [["hall_1", "moon_1"]],
        "robot_location": "hall_1",
    }
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    result = prism("plan", "--graph", "graph.json", "--model", "expert", "Is there a bench?")
    assert result.returncode == 0, result.stderr
