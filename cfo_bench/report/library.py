"""The report of a results folder from Python, the same as by `cfo-bench report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.registry import label
from cfo_bench.values import DURATION_RULE, seconds

if TYPE_CHECKING:
    from cfo_bench.report.build import Built
    from cfo_bench.report.reading.published_scores import Reference


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
    """Write the report of a results folder: tables, figures and an HTML page.

    Parameters
    ----------
    results : str, Path or sequence of these, default "results"
        One results folder, or several. A run that is the same in two of them is counted once.
    out : str or Path, optional
        The folder of the report. By default `report` in the results folder; required for several folders.
    learners : sequence of str
        Report only these learners. By default all.
    tasks : sequence of str
        Report only these tasks. By default all.
    methods : sequence of str
        Report only these methods. By default all. `constant` and `tuned-rf`, which scale the scores, are
        always read.
    baseline : str, default "cfo"
        The method that the others are compared with. For a learner without runs of "cfo", another is taken:
        "cfo-tuned", or the first method of the tables.
    full_rows_only : bool, default False
        Count only trials on all training rows.
    budget : str or float, optional
        The time at which longer runs are read as if they had ended, such as 4 or "4s"; runs with a shorter
        budget are left out.
    references : sequence of str or Path
        CSV files with published scores of others, or "paper" for the paper's.
    importance : bool, default False
        Compute the importance of each hyperparameter; this reads every trial.
    formats : collection of str, optional
        Some of html, png, pdf, csv, markdown and latex, or "all". By default all but pdf.
    on_progress : callable, optional
        Called with the stage, the number of finished steps and the number of all steps.

    Returns
    -------
    Built
        The standings, the warnings and the files.

    Raises
    ------
    UserError
        If an argument is not valid, or no finished run can be reported.
    """
    from cfo_bench.report.build import Request, build
    from cfo_bench.report.numbers.hyperparameters import require_optuna
    from cfo_bench.report.reading.load import Selection
    from cfo_bench.report.reading.published_scores import read_references
    from cfo_bench.report.rendering.layout import DEFAULT_FORMATS, FORMATS

    for name in formats or ():
        if name not in (*FORMATS, "all"):
            raise UnknownNameError("format", name, (*FORMATS, "all"))
    if formats is not None and not formats:
        raise UserError(f"no format for the report: give some of {', '.join(FORMATS)}")
    if importance:
        require_optuna()
    folders = [Path(results)] if isinstance(results, str | Path) else [Path(folder) for folder in results]
    if out is None:
        if len(folders) != 1:
            raise UserError(
                f"{len(folders)} results folders: name the folder of their report, as in -o report"
            )
        out = folders[0] / "report"
        if os.path.islink(out):  # a link may come with the results, so it must be named with -o
            raise UserError(f"{out} is a link, and links are not followed: name the folder with -o")
    remarks: list[str] = []
    published = [reference for file in references for reference in read_references(file, remarks.append)]
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
    """A line for each learner of published scores that is not registered: these are not compared."""
    from cfo_bench.learners import LEARNERS

    reported = {"", *(overview.learner for overview in built.overviews)}
    learners = dict.fromkeys(reference.learner for reference in published)
    lines = []
    for name in [learner for learner in learners if reported.isdisjoint({learner, label(learner)})]:
        try:
            LEARNERS.row(name)
        except UserError as error:
            lines.append(f"references are left out: {error}")
    return lines


def _seconds(budget: str | float) -> float:
    budget_seconds = seconds(budget)
    if budget_seconds is None:
        raise UserError(f"--budget {budget!r} is not a time: {DURATION_RULE}")
    return budget_seconds
