"""What an episode's trace tells, and pictures of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.trace import PlanTrace, TraceHeader, TraceOutcome, TraceTurn
from prism_planner.evaluation.episode import EpisodeOptions, run_episode
from prism_planner.evaluation.labels import Label, place_labels, spread
from prism_planner.evaluation.picture import draw_episode, draw_graph
from prism_planner.evaluation.story import EpisodeStory, true_graph
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.success import judge

ROOT = Path(__file__).resolve().parents[2]
SIGNATURES = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def turn(delta: GraphDelta, skill: str | None, code: int | None = 0) -> TraceTurn:
    record = delta.model_dump(mode="json", exclude_defaults=True)
    return TraceTurn(observation=record, raw="", plan={}, skill=skill, code=code)


@pytest.fixture
def trace() -> PlanTrace:
    start = GraphDelta(
        add_nodes=tuple(
            Node(name=n, kind="region", coords=c) for n, c in [("gate_1", (0, 0)), ("shed_1", (10, 0))]
        ),
        add_connections=(("gate_1", "shed_1"),),
        update_robot_location="gate_1",
    )
    found = GraphDelta(
        add_nodes=(
            Node(name="lawn_1", kind="region", coords=(10, 12)),
            Node(name="bench_1", kind="object", coords=(11, 1)),
        ),
        add_connections=(("shed_1", "lawn_1"), ("bench_1", "shed_1")),
        update_robot_location="shed_1",
    )
    return PlanTrace(
        header=TraceHeader(task="Is the $bench$ free?", domain="spine", model="expert"),
        turns=[
            turn(start, "explore_region(shed_1, 20)"),
            turn(found, "goto(lawn_1)"),
            turn(GraphDelta(update_robot_location="lawn_1"), "inspect(bench_1, is it free)"),
            turn(GraphDelta(update_robot_location="gate_1"), "inspect(gone_1, what)", 100),
            turn(GraphDelta(), None, None),
        ],
        outcome=TraceOutcome(status="succeeded", answer="Yes, bench_1 is free. It cost $3 of 5$."),
    )


def test_a_trace_retold(trace):
    story = EpisodeStory.of(trace)
    assert story.path == ["gate_1", "shed_1", "lawn_1", "shed_1", "gate_1"]
    assert story.inspected == ["bench_1"]
    assert story.start.regions == ["gate_1", "shed_1"]
    assert story.known.objects == ["bench_1"]
    assert story.answer.startswith("Yes")


def test_a_retold_episode_is_judged_as_the_world_judges_it():
    scenario = load_scenario(ROOT / "scenarios" / "spine" / "outdoor" / "campus_loop.yaml")
    for number, task in enumerate(scenario.tasks):
        for limit in (3, 30):
            result, trace = run_episode(
                domain=SpineDomain(),
                model=None,
                scenario=scenario,
                task=number,
                options=EpisodeOptions(mask=Mask(regions=0.3, objects=0.3), max_steps=limit),
            )
            verdict = judge(task, EpisodeStory.of(trace).record(scenario.world))
            assert verdict.success == result.success
            if result.status == "succeeded":
                assert verdict.reason == result.reason


def test_endings_without_an_answer(trace):
    trace.outcome = TraceOutcome(status="aborted", reason="loop", detail="goto(a) was done 4 times")
    assert EpisodeStory.of(trace).answer == "No answer (loop): goto(a) was done 4 times"
    trace.outcome = None
    assert "cut off" in EpisodeStory.of(trace).answer


def test_the_true_graph_is_the_whole_world(yard_file):
    graph = true_graph(load_scenario(yard_file).world)
    assert graph.regions == ["gate_1", "shed_1", "lawn_1"]
    assert graph.seen_from("bench_1") == ["shed_1"]
    assert graph.node("bench_1").attributes == {"category": "bench", "occupied": "no"}
    assert graph.robot_location == "gate_1"


@pytest.mark.parametrize("suffix", SIGNATURES)
def test_an_episode_is_drawn(tmp_path, trace, yard_file, suffix):
    path = tmp_path / "new" / f"episode{suffix}"
    draw_episode(path, trace, truth=true_graph(load_scenario(yard_file).world))
    assert path.read_bytes().startswith(SIGNATURES[suffix])
    if suffix == ".svg":
        text = path.read_text()
        assert "Is the $bench$ free?" in text  # the words, not mathematics
        assert "discovered" in text
        assert "lawn_1" in text


def test_an_episode_beyond_the_true_world_is_drawn(tmp_path, trace, yard_file):
    ghost = GraphDelta(
        add_nodes=(Node(name="ghost_1", kind="object", coords=(3, 3)),),
        add_connections=(("ghost_1", "gate_1"),),
    )
    trace.turns.insert(1, turn(ghost, "goto(shed_1)"))
    path = tmp_path / "episode.svg"
    draw_episode(path, trace, truth=true_graph(load_scenario(yard_file).world))
    assert "ghost_1" in path.read_text()


def test_any_script_is_drawn_without_warnings(tmp_path, trace, recwarn):
    trace.header.task = "道は空いていますか"
    draw_episode(tmp_path / "episode.png", trace)
    assert not recwarn.list


def test_large_graphs_and_single_regions_are_drawn(tmp_path):
    graph = SceneGraph()
    graph.apply(GraphDelta(add_nodes=(Node(name="only_1", kind="region", coords=(5, 5)),)))
    draw_graph(tmp_path / "one.png", graph, title="one")
    graph.apply(
        GraphDelta(
            add_nodes=tuple(Node(name=f"r_{i}", kind="region", coords=(i % 30, i // 30)) for i in range(600))
        )
    )
    draw_graph(tmp_path / "many.png", graph)


def test_what_cannot_be_drawn(tmp_path, trace):
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_graph(tmp_path / "none.png", SceneGraph())
    with pytest.raises(ValueError, match=r"\.png, \.svg or \.pdf"):
        draw_episode(tmp_path / "episode.docx", trace)


@pytest.fixture
def axes():
    figure = Figure(figsize=(6, 6), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    return axes


def test_labels_cover_neither_each_other_nor_markers(axes):
    points = [(20 + 15 * (i % 5), 20 + 15 * (i // 5)) for i in range(25)]
    labels = [Label(f"node_{i}", point, {"fontsize": 7}) for i, point in enumerate(points)]
    place_labels(axes, labels, points=points, lines=[], radius_pt=5)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 25
    overlaps = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    assert not overlaps
    for box in boxes:
        for point in points:
            x, y = axes.transData.transform(point)
            assert not box.contains(x, y)


def test_markers_in_one_place_are_parted_and_lone_ones_stay(axes):
    heap = {f"o_{i}": (50.0, 50.0) for i in range(5)} | {"alone_1": (10.0, 90.0)}
    moved = spread(axes, heap, around={"r_1": (50.0, 50.0)})
    places = [axes.transData.transform(moved[name]) for name in heap]
    gaps = [((p - q) ** 2).sum() ** 0.5 for i, p in enumerate(places) for q in places[:i]]
    assert min(gaps) > 10
    assert moved["alone_1"] == pytest.approx(heap["alone_1"], abs=0.01)
    assert spread(axes, {}, around={}) == {}
