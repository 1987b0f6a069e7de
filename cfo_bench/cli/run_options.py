"""The options of `cfo-bench run` that say what to run: each fills, or takes the place of, a key of a suite.

An option's name in the program is the field of `Suite` that it fills; what is not given is None or ().
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cfo_bench.suite import quantities
from cfo_bench.suite.model import CLOCKS, CLUSTER_KINDS, DEFAULTS, ENGINES, VALIDATIONS
from cfo_bench.terminal import completion

Command = Callable[..., Any]


class Quantity(click.ParamType[Any]):
    """A value with a unit, read as in a suite file."""

    def __init__(self, name: str, read: Callable[[object], float | None], rule: str) -> None:
        self.name, self._read, self._rule = name, read, rule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = self._read(value)
        if found is None:
            self.fail(f"{value!r}: {self._rule}", param, ctx)
        return found


DURATION = Quantity("duration", quantities.seconds, quantities.DURATION_RULE)
MEMORY = Quantity("memory", quantities.megabytes, quantities.MEMORY_RULE)
PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)


def key(flag: str, field: str, help: str, metavar: str | None = None, **more: Any) -> Callable[..., Any]:
    """An option for a field of `Suite`; its help says what the field is when nobody says anything."""
    default = getattr(DEFAULTS, field)
    if field == "learners":
        default = default[0].name
    elif field == "seeds":
        default = default[0]
    text = help if default in (None, ()) else f"{help}  [default: {default}]"
    return click.option(*flag.split(), field, metavar=metavar, help=text, **more)


KEYS = (
    key(
        "--task", "tasks", "A task, a pattern or a tag (see `cfo-bench tasks`); give several for all.",
        "NAME", multiple=True, shell_complete=completion.task_names,
    ),
    key(
        "--method", "methods",
        "A method (see `cfo-bench methods`), or file.py:Class; give several for all of them.",
        "NAME", multiple=True, shell_complete=completion.method_names,
    ),
    key("--budget", "budget_seconds", "Wall-clock time of a run: seconds, or 1h30m.", "TIME", type=DURATION),
    key(
        "--learner", "learners", "What is tuned (see `cfo-bench learners`); give several for all of them.",
        "NAME", multiple=True, shell_complete=completion.learner_names,
    ),
    key("--folds", "folds", "Folds to run: all, 0, 0-4 or 0,3.", "LIST"),
    key(
        "--n-folds", "n_folds",
        "Folds that the data is split into.  [default: as many as the task has officially, or 10]",
        "N", type=COUNT,
    ),
    key(
        "--seed", "seeds", "Seed of folds, methods and models; give several for all of them.",
        "N", type=click.IntRange(0, 2**32 - 1), multiple=True,
    ),
    key("--results", "results", "Folder of the traces.", "DIR", type=PATH),
    key("--max-trials", "max_trials", "End a run after so many trials.", "N", type=COUNT),
    key("-j --jobs", "jobs", "Runs side by side on this machine.", "N", type=COUNT),
    key("--threads", "threads", "Threads of each model.", "N", type=COUNT),
    key("--parallel", "parallel", "Trials at once in each run.", "N", type=COUNT),
    key(
        "--memory", "memory_mb",
        "What each trial at once may take: megabytes, or 4GB.  [default: a fair share of the machine]",
        "SIZE", type=MEMORY,
    ),
    key("--trial-timeout", "trial_timeout_seconds", "End a trial after so long.", "TIME", type=DURATION),
    key(
        "--data-dir", "data_dir",
        "A folder of data sets with an index.csv, for --task.  [default: $CFO_BENCH_DATA]", "DIR", type=PATH,
    ),
    key(
        "--clock", "clock", "virtual: analytic seconds, for the synthetic learners.",
        type=click.Choice(CLOCKS),
    ),
    key(
        "--validation", "validation",
        "Measure the loss on the fold's held-out part, or on a part split off its training rows.",
        type=click.Choice(VALIDATIONS),
    ),
    key(
        "--holdout-share", "holdout_share", "Share of training rows that --validation holdout splits off.",
        "SHARE", type=click.FloatRange(0, 1, min_open=True, max_open=True),
    ),
    key(
        "--tasks", "task_tables", "A YAML table of tasks of your own.  [default: $CFO_BENCH_TASKS]",
        "FILE", type=PATH, multiple=True,
    ),
    key("--engine", "engine", "Run on this machine, or on a Dask cluster.", type=click.Choice(ENGINES)),
)  # fmt: skip

OPTIONS = (
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the methods, or METHOD.KEY=VALUE for one of them (see `cfo-bench methods NAME`).",
    ),
    click.option(
        "--learner-option",
        "learner_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the learners, or LEARNER.KEY=VALUE for one (see `cfo-bench learners NAME`).",
    ),
)

CLUSTER = (
    click.option(
        "--cluster",
        "cluster_kind",
        type=click.Choice([kind for kind in CLUSTER_KINDS if kind != "join"]),
        metavar="KIND",
        help="Start Dask workers: local, or by a batch system: slurm, pbs, sge, lsf, htcondor, oar, moab.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Join the Dask cluster at tcp://host:port, or of a scheduler file.",
    ),
    click.option("--workers", type=COUNT, metavar="N", help="Dask workers to start."),
    click.option(
        "--cluster-option",
        "cluster_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the batch system, such as queue=long (see docs/cluster.md).",
    ),
)

OWN_FILE = (
    click.option(
        "--data",
        "data_file",
        type=PATH,
        metavar="FILE",
        help="Your own .csv, .parquet or .arff file as a task.",
    ),
    click.option("--target", metavar="COLUMN", help="The column of --data to predict."),
    click.option(
        "--problem",
        type=click.Choice(["binary", "multiclass", "regression"]),
        metavar="KIND",
        help="What --target is, where its values don't tell: binary, multiclass or regression.",
    ),
)


def what_to_run(command: Command) -> Command:
    for option in reversed((*KEYS[:1], *OWN_FILE, *KEYS[1:], *OPTIONS, *CLUSTER)):
        command = option(command)
    return command
