"""launch/prism.launch.py, run by the real launch_ros where that is installed."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from prism_planner.nodes.share import share_directory
from prism_planner.nodes.supervisor import (
    NODES,
    Stack,
    StackOptions,
    default_run_directory,
    new_run_directory,
    parameter_files,
)

FILE = share_directory() / "launch" / "prism.launch.py"

RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

arguments = [argument.split(":=") for argument in sys.argv[2:]]
service = LaunchService(noninteractive=True)
source = PythonLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)])
)
sys.exit(service.run())
"""


def test_file_compiles() -> None:
    compile(FILE.read_text(encoding="utf-8"), str(FILE), "exec")


# ------------------------------------------------------------------ what both ways to start nodes share


def test_parameters_of_the_run_come_last_and_only_to_their_node(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.touch()
    options = StackOptions(robot="falcon4", parameter_files=(own,), model="m.gguf", use_sim_time=True)
    files = parameter_files(options, tmp_path / "run")
    assert list(files) == list(NODES)
    for node, given in files.items():
        assert [path.name for path in given] == ["falcon4.yaml", "own.yaml", f"{node}.yaml"]
        assert "use_sim_time: true" in given[-1].read_text()
    assert [n for n, given in files.items() if "m.gguf" in given[-1].read_text()] == ["slm_planner"]


def test_a_hosted_model_is_talked_to_at_length_unless_the_users_file_decides(tmp_path: Path) -> None:
    def own(**options: Any) -> str:
        return parameter_files(StackOptions(**options), tmp_path)["slm_planner"][-1].read_text()

    file = tmp_path / "own.yaml"
    file.touch()
    assert "style: source" in own(model="openai:gpt-x")
    assert "style" not in own(model="openai:gpt-x", parameter_files=(file,))
    assert "style" not in own(model="expert")


def test_robots_started_at_once_do_not_share_a_run(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRISM_HOME", str(tmp_path))
    runs = {new_run_directory() for _ in range(3)}
    assert len(runs) == 3
    assert {run.parent for run in runs} == {tmp_path / "runs"}


def test_a_real_robot_continues_its_own_run_and_a_simulation_begins_one(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PRISM_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def run(**options: Any) -> Path:
        first, second = (default_run_directory(StackOptions(**options)) for _ in range(2))
        assert (first == second) == ("robots" in first.parts)
        return first.relative_to(tmp_path / "prism")

    assert run(robot="jackal") == Path("robots/jackal")
    assert run(robot="falcon4", namespace="/fleet/two") == Path("robots/fleet-two-falcon4")
    assert run(robot="jackal", namespace="../..").parent == Path("robots")
    assert run(scenario=tmp_path / "world.yaml").parent == Path("runs")
    assert run(use_sim_time=True).parent == Path("runs")


def test_missing_parameter_file_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    with pytest.raises(ValueError, match=r"none\.yaml: there is no such parameter file"):
        parameter_files(StackOptions(parameter_files=(missing,)), tmp_path)


# ------------------------------------------------------------------ with launch_ros


@pytest.fixture(scope="module")
def launch_file() -> ModuleType:
    # `launch` alone can be the folder of that name in the checkout.
    pytest.importorskip(
        "launch_ros.actions", reason="launch_ros is not installed (apt: ros-jazzy-launch-ros)"
    )
    spec = spec_from_file_location("prism_launch", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def started(launch_file: ModuleType, tmp_path: Path) -> Callable[..., list[Any]]:
    """`started(name=value, ...)`: the nodes that the launch file starts for these arguments."""
    from launch import LaunchContext
    from launch_ros.actions import Node

    def start(**arguments: str) -> list[Any]:
        context = LaunchContext()
        given = {"model": "expert", "run_directory": str(tmp_path / "run"), **arguments}
        context.launch_configurations.update(given)
        for entity in launch_file.generate_launch_description().entities[:-1]:
            entity.execute(context)
        actions = launch_file.start_nodes(context)
        return [
            a for a in actions if isinstance(a, Node) and (not a.condition or a.condition.evaluate(context))
        ]

    return start


def test_every_argument_has_a_description_and_a_default(launch_file: ModuleType) -> None:
    arguments = launch_file.generate_launch_description().get_launch_arguments()
    assert [a.name for a in arguments if not a.description or a.default_value is None] == []
    assert next(a for a in arguments if a.name == "robot").choices == ["falcon4", "jackal"]


def test_arguments_are_the_options_of_prism_up(launch_file: ModuleType) -> None:
    from prism_planner.cli.up import up

    arguments = {a.name for a in launch_file.generate_launch_description().get_launch_arguments()}
    options = {"params_file" if name == "params" else name for name in inspect.signature(up).parameters}
    assert arguments == options | {"rviz"}


def test_the_nodes_of_a_robot_and_rviz_on_request(started) -> None:
    assert [node.node_executable for node in started()] == list(NODES)
    assert "rviz2" in [node.node_executable for node in started(rviz="true")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"robot": "r2d2"}, "r2d2"),
        ({"scenario": "nowhere"}, "nowhere: there is no such scenario"),
        ({"params_file": "none.yaml"}, "none.yaml: there is no such parameter file"),
        ({"use_sim_time": "perhaps"}, "perhaps"),
    ],
)
def test_unusable_arguments_are_named(started, arguments: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match=said):
        started(**arguments)


# ------------------------------------------------------------------ with its processes


@contextmanager
def launched(domain_id: int, log: Path, **arguments: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """The launch file as a process; its output goes to `log`."""
    command = [
        sys.executable,
        "-c",
        RUN,
        str(FILE),
        *(f"{name}:={value}" for name, value in arguments.items()),
    ]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain_id), "ROS_LOG_DIR": str(log.parent / "log")}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
            print(log.read_text(errors="replace"))


