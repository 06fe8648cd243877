"""Starts the nodes as processes, restarts those that die, and ends them cleanly; needs no `ros2 launch`.

No node outlives its supervisor, even one that is killed: each asks the kernel for a signal at its death.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any

import yaml

from prism_planner.evaluation.episode import default_style
from prism_planner.nodes.share import robot_parameters

NODES = ("scene_graph_server", "skill_server", "slm_planner")

REMAPPINGS = (("/tf", "tf"), ("/tf_static", "tf_static"))
"""The only names that are not relative; so they too go below the namespace of a robot."""

UNUSABLE_PARAMETERS = 2
"""The exit code of a node that would fail again if it were started again."""

OnLog = Callable[[str, str], None]
"""Called with a node's name and one line of its output."""

_POLL_S = 0.1
_BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0)
_STEADY_AFTER_S = 30.0
_GRACE_S = {signal.SIGINT: 6.0, signal.SIGTERM: 2.0, signal.SIGKILL: 2.0}
_KEPT_LINES = 20


@dataclass(frozen=True, kw_only=True)
class StackOptions:
    """What to start.

    robot: name of a parameter file in config/. scenario: world to simulate; None drives the real
    robot. model: name in the model registry, a .gguf file, `openai:NAME` or `expert`. namespace: makes
    one robot of several. parameter_files: more files, which win over the robot's. parameters: single
    values per node, which win over all files. run_directory: where the journal, traces and parameters
    of this run go; an existing one is continued; None: see `default_run_directory`. domain_id:
    ROS_DOMAIN_ID of the nodes; None keeps the environment's. local_only: nodes talk to processes on
    this machine only.
    """

    robot: str = "jackal"
    scenario: Path | None = None
    model: str = "expert"
    namespace: str = ""
    use_sim_time: bool = False
    parameter_files: tuple[Path, ...] = ()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    run_directory: Path | None = None
    domain_id: int | None = None
    local_only: bool = False
    nodes: tuple[str, ...] = NODES


class StackError(RuntimeError):
    """The nodes did not come up; the message names the node, what it said last, and what to do."""


@dataclass
class NodeState:
    """One supervised node. ready: what it said when it became usable, None until then."""

    name: str
    pid: int | None = None
    ready: str | None = None
    restarts: int = 0
    exit_code: int | None = None
    gave_up: bool = False
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))


class Stack:
    """The running nodes, as a context manager.

    with Stack(StackOptions(scenario=path)) as stack:
        stack.wait_ready(30)
    """

    def __init__(self, options: StackOptions, *, on_log: OnLog | None = None) -> None:
        self.options = options
        self.run_directory = options.run_directory or default_run_directory(options)
        self._on_log = on_log
        self._commands = _commands(options, self.run_directory)
        self._environment = _environment(options)
        self._states = {name: NodeState(name) for name in options.nodes}
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._claims: list[IO[str]] = []
        # Only this thread starts processes: they die with the thread that started them.
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)

    def __enter__(self) -> Stack:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def nodes(self) -> dict[str, NodeState]:
        """The state of every node now."""
        return dict(self._states)

    def start(self) -> None:
        """Raises StackError when this machine already runs one of these nodes for this robot."""
        self._claims = _claim(self.options, self._environment)
        self._thread.start()

    def wait_ready(self, timeout_s: float = 60.0) -> dict[str, str]:
        """Wait until every node is usable; what each said about that. Raises StackError."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for state in self._states.values():
                    if state.gave_up:
                        raise StackError(_explain(state, f"ended with code {state.exit_code}"))
                waiting = [state for state in self._states.values() if state.ready is None]
                if not waiting:
                    return {name: state.ready or "" for name, state in self._states.items()}
                left = deadline - time.monotonic()
                if left <= 0:
                    raise StackError(_explain(waiting[0], f"was not ready within {timeout_s:g} s"))
                self._changed.wait(left)

    def stop(self) -> None:
        """End all nodes: SIGINT, then SIGTERM, then SIGKILL, each with a deadline. Safe to repeat."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for claim in self._claims:
            claim.close()

    # The supervisor's thread

    def _supervise(self) -> None:
        with selectors.DefaultSelector() as selector:
            processes = {name: _Process(state, selector, self) for name, state in self._states.items()}
            while not self._stop.is_set():
                for process in processes.values():
                    process.keep_running()
                _pump(selector, _POLL_S)
            for number, grace_s in _GRACE_S.items():
                for process in reversed(processes.values()):
                    process.send(number)
                deadline = time.monotonic() + grace_s
                while any(p.running() for p in processes.values()) and time.monotonic() < deadline:
                    _pump(selector, 0.02)
            for process in processes.values():
                process.forget()

    def _log(self, state: NodeState, line: str) -> None:
        state.last_lines.append(line)
        if self._on_log is not None:
            self._on_log(state.name, line)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


