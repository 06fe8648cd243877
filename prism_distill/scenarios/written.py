"""Scenarios that a language model writes (PRISM paper, section 3.1 and appendix F).

The model is given the format of observations, an example, the size of the environment and the number of
tasks, and is asked again, with the error, for what cannot be used. Nothing that it says about its tasks is
believed before code has acted it out.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from prism_distill.config import WriterSettings
from prism_distill.scenarios.answer import AnswerError, answer_schema, read_answer
from prism_distill.scenarios.library import Effort, Library, RefusedError
from prism_distill.scenarios.reserved import normalised, sentences
from prism_distill.scenarios.soundness import fault_of, needs_exploration
from prism_distill.scenarios.splits import Split, number
from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.cli.errors import CANCELLED, NO_MODEL, CommandError
from prism_planner.language.model import (
    Completion,
    Constraint,
    ContextFullError,
    LanguageModel,
    LanguageModelError,
    Limits,
    Message,
)
from prism_planner.worlds.spine_scenario import SpineScenario, SpineTask

PROMPTS: Final = "v1"
"""The version of the prompts, a folder of `prompts/`. Changed prompts get a new one."""

_FEWEST_IN_VAIN = 10
_MARGIN = 3
_HIDDEN = (
    "no region, but about half of the objects",
    "the last region of one or two paths, and half of the objects",
    "about a third of the regions and of the objects",
    "about half of the regions, some of them behind other hidden ones, and most of the objects",
)
_ROBOTS = {"ugv": "ground robot (ugv)", "uav": "aerial robot (uav)"}
_ADVICE = {
    "duplicate": "It repeats itself: raise `scenarios.writer.temperature`, ask another model, or allow "
    "worlds to be more alike with a higher `similarity`",
    "cut_off": "Raise `scenarios.writer.max_tokens`, or ask for smaller worlds with `nodes` and `tasks`",
    "prose": "Ask another model, or an endpoint that supports JSON schemas",
}
_OTHER_ADVICE = "Ask another model, or for smaller worlds with `scenarios.writer.nodes` and `tasks`"


class WritingError(CommandError):
    """The model is gone, or writes nothing usable. The message says why, what to do, and how to go on."""


class ScenarioWriter:
    """Has a language model write scenarios until there are as many as asked for.

    Safe for use by several threads, each of which has one request at a time under way; what one of them gets
    counts for all.
    """

    def __init__(
        self, settings: WriterSettings, model: LanguageModel, *, journal: Path | None = None, seed: int = 0
    ) -> None:
        """journal: keeps what was accepted, and is continued. seed: of what is asked for."""
        self._settings = settings
        self._model = model
        self._seed = seed
        self.library = Library(journal, similarity=settings.similarity, known=[example()])
        self._constraint = Constraint(json_schema=answer_schema())
        self._cancel = CancelToken()
        self._lock = threading.Lock()
        self._in_vain: list[tuple[str, str]] = []

    def scenario(self, split: Split, index: int) -> SpineScenario:
        """Scenario number `index` of a split, in the order in which they are accepted: one of the journal, or
        one that is written now.

        Most worlds belong to the training split (`splits.py`); what is written for another split on the way
        is kept for it. Raises WritingError, and RunError when there is no room on the disk.
        """
        while (found := self.library.get(split, index)) is None:
            self._check_patience()
            self._write()
        return found

    def report(self) -> dict[str, Any]:
        """Figures for a run's manifest: what was spent, what could not be used and why, and the diversity."""
        return {"prompts": PROMPTS, **self.library.report()}

    def close(self) -> None:
        """End what other threads are waiting for."""
        self._cancel.cancel()
        self.library.close()

    def _write(self) -> None:
        """Ask for one scenario, until it can be used or `attempts` are over."""
        index = self.library.number()
        opening = opening_messages(self._settings, seed=self._seed, index=index)
        conversation: Sequence[Message] = opening
        effort = Effort()
        for attempt in range(self._settings.attempts):
            # With one seed for all, an endpoint that honours it would write one world over and over.
            seed = number(f"written:{self._seed}:{index}:{attempt}") % 2**31
            completion = self._ask(conversation, effort, seed)
            try:
                self.library.add(self._usable(completion, effort), effort)
            except (AnswerError, RefusedError) as error:
                effort.faults[error.fault] += 1
                self._count(error.fault, str(error))
                if isinstance(error, RefusedError):
                    break  # Of another place rather than the same mended.
                conversation = self._again(opening, completion, error)
            else:
                self._count("", "")
                return
        self.library.give_up(effort)

    def _ask(self, conversation: Sequence[Message], effort: Effort, seed: int) -> Completion:
        """Raises WritingError when the model does not answer; what was spent before is counted."""
        limits = Limits(
            max_tokens=self._settings.max_tokens, temperature=self._settings.temperature, seed=seed
        )
        try:
            completion = self._model.generate(
                conversation, constraint=self._constraint, limits=limits, cancel=self._cancel
            )
        except (Cancelled, LanguageModelError) as error:
            if effort.requests:
                self.library.give_up(effort)
            if isinstance(error, Cancelled):
                raise WritingError(f"stopped. {self._kept()}", CANCELLED) from None
            advice = ": lower `scenarios.writer.max_tokens`, or choose a model with a longer context"
            hint = advice if isinstance(error, ContextFullError) else ""
            raise WritingError(f"{error}{hint}. {self._kept()}", NO_MODEL) from None
        read = sum(self._model.count_tokens(message.content) for message in conversation)
        effort.requests += 1
        effort.prompt_tokens += completion.usage.prompt or read
        effort.completion_tokens += completion.usage.generated or self._model.count_tokens(completion.text)
        return completion

    def _usable(self, completion: Completion, effort: Effort) -> SpineScenario:
        """The scenario in an answer, with its sound tasks. Raises AnswerError."""
        if completion.finish == "length":
            raise AnswerError("cut_off", f"the answer was cut off after {self._settings.max_tokens} tokens")
        scenario = read_answer(completion.text, name="answer", nodes=self._settings.nodes)
        tasks, problems = sound_tasks(scenario)
        effort.dropped.update(fault for fault, _ in problems)
        if not tasks:
            raise AnswerError("no_task", "\n".join(f"- {problem}" for _, problem in problems))
        return scenario.model_copy(update={"tasks": tasks})

    def _again(self, opening: Sequence[Message], completion: Completion, error: AnswerError) -> list[Message]:
        system, request = opening
        if error.fault == "cut_off":
            note = _prompt("cut_off.txt").format(tokens=self._settings.max_tokens)
            return [system, Message("user", f"{request.content}\n{note}")]
        repair = _prompt("repair.txt").format(problems=error)
        return [*opening, Message("assistant", completion.text), Message("user", repair)]

    def _count(self, fault: str, message: str) -> None:
        """Note that an answer could not be used, or with an empty `fault` that one could."""
        with self._lock:
            if fault:
                self._in_vain.append((fault, message))
            else:
                self._in_vain.clear()

    def _check_patience(self) -> None:
        """Raises WritingError after too many answers in a row that could not be used."""
        with self._lock:
            in_vain = list(self._in_vain)
        if len(in_vain) < max(_FEWEST_IN_VAIN, 3 * self._settings.attempts):
            return
        counts = Counter(fault for fault, _ in in_vain).most_common()
        worst = counts[0][0]
        last = next(message for fault, message in reversed(in_vain) if fault == worst)
        raise WritingError(
            f"{self._model.name} wrote no usable scenario in {len(in_vain)} answers running "
            f"({', '.join(f'{fault} {count}' for fault, count in counts)}). For instance: {last}\n"
            f"{_ADVICE.get(worst, _OTHER_ADVICE)}. {self._kept()}",
            NO_MODEL,
        )

    def _kept(self) -> str:
        count = len(self.library)
        if not count:
            return "No scenario was written yet; the same command starts again"
        are = "scenario is" if count == 1 else "scenarios are"
        return f"{count:,} {are} written and kept: run the same command again to go on from there"


