"""What to do next for each kind of intent, from what is known and what was done.

A strategy either raises `Next`, the next action with its reason, or returns `Report`, the answer. It
is recomputed from scratch at every step; nothing but `Memory` is carried over.
"""

from __future__ import annotations

from prism_planner.domains.spine.expert.errands import Errands
from prism_planner.domains.spine.expert.finding import Finding
from prism_planner.domains.spine.expert.groundwork import Next, Report
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
)
from prism_planner.domains.spine.expert.questions import Questions
from prism_planner.domains.spine.expert.ways import Ways

__all__ = ["Next", "Report", "Strategist"]


class Strategist(Errands, Finding, Ways, Questions):
    """All strategies, by kind of intent."""

    def run(self, intent: Intent) -> Report:
        """Raises Next, or returns the answer."""
        match intent:
            case GoTo():
                return self._goto(intent)
            case Map():
                return self._map(intent)
            case Explore():
                return self._explore(intent)
            case InspectIt():
                return self._inspect_it(intent)
            case Find():
                return self._find(intent)
            case FindPlace():
                return self._find_place(intent)
            case Capacity():
                return self._capacity(intent)
            case Ask():
                return (
                    self._ask_all(intent)
                    if intent.target.pick == "all" or intent.any
                    else self._ask_one(intent)
                )
            case Exists():
                return self._exists(intent)
            case Passage():
                return self._passage(intent)
            case Reach():
                return self._reach(intent)
            case Around():
                return self._around(intent)
            case Hazards():
                return self._hazards(intent)
            case Part():
                return self._part(intent)
            case Home():
                return self._home(intent)
            case ListThings():
                return self._list(intent)
            case Sequence():
                raise TypeError("a sequence is run step by step")
