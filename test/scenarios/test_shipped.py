"""The shipped scenarios: they hold the paper's tables, and their worlds and criteria are sound."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, combinations
from pathlib import Path

import networkx as nx
import pytest

from prism_planner.skills.monitor import SafetyLimits, SafetyMonitor
from prism_planner.skills.skill import Skill
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.spine_scenario import ObjectSpec, SpineScenario, SpineTask, SpineWorld, discoverable
from prism_planner.worlds.success import EpisodeRecord, SpineCriterion, judge

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "scenarios" / "spine"
PAGE = ROOT / "docs" / "scenarios.md"

# The paper's tables 5, 6 and 7, word for word: fully specified, under-specified.
TABLES = {
    "indoor": (
        (
            "Go to the desk",
            "Go to the table",
            "Inspect the chair",
            "Map the area near the desk",
            "Go to the door",
            "Go to the ground_1",
            "Inspect the television",
            "Go inspect the table then return to where you started",
            "Inspect the plant then return to where you started",
            "Inspect the chair then inspect the table",
        ),
        (
            "Is the path to the exit clear?",
            "Find a place to sit",
            "Find a place to work",
            "I want to watch a movie. Help",
            "I need to do some robotics experiments",
            "Go to the southern part of the scene",
            "Help me find my backpack. I last saw it when I was working.",
            "I lost my laptop. Help.",
            "What is near the person?",
            "I will be giving a tour of the lab for kids. Is there anything dangerous around?",
        ),
    ),
    "outdoor": (
        (
            "Map the path",
            "Go to the trees",
            "Inspect the car",
            "Go to sidewalk 2",
            "Go to parking lot 1",
        ),
        (
            "Where can I park my car?",
            "I want a shady place to read",
            "Are the chairs under the trees occupied?",
            "Is my car damaged?",
            "Is there debris on the path?",
            "Is construction blocking the sidewalk?",
            "I lost my car. Help.",
            "What is near the person?",
            "Is the path clear?",
            "Can I get to the parking lot?",
        ),
    ),
    "uav": (
        (
            "Go to parking lot 1",
            "Map the building",
            "Go to the canine center",
            "Go to the landing strip",
            "Map the bike rack",
            "Return to the landing strip",
        ),
        (
            "Is there space to park my car?",
            "Is construction blocking the road?",
            "Find my dog",
            "Has rain damaged any roofs?",
            "Is the playground built?",
            "Return to land",
        ),
    ),
}
EXPLORE_RADIUS_M = {"ugv": 30.0, "uav": 80.0}
LONGEST_HOP_M = {"ugv": 25.0, "uav": 70.0}
FARTHEST_VIEW_M = {"ugv": 10.0, "uav": 15.0}
UNREACHABLE = {"business-district": {"parking_lot"}}
MASK = Mask(regions=0.3, objects=0.3)
SEEDS = range(6)

SEATS = {"chair", "armchair", "couch", "sofa", "stool", "bench"}
WORKPLACES = {"desk", "workbench", "table"}
MACHINES = {"excavator", "crane", "road roller", "scaffolding", "construction barrier", "traffic cones"}


def _is(thing: ObjectSpec, key: str, value: str = "yes") -> bool:
    return thing.attributes.get(key, "").startswith(value)


def _seen(world: SpineWorld, *regions: str) -> list[ObjectSpec]:
    """What is seen from regions whose names begin so."""
    return [thing for thing in world.objects if any(r.startswith(regions) for r in thing.seen_from)]


def _of(world: SpineWorld, category: str) -> list[ObjectSpec]:
    return [thing for thing in world.objects if thing.category == category]


def _clear_to_the_exit(world: SpineWorld) -> bool:
    way = nx.shortest_path(_paths(world), world.robot, "exit_1")
    return not any(_is(thing, "blocking") for thing in _seen(world, *way))


def _chairs_under_trees_occupied(world: SpineWorld) -> bool:
    views = {region for trees in _of(world, "trees") for region in trees.seen_from}
    taken = {_is(chair, "occupied") for chair in _of(world, "chair") if views & set(chair.seen_from)}
    (all_alike,) = taken
    return all_alike


def _my_car(world: SpineWorld) -> ObjectSpec:
    cars = _of(world, "car")
    mine = [car for car in cars if (car.description or "").startswith("your car")] or cars
    (car,) = mine
    return car


def _lot_in_reach(world: SpineWorld) -> bool:
    names = {region.name for region in world.regions}
    lot = "parking_lot" if "parking_lot" in names else "parking_lot_1"
    return nx.has_path(_paths(world), world.robot, lot)


def _blocked_by_construction(world: SpineWorld, region: str) -> bool:
    return any(_is(thing, "blocking") for thing in _seen(world, region) if thing.category in MACHINES)


def _roof_damaged(world: SpineWorld) -> bool:
    return any(_is(roof, "damaged") for roof in _of(world, "roof")) or any(
        _is(thing, "roof", "damaged") for thing in world.objects
    )


TRUTH: dict[str, Callable[[SpineWorld], bool]] = {
    "Is the path to the exit clear?": _clear_to_the_exit,
    "I will be giving a tour of the lab for kids. Is there anything dangerous around?": lambda world: any(
        _is(thing, "dangerous") for thing in _seen(world, "lab_")
    ),
    "Are the chairs under the trees occupied?": _chairs_under_trees_occupied,
    "Is my car damaged?": lambda world: _is(_my_car(world), "damaged"),
    "Is there debris on the path?": lambda world: any(
        _is(thing, "debris") for thing in _seen(world, "path_")
    ),
    "Is construction blocking the sidewalk?": lambda world: _blocked_by_construction(world, "sidewalk_"),
    "Is the path clear?": lambda world: not any(_is(thing, "blocking") for thing in _seen(world, "path_")),
    "Can I get to the parking lot?": _lot_in_reach,
    "Is there space to park my car?": lambda world: any(
        _is(space, "occupied", "no") for space in _of(world, "parking space")
    ),
    "Is construction blocking the road?": lambda world: _blocked_by_construction(world, "road_"),
    "Has rain damaged any roofs?": _roof_damaged,
    "Is the playground built?": lambda world: any(_is(place, "built") for place in _of(world, "playground")),
}
PLACES: dict[str, Callable[[ObjectSpec], bool]] = {
    "Find a place to sit": lambda thing: thing.category in SEATS and _is(thing, "occupied", "no"),
    "Find a place to work": lambda thing: thing.category in WORKPLACES and _is(thing, "occupied", "no"),
    "I want a shady place to read": lambda thing: (
        thing.category in SEATS | {"trees"}
        and "shade" in thing.attributes
        and not _is(thing, "shade", "none")
        and not _is(thing, "shade", "almost none")
        and not _is(thing, "occupied")
    ),
}

FILES = sorted(SHIPPED.rglob("*.yaml"))
SCENARIOS: dict[Path, SpineScenario] = {}


def _load(path: Path) -> SpineScenario:
    if path not in SCENARIOS:
        scenario = load_scenario(path)
        assert isinstance(scenario, SpineScenario)
        SCENARIOS[path] = scenario
    return SCENARIOS[path]


def _setting(path: Path) -> str:
    return path.parent.name


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    chosen: Path = request.param
    return chosen


@pytest.fixture
def scenario(path: Path) -> SpineScenario:
    return _load(path)


# The tables


def test_each_setting_has_three_worlds() -> None:
    assert Counter(map(_setting, FILES)) == dict.fromkeys(TABLES, 3)


def test_holds_every_instruction_of_its_table(path: Path, scenario: SpineScenario) -> None:
    full, under = TABLES[_setting(path)]
    found = {
        level: [task.instruction for task in scenario.tasks if task.specification == level]
        for level in ("full", "under")
    }
    assert sorted(found["full"]) == sorted(full)
    assert sorted(found["under"]) == sorted(under)
    assert len(scenario.tasks) == len(full) + len(under)


def test_platform_is_that_of_the_setting(path: Path, scenario: SpineScenario) -> None:
    assert scenario.platform == ("uav" if _setting(path) == "uav" else "ugv")


def test_about_a_third_of_the_tasks_need_exploration() -> None:
    cells: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str | None] = Counter()
    for path in FILES:
        for task in _load(path).tasks:
            assert task.kind is not None
            cells[_setting(path), task.cell] += 1
            kinds[task.kind] += 1
    assert 0.28 <= kinds["exploration"] / kinds.total() <= 0.40
    for setting in TABLES:
        for cell in ("mapping/full", "mapping/under", "exploration/full", "exploration/under"):
            assert cells[setting, cell] >= 2, f"{setting}: {cell}"


def test_sentences_have_to_be_understood(scenario: SpineScenario) -> None:
    assert all(task.intent is None for task in scenario.tasks)


# The worlds


def test_size_is_between_15_and_45_nodes(scenario: SpineScenario) -> None:
    assert 15 <= len(scenario.world.regions) + len(scenario.world.objects) <= 45


def test_names_are_unique_and_coordinates_finite(scenario: SpineScenario) -> None:
    nodes = [*scenario.world.regions, *scenario.world.objects]
    assert max(Counter(node.name for node in nodes).values()) == 1
    assert all(math.isfinite(value) for node in nodes for value in node.at)


def test_every_region_can_be_reached_save_the_fenced_lot(scenario: SpineScenario) -> None:
    graph = _paths(scenario.world)
    reachable = nx.node_connected_component(graph, scenario.world.robot)
    assert set(graph) - reachable == UNREACHABLE.get(scenario.name, set())


def test_hops_and_views_are_short(scenario: SpineScenario) -> None:
    at = {region.name: region.at for region in scenario.world.regions}
    for a, b in scenario.world.edges:
        assert math.dist(at[a], at[b]) <= LONGEST_HOP_M[scenario.platform], f"{a} - {b}"
    for thing in scenario.world.objects:
        assert thing.seen_from, thing.name
        for region in thing.seen_from:
            assert math.dist(thing.at, at[region]) <= FARTHEST_VIEW_M[scenario.platform], thing.name


def test_hidden_nodes_are_found_by_exploring_within_the_robots_limit(scenario: SpineScenario) -> None:
    world = scenario.world
    regions, objects = discoverable(
        world,
        hidden_regions={region.name for region in world.regions if region.hidden},
        hidden_objects={thing.name for thing in world.objects if thing.hidden},
        radius=EXPLORE_RADIUS_M[scenario.platform],
    )
    assert regions == {region.name for region in world.regions} - UNREACHABLE.get(scenario.name, set())
    assert objects == {thing.name for thing in world.objects}


def test_objects_in_unknown_regions_are_unknown(scenario: SpineScenario) -> None:
    hidden = {region.name for region in scenario.world.regions if region.hidden}
    for thing in scenario.world.objects:
        assert thing.hidden or set(thing.seen_from) - hidden, thing.name


def test_nothing_known_at_first_sight_gives_an_inspection_away(scenario: SpineScenario) -> None:
    telling = re.compile(
        r"occupied|free\b|empty|damag|broken|block|clear|debris|danger|shad[ye]|\bbuilt|unbuilt|lost|safe",
        re.I,
    )
    for node in (*scenario.world.regions, *scenario.world.objects):
        for text in (node.name, node.category, node.description):
            assert not telling.search(text or ""), f"{node.name}: {text}"


def test_no_two_worlds_share_a_layout() -> None:
    for one, other in combinations(FILES, 2):
        first, second = _load(one).world, _load(other).world
        assert not nx.is_isomorphic(_paths(first), _paths(second)), f"{one.stem}, {other.stem}"
        assert len(_shape(first) & _shape(second)) <= 2, f"{one.stem}, {other.stem}"


# The criteria against the true world


def test_southern_part_is_the_lowest_quarter() -> None:
    for world, task in _tasks("Go to the southern part of the scene"):
        south, north = (f(region.at[1] for region in world.regions) for f in (min, max))
        lowest = {r.name for r in world.regions if r.at[1] <= south + (north - south) / 4}
        (criterion,) = task.success
        assert set(criterion.ended_at or ()) == lowest
        assert world.robot not in lowest


def test_near_the_person_is_within_six_metres_in_the_same_view() -> None:
    for world, task in _tasks("What is near the person?"):
        people = [thing for thing in world.objects if thing.category == "person"]
        assert len(people) == 1
        (person,) = people
        near = {
            thing.name
            for thing in world.objects
            if thing is not person
            and set(thing.seen_from) & set(person.seen_from)
            and math.dist(thing.at, person.at) <= 6
        }
        accepted = set(chain.from_iterable(c.answer_mentions or () for c in task.success))
        assert accepted == near


@pytest.mark.parametrize("question", TRUTH)
def test_answers_are_true_and_differ_between_worlds(question: str) -> None:
    answers = set()
    for world, task in _tasks(question):
        expected = {c.answer_says for c in _criteria(task) if c.answer_says}
        assert expected == {"yes" if TRUTH[question](world) else "no"}, world.robot
        answers |= expected
    assert answers == {"yes", "no"}


def test_every_yes_or_no_criterion_is_checked_against_its_world() -> None:
    asked = {
        task.instruction
        for path in FILES
        for task in _load(path).tasks
        if any(c.answer_says for c in _criteria(task))
    }
    assert asked == set(TRUTH)


@pytest.mark.parametrize(("instruction", "fits"), PLACES.items(), ids=list(PLACES))
def test_every_fitting_place_is_accepted_and_no_other(
    instruction: str, fits: Callable[[ObjectSpec], bool]
) -> None:
    for world, task in _tasks(instruction):
        accepted = set(chain.from_iterable(c.inspected or () for c in _criteria(task)))
        assert accepted == {thing.name for thing in world.objects if fits(thing)}, world.robot


@pytest.mark.parametrize("category", ["desk", "table", "door", "trees", "landing strip", "canine center"])
def test_go_to_accepts_every_place_of_that_kind(category: str) -> None:
    for world, task in _tasks(f"Go to the {category}"):
        there = {r for thing in world.objects if thing.category == category for r in thing.seen_from}
        there |= {r.name for r in world.regions if r.name.startswith(category.replace(" ", "_"))}
        (criterion,) = task.success
        assert set(criterion.ended_at or ()) >= there


def test_kind_says_whether_exploration_is_needed(scenario: SpineScenario) -> None:
    """Tasks are `mapping` just when a robot that never explores can do them."""
    robot = _Robot(scenario, explore=False)
    robot.sweep()
    for task in scenario.tasks:
        possible = any(robot.attempt(task, criteria) for criteria in _alternatives(task))
        assert possible == (task.kind == "mapping"), task.instruction


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_can_be_found_and_every_task_done_under_masking(
    scenario: SpineScenario, seed: int
) -> None:
    robot = _Robot(scenario, mask=MASK, seed=seed)
    robot.sweep()
    nodes = {node.name for node in (*scenario.world.regions, *scenario.world.objects)}
    assert set(robot.world.known) == nodes
    for task in scenario.tasks:
        assert any(robot.attempt(task, criteria) for criteria in _alternatives(task)), task.instruction


def test_a_robot_that_does_nothing_fails(scenario: SpineScenario) -> None:
    """Whatever it says, be it all that it knows at the start."""
    known = " ".join(SemanticGraphWorld(scenario).known)
    guesses = (
        "Done.",
        "I do not know.",
        f"Yes: {known}.",
        f"No: {known}.",
        f"No. There is no way to it. {known}",
    )
    for task in scenario.tasks:
        for guess in guesses:
            record = SemanticGraphWorld(scenario).record
            record.finish(guess)
            assert not judge(task, record).success, f"{task.instruction}: {guess}"


def test_the_wrong_answer_to_a_question_fails(scenario: SpineScenario) -> None:
    robot = _Robot(scenario)
    robot.sweep()
    wrong = {"yes": "No.", "no": "Yes."}
    asked = 0
    for task in scenario.tasks:
        says = {criterion.answer_says for criterion in _criteria(task) if criterion.answer_says}
        if says:
            asked += 1
            (right,) = says
            assert not judge(task, _with_answer(robot.world.record, wrong[right])).success, task.instruction
    assert asked >= (2 if _setting_of(scenario) == "indoor" else 4)


def test_reporting_a_failed_search_fails(scenario: SpineScenario) -> None:
    """A robot that found nothing and says so has not found a lost thing."""
    robot = _Robot(scenario)
    robot.sweep()
    for task in scenario.tasks:
        if thing := re.search(r"my (backpack|laptop|dog)|lost my (car)", task.instruction):
            answer = f"I could not find your {thing.group(1) or thing.group(2)}."
            assert not judge(task, _with_answer(robot.world.record, answer)).success, task.instruction


# The documentation


def test_documented_example_works_as_described(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    file = tmp_path / "library_yard.yaml"
    file.write_text(block, "utf-8")
    scenario = load_scenario(file)
    assert isinstance(scenario, SpineScenario)
    (task,) = scenario.tasks
    world = SemanticGraphWorld(scenario)
    assert {"garden_1", "bench_2"}.isdisjoint(world.known)
    assert world.step(Skill(name="explore_region", target="yard_1", radius=20)).ok
    assert {"garden_1", "bench_2"} <= set(world.known)
    for thing, success in (("bench_1", False), ("bench_2", True)):
        assert world.step(Skill(name="inspect", target=thing, query="shade")).ok
        assert judge(task, _with_answer(world.record, f"Read at {thing}.")).success == success


def test_documented_table_counts_what_is_shipped() -> None:
    rows = re.findall(r"^\| `(\w+/\w+\.yaml)` \|((?: \d+ \|){5})", PAGE.read_text("utf-8"), re.M)
    documented = {name: [int(n) for n in re.findall(r"\d+", counts)] for name, counts in rows}
    shipped = {}
    for path in FILES:
        scenario = _load(path)
        nodes = [*scenario.world.regions, *scenario.world.objects]
        shipped[path.relative_to(SHIPPED).as_posix()] = [
            len(scenario.world.regions),
            len(scenario.world.objects),
            sum(node.hidden for node in nodes),
            len(scenario.tasks),
            sum(task.kind == "exploration" for task in scenario.tasks),
        ]
    assert documented == shipped
    total, exploring = (sum(row[i] for row in shipped.values()) for i in (3, 4))
    assert f"{total} tasks, {exploring} of which need exploration" in PAGE.read_text("utf-8")


# Helpers


class _Robot:
    """Explores, maps and inspects everything it can, then does what criteria ask and answers to suit them."""

    def __init__(
        self, scenario: SpineScenario, *, explore: bool = True, mask: Mask | None = None, seed: int = 0
    ) -> None:
        monitor = SafetyMonitor(
            SafetyLimits(max_skills_per_task=10_000, max_explore_radius_m=EXPLORE_RADIUS_M[scenario.platform])
        )
        self.world = SemanticGraphWorld(scenario, mask=mask, seed=seed, monitor=monitor)
        self._explores = explore
        self._radius = EXPLORE_RADIUS_M[scenario.platform]

    def sweep(self) -> None:
        done: set[Skill] = set()
        while todo := [skill for skill in self._skills() if skill not in done]:
            for skill in todo:
                if self.world.step(skill).ok:
                    done.add(skill)
            if not done & set(todo):
                return

    def attempt(self, task: SpineTask, criteria: tuple[SpineCriterion, ...]) -> bool:
        """Do the ordered deeds, then go where the task is to end, and give the answer; judged."""
        for criterion in criteria:
            for item in criterion.order or ():
                self._first_that_works(item.deed, item.names)
        for criterion in criteria:
            self._first_that_works("ended_at", criterion.ended_at or ())
        return judge(task, _with_answer(self.world.record, self._answer(criteria))).success

    def _skills(self) -> Iterator[Skill]:
        known = self.world.known
        for region in known.regions:
            yield Skill(name="map_region", target=region)
            if self._explores:
                yield Skill(name="explore_region", target=region, radius=self._radius)
        for thing in known.objects:
            yield Skill(name="inspect", target=thing, query="anything of note")

    def _first_that_works(self, deed: str, names: tuple[str, ...]) -> None:
        for name in names:
            skill = {
                "inspected": Skill(name="inspect", target=name, query="anything of note"),
                "mapped": Skill(name="map_region", target=name),
                "explored": Skill(name="explore_region", target=name, radius=self._radius),
            }.get(deed, Skill(name="goto", target=name))
            if (self._explores or deed != "explored") and self.world.step(skill).ok:
                return

    def _answer(self, criteria: tuple[SpineCriterion, ...]) -> str:
        """Made only of what the robot knows: yes or no, and the names the criteria ask for."""
        words = [f"{c.answer_says.capitalize()}." for c in criteria if c.answer_says]
        for criterion in criteria:
            pattern = criterion.answer_matches
            for name in self.world.known:
                if name in (criterion.answer_mentions or ()) or (pattern and re.search(pattern, name)):
                    words.append(f"It is {name}.")
        return " ".join(words) or "Done."


def _with_answer(record: EpisodeRecord, answer: str) -> EpisodeRecord:
    return EpisodeRecord(
        start=record.start,
        deeds=list(record.deeds),
        answer=answer,
        finished=True,
        categories=record.categories,
    )


def _alternatives(task: SpineTask) -> list[tuple[SpineCriterion, ...]]:
    return [(*task.success, *criteria) for criteria in task.any_success or ((),)]


def _criteria(task: SpineTask) -> Iterator[SpineCriterion]:
    yield from chain(task.success, *task.any_success)


def _tasks(instruction: str) -> Iterator[tuple[SpineWorld, SpineTask]]:
    for path in FILES:
        scenario = _load(path)
        yield from ((scenario.world, task) for task in scenario.tasks if task.instruction == instruction)


def _setting_of(scenario: SpineScenario) -> str:
    return next(_setting(path) for path in FILES if _load(path).name == scenario.name)


def _paths(world: SpineWorld) -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(region.name for region in world.regions)
    graph.add_edges_from(world.edges)
    return graph


def _shape(world: SpineWorld) -> set[tuple[float, float]]:
    """Where the regions are, seen from the robot's start."""
    x, y = next(region.at for region in world.regions if region.name == world.robot)
    return {(round(r.at[0] - x), round(r.at[1] - y)) for r in world.regions}
