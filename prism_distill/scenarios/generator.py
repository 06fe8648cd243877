"""The built-in generator of scenarios: worlds, tasks in them, and how their outcome is judged.

A scenario depends only on its seed and split. Success criteria are computed from the generated truth;
nothing of how the expert plans goes into them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import yaml

from prism_distill.scenarios import reserved
from prism_distill.scenarios.commands import COMMANDS
from prism_distill.scenarios.drafts import Draft, Finish, Kind
from prism_distill.scenarios.layout import make_layout
from prism_distill.scenarios.lexicon import Theme, themes
from prism_distill.scenarios.passage import PASSAGE_KINDS
from prism_distill.scenarios.phrasing import say
from prism_distill.scenarios.questions import QUESTIONS
from prism_distill.scenarios.searches import SEARCHES
from prism_distill.scenarios.splits import Split, number, split_of_world
from prism_distill.scenarios.states import STATE_KINDS
from prism_distill.scenarios.world import MAX_NODES, World
from prism_planner.worlds.envelope import SCENARIO_FORMAT, Scenario
from prism_planner.worlds.spine_scenario import SpineScenario

Platform = Literal["ugv", "uav"]

MIN_NODES = 5
_COMMON_NODES = 18
_REGION_SHARE = (0.3, 0.5)
_LEAST_REGIONS, _MOST_REGIONS = 3, 22
_AERIAL_SHARE = 0.25
_TASKS = (3, 6)
_ATTEMPTS = 4
_EXPLORING_SHARE = 0.8
_DEFAULTS = {
    "blocked": 0.0,
    "dangerous": 0.15,
    "damaged": 0.25,
    "occupied": 0.45,
    "working": 0.7,
    "full": 0.3,
}
"""How likely a property holds of a thing that no task is about."""

KINDS: dict[str, Kind] = {**COMMANDS, **SEARCHES, **STATE_KINDS, **PASSAGE_KINDS, **QUESTIONS}


def generate(
    seed: int,
    *,
    theme: str | None = None,
    size: int | None = None,
    platform: Platform | None = None,
    split: Split = "train",
    tasks: int | None = None,
) -> SpineScenario:
    """One scenario, the same for the same arguments.

    theme: one of `lexicon.themes()`. size: number of nodes, 5 to 60. platform: `uav` asks for an aerial
    theme. split: what the world and the sentences may be used for. tasks: how many at most; 3 to 6 by
    default, fewer where a small world has no room for them. Raises ValueError for unknown or contradictory
    arguments.
    """
    _check(theme, size, platform, split)
    rng = random.Random(number(f"scenario:{split}:{seed}"))
    while True:
        kind = _theme(rng, theme, platform)
        nodes = size or _size(rng)
        world = _world(kind, nodes, split, rng)
        drafts = _populate(world, tasks or rng.randint(*_TASKS), rng)
        built = _tasks(drafts, world, split, rng)
        if built:
            return SpineScenario.model_validate(_scenario(world, built, f"{split}-{seed}"))


class Stream:
    """Scenarios by index, an endless sequence: number i depends on the seed, the split and i alone."""

    def __init__(self, seed: int, *, split: Split = "train", **options: Any) -> None:
        self.seed = seed
        self.split: Split = split
        self.options = options

    def __getitem__(self, index: int) -> SpineScenario:
        scenario = generate(number(f"stream:{self.seed}:{index}"), split=self.split, **self.options)
        return scenario.model_copy(update={"name": f"{self.split}-{self.seed}-{index}"})


def generate_many(
    count: int, seed: int, *, split: Split = "train", start: int = 0, **options: Any
) -> Iterator[SpineScenario]:
    """`count` scenarios of a stream from number `start` on, one at a time. options: those of `generate`."""
    stream = Stream(seed, split=split, **options)
    return (stream[i] for i in range(start, start + count))


def write_scenarios(
    directory: str | Path, count: int, seed: int, *, split: Split = "train", start: int = 0, **options: Any
) -> list[Path]:
    """Write scenarios as YAML files that `load_scenario` reads; a file that exists is kept."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    stream = Stream(seed, split=split, **options)
    paths = []
    for i in range(start, start + count):
        path = directory / f"{split}-{seed}-{i:06d}.yaml"
        if not path.exists():
            partial = path.with_suffix(".partial")
            partial.write_text(to_yaml(stream[i]), encoding="utf-8")
            partial.replace(path)
        paths.append(path)
    return paths


