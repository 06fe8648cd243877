"""config/prism.rviz shows what the nodes publish, also to an RViz that is started late."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
# One of its modules: the source folder prism_msgs/ is importable unbuilt.
pytest.importorskip("prism_msgs.msg._scene_graph", reason="prism_msgs is not built; run `make setup`")

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)

from prism_planner.nodes.qos import LATCHED
from prism_planner.nodes.share import share_directory
from prism_planner.nodes.supervisor import Stack, StackOptions

MANAGER = yaml.safe_load((share_directory() / "config" / "prism.rviz").read_text())["Visualization Manager"]
DISPLAYS = {d["Name"]: d for d in MANAGER["Displays"] if "Topic" in d}
TYPES = {
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
    "rviz_default_plugins/Odometry": "nav_msgs/msg/Odometry",
}


def profile(topic: dict) -> QoSProfile:
    """The quality of service that RViz subscribes with."""
    return QoSProfile(
        depth=topic["Depth"],
        history=HistoryPolicy[topic["History Policy"].upper().replace(" ", "_")],
        reliability=ReliabilityPolicy[topic["Reliability Policy"].upper().replace(" ", "_")],
        durability=DurabilityPolicy[topic["Durability Policy"].upper().replace(" ", "_")],
        liveliness=LivelinessPolicy.AUTOMATIC,
    )


def is_latched(given: QoSProfile) -> bool:
    names = ("history", "depth", "reliability", "durability")
    return all(getattr(given, name) == getattr(LATCHED, name) for name in names)


def test_graph_and_plan_are_shown_as_latched_topics_in_map() -> None:
    latched = {d["Topic"]["Value"] for d in DISPLAYS.values() if is_latched(profile(d["Topic"]))}
    assert latched == {"scene_graph_markers", "plan_markers"}
    assert MANAGER["Global Options"]["Fixed Frame"] == "map"


def test_no_tool_moves_the_robot_past_the_safety_monitor() -> None:
    tools = {tool["Class"].split("/")[1] for tool in MANAGER["Tools"]}
    assert tools.isdisjoint({"SetGoal", "SetInitialPose", "PublishPoint"})


def test_every_display_gets_what_the_nodes_publish(
    observer, domain_id: int, scenario: Path, tmp_path: Path
) -> None:
    options = StackOptions(
        scenario=scenario,
        namespace="jackal1",
        run_directory=tmp_path,
        domain_id=domain_id,
        local_only=True,
    )
    with Stack(options) as stack:
        stack.wait_ready(60)
        for name, display in DISPLAYS.items():
            topic = display["Topic"]["Value"]
            assert not topic.startswith("/"), f"{name}: another robot's namespace needs a relative topic"
            deadline = time.monotonic() + 10
            while not (found := observer.get_publishers_info_by_topic(f"/jackal1/{topic}")):
                assert time.monotonic() < deadline, f"{name}: nobody publishes {topic}"
                time.sleep(0.05)
            for publisher in found:
                assert publisher.topic_type == TYPES[display["Class"]]
                wanted = profile(display["Topic"])
                compatible, why = qos_check_compatible(publisher.qos_profile, wanted)
                assert compatible == QoSCompatibility.OK, f"{name}: {why}"
                assert publisher.qos_profile.durability == wanted.durability
