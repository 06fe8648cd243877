"""YAML that remembers where everything was written, so that an error can name the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

MAX_DEPTH = 60


class YamlError(ValueError):
    """The text is not usable YAML. line: 1-based, 0 when unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


@dataclass(frozen=True)
class MarkedYaml:
    """The first document of a YAML text: its plain data and its node tree."""

    data: Any
    root: yaml.Node

    def line(self, location: Sequence[str | int]) -> int:
        """The 1-based line of the value at `location` (keys and indices), or of the deepest part of it
        that was written."""
        node = self.root
        line = node.start_mark.line
        for step in location:
            if isinstance(node, yaml.MappingNode):
                pair = next((p for p in node.value if p[0].value == str(step)), None)
                if pair is None:
                    break
                # A block collection starts below its key; the key's line is the one to show.
                line, node = pair[0].start_mark.line, pair[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line
            else:
                break
        return line + 1


def read_marked_yaml(path: Path) -> MarkedYaml:
    """Read a UTF-8 YAML file. Raises YamlError for broken YAML, duplicate keys and absurd nesting,
    OSError when the file cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise YamlError(f"not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8") from None
    return parse_marked_yaml(text)


def parse_marked_yaml(text: str) -> MarkedYaml:
    """As `read_marked_yaml`, from a string."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise YamlError("the file is empty")
        _reject_duplicate_keys(root)
        return MarkedYaml(loader.construct_document(root), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(f"not valid YAML: {error.problem or error}", mark.line + 1 if mark else 0) from None
    except yaml.YAMLError as error:
        raise YamlError(f"not valid YAML: {error}") from None
    except RecursionError:
        raise YamlError("nested too deeply; a scenario needs only a few levels") from None
    except ValueError as error:  # for instance a date that does not exist
        if isinstance(error, YamlError):
            raise
        raise YamlError(f"not valid YAML: {error}") from None


def _reject_duplicate_keys(root: yaml.Node) -> None:
    """YAML keeps the last of two equal keys silently, which hides mistakes; anchors are walked once."""
    seen: set[int] = set()
    todo: list[tuple[yaml.Node, int]] = [(root, 0)]
    while todo:
        node, depth = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if depth > MAX_DEPTH:
            raise YamlError(f"nested more than {MAX_DEPTH} levels deep", node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            todo += [(child, depth + 1) for child in node.value]
        elif isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    line = key.start_mark.line + 1
                    if key.value in lines:
                        raise YamlError(
                            f"the key {key.value!r} is given twice, first on line {lines[key.value]}; "
                            "keep one of them",
                            line,
                        )
                    lines[key.value] = line
                todo.append((value, depth + 1))
