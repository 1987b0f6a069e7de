"""The traces of a results folder as pandas frames: one row for each run, one row for each trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfo_bench.results.run import Run, cached_run, read_run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.results.status import RunProgress, status
from cfo_bench.space import Config, Space

if TYPE_CHECKING:
    import pandas as pd

# The columns that identify a run: the first columns of both frames, so that the frames can be merged.
RUN_KEYS = ("learner", "task", "method", "fold", "seed")
# Each hyperparameter has a column config.<name>.
CONFIG_PREFIX = "config."
INACTIVE = "inactive"


def load_results(folder: str | Path = "results") -> ResultFrames:
    """Read a results folder as two pandas frames, one row for each run and one row for each trial.

    Parameters
    ----------
    folder : str or Path, default="results"
        The results folder of `run_suite`, or of `cfo-bench run --results`.

    Returns
    -------
    ResultFrames
        An object with the frames `runs` and `trials`.

    Raises
    ------
    UserError
        The folder does not exist, or has no traces.
    """
    path = Path(folder)
    folder_status = status(path)
    return ResultFrames(path, folder_status.runs, tuple(folder_status.unreadable))


class ResultFrames:
    """The runs and trials of a results folder. `runs` is cheap; `trials` reads all traces at its first use.

    `unreadable` has one line for each file that has the name of a trace but is not a trace.
    """

    def __init__(self, folder: Path, runs: list[RunProgress], unreadable: tuple[str, ...]) -> None:
        self.folder, self.unreadable, self._runs = folder, unreadable, runs

    def __repr__(self) -> str:
        return f"<{len(self._runs)} runs of {str(self.folder)!r}>"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run, also for waiting, failed and missing runs: see the column `state`.

        A run with a trace also has its metric, an ended one its best trial with the metric as `best_score`.
        """
        import pandas as pd

        columns = [*RUN_KEYS, *_RUN_COLUMNS, *_END_COLUMNS]
        return pd.DataFrame([_run_row(run) for run in self._runs], columns=columns)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row for each trial, in the order in which the method received their results.

        If a space has conditions, the column `inactive` names the hyperparameters without an effect.
        """
        import pandas as pd

        frames = [
            pd.DataFrame.from_records(_trial_rows(run)).assign(**keys)
            for keys, run in self._read()
            if run.trials
        ]
        columns = [*RUN_KEYS, *_TRIAL_COLUMNS]
        every = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
        columns += [INACTIVE] if INACTIVE in every.columns else []
        return every[[*columns, *(name for name in every.columns if name.startswith(CONFIG_PREFIX))]]

    def _read(self) -> Iterator[tuple[dict[str, Any], Run]]:
        for progress in self._runs:
            if progress.path is None:
                continue
            run = read_run(Path(progress.path), parse_trials=True)
            if run is not None:
                yield {key: getattr(progress, key) for key in RUN_KEYS}, run


_RUN_COLUMNS = ("state", "trials", "elapsed_seconds", "budget_seconds", "clock", "reason", "path")
_END_COLUMNS = ("metric", "best_loss", "best_score", "best_number")
# `config` has columns of its own; the other keys are for replay and the check of the threads.
_LEFT_OUT = ("config", "asked", "cpu_seconds", "method_cpu_seconds")
_TRIAL_COLUMNS = tuple(name for name in TrialRecord.__struct_fields__ if name not in _LEFT_OUT)


def _run_row(progress: RunProgress) -> dict[str, Any]:
    row = {
        **{key: getattr(progress, key) for key in RUN_KEYS},
        "state": str(progress.status),
        "trials": progress.trials,
        "elapsed_seconds": progress.elapsed,
        "budget_seconds": progress.budget_seconds,
        "clock": progress.clock,
        "reason": progress.reason,
        "path": progress.path,
    }
    run = None if progress.path is None else cached_run(Path(progress.path))
    if run is None:
        return row
    return {
        **row,
        "metric": run.header.metric,
        **{key: getattr(run.end, key, None) for key in _END_COLUMNS[1:]},
    }


def _trial_rows(run: Run) -> list[dict[str, Any]]:
    space = run.header.search_space
    is_conditional = any(param.when for param in space or ())
    rows = []
    for record in run.trials:
        row = {name: getattr(record, name) for name in _TRIAL_COLUMNS}
        if space is not None and is_conditional:
            row[INACTIVE] = ", ".join(_inactive(space, record.config))
        rows.append({**row, "status": str(record.status), **prefixed(record.config)})
    return rows


def _inactive(space: Space, config: Config) -> Sequence[str]:
    """The hyperparameters without an effect; none if a trial is not in the space of its trace."""
    if {param.name for param in space} != set(config):
        return ()
    active = space.active(config)
    return [name for name in config if name not in active]


def prefixed(config: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{CONFIG_PREFIX}{name}": value for name, value in config.items()}
