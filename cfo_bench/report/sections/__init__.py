"""The sections of a report, each a question with the tables and figures that answer it: one a file."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.report.contents import Section
from cfo_bench.report.digest import Digest


def sections(
    learner: str, digests: Sequence[Digest], baseline: str = "cfo", full_rows_only: bool = False
) -> list[Section]:
    """The sections on one learner's runs, the paper's first; nothing is drawn before it is asked for."""
    from cfo_bench.report.results import Results
    from cfo_bench.report.sections import (
        configurations,
        frugality,
        holdout,
        missing,
        neighbours,
        optimality,
        overall,
        paper,
        performance,
        speedup,
        statistics,
    )

    results = Results(learner, digests, baseline, full_rows_only)
    compared = (
        performance,
        optimality,
        overall,
        configurations,
        paper,
        holdout,
        speedup,
        frugality,
        statistics,
        missing,
    )
    found = [part.section(results) for part in compared] if results.methods else []
    return [one for one in (*found, neighbours.section(results)) if one is not None]
