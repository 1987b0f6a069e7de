"""The table that `cfo-bench run` prints at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import unquote

from cfo_bench.records import RunLimits
from cfo_bench.registry import label
from cfo_bench.results.summary import RoundTrips, SummaryRow, summarise
from cfo_bench.terminal.printing import print_text, show_json, show_prose, show_table

_NUMBERS = ("folds", "test score", "validation score", "time to best", "trials", "overhead")
_COLUMNS = ("learner", "task", "method", "folds", "metric", *_NUMBERS[1:])
# The time to best refers to the test score, so it is the next column.
_TESTED_COLUMNS = (*_COLUMNS[:6], "time to best", "validation score", *_COLUMNS[8:])

# If the table is too wide, the values of these columns become headings above the rows that share them.
_GROUPS = ("learner", "task", "metric")


def print_summary(
    paths: Sequence[Path],
    results: Path,
    as_json: bool,
    quiet: bool,
    limits: RunLimits | None = None,
    earlier: Sequence[Path] = (),
) -> None:
    """Print the table on stdout; with `as_json`, JSON on stdout and the table on stderr unless `quiet`.

    A run that is longer than the `limits` is shown with its result at the limits. Runs of `earlier` commands
    are shown with the others of their task.
    """
    rows = summarise([*paths, *earlier], limits)
    order = list(dict.fromkeys((row.learner, row.task) for row in rows))
    rows.sort(key=lambda row: order.index((row.learner, row.task)))
    if as_json:
        facts = "metric_facts"  # in JSON, the name of the metric is enough
        show_json([{key: value for key, value in asdict(row).items() if key != facts} for row in rows])
    if rows and not (as_json and quiet):
        print_text("" if quiet else "\n", nl=False)
        table = [{**_cells(row), **_scores(row, rows)} for row in rows]
        # The learner is a column only if there are several.
        names = [name for name in (_TESTED_COLUMNS if _has_tests(rows) else _COLUMNS) if name in table[0]]
        if len({row.learner for row in rows}) == 1:
            names.remove("learner")
        cells = [[row[name] for name in names] for row in table]
        numbers, by = (
            [names.index(name) for name in group if name in names] for group in (_NUMBERS, _GROUPS)
        )
        show_table(names, cells, numbers, err=as_json, by=by)
    if rows and not quiet:
        methods = ", ".join(dict.fromkeys(path.parts[-2] for path in earlier))
        origin = f"\nfrom earlier commands: {unquote(methods)}." if earlier else ""
        show_prose(f"\n{_explanation(rows)}{origin}\n\ntraces in {results}", err=True)


def _scores(row: SummaryRow, rows: Sequence[SummaryRow]) -> dict[str, str]:
    """The validation score, and the test score if any row has one."""
    validation = {"validation score": _score(row.score_mean, row.score_sd)}
    if not _has_tests(rows):
        return validation
    if row.test_score_mean is None:
        return {"test score": "none", **validation}
    mean = "none" if row.score_mean is None else f"{row.score_mean:.4f}"
    return {"test score": _score(row.test_score_mean, row.test_score_sd), "validation score": mean}


def _has_tests(rows: Sequence[SummaryRow]) -> bool:
    return any(row.test_score_mean is not None for row in rows)


def _cells(row: SummaryRow) -> dict[str, str]:
    remarks = [
        *([f"{row.runs} runs"] if row.runs != row.folds else []),
        *([f"{row.unfinished} unfinished"] if row.unfinished else []),
        *([f"{row.without_result} without a result"] if row.without_result else []),
    ]
    return {
        "learner": label(row.learner),
        "task": row.task,
        "method": row.method,
        "folds": f"{row.folds} ({', '.join(remarks)})" if remarks else f"{row.folds}",
        "metric": str(row.metric_facts),
        "time to best": "" if row.seconds_to_best is None else f"{row.seconds_to_best:.1f} s",
        "trials": f"{row.trials:.0f}",
        "overhead": "" if row.method_share is None else f"{row.method_share:.1%}",
    }


def _score(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "none"
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"


def _explanation(rows: Sequence[SummaryRow]) -> str:
    """The meaning of the columns that these rows have."""
    lines = []
    has_tests = _has_tests(rows)
    if has_tests:
        lines.append("test score: of the best trial, on rows that were not used to select it.")
    lines.append("validation score: the best trial was selected by it, so it is slightly optimistic.")
    if any(row.score_sd is not None for row in rows):
        lines.append("±: standard deviation over folds, after a mean over the seeds of each fold.")
    if any(row.without_result for row in rows):
        lines.append(
            "without a result: counts as the worse of the constant predictor and the worst other method."
        )
    score = "mean test score" if has_tests else "mean score"
    lines.append(f"time to best: when the {score} came within 0.05 % of its final value and stayed there.")
    lines.append("overhead: share of the time that the method itself used, without training.")
    programs = {row.method: row for row in rows if row.round_trip_seconds is not None}
    lines += [
        RoundTrips("", row.round_trip_seconds or 0.0, row.round_trip_share).in_words(method)
        for method, row in programs.items()
    ]
    return "\n".join(lines)
