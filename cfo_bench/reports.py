"""The report of a results folder from Python: what `cfo-bench report` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench.errors import UnknownNameError, UserError

if TYPE_CHECKING:
    from cfo_bench.report.build import Built


def write_report(
    results: str | Path = "results",
    out: str | Path | None = None,
    *,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    baseline: str = "cfo",
    full_rows_only: bool = False,
    formats: Collection[str] | None = None,
    on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> Built:
    """Makes tables, figures and one page from the traces in `results`, in the folder `out`.

    `out` is `report` in the results folder unless it is given. `learners`, `tasks` and `methods` take only
    these; the other methods are measured against the `baseline`. `formats` are some of html, png, pdf, csv,
    markdown and latex, or all of them. `on_progress` is told the stage, and how many of how many are done.
    Returned are the standings, the warnings and the files.
    """
    from cfo_bench.report.build import Request, build
    from cfo_bench.report.reading.load import Selection
    from cfo_bench.report.rendering.layout import FORMATS

    for name in formats or ():
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    if formats is not None and not formats:
        raise UserError(f"no format for the report: give some of {', '.join(FORMATS)}")
    if out is None:
        out = Path(results) / "report"
        if os.path.islink(out):  # only a link that is named is followed: this one may come with the results
            raise UserError(f"{out} is a link, and links are not followed: name the folder with -o")
    request = Request(
        results=Path(results),
        out=Path(out),
        selection=Selection(learners, tasks, methods),
        baseline=baseline,
        full_rows_only=full_rows_only,
        formats=FORMATS if formats is None else [name for name in FORMATS if name in formats],
    )
    return build(request, on_progress)
