"""The sections of a report, one a file: each is a question, with the tables and figures that answer it.

A module here has a function `section(results)`, which gives the section, or None where the results have
nothing to say about its question. `build.py` calls them all through `sections`.
"""

from __future__ import annotations

from cfo_bench.report.contents import Section
from cfo_bench.report.numbers.learner_results import LearnerResults


def sections(results: LearnerResults) -> list[Section]:
    """The sections on one learner's runs, the paper's first. No figure is drawn yet."""
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
        provenance,
        speedup,
        statistics,
    )

    # These compare methods: they need runs of one that searches.
    comparisons = (
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
    asked = (*(comparisons if results.methods else ()), neighbours, provenance)
    return [found for part in asked if (found := part.section(results)) is not None]
