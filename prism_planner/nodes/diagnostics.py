"""A node's health on the topic `diagnostics`."""

from __future__ import annotations

import threading
from typing import Literal

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

Level = Literal["OK", "WARN", "ERROR"]

# The constants are single bytes; a plain number would be serialised wrongly without an error.
_LEVELS = {"OK": DiagnosticStatus.OK, "WARN": DiagnosticStatus.WARN, "ERROR": DiagnosticStatus.ERROR}
_PERIOD_S = 1.0


class Diagnostics:
    """The named conditions of a node, published once a second and at once when a level changes.

    The period is of the wall clock, so that a node that waits for simulated time still reports.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._conditions: dict[str, DiagnosticStatus] = {}
        self._publisher = node.create_publisher(DiagnosticArray, "diagnostics", 10)
        node.create_timer(_PERIOD_S, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def set(self, name: str, level: Level, message: str, **values: object) -> None:
        """Say how `name` (a part of the node) is; safe from any thread."""
        status = DiagnosticStatus(
            level=_LEVELS[level],
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: {name}",
            message=message,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        with self._lock:
            before = self._conditions.get(name)
            self._conditions[name] = status
        if before is None or before.level != status.level:
            self._publish()

    def _publish(self) -> None:
        with self._lock:
            conditions = list(self._conditions.values())
        message = DiagnosticArray(status=conditions)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


def report_parameters(node: Node, diagnostics: Diagnostics, unknown: list[str]) -> None:
    """Report parameters that were set but that the node does not have."""
    if unknown:
        names = ", ".join(unknown)
        node.get_logger().warning(
            f"unknown parameters, ignored: {names}; `ros2 param list` shows those that exist"
        )
        diagnostics.set("parameters", "WARN", f"unknown parameters, ignored: {names}")
    else:
        diagnostics.set("parameters", "OK", "all parameters are known")
