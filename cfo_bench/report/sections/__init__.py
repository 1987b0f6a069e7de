"""The sections of a report: each answers a question about the runs with tables and figures.

A section is a function of a learner's results that returns the section, or None if the results say nothing
about its question. `each_section` calls them in the order of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cfo_bench.report.contents import Section
from cfo_bench.report.numbers.learner_results import LearnerResults


def sections(results: LearnerResults) -> list[Section]:
    """The sections on one learner's runs, in the order of the page. No figure is drawn yet."""
    return list(each_section(results))


def each_section(results: LearnerResults) -> Iterator[Section]:
    """The same, each as soon as its numbers are computed."""
    for make in _makers(has_methods=bool(results.methods)):
        section = make(results)
        if section is not None:
            yield section


def _makers(has_methods: bool) -> list[Callable[[LearnerResults], Section | None]]:
    from cfo_bench.report.sections import (
        configurations,
        final_scores,
        frugality,
        importance,
        neighbours,
        optimality,
        overall,
        performance,
        provenance,
        speed,
        statistics,
    )

    comparisons = [
        performance.section,
        final_scores.section,
        final_scores.holdout_section,
        optimality.section,
        speed.section,
        statistics.section,
        speed.targets_section,
        statistics.win_rates_section,
        overall.section,
        frugality.section,
        configurations.section,
        configurations.footprint_section,
        importance.section,
        optimality.paper_section,
        provenance.missing_section,
    ]
    return [*(comparisons if has_methods else ()), neighbours.section, provenance.section]
