"""The contents of a report: sections with tables of numbers, and figures that are drawn from these tables."""

from __future__ import annotations

import hashlib
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import orjson

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from cfo_bench.report.numbers.learner_results import LearnerResults
    from cfo_bench.results.run import Run

CellValue = str | int | float | bool | None
T = TypeVar("T")

# At most this many names are listed; the others are counted.
MOST_NAMES = 5

# Headings that differ from the name of the column, and units by the suffix of a column's name.
_HEADINGS = {
    "ci_low": "95 % interval from",
    "ci_high": "to",
    "p_holm": "p (Holm)",
    "p_corrected": "p (step-up)",
    "least_p_holm": "least p (Holm)",
    "elo": "Elo",
    "dearer": "more expensive",
    "sd": "standard deviation",
    "sha256": "SHA-256",
    "quartile_1": "1st quartile",
    "quartile_3": "3rd quartile",
    "score_1_is": "a score of 1 is",
}
_UNITS = {"_seconds": "s", "_mb": "MB", "_percent": "%"}


@dataclass(frozen=True)
class Table:
    """A table of the report. Text between `**` and `**` is printed in bold; a missing number is None."""

    name: str  # the stem of its files
    title: str
    note: str  # the meaning of a row and of its columns
    columns: tuple[str, ...]  # as in the CSV file; the page shows their `heading`
    rows: Sequence[Sequence[CellValue]]
    # Columns named after a method or a hyperparameter: their heading is their name.
    verbatim: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        note: str,
        items: Iterable[T],
        columns: Mapping[str, Callable[[T], CellValue]],
    ) -> Table:
        """A table with a row for each item, and in each column the value of its function for the item."""
        rows = [[value(item) for value in columns.values()] for item in items]
        return cls(name, title, note, tuple(columns), rows)

    def heading(self, column: str) -> str:
        """A column's name with spaces for underscores, and units in brackets."""
        if column in self.verbatim:
            return column
        if column in _HEADINGS:
            return _HEADINGS[column]
        for ending, unit in _UNITS.items():
            if column.endswith(ending):
                return f"{column.removesuffix(ending).replace('_', ' ')} ({unit})"
        return column.replace("_", " ")

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def records_by(self, name: str) -> dict[Any, list[dict[str, Any]]]:
        """The records, grouped by their value in a column."""
        groups: dict[Any, list[dict[str, Any]]] = {}
        for record in self.records():
            groups.setdefault(record[name], []).append(record)
        return groups

    def column(self, name: str) -> list[Any]:
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def values_by_method(self, name: str) -> dict[str, list[Any]]:
        """The values of a column for each method that has any."""
        groups: dict[str, list[Any]] = {}
        for method, value in zip(self.column("method"), self.column(name), strict=True):
            if value is not None:
                groups.setdefault(method, []).append(value)
        return groups

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the table: if it is unchanged, the table's file and figures need not be made again."""
        parts = self.name, self.title, self.note, self.columns, self.rows, self.verbatim
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


class Place(StrEnum):
    """The part of the page that a section is in."""

    SUPPORT = "support"  # open, below the answer
    MORE = "more"  # folded, at the end: a click, a link or printing opens it


