"""Restating an intent in a few words: a plan's primary goal."""

from __future__ import annotations

from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.intent import (
    Around,
    Ask,
    Capacity,
    Exists,
    Explore,
    Find,
    FindPlace,
    GoTo,
    Hazards,
    Home,
    InspectIt,
    Intent,
    ListThings,
    Map,
    Part,
    Passage,
    Reach,
    Sequence,
    Target,
)
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.matching import told


def goal(intent: Intent) -> str:
    """What is to be achieved, as an instruction to oneself."""
    match intent:
        case GoTo():
            return f"go to {told(intent.target)}"
        case Map():
            return f"map {_or(intent.target, 'the surroundings')}"
        case Explore():
            return f"explore around {_or(intent.target, 'here')}"
        case InspectIt():
            return f"inspect {told(intent.target)}" + (f" for {intent.query}" if intent.query else "")
        case Find():
            return f"find {'your ' if intent.target.mine else ''}{told(intent.target)}"
        case FindPlace():
            words = " ".join([*map(evidence.words_for, intent.conditions), "place"])
            return f"find a {words} to {_verb(intent.activity)}"
        case Ask():
            return f"see whether {told(intent.target)} is {evidence.words_for(intent.condition)}"
        case Exists():
            return f"see whether there is {told(intent.target)}"
        case Capacity():
            return f"see whether there is space to {_verb(intent.activity)}"
        case Passage():
            way = (
                f"the way to {told(intent.destination)}"
                if intent.destination
                else _or(intent.place, "the way")
            )
            return f"see whether {way} is clear" + (f" of {told(intent.obstacle)}" if intent.obstacle else "")
        case Reach():
            return f"see whether {told(intent.target)} can be reached"
        case Around():
            return f"see what is near {told(intent.target)}"
        case Hazards():
            return "look for dangers" + (f" in {told(intent.where)}" if intent.where else "")
        case Part():
            return f"go to the {intent.direction} of the scene"
        case Home():
            return "return to land" if intent.land else "return to the start"
        case ListThings():
            return f"{'count' if intent.count else 'list'} {_or(intent.target, 'what is there')}"
        case Sequence():
            return ", then ".join(goal(step) for step in intent.steps)


def _or(target: Target | None, otherwise: str) -> str:
    return told(target) if target is not None else otherwise


def _verb(activity: str) -> str:
    return knowledge().activities[activity].verbs[0]