def sound_tasks(scenario: SpineScenario) -> tuple[tuple[SpineTask, ...], list[tuple[str, str]]]:
    """The tasks that can be used, each with its `kind` (paper, table 2), and of the others what is wrong: the
    fault, and a sentence that quotes the task."""
    tasks = []
    problems = []
    for index, task in enumerate(scenario.tasks):
        if normalised(task.instruction) in sentences():
            problems.append(("reserved", f"{task.instruction!r} is reserved for evaluation"))
        elif fault := fault_of(scenario, index):
            problems.append((fault.fault, f"{task.instruction!r}: {fault}"))
        else:
            kind = "exploration" if needs_exploration(scenario, task) else "mapping"
            tasks.append(task.model_copy(update={"kind": kind}))
    return tuple(tasks), problems


def opening_messages(settings: WriterSettings, *, seed: int, index: int) -> list[Message]:
    """How the model is asked for scenario number `index`: what a scenario is, and which is wanted."""
    rng = random.Random(number(f"request:{seed}:{index}"))
    order = list(_places())
    random.Random(seed).shuffle(order)
    platform, place = order[index % len(order)]
    low, high = settings.nodes
    size = rng.randint(low, high)
    request = _prompt("request.txt").format(
        place=place,
        robot=_ROBOTS[platform],
        fewest=max(low, size - _MARGIN),
        most=min(high, size + _MARGIN),
        tasks=settings.tasks,
        under=rng.randint(settings.tasks // 2, -(-settings.tasks * 2 // 3)),
        hidden=rng.choice(_HIDDEN),
    )
    return [Message("system", _instructions()), Message("user", request)]


@cache
def example() -> SpineScenario:
    """The scenario that the model is shown."""
    return read_answer(_prompt("example.json"), name="the example", nodes=(1, 60))


@cache
def _instructions() -> str:
    text = _prompt("instructions.txt")
    for part in ("observation_format.txt", "output_criteria.txt", "output_format.txt", "example.json"):
        # Not str.format: the parts are full of braces.
        text = text.replace(f"{{{part.partition('.')[0]}}}", _prompt(part))
    return text


@cache
def _places() -> tuple[tuple[str, str], ...]:
    """Platforms and kinds of places."""
    lines = [line for line in _prompt("places.txt").splitlines() if not line.startswith("#")]
    return tuple((platform, place) for platform, _, place in (line.partition(" ") for line in lines))


@cache
def _prompt(name: str) -> str:
    return (files(__package__) / "prompts" / PROMPTS / name).read_text(encoding="utf-8").strip()
