"""Loading scenarios: `prism-scenario/1` YAML, and PRISM-style JSON task files."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from prism_planner.graph.delta import Node
from prism_planner.graph.spine_json import GraphFormatError, TaskFile, load_task_file
from prism_planner.worlds.envelope import SCENARIO_FORMAT, Location, Mask, Scenario, Task
from prism_planner.worlds.marked_yaml import MarkedYaml, YamlError, parse_marked_yaml, read_marked_yaml
from prism_planner.worlds.spine_scenario import ObjectSpec, RegionSpec, SpineScenario, SpineTask, SpineWorld
from prism_planner.worlds.success import SpineCriterion

__all__ = [
    "Mask",
    "Scenario",
    "ScenarioError",
    "Task",
    "load_scenario",
    "load_scenarios",
    "parse_scenario",
    "register_scenario",
    "scenario_files",
]

MAX_REPORTED = 12

SpecT = TypeVar("SpecT", RegionSpec, ObjectSpec)

_SCENARIOS: dict[str, type[Scenario]] = {"spine": SpineScenario}


def register_scenario(domain: str, model: type[Scenario]) -> None:
    """Let `load_scenario` read the scenarios of another domain."""
    _SCENARIOS[domain] = model


class ScenarioError(ValueError):
    """A scenario cannot be used.

    path: the file. problems: one sentence each, with line and field, what was expected and the fix.
    """

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        shown = list(problems[:MAX_REPORTED])
        if len(problems) > MAX_REPORTED:
            shown.append(f"and {len(problems) - MAX_REPORTED} more")
        super().__init__("\n".join(f"{path}:{problem}" for problem in shown))


def load_scenario(path: str | Path) -> Scenario:
    """Read one scenario; a `.json` file is read as a PRISM-style task file, whose tasks succeed when
    the answer matches. Raises ScenarioError, which names the file, the line, the field and the fix."""
    path = Path(path)
    if path.suffix == ".json":
        return _from_task_file(path)
    try:
        source = read_marked_yaml(path)
    except OSError as error:
        raise ScenarioError(path, [f" cannot be read: {error.strerror or error}"]) from None
    except YamlError as error:
        raise ScenarioError(path, [f"{error.line}: {error.problem}"]) from None
    return _validated(path, source)


def parse_scenario(text: str, path: Path) -> Scenario:
    """As `load_scenario`, from YAML (or JSON) text. path: what errors call it."""
    try:
        source = parse_marked_yaml(text)
    except YamlError as error:
        raise ScenarioError(path, [f"{error.line}: {error.problem}"]) from None
    return _validated(path, source)


def load_scenarios(paths: Iterable[str | Path]) -> list[Scenario]:
    """Read files, and all scenarios below directories, in the order of `scenario_files`.

    Raises ScenarioError also when a directory holds no scenario, or two scenarios have the same
    name, since results are kept by name.
    """
    scenarios: list[Scenario] = []
    origin: dict[str, Path] = {}
    for file in scenario_files(map(Path, paths)):
        scenario = load_scenario(file)
        if (other := origin.setdefault(scenario.name, file)) != file:
            raise ScenarioError(
                file, [f" name: {scenario.name!r} is already the name of {other}; choose another"]
            )
        scenarios.append(scenario)
    return scenarios


def scenario_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The files among `paths`, and all YAML files below the directories, in a fixed order, once each.

    Raises ScenarioError for a directory without any.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        inside = (
            sorted(p for p in path.rglob("*") if p.suffix in (".yaml", ".yml")) if path.is_dir() else [path]
        )
        if not inside:
            raise ScenarioError(path, [" no *.yaml scenario in this directory; give a file or another one"])
        for file in inside:
            found.setdefault(file.resolve(), file)
    return tuple(found.values())


def _validated(path: Path, source: MarkedYaml) -> Scenario:
    model = _model_for(path, source)
    try:
        scenario = model.model_validate(source.data)
    except ValidationError as error:
        raise ScenarioError(path, [_explain(model, source, detail) for detail in error.errors()]) from None
    problems = [_at(source, location, message) for location, message in scenario.problems()]
    if problems:
        raise ScenarioError(path, problems)
    return scenario


def _from_task_file(path: Path) -> SpineScenario:
    try:
        file = load_task_file(path)
    except GraphFormatError as error:
        raise ScenarioError(path, [str(error).removeprefix(f"{path}:")]) from None
    if not file.tasks:
        raise ScenarioError(path, [" tasks: is empty; give at least one task"])
    try:
        return _scenario_of(file, path.stem)
    except ValidationError as error:
        problems = [f" {_dotted(tuple(detail['loc']))}: {detail['msg']}" for detail in error.errors()]
        raise ScenarioError(path, problems) from None


def _scenario_of(file: TaskFile, name: str) -> SpineScenario:
    graph = file.graph
    world = SpineWorld(
        robot=graph.robot_location or file.tasks[0].init_node,
        regions=tuple(_spec(RegionSpec, graph.node(name)) for name in graph.regions),
        objects=tuple(
            _spec(ObjectSpec, graph.node(name), seen_from=tuple(graph.seen_from(name)))
            for name in graph.objects
        ),
        edges=tuple(graph.region_connections),
    )
    tasks = tuple(
        SpineTask(
            instruction=task.task,
            start=task.init_node,
            success=(SpineCriterion(answer_matches=task.answer),),
        )
        for task in file.tasks
    )
    return SpineScenario(format=SCENARIO_FORMAT, domain="spine", name=name, world=world, tasks=tasks)


def _spec(model: type[SpecT], node: Node, **more: Any) -> SpecT:
    return model(name=node.name, at=node.coords, attributes=node.attributes, **more)


def _model_for(path: Path, source: MarkedYaml) -> type[Scenario]:
    """The scenario class of the document's domain, after checking what identifies the document."""
    data = source.data
    if not isinstance(data, dict):
        raise ScenarioError(path, [f"1: expected a mapping that starts with `format: {SCENARIO_FORMAT}`"])
    tag = data.get("format")
    if tag is None:
        raise ScenarioError(path, [f"1: format: is missing; start the file with `format: {SCENARIO_FORMAT}`"])
    if tag != SCENARIO_FORMAT:
        raise ScenarioError(
            path, [_at(source, ("format",), f"expected `{SCENARIO_FORMAT}`, got {_shown(tag)}")]
        )
    domain = data.get("domain")
    model = _SCENARIOS.get(domain) if isinstance(domain, str) else None
    if model is None:
        known = ", ".join(sorted(_SCENARIOS))
        got = "is missing" if domain is None else f"unknown domain {_shown(domain)}"
        raise ScenarioError(path, [_at(source, ("domain",), f"{got}; known domains: {known}")])
    return model


