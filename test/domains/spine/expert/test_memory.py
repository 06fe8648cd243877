"""What the expert takes for done."""

from __future__ import annotations

import pytest

from prism_planner.domains.spine.actions import Answer
from prism_planner.domains.spine.expert import SpineExpert
from prism_planner.skills.skill import Skill, SkillCode
from prism_planner.worlds.semantic_graph import Motion, SemanticGraphWorld


@pytest.mark.parametrize("reached", ["road_1", "path_1"])
def test_a_skill_that_ended_on_the_way_is_not_done(world, reached: str) -> None:
    scenario = world({"road_1": (0, 0), "path_1": (10, 0), "yard_1": (20, 0)})
    episode = SemanticGraphWorld(scenario)
    expert = SpineExpert("Map yard_1")
    first = expert.plan(episode.observe()).plan[0]
    assert str(first.action) == "map_region"
    motion = episode.plan_motion(Skill(name="map_region", target="yard_1"))
    assert isinstance(motion, Motion)
    stuck = episode.interrupt(motion, reached, SkillCode.STUCK, "got stuck on the way to yard_1")
    then = expert.plan(stuck.observation).plan[0]
    assert not (isinstance(then, Answer) and then.message.startswith("I mapped"))
    assert str(then.action) != "map_region"  # it does not insist either
