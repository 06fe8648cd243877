"""The decoding constraint admits the valid plans of this moment and nothing else."""

import json

import pytest

pytest.importorskip("llguidance", reason="constrained decoding needs llguidance (pip install llguidance)")
from llguidance import LLMatcher, LLTokenizer

from prism_planner.domains.spine import source, wire
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph

TOKENIZER = LLTokenizer("byte")


def make_graph(regions: list[str], objects: list[str]) -> SceneGraph:
    graph = SceneGraph()
    nodes = [Node(name=n, kind="region", coords=(0, 0)) for n in regions]
    nodes += [Node(name=n, kind="object", coords=(0, 0)) for n in objects]
    graph.apply(GraphDelta(add_nodes=tuple(nodes)))
    return graph


GRAPH = make_graph(["road_1", "road_12", "grove 1"], ["bench_1"])


def admits(grammar: str, text: str) -> bool:
    matcher = LLMatcher(TOKENIZER, grammar)
    tokens = TOKENIZER.tokenize_bytes(text.encode())
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def admits_wire(text: str, *, first: bool = False, graph: SceneGraph = GRAPH) -> bool:
    return admits(LLMatcher.grammar_from_lark(wire.grammar(graph, first=first)), text)


@pytest.mark.parametrize(
    "do",
    [
        "goto road_1",
        "goto road_12",
        "map_region grove 1",
        "explore_region road_1: 25",
        "explore_region road_1: 7.5",
        "inspect bench_1: dry",
        "answer: Yes, it is.",
    ],
)
def test_every_action_on_existing_names_is_admitted(do: str) -> None:
    assert admits_wire(f"goal: a\nabout: bench_1, road_1\nwhy: b\ndo: {do}\n", first=True)
    assert admits_wire(f"about: -\nwhy: b\ndo: {do}\n")


@pytest.mark.parametrize(
    "do",
    [
        "goto road_2",
        "goto bench_1",
        "inspect road_1: dry",
        "inspect bench_1:",
        "explore_region road_1: 0",
        "explore_region road_1: 1000",
        "explore_region road_1: -5",
        "answer:",
        "fly road_1",
        "answer: Yes.\ndo: goto road_1",
        "goto road_1\ndo: goto road_1",
    ],
)
def test_nothing_else_is_admitted(do: str) -> None:
    assert not admits_wire(f"about: -\nwhy: b\ndo: {do}\n")


def test_unknown_names_are_not_admitted_in_the_relevant_graph() -> None:
    assert not admits_wire("about: bench_2\nwhy: b\ndo: goto road_1\n")


def test_without_objects_nothing_can_be_inspected() -> None:
    graph = make_graph(["road_1"], [])
    assert admits_wire("about: road_1\nwhy: b\ndo: map_region road_1\n", graph=graph)
    assert not admits_wire("about: -\nwhy: b\ndo: inspect bench_1: x\n", graph=graph)


def test_an_empty_graph_admits_an_answer_only() -> None:
    graph = make_graph([], [])
    assert admits_wire("goal: a\nabout: -\nwhy: b\ndo: answer: Nothing is known.\n", first=True, graph=graph)
    assert not admits_wire("goal: a\nabout: -\nwhy: b\ndo: goto x\n", first=True, graph=graph)


def test_source_schema_admits_source_plans_only() -> None:
    grammar = LLMatcher.grammar_from_json_schema(source.json_schema(GRAPH))

    def reply(*plan: str, relevant: str = "bench_1") -> str:
        return json.dumps(
            {"primary_goal": "g", "relevant_graph": [relevant], "reasoning": "r", "plan": list(plan)}
        )

    assert admits(grammar, reply("goto(grove 1)", "inspect(bench_1, dry)", "answer(Yes, it is.)"))
    assert not admits(grammar, reply("goto(grove 2)"))
    assert not admits(grammar, reply("inspect(road_1, dry)"))
    assert not admits(grammar, reply("goto(road_1)", relevant="bench_2"))
    assert not admits(grammar, reply())


def test_ten_thousand_names_compile() -> None:
    graph = make_graph([f"region_{i}" for i in range(5000)], [f"object_{i}" for i in range(5000)])
    assert admits_wire("about: object_4999\nwhy: b\ndo: goto region_4999\n", graph=graph)
    assert not admits_wire("about: -\nwhy: b\ndo: goto region_5000\n", graph=graph)
