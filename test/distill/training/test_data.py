from __future__ import annotations

import pytest

pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st

from prism_distill.conversation import Conversation
from prism_distill.training.data import Example, deal, make_trees

turns = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6)


def conversation(parts: list[tuple[int, int]], first: int = 0) -> Conversation:
    tokens: list[int] = []
    supervised: list[bool] = []
    for read, written in parts:
        tokens += range(first + len(tokens), first + len(tokens) + read + written)
        supervised += [False] * read + [True] * written
    return Conversation(tokens, supervised)


@given(turns, st.integers(0, 120))
def test_a_long_conversation_is_cut_behind_a_whole_turn(parts, length):
    cut = conversation(parts).until(length)
    assert len(cut) <= length
    ends = [sum(map(sum, parts[:n])) for n in range(len(parts) + 1)]
    assert len(cut) == max(end for end in ends if end <= length)


@given(st.lists(st.tuples(st.integers(0, 3), turns), min_size=1, max_size=12), st.integers(20, 80))
def test_trees_keep_every_answer(parts, tokens_per_tree):
    examples = [Example(group, conversation(p, first=group * 1000)) for group, p in parts]
    trees = make_trees(examples, max_tokens=10_000, tokens_per_tree=tokens_per_tree)
    assert sum(sum(tree.supervised) for tree in trees) == sum(
        sum(example.conversation.supervised) for example in examples
    )


@given(st.lists(turns, min_size=1, max_size=20), st.integers(1, 60), st.integers(0, 3))
def test_an_epoch_has_every_tree_once(parts, tokens_per_step, epoch):
    trees = make_trees(
        [Example(i, conversation(p)) for i, p in enumerate(parts)], max_tokens=10_000, tokens_per_tree=100
    )
    steps = deal(trees, tokens_per_step=tokens_per_step, seed=1, epoch=epoch)
    assert sorted(index for step in steps for index in step) == list(range(len(trees)))
    assert all(sum(len(trees[i]) for i in step) >= tokens_per_step for step in steps[:-1])
    assert steps == deal(trees, tokens_per_step=tokens_per_step, seed=1, epoch=epoch)


def test_epochs_differ_in_order():
    trees = make_trees(
        [Example(i, conversation([(3, 3)])) for i in range(50)], max_tokens=100, tokens_per_tree=100
    )
    first, second = (deal(trees, tokens_per_step=6, seed=0, epoch=epoch) for epoch in (0, 1))
    assert first != second


def test_what_has_no_whole_turn_is_left_out():
    assert make_trees([Example(0, conversation([(50, 50)]))], max_tokens=64, tokens_per_tree=100) == []
