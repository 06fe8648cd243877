"""Whether a task's success criteria hold up against its world, found out by acting in it.

For tasks that were not computed from the truth, such as those that a language model writes. A criterion that
nobody can meet, or that is met by doing nothing, would teach a planner nonsense.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.planner import check_task
from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.spine.expert.intent import GoTo, InspectIt, Map
from prism_planner.domains.spine.expert.reading import read
from prism_planner.evaluation.episode import run_episode
from prism_planner.skills.monitor import MAX_EXPLORE_RADIUS_M, SafetyLimits, SafetyMonitor
from prism_planner.skills.skill import Skill, SkillCode, SkillName
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.spine_scenario import NodeSpec, ObjectSpec, SpineScenario, SpineTask, SpineWorld
from prism_planner.worlds.success import SpineCriterion, judge

Fault = Literal["no_task", "satisfied", "impossible", "ambiguous", "contested"]

_OPENINGS = ("Done.", "Yes,", "No,", "There are 0 1 2 3 4 5 6 of them:")
_SKILLS: Final[dict[str, SkillName]] = {
    "visited": "goto",
    "mapped": "map_region",
    "explored": "explore_region",
    "inspected": "inspect",
    "ended_at": "goto",
}
# A survey of the largest world takes more skills than a planner may use in a task.
_SURVEYOR = SafetyLimits(max_skills_per_task=10_000)

Step = tuple[str, Sequence[str]]
"""A deed, and the names of which any will do."""


@dataclass(frozen=True, slots=True)
class Unsound:
    """What is wrong with a task. fault: for counting. detail: one sentence that quotes names."""

    fault: Fault
    detail: str

    def __str__(self) -> str:
        return self.detail


def fault_of(scenario: SpineScenario, task: int) -> Unsound | None:
    """Why task number `task` should not be used; None when nothing speaks against it.

    no_task: no sentence that a planner accepts. satisfied: a robot that does nothing, but names all it knows,
    succeeds. impossible: no episode succeeds, though all that can be found was found and told. ambiguous: the
    sentence means any of several things, of which only some are accepted. contested: the expert meets all
    criteria, but the answer it finds is the opposite.
    """
    goal = scenario.tasks[task]
    try:
        check_task(goal.instruction)
    except InvalidTaskError as error:
        return Unsound("no_task", str(error))
    if satisfied_at_start(scenario, goal):
        return Unsound(
            "satisfied", "it succeeds without doing anything: ask for evidence, such as `inspected`"
        )
    if problem := impossible(scenario, goal):
        return Unsound("impossible", f"no episode can succeed: {problem}")
    if problem := _ambiguous(scenario.world, goal):
        return Unsound("ambiguous", problem)
    if _contested(scenario, task):
        return Unsound(
            "contested", "the evidence that the criteria ask for says the opposite of `answer_says`"
        )
    return None


def needs_exploration(scenario: SpineScenario, task: SpineTask) -> bool:
    """Whether regions or connections are needed that are not known at the start (paper, section 4.1)."""
    return bool(_attempts(scenario, task, explore=False))


def satisfied_at_start(scenario: SpineScenario, task: SpineTask) -> bool:
    """Whether a robot succeeds that answers with all it knows, and does nothing."""
    world = _world(scenario, task)
    for opening in _OPENINGS:
        world.record.finish(f"{opening} I know {_knowledge(world)}")
        if judge(task, world.record).success:
            return True
    return False


def impossible(scenario: SpineScenario, task: SpineTask) -> str:
    """Why an episode fails that finds all there is, does what the criteria ask for and tells all; empty when
    it succeeds."""
    return _attempts(scenario, task, explore=True)


def _attempts(scenario: SpineScenario, task: SpineTask, *, explore: bool) -> str:
    reason = ""
    for alternative in task.any_success or ((),):
        criteria = (*task.success, *alternative)
        world = _world(scenario, task)
        _survey(world, explore=explore)
        for step in _deeds(criteria):
            _do(world, *step)
        says = next((c.answer_says for c in criteria if c.answer_says), None)
        world.record.finish(f"{says.capitalize()}. {_knowledge(world)}" if says else _knowledge(world))
        verdict = judge(task, world.record)
        if verdict.success:
            return ""
        reason = reason or verdict.reason
    return reason


def _world(scenario: SpineScenario, task: SpineTask) -> SemanticGraphWorld:
    return SemanticGraphWorld(scenario, task=task, mask=Mask(), monitor=SafetyMonitor(_SURVEYOR))


def _survey(world: SemanticGraphWorld, *, explore: bool) -> None:
    """Explore, or only map, every region that can be reached, until nothing new turns up."""
    skill, radius = ("explored", MAX_EXPLORE_RADIUS_M) if explore else ("mapped", 0.0)
    done: set[str] = set()
    progress = True
    while progress:
        progress = False
        for name in [name for name in world.known.regions if name not in done]:
            # One that cannot be reached now is tried again when others were found.
            if world.step(Skill(name=_SKILLS[skill], target=name, radius=radius)).code == SkillCode.SUCCEEDED:
                done.add(name)
                progress = True


def _deeds(criteria: Iterable[SpineCriterion]) -> Iterator[Step]:
    """What is to be done, in an order that meets the criteria if any does: where to end comes last."""
    criteria = tuple(criteria)
    ends: list[Sequence[str]] = [c.ended_at for c in criteria if c.ended_at]
    for criterion in criteria:
        for item in criterion.order or ():
            if item.deed == "ended_at":
                ends.append(item.names)
            else:
                yield item.deed, item.names
    for criterion in criteria:
        for deed in ("visited", "mapped", "inspected"):
            if names := getattr(criterion, deed):
                yield deed, names
    if ends:
        yield "ended_at", [name for name in ends[0] if all(name in other for other in ends)] or ends[0]


def _do(world: SemanticGraphWorld, deed: str, names: Sequence[str]) -> None:
    """Do it with the first of the names with which it can be done."""
    for name in names:
        radius = MAX_EXPLORE_RADIUS_M if deed == "explored" else 0.0
        query = "everything" if deed == "inspected" else ""
        skill = Skill(name=_SKILLS[deed], target=name, radius=radius, query=query)
        if world.step(skill).code == SkillCode.SUCCEEDED:
            return


def _knowledge(world: SemanticGraphWorld) -> str:
    """All that the robot knows now, in one text: names, facts, and how many of what are where."""
    known = world.known
    facts = [
        f"{name}: {', '.join(f'{key}: {value}' for key, value in known.node(name).attributes.items())}."
        for name in known
    ]
    counts: Counter[str] = Counter()
    for name in known.objects:
        word = known.node(name).category
        counts.update([word, *(f"{word} at {region}" for region in known.seen_from(name))])
    counted = [f"{count} {what}." for what, count in counts.items()]
    return f"{', '.join(known)}. {' '.join(facts)} {' '.join(counted)}"


def _ambiguous(world: SpineWorld, task: SpineTask) -> str:
    """Plain "inspect the chair" means any chair, so that each must be accepted."""
    criteria = list(_all_criteria(task))
    if any(criterion.answer_says for criterion in criteria):
        return ""  # "Can you get to the island?" is a question then.
    try:
        intent = read(task.instruction)
    except InvalidTaskError:
        return ""
    target = intent.target if isinstance(intent, GoTo | InspectIt | Map) else None
    if target is None or target.conditions or target.near or target.mine or target.pick != "any":
        return ""
    accepted = {
        name for criterion in criteria for deed, name, _ in criterion.names() if deed != "answer_mentions"
    }
    for node in world.nodes:
        if _word(node) != target.words.lower():
            continue
        goals = {node.name}
        if isinstance(node, ObjectSpec) and not isinstance(intent, InspectIt):
            goals.update(node.seen_from)
        if accepted and not goals & accepted:
            return f"{target.words!r} may as well mean {node.name}, which no criterion accepts"
    return ""


def _word(node: NodeSpec) -> str:
    return (node.category or node.name.rstrip("0123456789").replace("_", " ")).strip().lower()


def _all_criteria(task: SpineTask) -> Iterator[SpineCriterion]:
    yield from task.success
    for alternative in task.any_success:
        yield from alternative


def _contested(scenario: SpineScenario, task: int) -> bool:
    """Whether the expert, which reads the sentence, would succeed were the opposite answer right."""
    goal = scenario.tasks[task]
    opposite = goal.model_copy(
        update={
            "success": _flipped(goal.success),
            "any_success": tuple(_flipped(criteria) for criteria in goal.any_success),
            "intent": None,
        }
    )
    if opposite.success == goal.success and opposite.any_success == goal.any_success:
        return False
    result, _ = run_episode(
        domain=SpineDomain(),
        model=None,
        scenario=scenario.model_copy(update={"tasks": (opposite,)}),
        task=0,
    )
    return result.success


def _flipped(criteria: Iterable[SpineCriterion]) -> tuple[SpineCriterion, ...]:
    other = {"yes": "no", "no": "yes"}
    return tuple(
        SpineCriterion.model_validate({"answer_says": other[c.answer_says]}) if c.answer_says else c
        for c in criteria
    )