def run_stack(options: StackOptions, *, on_log: OnLog | None = None) -> int:
    """Run the nodes in the foreground until SIGINT, SIGTERM or SIGHUP; the exit code.

    on_log: where output goes; by default standard output, each line with the node's name in front.
    Raises StackError when a node cannot start.
    """
    wanted = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        wanted.set()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, stop) for number in numbers}
    try:
        with Stack(options, on_log=on_log or _print_line) as stack:
            while not wanted.wait(0.2):
                for state in stack.nodes.values():
                    if state.gave_up:
                        raise StackError(_explain(state, f"ended with code {state.exit_code}"))
        return 0
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def default_run_directory(options: StackOptions) -> Path:
    """Where a run goes if nobody says: a real robot always continues the one of its name and namespace, so
    that it knows its graph after a restart; a simulation or the replay of a bag begins a fresh one."""
    if options.scenario is not None or options.use_sim_time:
        return new_run_directory()
    namespace = options.namespace.strip("/").replace("/", "-")
    return _state_directory() / "robots" / "-".join(filter(None, (namespace, options.robot)))


def new_run_directory() -> Path:
    """A fresh directory for one run, made under $PRISM_HOME or the user's state directory."""
    runs = _state_directory() / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    # Unique, since one launch may start several robots within a second.
    return Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=runs))


def parameter_files(options: StackOptions, run_directory: Path) -> dict[str, list[Path]]:
    """The parameter files of every node, in the order in which they apply; those of this run are written.

    Raises ValueError for a robot or a file that does not exist.
    """
    files = [robot_parameters(options.robot), *options.parameter_files]
    for path in files:
        if not path.is_file():
            raise ValueError(f"{path}: there is no such parameter file")
    run_directory.mkdir(parents=True, exist_ok=True)
    found = {}
    for node in options.nodes:
        values = _run_parameters(options, run_directory).get(node, {}) | dict(
            options.parameters.get(node, {})
        )
        if options.use_sim_time:
            values["use_sim_time"] = True
        found[node] = list(files)
        if values:
            path = run_directory / f"{node}.yaml"
            path.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}), encoding="utf-8")
            found[node].append(path)
    return found


def _claim(options: StackOptions, environment: Mapping[str, str]) -> list[IO[str]]:
    """Locks that hold as long as their files are open. Two planners of one name would both take every task,
    and two robots would drive for it."""
    domain = environment.get("ROS_DOMAIN_ID") or "0"
    robot = options.namespace.strip("/")
    claims: list[IO[str]] = []
    for node in options.nodes:
        name = "-".join(("prism", str(os.getuid()), domain, robot.replace("/", "."), node))
        claim = (Path(tempfile.gettempdir()) / f"{name}.lock").open("a")
        claims.append(claim)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            for held in claims:
                held.close()
            raise StackError(
                f"{node} already runs on this machine in namespace '/{robot}' of ROS domain {domain}; "
                "stop it, or start this robot with another --namespace or ROS_DOMAIN_ID"
            ) from None
    return claims


