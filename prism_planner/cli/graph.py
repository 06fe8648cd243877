"""`prism graph`: look at scene graphs and convert them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_planner.cli.errors import CommandError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from prism_planner.graph.scene_graph import SceneGraph

app = typer.Typer(help="Look at scene graphs, and convert them.", no_args_is_help=True)

_FILE_HELP = "A scene graph (SPINE's JSON), a PRISM task file (JSON), or a scenario (YAML): its whole world."


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help=_FILE_HELP)],
    picture: Annotated[
        Path | None, typer.Option(help="Also draw it, as seen from above: .png, .svg or .pdf.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Regions to list at most.")] = 100,
) -> None:
    """List the regions of a graph, where one can go from each, and what is seen there.

    prism graph show graph.json
    prism graph show scenarios/spine/outdoor/campus_loop.yaml --picture campus.png
    """
    from prism_planner.cli.show import console

    graph = _read(file)
    out = console()
    out.print(_tree(graph, title=file.name, most=most), soft_wrap=False)
    if picture is not None:
        from prism_planner.evaluation.picture import draw_graph

        try:
            draw_graph(picture, graph, title=file.stem)
        except (ValueError, OSError) as error:
            raise CommandError(str(error)) from error
        out.print(f"picture: {picture}")


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help=_FILE_HELP)],
    target: Annotated[Path, typer.Argument(help="A .json file: the graph. A .yaml file: a scenario.")],
) -> None:
    """Write a graph in normal form: SPINE's JSON, or a prism-scenario/1 file.

    In JSON, the paper's object_edges and region_edges become
    object_connections and region_connections. A scenario is everything the
    graph knows, with a PRISM task file's tasks.

        prism graph convert paper.json graph.json
        prism graph convert tasks.json my_scenario.yaml
    """
    from prism_planner.cli.show import console
    from prism_planner.graph.spine_json import save_file

    graph = _read(source)
    if target.suffix == ".json":
        save_file(graph, target)
    elif target.suffix in (".yaml", ".yml") and source.suffix == ".json":
        _write_scenario(source, target)
    else:
        raise CommandError(
            f"{target}: a graph is written to a .json file; a .json file can become a .yaml file, a scenario"
        )
    console().print(f"{target}: regions {len(graph.regions)}, objects {len(graph.objects)}")


def _read(file: Path) -> SceneGraph:
    if file.suffix in (".yaml", ".yml"):
        from prism_planner.evaluation.story import true_graph
        from prism_planner.worlds.scenario import load_scenario
        from prism_planner.worlds.spine_scenario import SpineScenario

        scenario = load_scenario(file)
        if not isinstance(scenario, SpineScenario):
            raise CommandError(
                f"{file}: a scenario of the domain {scenario.domain}, which has no scene graph"
            )
        return true_graph(scenario.world)
    from prism_planner.graph.spine_json import load_file, load_task_file

    return load_task_file(file).graph if _is_task_file(file) else load_file(file)


def _is_task_file(file: Path) -> bool:
    """Whether the file's outermost object has tasks; what is wrong with it is for the loaders to say."""
    import json

    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and "tasks" in data and "graph" in data


def _tree(graph: SceneGraph, *, title: str, most: int) -> RenderableType:
    from rich.text import Text
    from rich.tree import Tree

    robot = graph.robot_location
    head = (
        f"{title}: regions {len(graph.regions)}, objects {len(graph.objects)}, "
        f"ways {len(graph.region_connections)}; the robot is {f'in {robot}' if robot else 'nowhere'}"
    )
    # Text, not markup: names and descriptions may contain square brackets.
    tree = Tree(Text(head, style="bold"))
    for name in graph.regions[:most]:
        branch = tree.add(_line(graph, name, style="bold" if name == robot else ""))
        neighbours = ", ".join(graph.neighbours(name)) or "nowhere"
        branch.add(Text(f"to {neighbours}", style="dim"))
        for thing in graph.objects_at(name):
            branch.add(_line(graph, thing, style="cyan"))
    if len(graph.regions) > most:
        tree.add(Text(f"and {len(graph.regions) - most} more; list them with --most", style="dim"))
    unseen = [name for name in graph.objects if not graph.seen_from(name)]
    if unseen:
        branch = tree.add(Text("objects that no region sees", style="yellow"))
        for name in unseen:
            branch.add(_line(graph, name, style="cyan"))
    return tree


def _line(graph: SceneGraph, name: str, *, style: str) -> Any:
    from rich.text import Text

    node = graph.node(name)
    x, y = node.coords
    line = Text(name, style=style)
    line.append(f" ({x:g}, {y:g})", style="dim")
    for key, value in node.attributes.items():
        line.append(f"  {key}: {value}", style="dim")
    return line


def _write_scenario(source: Path, target: Path) -> None:
    import yaml

    from prism_planner.graph.spine_json import load_file
    from prism_planner.worlds.scenario import load_scenario

    if _is_task_file(source):
        document = load_scenario(source).model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    else:
        document = _world_only(source, load_file(source))
    document["name"] = target.stem.replace("_", "-")
    target.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")
    load_scenario(target)


def _world_only(source: Path, graph: SceneGraph) -> dict[str, Any]:
    """A scenario document with everything that the graph knows, and no tasks."""
    if graph.robot_location is None:
        raise CommandError(
            f"{source}: robot_location: is missing; a scenario needs to know where the robot starts"
        )
    return {
        "format": "prism-scenario/1",
        "domain": "spine",
        "name": "",
        "world": {
            "robot": graph.robot_location,
            "regions": [_spec(graph, name) for name in graph.regions],
            "objects": [_spec(graph, name) | {"seen_from": graph.seen_from(name)} for name in graph.objects],
            "edges": [list(edge) for edge in graph.region_connections],
        },
    }


def _spec(graph: SceneGraph, name: str) -> dict[str, Any]:
    node = graph.node(name)
    attributes = dict(node.attributes)
    spec: dict[str, Any] = {"name": name, "at": list(node.coords)}
    for key in ("category", "description"):
        if key in attributes:
            spec[key] = attributes.pop(key)
    return spec | ({"attributes": attributes} if attributes else {})
