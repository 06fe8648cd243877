"""What is trained on: conversations in groups that begin alike, and the steps they are dealt to."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from prism_distill.conversation import Conversation
from prism_distill.training.fused import Tree


@dataclass(frozen=True, slots=True)
class Example:
    """One episode. group: episodes of a group begin with the same observation."""

    group: Hashable
    conversation: Conversation


def make_trees(examples: Iterable[Example], *, max_tokens: int, tokens_per_tree: int) -> list[Tree]:
    """Trees of the groups, in the order in which they first occur.

    max_tokens: a longer conversation is cut behind a whole turn; one without a whole turn is left out.
    tokens_per_tree: a group with more is dealt to several trees.
    """
    groups: dict[Hashable, list[Conversation]] = defaultdict(list)
    for example in examples:
        conversation = example.conversation.until(max_tokens)
        if any(conversation.supervised):
            groups[example.group].append(conversation)
    return [tree for group in groups.values() for tree in _trees(group, tokens_per_tree)]


def deal(trees: Sequence[Tree], *, tokens_per_step: int, seed: int, epoch: int) -> list[list[int]]:
    """The trees of every step of an epoch, by index: all of them once, in an order that depends on seed
    and epoch alone. A step has at least `tokens_per_step` tokens, but for the last."""
    order = list(range(len(trees)))
    random.Random(f"{seed}:{epoch}").shuffle(order)
    steps: list[list[int]] = [[]]
    size = 0
    for index in order:
        if size >= tokens_per_step:
            steps.append([])
            size = 0
        steps[-1].append(index)
        size += len(trees[index])
    return steps if order else []


def _trees(group: list[Conversation], tokens_per_tree: int) -> Iterator[Tree]:
    waiting: list[Conversation] = []
    for conversation in group:
        if waiting and len(Tree.of([*waiting, conversation])) > tokens_per_tree:
            yield Tree.of(waiting)
            waiting = []
        waiting.append(conversation)
    yield Tree.of(waiting)
