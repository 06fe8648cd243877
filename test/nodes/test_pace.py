"""The whole graph is published soon after changes pause, and takes little time from them while they flow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from prism_planner.nodes.pace import Pace


def test_the_first_is_due_at_once_and_none_without_a_change() -> None:
    pace = Pace(1.0)
    assert pace.due(0.0)
    pace.publish(0.0, 0.001)
    assert not pace.due(1000.0)


def test_an_expensive_whole_waits_for_a_pause() -> None:
    pace = Pace(1.0)
    pace.publish(0.0, 0.2)
    pace.change(5.0)
    assert not pace.due(6.1)  # 1.1 s of silence: no end of the changes yet
    assert pace.due(9.1)


def test_a_cheap_one_is_due_every_period_while_changes_flow() -> None:
    pace = Pace(1.0)
    pace.publish(0.0, 0.001)
    pace.change(0.5)
    assert not pace.due(0.9)
    pace.change(1.0)
    assert pace.due(1.1)


@given(st.floats(0.0001, 0.3), st.floats(0.01, 1.0))
def test_publishing_takes_a_small_share_while_changes_flow(cost: float, between: float) -> None:
    pace, now, spent = Pace(1.0), 0.0, 0.0
    pace.publish(0.0, cost)
    while now < 300.0:
        now += between
        pace.change(now)
        if pace.due(now):
            pace.publish(now, now + cost)
            now += cost
            spent += cost
    assert spent / now <= 0.0055
    assert spent > 0.0
