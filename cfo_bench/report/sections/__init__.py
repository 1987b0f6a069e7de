"""The sections of a report, one a file: each is a question, with the tables and figures that answer it.

A module here has a function `section(results)`, which gives the section, or None where the results have
nothing to say about its question. `build.py` calls them all through `sections`.
"""

from __future__ import annotations

from collections.abc import Iterator

from cfo_bench.report.contents import Section
from cfo_bench.report.numbers.learner_results import LearnerResults


def sections(results: LearnerResults) -> list[Section]:
    """The sections on one learner's runs, in the order of the page. No figure is drawn yet."""
    return list(each_section(results))


def each_section(results: LearnerResults) -> Iterator[Section]:
    """The same, one after the other, each as soon as its numbers are computed."""
    from cfo_bench.report.sections import (
        configurations,
        final_scores,
        footprint,
        frugality,
        holdout,
        importance,
        missing,
        neighbours,
        optimality,
        overall,
        paper,
        performance,
        provenance,
        speedup,
        statistics,
        targets,
        win_rates,
    )

    # These compare methods: they need runs of one that searches.
    comparisons = (
        performance,
        final_scores,
        holdout,
        optimality,
        speedup,
        statistics,
        targets,
        win_rates,
        overall,
        frugality,
        configurations,
        footprint,
        importance,
        paper,
        missing,
    )
    asked = (*(comparisons if results.methods else ()), neighbours, provenance)
    for part in asked:
        found = part.section(results)
        if found is not None:
            yield found
