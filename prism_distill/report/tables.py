"""Tables 1 to 3 of the PRISM paper from finished episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from prism_distill.report.contenders import Contender
from prism_distill.report.measure import Results, Setting
from prism_distill.report.paper import TABLE1, TABLE2, TABLE3, Figures
from prism_distill.report.ratio import ratio
from prism_distill.report.table import Cell, Part, ResultTable
from prism_planner.evaluation.episode import EXPERT, EpisodeResult
from prism_planner.evaluation.metrics import rate

SLM, PRISM, SOURCE = "slm", "prism", "source"
FULL, WITHOUT_MASKING, WITHOUT_VALIDATION = "full", "without masking", "without validation"

ALL = "all"

_WILSON = "Intervals of rates: 95%, Wilson."
_HEADINGS = {
    "mapping/full": "mapping, fully specified",
    "mapping/under": "mapping, under-specified",
    "exploration/full": "exploration, fully specified",
    "exploration/under": "exploration, under-specified",
    ALL: "all",
}


def table1(results: Results, contenders: Sequence[Contender], setting: Setting) -> ResultTable:
    """Success without distillation, distilled, and of the source. Columns: the domain, and the domain on each
    set of scenarios (`spine`, `spine/held-out`, `spine/shipped`)."""
    return _of_one_column(
        "table1",
        "Table 1, success",
        results,
        contenders,
        setting,
        TABLE1,
        "Paper: Llama-3.2-3B without distillation, distilled, and GPT-4o.",
    )


def table2(results: Results, contenders: Sequence[Contender], setting: Setting) -> ResultTable:
    """Success by the task's kind and specification. Columns: the cells and `all`, over all sets of scenarios
    and, with the set's name and a slash before, on each."""
    groups: list[tuple[str | None, str, str]] = [(None, "", f", {_together(setting)}")]
    if len(setting.sets) > 1:
        groups += [(s.name, f"{s.name}/", f", {s.name} scenarios") for s in setting.sets]
    rows: dict[str, dict[str, Cell]] = {}
    for row in (SOURCE, *(c.row for c in contenders if c.row != SOURCE)):
        rows[row] = {}
        for (of, prefix, _), cell in product(groups, _HEADINGS):
            outcomes = [e.success for e in _episodes(results[row], of) if cell in (ALL, e.cell)]
            if not outcomes:
                continue
            found, source = rate(outcomes), rows[SOURCE].get(prefix + cell)
            compared = ratio(found, source.rate) if row == PRISM and source is not None else None
            paper = TABLE2.get(row, {}).get(cell) if setting.domain == "spine" else None
            rows[row][prefix + cell] = Cell(found, paper, compared)
    parts = tuple(
        Part(title, {prefix + cell: heading for cell, heading in _HEADINGS.items()})
        for _, prefix, title in groups
    )
    return ResultTable(
        name="table2",
        title="Table 2, success by kind and specification",
        rows=rows,
        models=_models(contenders),
        parts=parts,
        notes=(
            _WILSON,
            "Intervals of ratios: 95%, Koopman's score interval, the two planners taken as independent.",
            "Paper: GPT-4o, the distilled Llama-3.2-3B, and the same without distillation.",
            *_conditions(contenders, setting),
        ),
    )


def table3(results: Results, contenders: Sequence[Contender], setting: Setting) -> ResultTable:
    """Success of the full method and of its ablations. Columns as in table 1."""
    return _of_one_column(
        "table3",
        "Table 3, ablation of the data synthesis",
        results,
        contenders,
        setting,
        TABLE3,
        "Adapters are compared as given: they tell about the data where they were trained at equal budget.",
    )


def _of_one_column(
    name: str,
    title: str,
    results: Results,
    contenders: Sequence[Contender],
    setting: Setting,
    paper: Figures,
    note: str,
) -> ResultTable:
    domain = setting.domain
    several = len(setting.sets) > 1
    chosen: dict[str, str | None] = {domain: None}
    if several:
        chosen |= {f"{domain}/{s.name}": s.name for s in setting.sets}
    rows = {
        contender.row: {
            column: Cell(
                rate(e.success for e in _episodes(results[contender.row], of)),
                paper.get(contender.row, {}).get(column),
            )
            for column, of in chosen.items()
        }
        for contender in contenders
    }
    headings = {column: f"{domain}, {of or _together(setting)}" for column, of in chosen.items()}
    return ResultTable(
        name=name,
        title=title,
        rows=rows,
        models=_models(contenders),
        parts=(Part("", headings),),
        notes=(_WILSON, note, *_conditions(contenders, setting)),
    )


def _together(setting: Setting) -> str:
    return f"{' and '.join(s.name for s in setting.sets)} scenarios"


def _episodes(by_set: Mapping[str, Sequence[EpisodeResult]], chosen: str | None) -> Iterable[EpisodeResult]:
    return (e for name, episodes in by_set.items() if chosen in (None, name) for e in episodes)


def _models(contenders: Sequence[Contender]) -> dict[str, str]:
    return {contender.row: contender.model for contender in contenders}


def _conditions(contenders: Sequence[Contender], setting: Setting) -> tuple[str, ...]:
    prompts = ", ".join(f"{contender.row} {contender.style}" for contender in contenders)
    taught = "The expert is told what each task's sentence means, where a scenario says so; models are not."
    return (
        *([taught] if any(contender.model == EXPERT for contender in contenders) else ()),
        f"{setting.mask:.0%} masked, seed {setting.seed}; decoding is constrained for every model.",
        f"Prompts: {prompts}.",
    )
