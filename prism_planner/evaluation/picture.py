"""One episode from above: the true world, what was discovered of it, and what the robot did."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from prism_planner.domains.trace import PlanTrace
from prism_planner.evaluation.labels import Label, place_labels, spread
from prism_planner.evaluation.story import EpisodeStory
from prism_planner.graph.scene_graph import SceneGraph

_INK = "#1f2933"
_MUTED = "#8a94a0"
_FAINT = "#d5dae0"
_KNOWN = "#52718c"
_NEW = "#2f9e6b"
_PATH = "#e4572e"
_RING = "#f2a900"

# Above this many nodes names would cover the picture.
_MOST_NAMES = 200

Found = Literal["start", "found", "hidden"]
_COLOURS: dict[Found, tuple[str, str]] = {
    "start": (_KNOWN, _KNOWN),
    "found": (_NEW, _NEW),
    "hidden": ("white", _MUTED),
}


def draw_episode(path: Path, trace: PlanTrace, *, truth: SceneGraph | None = None) -> None:
    """Write the picture of an episode; the suffix of `path` chooses the format (.png, .svg, .pdf).

    truth: the whole world, to show what stayed undiscovered; None shows what was known at the end.
    Raises ValueError for another suffix, and for an episode without a graph.
    """
    story = EpisodeStory.of(trace)
    _draw(path, story, _with_all(truth, story.known) if truth is not None else story.known)


def draw_graph(path: Path, graph: SceneGraph, *, title: str = "") -> None:
    """Write a picture of a scene graph alone. Raises ValueError as `draw_episode` does."""
    _draw(path, EpisodeStory(title, "", graph, graph), graph)


def _draw(path: Path, story: EpisodeStory, world: SceneGraph) -> None:
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{path}: pictures are .png, .svg or .pdf")
    if not world.regions:
        raise ValueError("there is nothing to draw: the graph has no regions")
    with _style():
        figure = Figure(figsize=(10, 7.5), dpi=110, facecolor="white")
        FigureCanvasAgg(figure)
        bottom = 0.17 if story.answer else 0.07
        axes = figure.add_axes((0.02, bottom, 0.96, 0.91 - bottom))
        _frame(axes, world)
        scene = _Scene(axes, world, story)
        scene.draw_world()
        scene.draw_path()
        scene.draw_names()
        _write_words(figure, story)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


@contextmanager
def _style() -> Iterator[None]:
    with (
        mpl.rc_context({"font.family": "DejaVu Sans", "svg.fonttype": "none", "svg.hashsalt": "prism"}),
        warnings.catch_warnings(),
    ):
        # A task in a script that the font lacks is drawn as boxes; it is no reason to warn twice a letter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _with_all(truth: SceneGraph, known: SceneGraph) -> SceneGraph:
    """The true world, and what a robot believes to have found beyond it."""
    world = truth.copy()
    extra = known.diff(truth)
    world.apply(
        extra.model_copy(update={"remove_nodes": (), "remove_connections": (), "update_node_attributes": {}})
    )
    return world


class _Scene:
    """The drawing inside the axes. Regions stand where they are; objects move aside where they overlap."""

    def __init__(self, axes: Axes, world: SceneGraph, story: EpisodeStory) -> None:
        self._axes = axes
        self._world = world
        self._story = story
        regions = {name: world.node(name).coords for name in world.regions}
        objects = {name: world.node(name).coords for name in world.objects}
        self._crowded = len(world) > _MOST_NAMES
        self._at = regions | (objects if self._crowded else spread(axes, objects, around=regions))

    def draw_world(self) -> None:
        for a, b in self._world.region_connections:
            known = a in self._story.known and b in self._story.known
            width, dashes = (2.6, "-") if known else (1.4, (0, (2, 3)))
            self._line(a, b, lw=width, ls=dashes)
        for thing, region in self._world.object_connections:
            self._line(thing, region, lw=0.9, ls=(0, (1, 1.5)))
        shrink = 0.25 if self._crowded else 1.0
        for name in self._world:
            marker, size = ("o", 150) if self._world.node(name).kind == "region" else ("s", 46)
            face, edge = _COLOURS[self._found(name)]
            self._mark(name, marker, size * shrink, face, edge, zorder=4)
        for name in self._story.inspected:
            if name in self._at:
                self._mark(name, "o", 190, "none", _RING, zorder=5, lw=2.4)

    def draw_path(self) -> None:
        path = [name for name in self._story.path if name in self._at]
        for a, b in pairwise(path):
            arrow = FancyArrowPatch(
                self._at[a],
                self._at[b],
                arrowstyle="-|>",
                connectionstyle="arc3,rad=0.09",  # so that the way there and back are two lines
                mutation_scale=15,
                shrinkA=4,
                shrinkB=8,
                lw=2.6,
                color=_PATH,
                zorder=3,
            )
            self._axes.add_patch(arrow)
        if path:
            self._mark(path[-1], "*", 120, "white", _PATH, zorder=6)
        if len(path) > 1:
            self._mark(path[0], "o", 330, "none", _PATH, zorder=3, lw=2)

    def draw_names(self) -> None:
        if self._crowded:
            return
        path = [name for name in self._story.path if name in self._at]
        place_labels(
            self._axes,
            [self._label(name) for name in self._world],
            points=list(self._at.values()),
            lines=[(self._at[a], self._at[b]) for a, b in (*pairwise(path), *self._world.region_connections)],
        )

    def _label(self, name: str) -> Label:
        region = self._world.node(name).kind == "region"
        style: dict[str, Any] = {
            "fontsize": 8.5 if region else 7.5,
            "fontweight": "bold" if region or name in self._story.inspected else "normal",
            "color": _MUTED if self._found(name) == "hidden" else _INK,
            "bbox": {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0},
            "zorder": 7,
        }
        return Label(name, self._at[name], style)

    def _found(self, name: str) -> Found:
        if name in self._story.start:
            return "start"
        return "found" if name in self._story.known else "hidden"

    def _line(self, a: str, b: str, **style: Any) -> None:
        xs, ys = zip(self._at[a], self._at[b], strict=True)
        self._axes.plot(xs, ys, color=_FAINT, zorder=1, solid_capstyle="round", **style)

    def _mark(
        self, name: str, marker: str, size: float, face: str, edge: str, *, zorder: float, lw: float = 1.2
    ) -> None:
        x, y = self._at[name]
        self._axes.scatter(
            [x], [y], s=size, marker=marker, facecolor=face, edgecolor=edge, linewidth=lw, zorder=zorder
        )


def _frame(axes: Axes, world: SceneGraph) -> None:
    """Limits around all nodes, with metres equally long both ways, and a scale."""
    axes.set_axis_off()
    points = [world.node(name).coords for name in world]
    centre = [(min(values) + max(values)) / 2 for values in zip(*points, strict=True)]
    spans = [max(values) - min(values) for values in zip(*points, strict=True)]
    box = axes.get_window_extent()
    per_pixel = 1.2 * max(spans[0] / box.width, spans[1] / box.height, 5.0 / box.width)
    half_width, half_height = per_pixel * box.width / 2, per_pixel * box.height / 2
    axes.set_xlim(centre[0] - half_width, centre[0] + half_width)
    axes.set_ylim(centre[1] - half_height, centre[1] + half_height)

    lengths = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    metres = next((length for length in lengths if length >= half_width / 8), half_width / 5)
    right, y = centre[0] + half_width * 0.97, centre[1] - half_height * 0.97
    axes.plot([right - metres, right], [y, y], color=_INK, lw=2, solid_capstyle="butt")
    middle = (right - metres / 2, y)
    label = f"{metres:g} m"
    axes.annotate(
        label, middle, textcoords="offset points", xytext=(0, 5), ha="center", fontsize=8, color=_INK
    )


def _write_words(figure: Figure, story: EpisodeStory) -> None:
    title = _wrapped(story.task, 72, lines=2)
    figure.text(0.03, 0.965, title, fontsize=16, fontweight="bold", color=_INK, va="top")
    figure.text(0.03, 0.105, _wrapped(story.answer, 112, lines=3), fontsize=11.5, color=_INK, va="top")
    keys = _keys(story)
    figure.legend(
        handles=keys,
        loc="lower left",
        bbox_to_anchor=(0.022, 0.115 if story.answer else 0.02),
        ncols=len(keys),
        frameon=False,
        fontsize=8.5,
        handletextpad=0.3,
        columnspacing=1.3,
        labelcolor=_INK,
    )


def _keys(story: EpisodeStory) -> list[Line2D]:
    if not story.answer:
        robot = [_key("robot", "white", edge=_PATH, marker="*", size=11)] if story.path else []
        return [_key("region", _KNOWN), _key("object", _KNOWN, marker="s", size=6), *robot]
    keys = [
        _key("known at the start", _KNOWN),
        _key("discovered", _NEW),
        _key("not discovered", "white", edge=_MUTED),
        _key("object", _MUTED, marker="s", size=6),
    ]
    if len(story.path) > 1:
        keys.append(Line2D([], [], color=_PATH, lw=2.6, label="path driven"))
    if story.path:
        keys.append(_key("robot at the end", "white", edge=_PATH, marker="*", size=11))
    if story.inspected:
        keys.append(_key("inspected", "none", edge=_RING, size=11))
    return keys


def _key(label: str, face: str, *, edge: str | None = None, marker: str = "o", size: float = 9) -> Line2D:
    return Line2D(
        [],
        [],
        ls="",
        marker=marker,
        markersize=size,
        markerfacecolor=face,
        markeredgecolor=edge or face,
        label=label,
    )


def _wrapped(text: str, width: int, *, lines: int) -> str:
    # Between two dollar signs matplotlib would read mathematics.
    return "\n".join(textwrap.wrap(text.replace("$", r"\$"), width, max_lines=lines, placeholder=" ..."))