@dataclass(frozen=True, slots=True)
class LinePlot:
    """An interactive plot of lines, one for each method, from the first table of a figure.

    The table has one row for each method and point, in the order of x.
    """

    x: str  # the column of the horizontal axis
    y: str  # the column of the vertical axis
    x_label: str
    y_label: str
    log_x: bool = True
    log_y: bool = False
    low_is_best: bool = True
    best_on_top: bool = False  # whether the vertical axis is inverted: the lowest value is on top
    steps: bool = True  # a value holds until the next point; otherwise points are joined
    band: tuple[str, str] | None = None  # the columns of an interval's bounds, shaded for the leaders
    fits_band: bool = False  # whether the vertical axis includes the whole bands
    floor: float = -math.inf  # lower values are drawn at this height
    # Alternative lines that the reader may choose: the name of the lines of the first table, and the column
    # of the figure's second table (with the same x) whose values name the alternatives.
    choice: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, and the tables with its numbers, which are written as CSV files."""

    name: str  # the stem of its files
    title: str
    caption: str  # the meaning of the marks and lines
    tables: tuple[Table, ...]
    # Draws the picture from the tables: a partial of a module's function, so that it can be pickled.
    draw: Callable[[], Canvas]
    # The text alternative: the axes, and the finding or the numbers. If empty: the caption and a short table.
    alt: str = ""
    lines: LinePlot | None = None  # if given, the page shows this plot, and links to the picture
    is_answer: bool = False  # shown at the top of the page, with the answer, instead of in its section
    is_for_print: bool = False  # not shown on the page, and drawn only if PDF files are requested

    def is_drawn(self, formats: Collection[str]) -> bool:
        return not self.is_for_print or "pdf" in formats

    def fingerprint(self) -> str:
        """A hash of the figure: if it is unchanged, the figure need not be drawn again."""
        function = getattr(self.draw, "func", self.draw)
        others = [arg for arg in getattr(self.draw, "args", ()) if not self._is_table(arg)]
        content = [
            *(self.name, self.title, self.caption, f"{function.__module__}.{function.__qualname__}"),
            *(table.fingerprint for table in self.tables),
            *(others, getattr(self.draw, "keywords", {})),
            _code_of_plug_in(function.__module__),
        ]
        # Arrays are serialised: their repr leaves out numbers in the middle.
        how = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
        return hashlib.sha256(orjson.dumps(content, default=_sorted_or_repr, option=how)).hexdigest()

    def _is_table(self, arg: object) -> bool:
        return arg is self.tables or any(arg is table for table in self.tables)


def _code_of_plug_in(module: str) -> str:
    """A hash of the module's file; empty for modules of cfo-bench, whose hash is in the manifest."""
    file = getattr(sys.modules[module], "__file__", None)
    if module.startswith("cfo_bench.") or file is None:
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _sorted_or_repr(value: object) -> object:
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else repr(value)


@dataclass(frozen=True, slots=True)
class TaskTrials:
    """A run of each method on a task. The page loads and draws their trials when the plot is visible.

    Parameters
    ----------
    task : str
        The task, or another title of the plot.
    runs : mapping of str to Run
        The runs by method, in the order of tables.
    full_rows_only : bool, default False
        Whether trials on fewer training rows are left out.
    """

    task: str
    runs: Mapping[str, Run]
    full_rows_only: bool = False


@dataclass(frozen=True, slots=True)
class SectionContent:
    """The contents of a section."""

    intro: str = ""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    warnings: tuple[str, ...] = ()  # about results that are missing, imputed, or too few for a test
    trials: tuple[TaskTrials, ...] = ()  # one for each task, for interactive plots

    @property
    def is_empty(self) -> bool:
        """Whether it has no plot and no row of a table. The page then shows only its warnings."""
        return not (self.figures or self.trials or any(table.rows for table in self.tables))


class Section(ABC):
    """A part of the report that answers a question about the runs of one learner.

    Attributes
    ----------
    name : str
        Its anchor on the page.
    title : str
        Its heading.
    place : Place, default Place.MORE
        Whether it is open below the answer, or folded at the end of the page.
    least_methods : int, default 1
        The section is absent if fewer methods are compared.
    least_tasks : int, default 0
        The section is absent if the methods can be ranked together on fewer tasks.
    has_curves : bool, default False
        Whether the page shows the interactive curves of all tasks here, and links to the figures.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    place: ClassVar[Place] = Place.MORE
    least_methods: ClassVar[int] = 1
    least_tasks: ClassVar[int] = 0
    has_curves: ClassVar[bool] = False

    @abstractmethod
    def build(self, results: LearnerResults) -> SectionContent | None:
        """Compute the tables and describe the figures; no figure is drawn yet.

        Parameters
        ----------
        results : LearnerResults
            The runs of one learner, and the numbers that sections share: `scores` by task, `ranking`,
            `methods` by mean rank, and the best ones (`leaders`).

        Returns
        -------
        SectionContent or None
            None if the results contain nothing for the section.
        """


@dataclass(frozen=True, slots=True)
class BuiltSection:
    """A section and its content for one learner."""

    section: Section
    content: SectionContent


def some(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def plural(n: int, word: str) -> str:
    """The number with its noun, such as `1 task` or `1,200 tasks`."""
    return f"{n:,} {word}{'s' * (n != 1)}"
