"""Runs for DeepCAVE, in its DataFrame format: for each run a folder with `trials.csv` and `configspace.csv`.

DeepCAVE 1.4 reads this format with the times of each trial. It cannot read the files that it writes in its
own format (`history.jsonl`), because its reader expects a different number of values in a line.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.exchange.exported_runs import RunToExport, params_of
from cfo_bench.files.writing import no_formula
from cfo_bench.records import Status
from cfo_bench.results.run import Run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import Categorical, Int, Param, Value, is_fixed

_STATUS = {
    Status.OK: "SUCCESS",
    Status.FAILED: "CRASHED",
    Status.TIMEOUT: "TIMEOUT",
    Status.MEMORY: "MEMORYOUT",
}
# Columns that DeepCAVE interprets, and columns that it only shows for a trial.
_MEANINGFUL = ("config_id", "budget", "seed", "start_time", "end_time", "status")
_SHOWN = (
    *("number", "score", "test_score", "ask_seconds", "fit_seconds", "validate_seconds", "tell_seconds"),
    *("peak_memory_mb", "thread", "error"),
)
_SPACE_COLUMNS = ("name", "type", "lower", "upper", "log", "default", "ordered")


def write_folders(out: Path, runs: Sequence[RunToExport], *, force: bool = False) -> int:
    """Writes a folder for each run into `out`, and returns the number of trials.

    An existing folder is an error; with `force`, it is replaced.
    """
    folders = {run.id: out / folder_name(run.id) for run in runs}
    if len(set(folders.values())) < len(folders):
        raise UserError("two runs would get the same folder: export them to different folders, with --method")
    if not force:
        for folder in folders.values():
            if folder.exists():
                raise UserError(f"{folder} exists already: choose another folder, or --force to replace it")
    count = 0
    for exported in runs:
        run = exported.read()
        folder = folders[exported.id]
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise UserError(f"can't make the folder {folder}: {error.strerror}") from None
        _write(folder, run)
        count += len(run.trials)
    return count


def folder_name(run_id: str) -> str:
    """The name of a run's folder, without dots: DeepCAVE shows a name only up to the last dot."""
    return run_id.replace("/", "--").replace(".", "%2E")


def _write(folder: Path, run: Run) -> None:
    params = params_of(run.header.search_space, run.trials)
    columns = {param.name: _column(param.name) for param in params}
    with (folder / "configspace.csv").open("w", encoding="utf-8", newline="") as file:
        most = max((len(param.choices) for param in params if isinstance(param, Categorical)), default=1)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_SPACE_COLUMNS, *(f"item_{number}" for number in range(most))])
        writer.writerows([columns[param.name], *_param_cells(param)] for param in params)
    with (folder / "trials.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_MEANINGFUL, _loss_column(run.trials), *columns.values(), *_SHOWN])
        configs: dict[str, int] = {}
        full_rows = run.header.data.train_rows
        # DeepCAVE counts time from the first line.
        for trial in sorted(run.trials, key=lambda trial: (trial.started, trial.number)):
            key = json.dumps(trial.config, sort_keys=True)
            cells: list[Any] = [configs.setdefault(key, len(configs)), trial.rows or full_rows, run.seed]
            cells += [trial.started, trial.ended, _STATUS[trial.status], trial.loss]
            cells += [_value(param, trial.config) for param in params]
            writer.writerow([*cells, *(_shown(trial, name) for name in _SHOWN)])


def _column(name: str) -> str:
    """The column of a hyperparameter; it has a prefix if another column of DeepCAVE has its name."""
    is_taken = name in (*_MEANINGFUL, *_SHOWN) or name.startswith(("metric", "config."))
    return f"config.{name}" if is_taken else name


def _loss_column(trials: Sequence[TrialRecord]) -> str:
    """The name of the objective with its bounds, which DeepCAVE requires without an exponent."""
    losses = [trial.loss for trial in trials if trial.loss is not None]
    low, high = math.floor(min([0.0, *losses])), math.ceil(max([1.0, *losses]))
    return f"metric:loss [{low}; {high}] (minimize)"


def _is_by_choice(param: Param) -> bool:
    """Whether the hyperparameter is written as a choice, because ConfigSpace has no range of a single
    number.
    """
    return isinstance(param, Categorical) or is_fixed(param)


def _param_cells(param: Param) -> list[Any]:
    if _is_by_choice(param):
        choices = param.choices if isinstance(param, Categorical) else (param.low,)
        ordered = isinstance(param, Categorical) and param.ordered
        labels = [_label(choice) for choice in choices]
        return ["categorical", None, None, None, labels[0], ordered, *labels]
    assert not isinstance(param, Categorical)
    kind = "integer" if isinstance(param, Int) else "float"
    return [kind, param.low, param.high, param.log]


def _value(param: Param, config: Mapping[str, Value]) -> Any:
    value = config.get(param.name)
    return _label(value) if _is_by_choice(param) else value


def _label(choice: Value) -> str:
    """A choice as text that pandas, with which DeepCAVE reads it, does not convert."""
    if isinstance(choice, str) and choice.isidentifier() and choice.lower() not in _NOT_TEXT:
        return choice
    return f"choice {json.dumps(choice, ensure_ascii=False)}"


_NOT_TEXT = {"true", "false", "nan", "null", "none", "na", "inf", "infinity"}


def _shown(trial: TrialRecord, name: str) -> Any:
    value = getattr(trial, name)
    return no_formula(value) if isinstance(value, str) else value
