"""Starts the nodes of one robot: scene graph server, skill server, planner and, if wanted, RViz.

A simulated Jackal:    ros2 launch prism_planner prism.launch.py scenario:=campus-loop rviz:=true
The real one, on Nav2: ros2 launch prism_planner prism.launch.py robot:=jackal
Arguments:             ros2 launch prism_planner prism.launch.py --show-args

`prism up` starts the same nodes with the same parameters where there is no `ros2 launch`.
"""

import os
from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from prism_planner.cli.choices import MODEL_HELP, choose_model, scenario_file
from prism_planner.nodes.runtime import PARENT_VARIABLE
from prism_planner.nodes.share import PACKAGE, robot_names, share_directory
from prism_planner.nodes.supervisor import (
    REMAPPINGS,
    UNUSABLE_PARAMETERS,
    StackOptions,
    default_run_directory,
    parameter_files,
)

ARGUMENTS = (
    DeclareLaunchArgument(
        "robot",
        default_value="jackal",
        choices=robot_names(),
        description="Whose parameters to use: the name of a file in config/.",
    ),
    DeclareLaunchArgument(
        "scenario",
        default_value="",
        description="World to simulate: a file, or the name of a shipped one, e.g. campus-loop. "
        "Empty: the real robot is driven.",
    ),
    DeclareLaunchArgument("model", default_value="", description=MODEL_HELP),
    DeclareLaunchArgument(
        "namespace",
        default_value="",
        description="Put all names below this one, /tf and /tf_static too, to have several robots.",
    ),
    DeclareLaunchArgument(
        "params_file",
        default_value="",
        description="A further parameter file, which wins over the robot's.",
    ),
    DeclareLaunchArgument(
        "run_directory",
        default_value="",
        description="Where journal and traces go; an existing one is continued. "
        "Empty: robots/NAMESPACE-ROBOT in ~/.local/state/prism or $PRISM_HOME, and for a scenario or "
        "simulated time a new one in runs/ there.",
    ),
    DeclareLaunchArgument(
        "use_sim_time",
        default_value="false",
        description="Take the time from /clock, as when a bag is played.",
    ),
    DeclareLaunchArgument(
        "rviz",
        default_value="false",
        description="Show scene graph, plan and path in RViz (apt install ros-jazzy-rviz2).",
    ),
)

RESPAWN_DELAY_S = 1.0


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The nodes, once the arguments have their values. Raises CommandError or ValueError for
    unusable ones."""
    given = {argument.name: context.launch_configurations[argument.name] for argument in ARGUMENTS}
    use_sim_time = IfCondition(LaunchConfiguration("use_sim_time")).evaluate(context)
    model, note = choose_model(given["model"] or None)
    options = StackOptions(
        robot=given["robot"],
        scenario=scenario_file(given["scenario"]) if given["scenario"] else None,
        model=model,
        namespace=given["namespace"],
        use_sim_time=use_sim_time,
        parameter_files=(Path(given["params_file"]).expanduser(),) if given["params_file"] else (),
    )
    run_directory = (
        Path(given["run_directory"]).expanduser()
        if given["run_directory"]
        else default_run_directory(options)
    )
    files = parameter_files(options, run_directory.resolve())
    environment = {"PYTHONUNBUFFERED": "1"}
    if "launch-prefix" not in context.launch_configurations:  # it, a debugger say, would be their parent
        environment[PARENT_VARIABLE] = str(os.getpid())
    nodes = [
        Node(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=options.namespace,
            parameters=[str(file) for file in files[name]],
            remappings=REMAPPINGS,
            additional_env=environment,
            output="screen",
            respawn=True,
            respawn_delay=RESPAWN_DELAY_S,
            on_exit=stop_if_unusable,
        )
        for name in options.nodes
    ]
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        name="rviz2",
        namespace=options.namespace,
        arguments=["-d", str(share_directory() / "config" / "prism.rviz")],
        parameters=[{"use_sim_time": use_sim_time}],
        remappings=REMAPPINGS,
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    said = [*([note] if note else []), f"Journal and traces are in {run_directory}"]
    return [*(LogInfo(msg=text) for text in said), rviz, *nodes]


def stop_if_unusable(event: ProcessExited, context: LaunchContext) -> None:  # noqa: ARG001 - a handler's signature
    """End everything, with an error, when a node would fail again however often it is started."""
    if event.returncode == UNUSABLE_PARAMETERS:
        raise RuntimeError(f"{event.process_name} cannot run with its parameters; see what it said above")
