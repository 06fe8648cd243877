"""Where ROS 2 is absent: the commands that need it say what to install."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "arguments", [["demo"], ["up", "--scenario", "campus-loop"], ["task", "Map the path"]], ids=lambda a: a[0]
)
def test_what_to_install(refused, without_ros, arguments):
    message = refused(*arguments, code=4, **without_ros)
    assert "make setup" in message
    assert "/opt/ros/jazzy/setup.bash" in message


@pytest.mark.parametrize(
    ("task", "expected"), [("", "empty"), ("go " * 3400, "at most 1000"), (" \n ", "empty")]
)
def test_a_bad_task_is_refused_before_anything_is_needed(refused, without_ros, task, expected):
    assert expected in refused("task", task, **without_ros)