def _at(source: MarkedYaml, location: Location, message: str) -> str:
    return f"{source.line(location)}: {_dotted(location)}: {message}"


def _dotted(location: Location) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".") or "the document"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _explain(model: type[BaseModel], source: MarkedYaml, error: ErrorDetails) -> str:
    """One pydantic error as a sentence a scenario author can act on."""
    location: Location = tuple(error["loc"])
    kind, context = error["type"], error.get("ctx", {})
    got = _shown(error["input"])
    if kind == "missing":
        message = f"is missing; add `{location[-1]}:`"
    elif kind == "extra_forbidden":
        known = _known_keys(model, location[:-1])
        close = difflib.get_close_matches(str(location[-1]), known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(known)}"
        message = f"unknown key; {hint}"
    elif kind == "finite_number":
        message = f"expected a finite number, got {got}; give metres, e.g. 3.5"
    elif kind == "value_error":
        message = str(context["error"])
    elif kind == "literal_error":
        message = f"expected {context['expected']}, got {got}"
    elif kind in ("model_type", "model_attributes_type", "dict_type"):
        message = f"expected `key: value` pairs, got {got}"
    elif kind in ("tuple_type", "list_type"):
        message = f"expected a list, got {got}"
    elif kind == "string_type":
        message = f"expected text, got {got}; put it in quotes"
    elif kind == "string_too_short":
        message = "must not be empty"
    else:
        message = f"{error['msg']}, got {got}"
    return _at(source, location, message)


def _known_keys(model: type[BaseModel], location: Location) -> list[str]:
    """The keys of the model that `location` leads to, found through the fields' annotations."""
    current: Any = model
    for step in location:
        if isinstance(step, str) and isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(step)
            if field is None:
                return []
            current = _inner_model(field.annotation)
    return list(current.model_fields) if isinstance(current, type) and issubclass(current, BaseModel) else []


def _inner_model(annotation: Any) -> Any:
    """The pydantic model inside `tuple[tuple[M, ...], ...]`, `M | None` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) is not None or isinstance(annotation, UnionType):
        for argument in typing.get_args(annotation):
            if (found := _inner_model(argument)) is not None:
                return found
    return None
