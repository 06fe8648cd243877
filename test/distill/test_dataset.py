"""The dataset: what is in it, what must not be, and how one that does not fit is refused."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from prism_distill.dataset import DatasetError, count_rows, make_dataset, read_rows
from prism_distill.elicitation import elicit
from prism_distill.near_duplicates import NearDuplicates
from prism_distill.run import Run
from prism_distill.scenarios import SPLITS
from prism_distill.scenarios.generator import to_yaml
from prism_distill.scenarios.reserved import normalised
from prism_distill.synthesis import make_source


@pytest.fixture
def dataset(synthesized):
    """Makes the dataset of a run; its folder."""

    def make(**sections):
        with Run(synthesized(**sections)) as run:
            elicit(run)
            make_dataset(run)
            return run.folder("dataset")

    return make


def figures(config) -> dict:
    with Run(config) as run:
        return run.manifest.stages["dataset"].results


def test_rows_are_the_kept_episodes_with_readable_traces(dataset, small):
    folder = dataset()
    found = figures(small())
    for split in SPLITS:
        rows = list(read_rows(folder, split))
        assert len(rows) == count_rows(folder, split) == found[split]["rows"] > 0
        for row in rows:
            assert row.split == split
            assert row.plan_trace().header.task == row.instruction
            assert row.plan_trace().outcome.status == "succeeded"


def test_training_shares_no_world_and_no_sentence_with_the_other_splits(dataset):
    folder = dataset()
    train, *others = (list(read_rows(folder, split)) for split in SPLITS)
    for other in others:
        assert {row.world for row in train} & {row.world for row in other} == set()
        sentences = {normalised(row.instruction) for row in other}
        assert {normalised(row.instruction) for row in train} & sentences == set()


def test_a_row_has_nothing_of_the_truth(dataset):
    names = pq.read_schema(dataset() / "train.parquet").names
    assert names == ["scenario", "task", "cell", "instruction", "split", "world", "mask_seed", "trace"]


def test_datasets_reads_the_folder(dataset, tmp_path):
    datasets = pytest.importorskip("datasets")
    folder = dataset()
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {split: loaded[split].num_rows for split in SPLITS} == {
        split: count_rows(folder, split) for split in SPLITS
    }


def test_the_card_tells_sizes_distributions_and_examples(dataset, small):
    folder = dataset()
    card = (folder / "README.md").read_text()
    found = figures(small())["train"]
    assert f"| train | {found['rows']} | {found['worlds']} |" in card
    for key in ("cells", "actions", "intents", "turns"):
        for name in found[key]:
            assert f"| {name} | {found[key][name]} |" in card
    rows = {row.instruction: row for row in read_rows(folder, "train")}
    shown = [text for text in rows if f"**{text}**" in card]
    assert len(shown) == 4
    assert rows[shown[0]].plan_trace().turns[-1].raw in card
    assert (folder / "distributions.png").read_bytes().startswith(b"\x89PNG")


def test_equal_budgets_are_the_first_rows(dataset):
    everything = list(read_rows(dataset(name="all"), "train"))
    some = list(read_rows(dataset(name="some", dataset={"max_rows": 5}), "train"))
    assert some == everything[:5]


def test_other_settings_make_it_anew(dataset, small):
    dataset()
    with Run(small(dataset={"max_rows": 5})) as run:
        assert make_dataset(run)
        assert count_rows(run.folder("dataset"), "train") == 5
        assert not make_dataset(run)


# ------------------------------------------------------------------ leakage


@pytest.fixture
def evaluation(small, tmp_path):
    """A scenario file with a world and the sentences of training data."""
    scenario = make_source(small(), "train").scenario(2)
    file = tmp_path / "evaluation.yaml"
    file.write_text(to_yaml(scenario), encoding="utf-8")
    return file, scenario


def test_leaking_into_evaluation_fails_and_names_the_offenders(dataset, evaluation, small):
    file, scenario = evaluation
    with pytest.raises(DatasetError) as error:
        dataset(dataset={"evaluation": [file]})
    message = str(error.value)
    assert f"{scenario.name}, task 1: the sentence {scenario.tasks[0].instruction!r} of {file}" in message
    assert f"the world of {file}" in message
    assert "dataset.leakage: drop" in message
    assert not (small().run_directory / "dataset" / "train.parquet").exists()


def test_a_sentence_alone_is_leakage_whatever_its_case_and_politeness(dataset, small, tmp_path):
    sentence = make_source(small(), "train").scenario(1).tasks[0].instruction
    other = make_source(small(seed=99), "test").scenario(0)
    task = other.tasks[0].model_copy(update={"instruction": f"Please, {sentence.upper()}!"})
    file = tmp_path / "other.yaml"
    file.write_text(to_yaml(other.model_copy(update={"tasks": (task,)})), encoding="utf-8")
    with pytest.raises(DatasetError, match="the sentence") as error:
        dataset(dataset={"evaluation": [file]})
    assert "the world" not in str(error.value)


def test_leaking_rows_can_be_dropped_instead(dataset, evaluation, small):
    file, scenario = evaluation
    folder = dataset(dataset={"evaluation": [file], "leakage": "drop"})
    assert scenario.name not in {row.scenario for row in read_rows(folder, "train")}
    assert figures(small())["train"]["dropped"]["evaluation"] == len(scenario.tasks)


# ------------------------------------------------------------------ what does not fit


@pytest.mark.parametrize("tag", [b"prism-dataset/0", None])
def test_a_dataset_of_another_version_is_refused(dataset, tag):
    folder = dataset()
    table = pq.read_table(folder / "train.parquet")
    pq.write_table(
        table.replace_schema_metadata({b"prism_format": tag} if tag else {}), folder / "train.parquet"
    )
    with pytest.raises(DatasetError, match=r"train\.parquet: is a dataset of another version .*prism elicit"):
        next(read_rows(folder, "train"))


def test_a_damaged_or_missing_dataset_is_refused(dataset):
    folder = dataset()
    file = folder / "train.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DatasetError, match=r"train\.parquet: is not a whole Parquet file"):
        next(read_rows(folder, "train"))
    file.unlink()
    with pytest.raises(DatasetError, match=r"train\.parquet: is not there; make it anew with `prism elicit"):
        next(read_rows(folder, "train"))


def test_no_episode_that_is_worth_learning_from_is_an_error(dataset):
    with pytest.raises(DatasetError, match=r"no episode is left for the split train; dropped: {'step_limit'"):
        dataset(elicitation={"max_steps": 1})


def test_a_dataset_needs_finished_traces(synthesized):
    with (
        Run(synthesized()) as run,
        pytest.raises(DatasetError.__base__, match="run `prism elicit CONFIG` first"),
    ):
        make_dataset(run)


# ------------------------------------------------------------------ near-duplicates


def test_near_duplicates_are_found_and_others_are_not():
    near = NearDuplicates(0.9)
    words = [f"word{i}" for i in range(60)]
    assert not near.add(words)
    assert near.add(reversed(words))
    assert near.add(words[:-1])
    assert not near.add([f"other{i}" for i in range(60)])
    assert not near.add([*words[:30], *(f"more{i}" for i in range(30))])
    assert near.rate == pytest.approx(2 / 5)


def test_nothing_is_no_near_duplicate():
    assert NearDuplicates(0.9).rate == 0.0
