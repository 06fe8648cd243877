"""The `world` and success criteria of scenarios of the domain spine: a scene graph, partly hidden."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Iterator
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from prism_planner.graph.delta import Edge, NodeKind, NodeName
from prism_planner.skills.monitor import MAX_EXPLORE_RADIUS_M
from prism_planner.worlds.envelope import Location, PlainText, Problem, Scenario, StrictModel, Task, Text
from prism_planner.worlds.success import SpineCriterion


class _NodeSpec(StrictModel):
    kind: ClassVar[NodeKind]

    name: NodeName
    at: tuple[float, float]
    hidden: bool = False
    category: Text | None = None
    description: PlainText | None = None
    attributes: dict[Text, PlainText] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _said_once(self) -> _NodeSpec:
        for key in ("category", "description"):
            if getattr(self, key) is not None and key in self.attributes:
                raise ValueError(f"{key} is given both as a key and in attributes; keep one")
        return self

    @property
    def visible_attributes(self) -> dict[str, str]:
        """What is known as soon as the node is: its category and its description."""
        given = {"category": self.category, "description": self.description}
        return {key: value for key in given if (value := given[key] or self.attributes.get(key))}

    @property
    def hidden_attributes(self) -> dict[str, str]:
        """What has to be found out by inspection."""
        return {k: v for k, v in self.attributes.items() if k not in ("category", "description")}


class RegionSpec(_NodeSpec):
    """A region. at: x, y, metres in `map`. hidden: until explored. attributes: until mapped."""

    kind = "region"


class ObjectSpec(_NodeSpec):
    """An object. at: x, y, metres in `map`. hidden: until seen from a region of `seen_from` that is
    mapped or explored. attributes: revealed by inspection, save category and description."""

    kind = "object"

    seen_from: tuple[NodeName, ...] = ()


NodeSpec = RegionSpec | ObjectSpec


class SpineWorld(StrictModel):
    """The true world. robot: the region the robot starts in. edges: traversable, both ways."""

    robot: NodeName
    regions: tuple[RegionSpec, ...] = Field(min_length=1)
    objects: tuple[ObjectSpec, ...] = ()
    edges: tuple[Edge, ...] = ()

    @property
    def nodes(self) -> list[NodeSpec]:
        return [*self.regions, *self.objects]


class SpineTask(Task):
    """A task on a scene graph. start: the region the robot starts in, when it is not the world's."""

    start: NodeName | None = None
    success: tuple[SpineCriterion, ...] = ()
    any_success: tuple[tuple[SpineCriterion, ...], ...] = ()

    @model_validator(mode="after")
    def _judged(self) -> SpineTask:
        if not self.success and not self.any_success:
            raise ValueError(
                "no success criteria; say in `success:` what must hold, as in `- {visited: road_1}`"
            )
        return self


class SpineScenario(Scenario):
    """A partly hidden scene graph with tasks."""

    domain: Literal["spine"]
    world: SpineWorld
    tasks: tuple[SpineTask, ...] = ()

    def problems(self) -> Iterator[Problem]:
        names = list(_duplicates(self.world))
        yield from names
        if names:
            return
        structure = list(_references(self.world))
        yield from structure
        if not structure:
            yield from _undiscoverable(self.world)
        for i, task in enumerate(self.tasks):
            if task.start is not None:
                yield from _bad_start(self.world, task.start, ("tasks", i, "start"))
            yield from _unknown_names(self.world, task, ("tasks", i))


def discoverable(
    world: SpineWorld,
    *,
    hidden_regions: Collection[str],
    hidden_objects: Collection[str],
    radius: float = MAX_EXPLORE_RADIUS_M,
) -> tuple[set[str], set[str]]:
    """The regions that can become known and reached, and the objects that can become known.

    Both by exploring every reachable region with `radius` (metres), again and again until nothing new
    turns up.
    """
    at = {region.name: region.at for region in world.regions}
    adjacent: dict[str, list[str]] = {name: [] for name in at}
    for a, b in world.edges:
        adjacent[a].append(b)
        adjacent[b].append(a)
    known = at.keys() - set(hidden_regions)
    views = {region for o in world.objects if o.name in hidden_objects for region in o.seen_from}
    sought = [(name, at[name]) for name in at if name in views or name not in known]
    seen_from: set[str] = set()
    reached: set[str] = set()
    frontier = [world.robot]
    while frontier:
        while frontier:
            region = frontier.pop()
            if region in reached:
                continue
            reached.add(region)
            near = {name for name, where in sought if math.dist(at[region], where) <= radius}
            seen_from |= near
            known |= near
            frontier += [name for name in adjacent[region] if name in known]
        frontier = [name for name in known - reached if any(other in reached for other in adjacent[name])]
    objects = {
        thing.name
        for thing in world.objects
        if thing.name not in hidden_objects or seen_from & set(thing.seen_from)
    }
    return reached, objects


