"""Equation 2 of the PRISM paper, computed fast, against transformers and PEFT computing it plainly."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from prism_distill.conversation import Conversation  # noqa: E402
from prism_distill.training.fused import Batch, FusedLlama, Tree  # noqa: E402


def plain_loss(model, conversations):
    """Negative log-likelihoods of supervised tokens, one conversation at a time, then their mean."""
    losses = []
    for conversation in conversations:
        logits = model(input_ids=torch.tensor([conversation.tokens])).logits[0]
        logs = torch.log_softmax(logits.float(), dim=-1)
        for i, supervised in enumerate(conversation.supervised):
            if supervised and i:
                losses.append(-logs[i - 1, conversation.tokens[i]])
    return torch.stack(losses).mean()


def gradients(model):
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def conversations(rng, count, shared, longest=30):
    beginning = [rng.randrange(97) for _ in range(shared)]
    result = []
    for _ in range(count):
        own = rng.randrange(5, longest)
        tokens = beginning + [rng.randrange(97) for _ in range(own)]
        supervised = [False] * (shared + 1) + [rng.random() < 0.4 for _ in range(own - 1)]
        supervised[-1] = True
        result.append(Conversation(tokens, supervised))
    return result


@pytest.mark.parametrize(
    ("count", "shared", "longest"),
    [(1, 0, 30), (1, 20, 30), (3, 20, 30), (4, 1, 30), (1, 0, 700), (3, 300, 600), (2, 256, 257)],
)
def test_loss_and_gradients_are_those_of_transformers_and_peft(tiny_llama, count, shared, longest):
    rng = random.Random(count * 100 + shared)
    trees = [conversations(rng, count, shared, longest), conversations(rng, 2, 7)]

    expected = plain_loss(tiny_llama, [c for tree in trees for c in tree])
    expected.backward()
    wanted = gradients(tiny_llama)
    tiny_llama.zero_grad()

    fused = FusedLlama(tiny_llama, dtype=torch.float32)
    loss = fused.loss(Batch.of([Tree.of(tree) for tree in trees]))
    loss.backward()
    found = gradients(tiny_llama)

    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert found.keys() == wanted.keys()
    assert all("lora_" in name for name in found)
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-3, atol=1e-6, msg=name)


def test_what_is_shared_is_evaluated_once():
    many = conversations(random.Random(1), 5, 40)
    tree = Tree.of(many)
    assert len(tree) == 40 + sum(len(c) - 40 for c in many)


def test_a_tree_never_shares_what_is_supervised():
    same = Conversation([1, 2, 3, 4, 5, 6], [False, False, True, True, False, True])
    batch = Batch.of([Tree.of([same, same])])
    assert batch.supervised == 6


def test_the_prediction_counts_are_those_of_the_most_likely_tokens(tiny_llama):
    some = conversations(random.Random(3), 3, 9)
    batch = Batch.of([Tree.of(some)])
    loss, correct = FusedLlama(tiny_llama, dtype=torch.float32).assess(batch)
    assert loss.item() / batch.supervised == pytest.approx(plain_loss(tiny_llama, some).item(), rel=1e-5)
    expected = []
    with torch.no_grad():
        for c in some:
            best = tiny_llama(input_ids=torch.tensor([c.tokens])).logits[0].argmax(-1).tolist()
            expected += [best[i - 1] == c.tokens[i] for i in range(1, len(c)) if c.supervised[i]]
    assert correct.tolist() == expected


def test_dropout_is_refused(tiny_llama):
    tiny_llama.peft_config["default"].lora_dropout = 0.1
    with pytest.raises(ValueError, match="lora_dropout"):
        FusedLlama(tiny_llama)


def test_other_architectures_are_refused():
    with pytest.raises(ValueError, match="Linear"):
        FusedLlama(torch.nn.Linear(2, 2))
