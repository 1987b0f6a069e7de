"""Logs of FLAML: the records of `AutoML.fit(log_file_name=…)`, or the text of `tune.run(log_file_name=…)`."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.exchange.imported_trace import Meaning, SourceClock, SourceRun, SourceTrial, read_text

_RESULT = "result: "
# Numbers and texts as numpy prints them.
_NUMPY = re.compile(r"\bnp\.(?:float|int|uint|str|bool)\w*\(([^()]*)\)")
# The values that `tune` adds to those that the user's function returned.
_OF_TUNE = {"training_iteration", "config", "experiment_tag", "time_total_s"}


def read_flaml(source: Path, value: str | None = None, meaning: Meaning = Meaning.LOSS) -> SourceRun:
    """The run of a log. `value` names the value to import if the trials of a `tune` log have several."""
    text = read_text(source)
    lines = [line for line in text.splitlines() if line.strip()]
    if any(line.startswith(_RESULT) for line in lines):
        return _tune(source, lines, value, meaning)
    records = [row for line in lines if "validation_loss" in (row := _record(line))]
    if not records:
        raise UserError(
            f"{str(source)!r} has no trials of FLAML: give the log_file_name of AutoML.fit or tune.run"
        )
    try:
        return _automl(records)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{str(source)!r} is not a log of AutoML.fit ({type(error).__name__}: {error})"
        ) from None


def looks_like_flaml(text: str) -> bool:
    """Whether a file with this beginning is a log."""
    return '"validation_loss"' in text or f"\n{_RESULT}" in f"\n{text}"


def _record(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _automl(records: Sequence[Mapping[str, Any]]) -> SourceRun:
    learners = sorted({str(row["learner"]) for row in records})
    whole = max(int(row["sample_size"]) for row in records)
    trials = []
    for row in records:
        ended = float(row["wall_clock_time"])
        rows, loss = int(row["sample_size"]), float(row["validation_loss"])
        learner = {"learner": str(row["learner"])} if len(learners) > 1 else {}
        trials.append(
            SourceTrial(
                config={**learner, **{name: _plain(value) for name, value in row["config"].items()}},
                value=loss,
                started=max(ended - float(row["trial_time"]), 0.0),
                ended=ended,
                rows=rows if rows < whole else None,
            )
        )
    losses = [trial.value or 0.0 for trial in trials]
    is_better_only = len(losses) > 1 and all(after < before for before, after in pairwise(losses))
    return SourceRun(
        trials=trials,
        clock=SourceClock.WALL,
        names={"method": "flaml", "learner": learners[0] if len(learners) == 1 else "flaml-automl"},
        train_rows=whole,
        remarks=("each trial is better than the one before: log_type='all' logs the others, too",)
        if is_better_only
        else (),
    )


def _tune(source: Path, lines: Sequence[str], value: str | None, meaning: Meaning) -> SourceRun:
    try:
        results = list(_last_of_each(map(_parsed, filter(_is_result, lines))))
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise UserError(
            f"{str(source)!r} has a result that can't be read: give the log of tune.run"
        ) from None
    names = sorted({name for row in results for name in row if not _is_of_tune(name)})
    if value is None and len(names) != 1:
        raise UserError(f"the trials of {str(source)!r} have several values: name one of {', '.join(names)}")
    name = names[0] if value is None else value
    if name not in names:
        raise UnknownNameError("value of a trial", name, names)
    return SourceRun(
        trials=[
            SourceTrial(
                config={key: _plain(setting) for key, setting in row["config"].items()},
                value=float(row.get(name, math.nan)),
                seconds=float(row["time_total_s"]),
            )
            for row in results
        ],
        clock=SourceClock.DURATIONS,
        meaning=meaning,
        names={"method": "flaml"},
    )


def _is_result(line: str) -> bool:
    return line.startswith(_RESULT)


def _parsed(line: str) -> dict[str, Any]:
    """A dict as Python prints it. `inf` and `nan`, which are not literals, mean a failed trial."""
    text = _NUMPY.sub(r"\1", line.removeprefix(_RESULT))
    text = re.sub(r"(?<=: )(-?)(?:np\.)?(inf|nan)(?=[,}])", r"\g<1>1e999", text)
    row = ast.literal_eval(text)
    if not isinstance(row["config"], dict):
        raise TypeError("config")
    float(row["time_total_s"])
    return dict(row)


def _last_of_each(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A trial may report several times, each time with a larger `training_iteration`: the last one counts."""
    before: dict[str, Any] | None = None
    for row in rows:
        is_same_trial = (
            before is not None
            and row["config"] == before["config"]
            and row.get("training_iteration", 0) > before.get("training_iteration", 0)
        )
        if before is not None and not is_same_trial:
            yield before
        before = row
    if before is not None:
        yield before


def _is_of_tune(name: str) -> bool:
    return name in _OF_TUNE or name.startswith("config/")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | bool | None) else json.dumps(value, default=str)