def _duplicates(world: SpineWorld) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for group, nodes in (("regions", world.regions), ("objects", world.objects)):
        for i, node in enumerate(nodes):
            here = f"world.{group}[{i}]"
            if node.name in first:
                message = f"{node.name!r} is already the name of {first[node.name]}; names must be unique"
                yield ("world", group, i, "name"), message
            first.setdefault(node.name, here)


def _references(world: SpineWorld) -> Iterator[Problem]:
    yield from _bad_start(world, world.robot, ("world", "robot"))
    seen: set[frozenset[str]] = set()
    for i, (a, b) in enumerate(world.edges):
        for k, end in enumerate((a, b)):
            if problem := _region_problem(
                world, end, "an edge joins two regions; use the object's seen_from"
            ):
                yield ("world", "edges", i, k), problem
        if a == b:
            yield ("world", "edges", i), f"joins {a!r} to itself; name two different regions"
        elif frozenset((a, b)) in seen:
            yield ("world", "edges", i), f"{a} - {b} is listed twice; edges go both ways, keep one"
        seen.add(frozenset((a, b)))

    for i, thing in enumerate(world.objects):
        for k, name in enumerate(thing.seen_from):
            if problem := _region_problem(world, name, "seen_from lists regions"):
                yield ("world", "objects", i, "seen_from", k), problem
        if thing.hidden and not thing.seen_from:
            yield (
                ("world", "objects", i, "seen_from"),
                f"{thing.name!r} is hidden and seen from nowhere, so it can never be found; name a region",
            )


def _bad_start(world: SpineWorld, name: str, location: Location) -> Iterator[Problem]:
    if problem := _region_problem(world, name, "the robot starts in a region"):
        yield location, problem
    elif any(region.hidden for region in world.regions if region.name == name):
        yield location, f"{name!r} is hidden; the robot must start in a region it knows"


def _region_problem(world: SpineWorld, name: str, what: str) -> str | None:
    """Why `name` cannot stand where a region must; None when it is one."""
    regions = [region.name for region in world.regions]
    if name in regions:
        return None
    if any(thing.name == name for thing in world.objects):
        return f"{name!r} is an object; {what}"
    return f"no region named {name!r}; {_suggestion(name, regions)}"


def _undiscoverable(world: SpineWorld) -> Iterator[Problem]:
    regions, objects = discoverable(
        world,
        hidden_regions={r.name for r in world.regions if r.hidden},
        hidden_objects={o.name for o in world.objects if o.hidden},
    )
    reached = [region.at for region in world.regions if region.name in regions]
    for i, region in enumerate(world.regions):
        if region.hidden and all(math.dist(region.at, at) > MAX_EXPLORE_RADIUS_M for at in reached):
            yield (
                ("world", "regions", i, "hidden"),
                f"{region.name!r} is hidden and can never be found: it needs a reachable region "
                f"within {MAX_EXPLORE_RADIUS_M:g} m from which to explore it",
            )
    for i, thing in enumerate(world.objects):
        if thing.hidden and thing.seen_from and thing.name not in objects:
            yield (
                ("world", "objects", i, "hidden"),
                f"{thing.name!r} is hidden and can never be found: no region it is seen from can be reached",
            )


def _unknown_names(world: SpineWorld, task: SpineTask, location: Location) -> Iterator[Problem]:
    regions = {region.name for region in world.regions}
    objects = {thing.name for thing in world.objects}
    words = {node.category for node in world.nodes if node.category}

    def check(criteria: Iterable[SpineCriterion], location: Location) -> Iterator[Problem]:
        for i, criterion in enumerate(criteria):
            for deed, name, where in criterion.names():
                at = (*location, i, *where)
                if deed == "answer_mentions":
                    if name not in regions | objects | words:
                        yield (
                            at,
                            f"no node or category named {name!r}; {_suggestion(name, regions | objects)}",
                        )
                    continue
                expected, other = (objects, regions) if deed == "inspected" else (regions, objects)
                if name in other:
                    kinds = ("a region", "an object") if name in regions else ("an object", "a region")
                    yield at, f"{name!r} is {kinds[0]}; `{deed}` names {kinds[1]}"
                elif name not in expected:
                    kind = "object" if deed == "inspected" else "region"
                    yield at, f"no {kind} named {name!r}; {_suggestion(name, expected)}"

    yield from check(task.success, (*location, "success"))
    for i, criteria in enumerate(task.any_success):
        yield from check(criteria, (*location, "any_success", i))


def _suggestion(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(known[:8])
    return f"the world has {shown}{', ...' if len(known) > 8 else ''}" if known else "the world has none"
