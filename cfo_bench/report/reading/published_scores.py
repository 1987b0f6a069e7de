"""Published scores of others, from a small CSV file of the user or of the package."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev

from cfo_bench.errors import UserError, did_you_mean
from cfo_bench.metrics import METRICS
from cfo_bench.report.contents import some

# The paper's score in classification: 0 is the constant predictor, 1 the tuned random forest.
SCALED = "scaled_score"

REQUIRED = ("task", "metric", "score")
OPTIONAL = ("source", "method", "learner", "seconds", "sd", "fold")

# Two columns of the AutoML benchmark's tables (openml/automlbenchmark), and their names here.
_ALIASES = {"framework": "method", "duration": "seconds"}

# Files of the package, by the name that `--references` takes.
PACKAGED = {"paper": "paper_references.csv"}


@dataclass(frozen=True, slots=True)
class Reference:
    """A published score."""

    task: str
    metric: str  # one of METRICS, or SCALED
    score: float  # in the metric's own direction: a higher AUC is better, but a lower log-loss
    source: str  # who published it, and where
    method: str = ""
    learner: str = ""  # empty: any learner may be compared with it
    seconds: float | None = None  # the budget, or the time to the score
    sd: float | None = None  # standard deviation over folds
    folds: str = ""  # the averaged folds in words, if the file has a line for each fold

    @property
    def label(self) -> str:
        """Its name in a figure: the method with its source, or the source alone."""
        return f"{self.method}, {self.source}" if self.method else self.source


OnRemark = Callable[[str], None]


def read_references(name: str | Path, on_remark: OnRemark = lambda line: None) -> list[Reference]:
    """The references of a file, or of the package's file of that name.

    `on_remark` is called with a line about everything that is left out.
    """
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
    return _parse(text, str(name), on_remark)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the file."""

    place: str
    names: tuple[str, str, str, str, str]  # task, metric, source, method and learner
    fold: str
    score: float | None  # None: the method failed on this fold
    seconds: float | None
    sd: float | None

    @property
    def name(self) -> str:
        task, metric, _, method, _ = self.names
        return f"{metric} of {' on '.join(filter(None, (method, task)))}"


def _parse(text: str, name: str, on_remark: OnRemark) -> list[Reference]:
    reader = csv.reader(text.splitlines(), strict=True)
    lines = []
    columns: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            cells = [cell.strip() for cell in cells]
            place = f"{name}, line {reader.line_num}"
            if columns is None:
                columns = _columns(cells, name, place, on_remark)
            elif len(cells) != len(columns):
                raise UserError(f"{place}: {len(cells)} values for {len(columns)} columns: quote commas")
            else:
                lines.append(_line(dict(zip(columns, cells, strict=True)), Path(name).stem, place))
    except csv.Error as error:
        place = f"{name}, line {reader.line_num}"
        raise UserError(f"{place}: not valid CSV ({error}): check its quotes") from None
    groups = _by_method(lines) if columns is not None and "fold" in columns else [[line] for line in lines]
    references = [_reference(group) for group in groups]
    scored = [reference for reference in references if reference is not None]
    if not scored:
        raise UserError(
            f"{name} has no references: write a line {','.join(REQUIRED)}, then one line for each score"
        )
    if len(scored) < len(references):
        pairs = zip(groups, references, strict=True)
        empty = [group[0].name for group, reference in pairs if reference is None]
        on_remark(f"{name}: left out, as no fold has a score: {some(empty)}")
    return scored


def _columns(cells: list[str], name: str, place: str, on_remark: OnRemark) -> list[str]:
    """The columns by our names. Unknown columns are unchanged, and reported."""
    for column in REQUIRED:
        if column not in cells:
            hint = did_you_mean(column, cells)
            required, available = ", ".join(REQUIRED), ", ".join(cells)
            raise UserError(f"{place}: no column {column!r}{hint}: it needs {required}, and has {available}")
    columns = [cell if _ALIASES.get(cell) in cells else _ALIASES.get(cell, cell) for cell in cells]
    known = (*REQUIRED, *OPTIONAL)
    for column in columns:
        if column in known and columns.count(column) > 1:
            raise UserError(f"{place}: column {column!r} occurs twice: remove one")
    ignored = [f"{column}{did_you_mean(column, known)}" for column in columns if column not in known]
    if ignored:
        on_remark(f"{name}: ignored, as these columns are not known: {', '.join(ignored)}")
    return columns


def _line(row: Mapping[str, str], file: str, place: str) -> _Line:
    required = (*REQUIRED, *(("source",) if "source" in row else ()))
    for column in required:
        if not row[column] and not (column == "score" and "fold" in row):
            raise UserError(f"{place}: no {column}: every line needs {', '.join(required)}")
    metrics = (*METRICS, SCALED)
    if row["metric"] not in metrics:
        raise UserError(f"{place}: unknown metric {row['metric']!r}: choose from {', '.join(metrics)}")
    return _Line(
        place=place,
        names=(
            *(row["task"], row["metric"], row.get("source", file)),
            *(row.get("method", ""), row.get("learner", "")),
        ),
        fold=row.get("fold", ""),
        score=_score(row, place) if row["score"] else None,
        seconds=_from_zero(row, "seconds", place),
        sd=_from_zero(row, "sd", place),
    )


def _by_method(lines: Sequence[_Line]) -> list[list[_Line]]:
    """The folds of each task, metric, source, method and learner."""
    groups: dict[tuple[str, ...], dict[str, _Line]] = {}
    for line in lines:
        folds = groups.setdefault(line.names, {})
        if line.fold in folds:
            raise UserError(f"{line.place}: {line.name}, fold {line.fold!r}, occurs twice: keep one")
        folds[line.fold] = line
    return [list(folds.values()) for folds in groups.values()]


def _reference(lines: Sequence[_Line]) -> Reference | None:
    """The mean over the lines with a score, one for each fold; None if none has one."""
    scores = [line.score for line in lines if line.score is not None]
    if not scores:
        return None
    seconds = [line.seconds for line in lines if line.seconds is not None]
    task, metric, source, method, learner = lines[0].names
    n_folds = f"{len(scores)} of {len(lines)}" if len(scores) < len(lines) else f"{len(lines)}"
    return Reference(
        *(task, metric, fmean(scores), source, method, learner),
        seconds=fmean(seconds) if seconds else None,
        sd=stdev(scores) if len(scores) > 1 else lines[0].sd,
        folds=f"mean over {n_folds} folds" if len(lines) > 1 else "",
    )


def _score(row: Mapping[str, str], place: str) -> float:
    score = _number(row["score"], "score", place)
    low, high = METRICS[row["metric"]].facts.bounds if row["metric"] in METRICS else (-math.inf, math.inf)
    if not low <= score <= high:
        beyond = f"above {high:g}" if score > high else f"below {low:g}"
        rule = f"outside {low:g} to {high:g}" if math.isfinite(high - low) else beyond
        remedy = "write a share, not percent" if score > high else "write it without the minus sign"
        raise UserError(f"{place}: {row['metric']} {row['score']!r} is {rule}: {remedy}")
    return score


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
        raise UserError(f"{place}: {column} {text!r} is not a number: write one like 0.9315")
    return value
