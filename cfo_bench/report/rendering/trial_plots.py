"""The interactive plots of trials: their HTML, and a script with the numbers of each task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from cfo_bench.errors import TraceError
from cfo_bench.report.contents import TaskTrials
from cfo_bench.report.method_styles import MethodStyle
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.assets import template
from cfo_bench.report.rendering.charts import is_wide
from cfo_bench.report.rendering.html_plots import line_of, numbers_script, swatch
from cfo_bench.results.run import Run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import Categorical, Param

# The script of a task has at most this number of trials, and every incumbent.
MAX_TRIALS = 2000


def trial_plots(
    anchor: str,
    styles: Mapping[str, MethodStyle],
    leaders: Collection[str],
    tasks: Sequence[tuple[PurePosixPath, TaskTrials]],
) -> str:
    """Switches for the task, the view and the methods, and a plot; `tasks` are (file, trials) pairs.

    At first only the `leaders` are switched on.
    """
    options = "".join(
        f'<option value="{escape(layout.href(file))}">{escape(task.task)}</option>' for file, task in tasks
    )
    methods = "".join(
        f'<label><input type="checkbox" data-method value="{escape(name)}"{" checked" * (name in leaders)}>'
        f"{swatch(style)}{escape(name)}</label>"
        for name, style in styles.items()
        if any(name in task.runs for _, task in tasks)
    )
    return template("trials.html").substitute(anchor=anchor, tasks=options, methods=methods)


def trials_script(
    learner: str,
    index: int,
    styles: Mapping[str, MethodStyle],
    leaders: Collection[str],
    task: TaskTrials,
) -> str:
    """The trials of a task. A loss above `highest`, the constant predictor's, is drawn at that height."""
    first = next(iter(task.runs.values()))
    scored = {method: _scored(run, task.full_rows_only) for method, run in task.runs.items()}
    params = _params(task.runs.values(), [trial for trials, _ in scored.values() for trial in trials])
    names = [param["name"] for param in params]
    most = MAX_TRIALS // len(task.runs)
    methods = []
    for method, (trials, is_incumbent) in scored.items():
        run = task.runs[method]
        chosen = sorted({*_evenly(len(trials), most), *np.flatnonzero(is_incumbent).tolist()})
        rows = [_row(trials[at], is_incumbent[at], names) for at in chosen]
        line = line_of(styles[method], method in leaders)
        methods.append(line | {"all": run.n_trials, "trials": rows})
    highest = max(run.constant_loss for run in task.runs.values())
    losses = [min(row[1], highest) for method in methods for row in method["trials"]]
    unit = "virtual seconds" if first.spec.clock == "virtual" else "seconds"
    seed = f", seed {first.seed}" if first.seed else ""
    data = {
        "name": task.task,
        "run": f"fold {first.fold}{seed}",
        "loss": f"loss ({first.header.metric_facts.loss_title})",
        "cost": f"cost: {unit} to fit and validate",
        "highest": _short(highest),
        "log": bool(losses) and is_wide(losses),
        "params": params,
        "methods": methods,
    }
    return numbers_script(layout.trials_file(learner, index), data)


def _scored(run: Run, full_rows_only: bool) -> tuple[list[TrialRecord], list[bool]]:
    """The trials with a loss that ended in time; and which of them became the incumbent."""
    try:
        # A copy, which does not keep the trials in memory.
        trials = run.parsed if run.parsed is not None else run.without_trials().trials
    except TraceError:  # the trace was changed or removed since
        return [], []
    scored = [
        trial
        for trial in trials
        if trial.loss is not None
        and trial.ended <= run.budget_seconds
        and not (full_rows_only and trial.rows is not None and trial.rows < run.header.data.train_rows)
    ]
    losses = np.array([trial.loss for trial in scored], dtype=float)
    before = np.concatenate(([np.inf], np.minimum.accumulate(losses)[:-1])) if len(losses) else losses
    return scored, (losses < before).tolist()


def _evenly(n: int, most: int) -> list[int]:
    """At most `most` evenly spread indices below n."""
    return list(range(n)) if n <= most else np.linspace(0, n - 1, most).astype(int).tolist()


def _row(trial: TrialRecord, is_incumbent: bool, names: Sequence[str]) -> list[Any]:
    values = [_short(trial.config.get(name)) for name in names]
    return [trial.number, _short(trial.loss), _short(trial.seconds), int(is_incumbent), *values]


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _params(runs: Collection[Run], trials: Collection[TrialRecord]) -> list[dict[str, Any]]:
    """The axes of the hyperparameters: bounds that include those of all runs, or choices.

    Without a search space, as in an imported run, they follow from the trials.
    """
    related = {name for run in runs for name in run.header.cost_related or ()}
    params: dict[str, list[Param]] = {}
    for run in runs:
        for param in run.header.search_space or ():
            params.setdefault(param.name, []).append(param)
    axes = {name: _bounds(of_name) for name, of_name in params.items()}
    for name in dict.fromkeys(name for trial in trials for name in trial.config if name not in axes):
        axes[name] = _bounds_of_values([trial.config[name] for trial in trials if name in trial.config])
    return [{"name": name, "isCostRelated": name in related} | axis for name, axis in axes.items()]


def _bounds(params: Sequence[Param]) -> dict[str, Any]:
    """The bounds that include those of all runs, because bounds may depend on the rows of a fold."""
    choices = [choice for param in params if isinstance(param, Categorical) for choice in param.choices]
    if choices:
        return {"choices": list(dict.fromkeys(map(_short, choices)))}
    numbers = [param for param in params if not isinstance(param, Categorical)]
    return {
        "low": min(param.low for param in numbers),
        "high": max(param.high for param in numbers),
        "log": all(param.log for param in numbers),
    }


def _bounds_of_values(values: Sequence[Any]) -> dict[str, Any]:
    numbers = [value for value in values if type(value) in (int, float)]
    if len(numbers) < len(values):
        return {"choices": list(dict.fromkeys(map(_short, values)))}
    low, high = min(numbers), max(numbers)
    return {"low": low, "high": high, "log": is_wide(numbers)}
