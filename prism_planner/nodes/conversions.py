"""Between the planner's own types and messages; pure functions.

What arrives from the network is validated here: `InvalidMessageError` says which field is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion
from pydantic import ValidationError

from prism_msgs.msg import (
    Attribute,
    Connection,
    NodeAttributes,
    Plan,
    PlanAction,
    SceneNode,
)
from prism_msgs.msg import SceneGraph as SceneGraphMsg
from prism_msgs.msg import SceneGraphDelta as SceneGraphDeltaMsg
from prism_planner.domains.trace import TraceTurn
from prism_planner.graph.delta import Edge, GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.skills.skill import Skill

MAP_FRAME = "map"

_KIND_TO_MSG = {"region": SceneNode.REGION, "object": SceneNode.OBJECT}
_KIND_FROM_MSG = {number: kind for kind, number in _KIND_TO_MSG.items()}


class InvalidMessageError(ValueError):
    """A message holds something that cannot be; the text names the field and what was expected."""


# Scene graph


def node_to_msg(node: Node) -> SceneNode:
    return SceneNode(
        name=node.name,
        kind=_KIND_TO_MSG[node.kind],
        position=Point(x=node.coords[0], y=node.coords[1]),
        attributes=attributes_to_msg(node.attributes),
    )


def node_from_msg(message: SceneNode) -> Node:
    kind = _KIND_FROM_MSG.get(message.kind)
    if kind is None:
        raise InvalidMessageError(f"node {message.name!r}: kind {message.kind} is neither REGION nor OBJECT")
    try:
        return Node.model_validate(
            {
                "name": message.name,
                "kind": kind,
                "coords": (message.position.x, message.position.y),
                "attributes": attributes_from_msg(message.attributes),
            }
        )
    except ValidationError as error:
        raise _invalid(f"node {message.name[:80]!r}", error) from error


def attributes_to_msg(attributes: Mapping[str, str]) -> list[Attribute]:
    return [Attribute(key=key, value=value) for key, value in attributes.items()]


def attributes_from_msg(messages: Iterable[Attribute]) -> dict[str, str]:
    return {message.key: message.value for message in messages}


def delta_to_msg(
    delta: GraphDelta, *, revision: int, history_id: str = "", stamp: Time | None = None
) -> SceneGraphDeltaMsg:
    """revision: of the graph after the delta."""
    message = SceneGraphDeltaMsg(
        history_id=history_id,
        base_revision=revision - 1,
        revision=revision,
        add_nodes=[node_to_msg(node) for node in delta.add_nodes],
        remove_nodes=list(delta.remove_nodes),
        add_connections=_edges_to_msg(delta.add_connections),
        remove_connections=_edges_to_msg(delta.remove_connections),
        update_node_attributes=[
            NodeAttributes(node=name, attributes=attributes_to_msg(attributes))
            for name, attributes in delta.update_node_attributes.items()
        ],
        update_robot_location=delta.update_robot_location or "",
    )
    message.header.frame_id = MAP_FRAME
    if stamp is not None:
        message.header.stamp = stamp
    return message


def delta_from_msg(message: SceneGraphDeltaMsg) -> GraphDelta:
    """Raises InvalidMessageError. Whether it fits a graph is for the graph to say."""
    updates: dict[str, dict[str, str]] = {}
    for update in message.update_node_attributes:
        updates.setdefault(update.node, {}).update(attributes_from_msg(update.attributes))
    nodes = tuple(node_from_msg(node) for node in message.add_nodes)
    try:
        return GraphDelta.model_validate(
            {
                "add_nodes": nodes,
                "remove_nodes": tuple(message.remove_nodes),
                "add_connections": _edges_from_msg(message.add_connections),
                "remove_connections": _edges_from_msg(message.remove_connections),
                "update_node_attributes": updates,
                "update_robot_location": message.update_robot_location or None,
            }
        )
    except ValidationError as error:
        raise _invalid("delta", error) from error


def graph_to_msg(graph: SceneGraph, *, history_id: str = "", stamp: Time | None = None) -> SceneGraphMsg:
    message = SceneGraphMsg(
        history_id=history_id,
        revision=graph.revision,
        nodes=[node_to_msg(graph.node(name)) for name in graph],
        connections=_edges_to_msg([*graph.region_connections, *graph.object_connections]),
        robot_location=graph.robot_location or "",
    )
    message.header.frame_id = MAP_FRAME
    if stamp is not None:
        message.header.stamp = stamp
    return message


def graph_from_msg(message: SceneGraphMsg) -> SceneGraph:
    """Raises InvalidMessageError, and GraphError when its parts do not fit together."""
    delta = delta_from_msg(
        SceneGraphDeltaMsg(
            add_nodes=message.nodes,
            add_connections=message.connections,
            update_robot_location=message.robot_location,
        )
    )
    return SceneGraph.from_deltas([delta], revision=message.revision)


# Plans and skills


def plan_to_msg(
    turn: TraceTurn, *, step: int, task: str, task_id: str, model: str, revision: int, stamp: Time
) -> Plan:
    """A planning step; a step without a valid plan has no actions."""
    plan = turn.plan or {}
    message = Plan(
        task_id=task_id,
        task=task,
        step=step,
        graph_revision=revision,
        primary_goal=plan.get("primary_goal", ""),
        relevant_nodes=list(plan.get("relevant_graph", ())),
        reasoning=plan.get("reasoning", ""),
        actions=[action_to_msg(action) for action in plan.get("plan", ())],
        model=model,
        raw_text=turn.raw,
        rejected=len(turn.rejected),
        prompt_tokens=turn.prompt_tokens,
        evaluated_tokens=turn.evaluated_tokens,
        generated_tokens=turn.generated_tokens,
        forced_tokens=turn.forced_tokens,
        prompt_time=turn.timing.prompt_s,
        generation_time=turn.timing.generation_s,
    )
    message.header.frame_id = MAP_FRAME
    message.header.stamp = stamp
    return message


def action_to_msg(action: Mapping[str, Any]) -> PlanAction:
    """One action of a plan, as the plan's JSON has it."""
    return PlanAction(
        action=action["action"],
        target=action.get("region") or action.get("object") or "",
        radius=float(action.get("radius", 0.0)),
        query=action.get("query", ""),
        message=action.get("message", ""),
    )