def to_document(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain data of the format `prism-scenario/1`."""
    plain = scenario.model_dump(mode="json", exclude_defaults=True)
    for task in plain.get("tasks", ()):
        for criteria in (task.get("success", ()), *task.get("any_success", ())):
            for criterion in criteria:
                if "order" in criterion:
                    criterion["order"] = [{item["deed"]: item["names"]} for item in criterion["order"]]
    return plain


def to_yaml(scenario: SpineScenario) -> str:
    """The scenario as a `prism-scenario/1` document."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(to_document(scenario), Dumper=dumper, sort_keys=False, allow_unicode=True, width=110)


def intents() -> dict[str, str]:
    """The intents that can be asked for, kind and target family, each with its group of phrasings."""
    return {
        f"{kind}/{name}": intent.group
        for kind, entry in KINDS.items()
        for name, intent in entry.intents.items()
    }


def _check(theme: str | None, size: int | None, platform: Platform | None, split: Split) -> None:
    if theme is not None and theme not in themes():
        raise ValueError(f"unknown theme {theme!r}; known themes: {', '.join(sorted(themes()))}")
    if size is not None and not MIN_NODES <= size <= MAX_NODES:
        raise ValueError(f"size is the number of nodes, {MIN_NODES} to {MAX_NODES}, not {size}")
    if platform not in (None, "ugv", "uav"):
        raise ValueError(f"unknown platform {platform!r}; known platforms: ugv, uav")
    if split not in ("train", "validation", "test"):
        raise ValueError(f"unknown split {split!r}; known splits: train, validation, test")
    if theme is not None and platform is not None:
        flies = themes()[theme].setting == "aerial"
        if flies != (platform == "uav"):
            raise ValueError(f"theme {theme!r} is for {'uav' if flies else 'ugv'}, not {platform}")


def _theme(rng: random.Random, name: str | None, platform: Platform | None) -> Theme:
    if name is not None:
        return themes()[name]
    aerial = platform == "uav" or (platform is None and rng.random() < _AERIAL_SHARE)
    return rng.choice([t for t in themes().values() if (t.setting == "aerial") == aerial])


def _size(rng: random.Random) -> int:
    """Mostly small worlds, now and then one of the largest."""
    return min(MAX_NODES, MIN_NODES + int(rng.gammavariate(2.2, (_COMMON_NODES - MIN_NODES) / 2.2)))


def _world(theme: Theme, nodes: int, split: Split, rng: random.Random) -> World:
    """A world whose layout belongs to the split, without objects."""
    regions = min(_MOST_REGIONS, max(_LEAST_REGIONS, round(nodes * rng.uniform(*_REGION_SHARE))))
    while True:
        world = World(theme, make_layout(regions, theme.setting, rng), rng, nodes=nodes)
        digest = reserved.layout_digest((p.name for p in world.places), _edges(world))
        if split_of_world(digest) == split and digest not in reserved.layouts():
            return world
        regions = min(_MOST_REGIONS, max(_LEAST_REGIONS, regions + rng.choice((-1, 0, 0, 1))))


def _populate(world: World, wanted: int, rng: random.Random) -> list[tuple[Kind, str, Draft]]:
    """Fill a world, and draft tasks that fit it: kind, group of phrasings, draft."""
    begun: list[tuple[Kind, str, Finish]] = []
    for kind in rng.choices(list(KINDS.values()), [kind.weight for kind in KINDS.values()], k=4 * wanted):
        if len(begun) > wanted or len(world.things) >= world.room:
            break
        for name in rng.sample(list(kind.intents), min(_ATTEMPTS, len(kind.intents))):
            intent = kind.intents[name]
            finish = intent.begin(world, rng)
            if finish is not None:
                begun.append((kind, intent.group, finish))
                break
    world.fill()
    world.describe(_DEFAULTS)
    exploring = rng.random() < _EXPLORING_SHARE
    world.hide(rng.uniform(0.2, 0.6) if exploring else 0.0, rng.uniform(0.2, 0.8))
    drafts = [(kind, group, finish()) for kind, group, finish in begun]
    return [(kind, group, draft) for kind, group, draft in drafts if draft is not None][:wanted]


def _tasks(
    drafts: list[tuple[Kind, str, Draft]], world: World, split: Split, rng: random.Random
) -> list[dict[str, Any]]:
    known = world.known()
    built = []
    for kind, group, draft in drafts:
        for _ in range(_ATTEMPTS):
            sentence, phrasing = say(group, draft.slots, split, rng)
            if reserved.normalised(sentence) not in reserved.sentences():
                break
        else:
            continue
        exploration = any(all(p.index not in known for p in places) for places in draft.needs)
        task: dict[str, Any] = {
            "instruction": sentence,
            "specification": "full" if kind.full else "under",
            "kind": "exploration" if exploration else "mapping",
            "success": list(draft.success),
            "any_success": draft.any_success,
            "intent": draft.means,
        }
        if draft.says is not None:
            task["success"].append({"answer_says": "yes" if draft.says != phrasing.negated else "no"})
            if phrasing.negated:
                condition = {**draft.means["condition"], "value": False}
                task["intent"] = {**draft.means, "condition": condition}
        built.append(task)
    return built


def _edges(world: World) -> list[tuple[str, str]]:
    return [(world.places[a].name, world.places[b].name) for a, b in world.edges]


def _scenario(world: World, tasks: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return {
        "format": SCENARIO_FORMAT,
        "domain": "spine",
        "name": name,
        "description": f"{world.theme.about}.",
        "platform": "uav" if world.theme.setting == "aerial" else "ugv",
        "world": {
            "robot": world.start.name,
            "regions": [
                {"name": p.name, "at": p.at, "hidden": p.hidden, "description": p.description or None}
                for p in world.places
            ],
            "objects": [
                {
                    "name": t.name,
                    "category": t.word,
                    "at": t.at,
                    "seen_from": (t.place.name,),
                    "hidden": t.hidden,
                    "description": t.description or None,
                    "attributes": t.attributes,
                }
                for t in world.things
            ],
            "edges": _edges(world),
        },
        "tasks": tasks,
    }
