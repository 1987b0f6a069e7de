"""The report of a results folder from Python: what `cfo-bench report` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.values import DURATION_RULE, seconds

if TYPE_CHECKING:
    from cfo_bench.report.build import Built
    from cfo_bench.report.reading.references import Reference


def write_report(
    results: str | Path | Sequence[str | Path] = "results",
    out: str | Path | None = None,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    baseline: str = "cfo",
    full_rows_only: bool = False,
    budget: str | float | None = None,
    references: Sequence[str | Path] = (),
    importance: bool = False,
    formats: Collection[str] | None = None,
    on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> Built:
    """Makes tables, figures and a page from the traces of a results folder.

    results         one results folder, or several; a run that is the same in two of them is counted once
    out             where the report goes. None: `report` in the results folder; for several folders it has
                    to be given
    learners        only these; empty: all
    tasks           only these; empty: all
    methods         only these; empty: all. `constant` and `tuned-rf`, which scale the scores, are always read
    baseline        the method that the others are compared with
    full_rows_only  count only trials on all training rows
    budget          read longer runs as if they had ended then, such as 4 or "4s"; shorter ones are left out
    references      CSV files with published scores of others, or "paper" for the paper's
    importance      compute how much each hyperparameter matters: reads every trial
    formats         some of html, png, pdf, csv, markdown and latex, or "all"; None: all but pdf
    on_progress     is called with the stage, and how many of how many steps are done
    returns         the standings, the warnings and the files
    """
    from cfo_bench.report.build import Request, build
    from cfo_bench.report.numbers.hyperparameters import require_optuna
    from cfo_bench.report.reading.load import Selection
    from cfo_bench.report.reading.references import read_references
    from cfo_bench.report.rendering.layout import DEFAULT_FORMATS, FORMATS

    for name in formats or ():
        if name not in (*FORMATS, "all"):
            raise UnknownNameError("format", name, (*FORMATS, "all"))
    if formats is not None and not formats:
        raise UserError(f"no format for the report: give some of {', '.join(FORMATS)}")
    if importance:
        require_optuna()
    folders = [Path(results)] if isinstance(results, str | Path) else [Path(one) for one in results]
    if out is None:
        if len(folders) != 1:
            raise UserError(f"{len(folders)} results folders: say where their report goes, as in -o report")
        out = folders[0] / "report"
        if os.path.islink(out):  # only a link that is named is followed: this one may come with the results
            raise UserError(f"{out} is a link, and links are not followed: name the folder with -o")
    remarks: list[str] = []
    published = [one for file in references for one in read_references(file, remarks.append)]
    request = Request(
        results=folders,
        out=Path(out),
        selection=Selection(learners, tasks, methods),
        baseline=baseline,
        full_rows_only=full_rows_only,
        budget_seconds=None if budget is None else _seconds(budget),
        importance=importance,
        references=published,
        formats=DEFAULT_FORMATS
        if formats is None
        else [name for name in FORMATS if name in formats or "all" in formats],
    )
    built = build(request, on_progress)
    return replace(built, warnings=[*remarks, *_unknown_learners(published, built), *built.warnings])


def _unknown_learners(published: Sequence[Reference], built: Built) -> list[str]:
    """A line for each learner of a published score that is none of ours: nothing is compared with it."""
    from cfo_bench.learners import LEARNERS

    here = {"", *(one.learner for one in built.overviews)}
    lines = []
    for name in dict.fromkeys(one.learner for one in published if one.learner not in here):
        try:
            LEARNERS.row(name)
        except UserError as error:
            lines.append(f"references are left out: {error}")
    return lines


def _seconds(budget: str | float) -> float:
    found = seconds(budget)
    if found is None:
        raise UserError(f"--budget {budget!r} is no time: {DURATION_RULE}")
    return found