@pytest.fixture
def built() -> None:
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        executables = Path(get_package_prefix("prism_planner")) / "lib" / "prism_planner"
    except PackageNotFoundError:
        pytest.skip("prism_planner is not built; run `make setup` or `colcon build`")
    if not executables.is_dir():
        pytest.skip(f"prism_planner has no executables in {executables}; run `colcon build`")


def parameters_of(observer: Any, node: str) -> dict[str, Any]:
    """All parameters of a node, by name, once it answers."""
    from rcl_interfaces.srv import GetParameters, ListParameters
    from rclpy.parameter import parameter_value_to_python

    def call(service: Any, kind: str, request: Any) -> Any:
        client = observer.create_client(service, f"{node}/{kind}")
        try:
            assert client.wait_for_service(30), f"{node} does not answer"
            future = client.call_async(request)
            observer.executor.spin_until_future_complete(future, 10)
            return future.result()
        finally:
            observer.destroy_client(client)

    names = call(ListParameters, "list_parameters", ListParameters.Request()).result.names
    values = call(GetParameters, "get_parameters", GetParameters.Request(names=names)).values
    return {name: parameter_value_to_python(value) for name, value in zip(names, values, strict=True)}


def running(pattern: str) -> list[int]:
    """The processes with `pattern` in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if pattern in (entry / "cmdline").read_bytes().decode(errors="replace"):
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


@pytest.mark.usefixtures("launch_file", "built")
def test_nodes_get_the_parameters_of_prism_up_and_do_not_outlive_a_killed_launch(
    observer, domain_id: int, scenario: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("/**/skill_server:\n  ros__parameters:\n    simulation: {speed_factor: 7}\n")
    run = tmp_path / "run"
    names = [f"/robots/one/{node}" for node in NODES]
    options = StackOptions(
        robot="falcon4",
        scenario=scenario,
        namespace="robots/one",
        parameter_files=(own,),
        run_directory=run,
        domain_id=domain_id,
    )
    with Stack(options) as stack:
        stack.wait_ready(60)
        expected = {name: parameters_of(observer, name) for name in names}
    assert expected["/robots/one/skill_server"]["simulation.speed_factor"] == 7.0
    arguments = {
        "robot": "falcon4",
        "scenario": scenario,
        "model": "expert",
        "namespace": "robots/one",
        "params_file": own,
        "run_directory": run,
    }
    with launched(domain_id, tmp_path / "log.txt", **arguments) as process:
        assert {name: parameters_of(observer, name) for name in names} == expected
        assert len(running(str(run))) > len(NODES)
        process.kill()
        process.wait(5)
        deadline = time.monotonic() + 15
        while left := running(str(run)):
            assert time.monotonic() < deadline, f"left behind: {left}"
            time.sleep(0.1)


@pytest.mark.usefixtures("launch_file", "built")
def test_unusable_parameters_end_the_launch_with_an_error(
    domain_id: int, scenario: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("/**/skill_server:\n  ros__parameters:\n    skill_timeout: -1.0\n")
    log = tmp_path / "log.txt"
    with launched(
        domain_id, log, scenario=scenario, model="expert", params_file=own, run_directory=tmp_path / "run"
    ) as process:
        assert process.wait(60) == 1
    said = log.read_text()
    assert "parameter 'skill_timeout'" in said
    assert "skill_server-2 cannot run with its parameters" in said
    assert running(str(tmp_path / "run")) == []
