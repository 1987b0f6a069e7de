"""The traces of a results folder as pandas frames: one row for each run, one row for each trial."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfo_bench.records import TrialRecord
from cfo_bench.results import trace
from cfo_bench.results.status import RunStatus, status

if TYPE_CHECKING:
    import pandas as pd

# What names a run: the first columns of both frames, so that they can be merged on them.
RUN_KEYS = ("learner", "task", "method", "fold", "seed")
# A hyperparameter is a column of its own, called config.<name>.
CONFIG_PREFIX = "config."


def load_results(folder: str | Path = "results") -> ResultFrames:
    """Reads a results folder as two pandas frames, one row for each run and one row for each trial.

    A folder that does not exist, or has no traces, is a `UserError`.

    folder   the results folder of `run_suite`, or of `cfo-bench run --results`
    returns  an object with the frames `runs` and `trials`
    """
    path = Path(folder)
    found = status(path)
    return ResultFrames(path, found.runs, tuple(found.unreadable))


class ResultFrames:
    """`runs` is read at once and is cheap; `trials` reads every line of every trace when it is first used.

    `unreadable` has one line for each file that is called like a trace and is none.
    """

    def __init__(self, folder: Path, runs: list[RunStatus], unreadable: tuple[str, ...]) -> None:
        self.folder, self.unreadable, self._runs = folder, unreadable, runs

    def __repr__(self) -> str:
        return f"<{len(self._runs)} runs of {str(self.folder)!r}>"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run, also for those that wait, failed or are missing: see the column `state`.

        Where a run has ended, its metric and its best trial; `best_score` is the metric itself.
        """
        import pandas as pd

        columns = [*RUN_KEYS, *_RUN_COLUMNS, *_END_COLUMNS]
        return pd.DataFrame([_run_row(run) for run in self._runs], columns=columns)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row for each trial, in the order in which the method was told of them."""
        import pandas as pd

        frames = [
            pd.DataFrame.from_records([_trial_row(record) for record in found.trials]).assign(**keys)
            for keys, found in self._traces()
            if found.trials
        ]
        columns = [*RUN_KEYS, *_TRIAL_COLUMNS]
        every = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
        return every[[*columns, *(name for name in every.columns if name.startswith(CONFIG_PREFIX))]]

    def _traces(self) -> Iterator[tuple[dict[str, Any], trace.Trace]]:
        for run in self._runs:
            if run.path is None:
                continue
            found = trace.read(Path(run.path))
            if found is not None:
                yield {key: getattr(run, key) for key in RUN_KEYS}, found


_RUN_COLUMNS = ("state", "trials", "elapsed_seconds", "budget_seconds", "clock", "reason", "path")
_END_COLUMNS = ("metric", "best_loss", "best_score", "best_number")
_TRIAL_COLUMNS = tuple(name for name in TrialRecord._fields if name not in ("config", "asked"))


def _run_row(run: RunStatus) -> dict[str, Any]:
    row = {
        **{key: getattr(run, key) for key in RUN_KEYS},
        "state": str(run.progress),
        "trials": run.trials,
        "elapsed_seconds": run.elapsed,
        "budget_seconds": run.budget_seconds,
        "clock": run.clock,
        "reason": run.reason,
        "path": run.path,
    }
    if run.path is None:
        return row
    ends = trace.ends(Path(run.path))
    if ends is None:
        return row
    header, last = ends
    return {**row, "metric": header.get("metric"), **{key: last.get(key) for key in _END_COLUMNS[1:]}}


def _trial_row(record: TrialRecord) -> dict[str, Any]:
    row = record._asdict()
    del row["asked"]
    config = row.pop("config")
    return {**row, "status": str(record.status), **{f"{CONFIG_PREFIX}{key}": config[key] for key in config}}