def action_from_msg(message: PlanAction) -> str:
    """The action as text: `explore_region(grove_1, 10)`."""
    if message.action == PlanAction.ANSWER:
        return f"answer({message.message})"
    extra = {
        PlanAction.EXPLORE_REGION: f", {message.radius:g}",
        PlanAction.INSPECT: f", {message.query}",
    }
    return f"{message.action}({message.target}{extra.get(message.action, '')})"


def skill_to_msg(skill: Skill) -> PlanAction:
    return PlanAction(action=skill.name, target=skill.target, radius=skill.radius, query=skill.query)


def skill_from_goal(goal: Any) -> Skill:
    """The skill of an ExecuteSkill goal. Raises InvalidMessageError."""
    try:
        return Skill.model_validate(
            {"name": goal.skill, "target": goal.target, "radius": goal.radius, "query": goal.query}
        )
    except ValidationError as error:
        raise _invalid(f"skill {goal.skill[:40]!r}", error) from error


# Small things


def task_id_of(goal_id: Any) -> str:
    """The hexadecimal text of an action goal's id."""
    return bytes(goal_id.uuid).hex()


def pose_to_msg(x: float, y: float, z: float, yaw: float) -> Pose:
    """A pose that is level; metres and radians."""
    return Pose(
        position=Point(x=x, y=y, z=z),
        orientation=Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2)),
    )


def yaw_of(orientation: Quaternion) -> float:
    """Rotation about z, radians."""
    q = orientation
    return math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z))


def _edges_to_msg(edges: Iterable[Edge]) -> list[Connection]:
    return [Connection(a=a, b=b) for a, b in edges]


def _edges_from_msg(messages: Iterable[Connection]) -> tuple[Edge, ...]:
    return tuple((message.a, message.b) for message in messages)


def _invalid(what: str, error: ValidationError) -> InvalidMessageError:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    reason = first["msg"].removeprefix("Value error, ")
    return InvalidMessageError(f"{what}: {field}: {reason}")