class _Process:
    """The process of one node, started again when it dies."""

    def __init__(self, state: NodeState, selector: selectors.BaseSelector, stack: Stack) -> None:
        self._state = state
        self._selector = selector
        self._stack = stack
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._next_start = 0.0
        self._failures = 0

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def keep_running(self) -> None:
        if self._state.gave_up or self.running():
            return
        if self._process is not None:
            self._ended(self._process)
        elif time.monotonic() >= self._next_start:
            self._start()

    def send(self, number: signal.Signals) -> None:
        if self._process is not None and self.running():
            self._process.send_signal(number)

    def forget(self) -> None:
        if self._process is not None:
            self._state.exit_code = self._process.poll()
            self._close_output(self._process)
            self._process = None
        self._state.pid = None

    def _start(self) -> None:
        listen, tell = os.pipe()
        environment = {**self._stack._environment, "PRISM_READY_FD": str(tell)}
        try:
            self._process = subprocess.Popen(
                self._stack._commands[self._state.name],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(tell,),
                start_new_session=True,  # Ctrl-C reaches the supervisor, which ends the nodes in order
            )
        finally:
            os.close(tell)
        self._started = time.monotonic()
        self._state.pid = self._process.pid
        assert self._process.stdout is not None
        _Lines(self._selector, self._process.stdout, self._on_line)
        _Lines(self._selector, os.fdopen(listen, "rb"), self._on_ready)

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        self._close_output(process)
        self._process = None
        state = self._state
        state.exit_code, state.pid, state.ready = process.returncode, None, None
        if process.returncode == UNUSABLE_PARAMETERS:
            state.gave_up = True
        else:
            steady = time.monotonic() - self._started > _STEADY_AFTER_S
            self._failures = 0 if steady else self._failures
            delay = _BACKOFF_S[min(self._failures, len(_BACKOFF_S) - 1)]
            self._failures += 1
            self._next_start = time.monotonic() + delay
            state.restarts += 1
            self._on_line(f"ended with code {process.returncode}; starting it again in {delay:g} s")
        self._stack._notify()

    def _close_output(self, process: subprocess.Popen[bytes]) -> None:
        for key in list(self._selector.get_map().values()):
            lines: _Lines = key.data
            if lines.stream is process.stdout:
                lines.read()
                lines.close()

    def _on_line(self, line: str) -> None:
        self._stack._log(self._state, line)

    def _on_ready(self, line: str) -> None:
        self._state.ready = line
        self._stack._notify()


class _Lines:
    """Complete lines of a pipe, as they come."""

    def __init__(
        self, selector: selectors.BaseSelector, stream: IO[bytes], on_line: Callable[[str], None]
    ) -> None:
        self.stream = stream
        self._selector = selector
        self._on_line = on_line
        self._rest = b""
        os.set_blocking(stream.fileno(), False)
        selector.register(stream, selectors.EVENT_READ, self)

    def read(self) -> None:
        """Take what is there; closes the stream at its end."""
        while not self.stream.closed:
            try:
                chunk = os.read(self.stream.fileno(), 65536)
            except BlockingIOError:
                return
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._on_line(line.decode(errors="replace").rstrip("\r"))
            if not chunk:
                self.close()

    def close(self) -> None:
        if not self.stream.closed:
            self._selector.unregister(self.stream)
            self.stream.close()
            if self._rest:
                self._on_line(self._rest.decode(errors="replace"))


def _pump(selector: selectors.BaseSelector, timeout_s: float) -> None:
    if not selector.get_map():
        time.sleep(timeout_s)
        return
    for key, _ in selector.select(timeout_s):
        lines: _Lines = key.data
        lines.read()


def _commands(options: StackOptions, run_directory: Path) -> dict[str, list[str]]:
    namespace = options.namespace.strip("/")
    names = [f"{source}:={target}" for source, target in REMAPPINGS]
    names += [f"__ns:=/{namespace}"] if namespace else []
    remappings = [argument for name in names for argument in ("--remap", name)]
    return {
        node: [sys.executable, "-m", f"prism_planner.nodes.{node}", "--ros-args"]
        + [argument for file in files for argument in ("--params-file", str(file))]
        + remappings
        for node, files in parameter_files(options, run_directory).items()
    }


def _run_parameters(options: StackOptions, run_directory: Path) -> dict[str, dict[str, Any]]:
    """The parameters that belong to a run and not to a robot."""
    skills: dict[str, Any] = {}
    if options.scenario is not None:
        skills = {"backend": "simulated", "scenario": str(options.scenario.resolve())}
    planner = {"model": options.model, "trace_directory": str(run_directory / "traces")}
    style = default_style(options.model)
    if style != "distilled" and not options.parameter_files:
        # The robots' files have the style of a distilled model; a file of the user's own has the last word.
        planner["style"] = style
    return {
        "scene_graph_server": {
            "journal_directory": str(run_directory / "scene_graph"),
            "graph_directory": str(run_directory),
        },
        "skill_server": skills,
        "slm_planner": planner,
    }


def _state_directory() -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "prism"
    return Path(os.environ.get("PRISM_HOME") or state)


def _environment(options: StackOptions) -> dict[str, str]:
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "PRISM_SUPERVISOR_PID": str(os.getpid()),
    }
    if options.domain_id is not None:
        environment["ROS_DOMAIN_ID"] = str(options.domain_id)
    if options.local_only:
        environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    return environment


def _explain(state: NodeState, what: str) -> str:
    said = "\n".join(f"  {line}" for line in state.last_lines)
    return f"{state.name} {what}" + (f"; it said last:\n{said}" if said else " and said nothing")


def _print_line(node: str, line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(f"[{node}] {line}", flush=True)
