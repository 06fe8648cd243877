"""Traces as a dataset: Parquet files by split, checked against what planners are evaluated on.

A row is one episode that is worth learning from. Rows of one `world` and `mask_seed` begin with the same
observation. What a task means and how it is judged is not part of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from prism_distill.config import DatasetSettings
from prism_distill.elicitation import FORMAT_KEY
from prism_distill.leakage import Evaluation, HeldOut
from prism_distill.run import Run, RunError, digest, file_digest, whole
from prism_distill.scenarios.splits import SPLITS, Split
from prism_distill.shards import sealed_shards
from prism_distill.statistics import Repetition, SplitStatistics
from prism_planner.domains.trace import PlanTrace

FORMAT = "prism-dataset/1"

_MOST_NAMED = 12


class DatasetError(RunError):
    """A dataset cannot be used, or must not be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Row:
    """One episode. cell: of the paper's table 2. world: digest of the layout. trace: a PlanTrace's lines."""

    scenario: str
    task: int
    cell: str
    instruction: str
    split: Split
    world: str
    mask_seed: int
    trace: str

    def plan_trace(self) -> PlanTrace:
        """Raises TraceError."""
        return PlanTrace.from_lines(self.trace.split("\n"), source=f"{self.scenario}, task {self.task + 1}")


_COLUMNS = [field.name for field in fields(Row)]


def read_rows(folder: Path, split: Split) -> Iterator[Row]:
    """The rows of a split, one at a time, in the order of the file.

    Raises DatasetError for a dataset that is missing, damaged or of another version.
    """
    with _opened(folder / f"{split}.parquet") as file:
        for batch in file.iter_batches(batch_size=256, columns=_COLUMNS):
            yield from (Row(**row) for row in batch.to_pylist())


def count_rows(folder: Path, split: Split) -> int:
    """Raises DatasetError."""
    with _opened(folder / f"{split}.parquet") as file:
        return int(file.metadata.num_rows)


def make_dataset(run: Run, *, fresh: bool = False) -> bool:
    """Make the dataset of a run from its traces, and its card; whether there was work to do.

    It is made anew when traces or settings changed. Raises RunError, ScenarioError for `evaluation`, and
    DatasetError when training data leaks into evaluation.
    """
    settings = run.config.dataset
    evaluation = Evaluation.of(run.config.domain, settings.evaluation)
    inputs = {
        "format": FORMAT,
        "traces": run.output("elicitation"),
        "dataset": settings.model_dump(mode="json"),
        "evaluation": digest({str(file): file_digest(file) for file in evaluation.files}),
    }
    if not run.begin("dataset", inputs, fresh=fresh):
        return False
    with run.working("dataset"):
        from prism_distill.card import write_card

        made = _Making(run, settings, evaluation)
        for split in SPLITS:
            made.write(split)
        folder = run.folder("dataset")
        results = made.results()
        write_card(folder, run, results, made.examples)
        run.finish("dataset", [folder / f"{split}.parquet" for split in SPLITS], results=results)
    return True


class _Making:
    """Goes through the traces once for each split."""

    def __init__(self, run: Run, settings: DatasetSettings, evaluation: Evaluation) -> None:
        self._run = run
        self._settings = settings
        self._evaluation = evaluation
        held = (row for split in ("validation", "test") for row in self._traces(split) if row["accepted"])
        self._held_out = HeldOut.of(held)
        self._splits = {split: SplitStatistics() for split in SPLITS}
        self._repetition = Repetition(settings.similarity)
        self.examples: list[Row] = []

    def write(self, split: Split) -> None:
        """Raises RunError, and DatasetError for rows that leak or when none are left."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = _schema()
        offences: list[str] = []
        path = self._run.folder("dataset") / f"{split}.parquet"
        with whole(path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            batch: list[dict[str, Any]] = []
            for row in self._kept(split, offences):
                batch.append(asdict(row))
                if len(batch) == 256:
                    writer.write_table(pa.Table.from_pylist(batch, schema))
                    batch = []
            writer.write_table(pa.Table.from_pylist(batch, schema))
            if offences:
                raise DatasetError(_leak(offences))
            if not self._splits[split].rows and self._run.config.scenarios.count(split):
                dropped = dict(self._splits[split].dropped.most_common())
                raise DatasetError(f"{path}: no episode is left for the split {split}; dropped: {dropped}")

    def results(self) -> dict[str, Any]:
        return {
            **{split: statistics.as_json() for split, statistics in self._splits.items()},
            "duplicates": self._repetition.as_json(),
            "evaluation_files": len(self._evaluation.files),
        }

    def _kept(self, split: Split, offences: list[str]) -> Iterator[Row]:
        statistics = self._splits[split]
        most = self._settings.max_rows if split == "train" else None
        for row in self._traces(split):
            if most is not None and statistics.rows >= most:
                return
            if reason := self._unfit(row, offences):
                statistics.dropped[reason] += 1
                continue
            statistics.add(row)
            kept = Row(**{name: row[name] for name in _COLUMNS})
            if split == "train":
                self._repetition.add(row)
                self._example(kept)
            yield kept

    def _unfit(self, row: dict[str, Any], offences: list[str]) -> str:
        """Why a row is left out; empty when it is not."""
        if not row["accepted"]:
            return str(row["reason"] or "no plan")
        if row["split"] == "test":
            return ""
        if offence := self._evaluation.offence(row):
            if self._settings.leakage == "fail":
                offences.append(offence)
            return "evaluation"
        return "held out" if row["split"] == "train" and self._held_out.shares(row) else ""

    def _example(self, row: Row) -> None:
        """Keep one of each cell first, then any."""
        cells = [example.cell for example in self.examples]
        if len(cells) < self._settings.examples and (row.cell not in cells or len(set(cells)) == 4):
            self.examples.append(row)

    def _traces(self, split: str) -> Iterator[dict[str, Any]]:
        import pyarrow.parquet as pq

        for shard in sealed_shards(self._run.folder("elicitation"), split, "parquet"):
            yield from pq.read_table(shard).to_pylist()


def _schema() -> Any:
    from datasets import Features, Value

    numbers = {"task", "mask_seed"}
    features = Features({name: Value("int64" if name in numbers else "string") for name in _COLUMNS})
    schema = features.arrow_schema
    return schema.with_metadata({**schema.metadata, FORMAT_KEY: FORMAT})


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    again = "make it anew with `prism elicit CONFIG`"
    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise DatasetError(f"{path}: is not there; {again}") from None
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(f"{path}: is not a whole Parquet file ({error}); {again}") from None
    with file:
        found = (file.schema_arrow.metadata or {}).get(FORMAT_KEY.encode(), b"no format").decode()
        if found != FORMAT:
            raise DatasetError(
                f"{path}: is a dataset of another version ({found}; this prism reads {FORMAT}); {again}"
            )
        yield file


def _leak(offences: list[str]) -> str:
    more = len(offences) - _MOST_NAMED
    lines = [*offences[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
    return (
        "the dataset shares sentences or worlds with scenarios that planners are evaluated on:\n"
        + "\n".join(f"  {line}" for line in lines)
        + "\nChange `seed:`, take those scenarios out of `dataset.evaluation`, or leave such rows out with "
        "`dataset.leakage: drop`"
    )
