"""The sections of a report: each answers a question about the runs with tables and figures.

A section is a class, see `contents.Section`. Ours are listed in the order of the page; an installed package
adds a section by an entry point in the group `cfo_bench.sections`.
"""

from __future__ import annotations

from collections.abc import Iterator

from cfo_bench.errors import UserError, describe
from cfo_bench.registry import Registry, Row
from cfo_bench.report.contents import BuiltSection, Section, SectionContent
from cfo_bench.report.numbers.learner_results import LearnerResults

_HERE = "cfo_bench.report.sections"

SECTIONS = Registry(
    "section",
    "cfo_bench.sections",
    {
        "performance": Row(f"{_HERE}.performance:PerformanceSection", "curves"),
        "final-scores": Row(f"{_HERE}.final_scores:FinalScoresSection", "scores and differences by task"),
        "holdout": Row(f"{_HERE}.final_scores:HoldoutSection", "validation and test scores"),
        "optimality": Row(f"{_HERE}.optimality:OptimalitySection", "the paper's table of score and cost"),
        "speed-ups": Row(f"{_HERE}.speed:SpeedUpsSection", "how much faster the baseline is"),
        "statistics": Row(f"{_HERE}.statistics:StatisticsSection", "ranks and tests over tasks"),
        "targets": Row(f"{_HERE}.speed:TargetsSection", "the time to targets near the best loss"),
        "win-rates": Row(f"{_HERE}.statistics:WinRatesSection", "win rates and Elo ratings"),
        "overall": Row(f"{_HERE}.overall:OverallSection", "scaled scores of all tasks"),
        "frugality": Row(f"{_HERE}.frugality:FrugalitySection", "where the seconds go"),
        "configurations": Row(f"{_HERE}.configurations:ConfigurationsSection", "the best configurations"),
        "trials": Row(f"{_HERE}.task_trials:TrialsSection", "the trials of a task"),
        "footprint": Row(f"{_HERE}.configurations:FootprintSection", "the search over time"),
        "importance": Row(f"{_HERE}.importance:ImportanceSection", "importance of hyperparameters"),
        "paper": Row(f"{_HERE}.optimality:PaperSection", "our cells next to the paper's"),
        "missing": Row(f"{_HERE}.provenance:MissingSection", "runs that are missing or left out"),
        "neighbours": Row(f"{_HERE}.neighbours:NeighboursSection", "studies of nearest neighbours"),
        "provenance": Row(f"{_HERE}.provenance:ProvenanceSection", "machines, versions, settings, data"),
    },
)


def sections(results: LearnerResults) -> list[BuiltSection]:
    """The sections on one learner's runs, in the order of the page. No figure is drawn yet."""
    return list(each_section(results))


def each_section(results: LearnerResults) -> Iterator[BuiltSection]:
    """The same sections, each as soon as its numbers are computed; those of plug-ins come last."""
    files = {"overview"}
    for name in SECTIONS.builtin:
        if (built := built_section(SECTIONS.load(name)(), results)) is not None:
            files |= _files(built.content)
            yield built
    for name in [name for name in SECTIONS.rows() if name not in SECTIONS.builtin]:
        try:
            built = built_section(SECTIONS.load(name)(), results)
            if built is not None and (twice := files & _files(built.content)):
                raise ValueError(f"another section has a table or figure {min(twice)!r}")
        except Exception as error:  # a plug-in may raise anything
            raise UserError(
                f"section {name!r} of a plug-in failed: correct or uninstall it ({describe(error)})"
            ) from error
        if built is not None:
            files |= _files(built.content)
            yield built


def built_section(section: Section, results: LearnerResults) -> BuiltSection | None:
    """The section with its content; None if the results have nothing to show in it."""
    if len(results.methods) < section.least_methods or len(results.ranking.tasks) < section.least_tasks:
        return None
    content = section.build(results)
    if content is None:
        return None
    if not isinstance(content, SectionContent):
        raise TypeError(f"its build() returned {type(content).__name__} and no SectionContent")
    return BuiltSection(section, content)


def _files(content: SectionContent) -> set[str]:
    """The names of its tables and figures, which are also the names of files."""
    tables = [*content.tables, *(table for figure in content.figures for table in figure.tables)]
    return {table.name for table in tables} | {figure.name for figure in content.figures}
