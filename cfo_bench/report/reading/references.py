"""Published scores of others, from a small CSV file that a user gives or that comes with the package."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cfo_bench.errors import UserError, did_you_mean
from cfo_bench.metrics import METRICS

# The score that the paper prints on classification: 0 is the constant predictor, 1 the tuned random forest.
SCALED = "scaled_score"

REQUIRED = ("task", "metric", "score", "source")
OPTIONAL = ("method", "learner", "seconds", "sd")

# Files of the package, by the name that `--references` takes.
PACKAGED = {"paper": "paper_references.csv"}


@dataclass(frozen=True, slots=True)
class Reference:
    """A score that somebody else has published."""

    task: str
    metric: str  # one of METRICS, or SCALED
    score: float  # as people read it: a higher AUC is better, a lower log-loss
    source: str  # who published it, and where
    method: str = ""
    learner: str = ""  # empty: any learner may be compared with it
    seconds: float | None = None  # the budget, or the time to the score
    sd: float | None = None  # standard deviation over folds

    @property
    def label(self) -> str:
        """What it is called in a figure: the method with its source, or the source alone."""
        return f"{self.method}, {self.source}" if self.method else self.source


def read_references(name: str | Path) -> list[Reference]:
    """The references of a file, or of the package's file of that name."""
    packaged = PACKAGED.get(str(name))
    try:
        if packaged is not None:
            text = files("cfo_bench.report.reading").joinpath(packaged).read_text(encoding="utf-8")
        else:
            text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        names = ", ".join(PACKAGED)
        raise UserError(
            f"can't read the references {str(name)!r}: {error.strerror}; give a CSV file, or one of: {names}"
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"the references {str(name)!r} are not UTF-8: save them as CSV in UTF-8") from None
    return _parse(text, str(name))


def _parse(text: str, name: str) -> list[Reference]:
    reader = csv.reader(text.splitlines(), strict=True)
    found = []
    columns: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            cells = [cell.strip() for cell in cells]
            place = f"{name}, line {reader.line_num}"
            if columns is None:
                columns = _columns(cells, place)
            elif len(cells) != len(columns):
                raise UserError(f"{place}: {len(cells)} values for {len(columns)} columns: quote commas")
            else:
                found.append(_reference(dict(zip(columns, cells, strict=True)), place))
    except csv.Error as error:
        raise UserError(f"{name}, line {reader.line_num}: no CSV ({error}): check its quotes") from None
    if not found:
        raise UserError(
            f"{name} has no references: write a line {','.join(REQUIRED)}, then one line for each score"
        )
    return found


def _columns(cells: list[str], place: str) -> list[str]:
    known = (*REQUIRED, *OPTIONAL)
    for cell in cells:
        if cell not in known:
            hint = did_you_mean(cell, known)
            raise UserError(f"{place}: unknown column {cell!r}{hint}: choose from {', '.join(known)}")
        if cells.count(cell) > 1:
            raise UserError(f"{place}: column {cell!r} is there twice: remove one")
    for column in REQUIRED:
        if column not in cells:
            raise UserError(f"{place}: no column {column!r}: it takes {', '.join(REQUIRED)}")
    return cells


def _reference(row: Mapping[str, str], place: str) -> Reference:
    for column in REQUIRED:
        if not row[column]:
            raise UserError(f"{place}: no {column}: every line needs {', '.join(REQUIRED)}")
    metrics = (*METRICS, SCALED)
    if row["metric"] not in metrics:
        raise UserError(f"{place}: unknown metric {row['metric']!r}: choose from {', '.join(metrics)}")
    score = _number(row["score"], "score", place)
    if row["metric"] == "auc" and not 0 <= score <= 1:
        raise UserError(f"{place}: auc {row['score']!r} is outside 0 to 1: write a share, not percent")
    return Reference(
        task=row["task"],
        metric=row["metric"],
        score=score,
        source=row["source"],
        method=row.get("method", ""),
        learner=row.get("learner", ""),
        seconds=_from_zero(row, "seconds", place),
        sd=_from_zero(row, "sd", place),
    )


def _from_zero(row: Mapping[str, str], column: str, place: str) -> float | None:
    if not row.get(column):
        return None
    value = _number(row[column], column, place)
    if value < 0:
        raise UserError(f"{place}: {column} {row[column]!r} is negative: write 0 or more, or nothing")
    return value


def _number(text: str, column: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{place}: {column} {text!r} is no number: write one like 0.9315")
    return value
