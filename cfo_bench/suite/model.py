"""From what was asked for to runs: every (learner, task, method, fold, seed) becomes one RunSpec."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.records import DataRef, RunSpec

DEFAULT_N_FOLDS = 10
_RUN: dict[str, Any] = {each.name: each.default for each in fields(RunSpec)}


@dataclass(frozen=True)
class Choice:
    """A method or a learner with its options.

    `places` says where in a file each option was written, and under "" where the name was.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return self.places.get("", "")


@dataclass(frozen=True)
class Pick:
    """Some tasks: a name, a pattern or a tag as one word, or all that have the `tags`."""

    word: str = ""
    tags: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class Cluster:
    """Where the Dask engine finds its workers.

    `local` starts a cluster on this machine; `join` takes the one at `scheduler`, an address such as
    tcp://host:8786 or the path of a scheduler file; any other kind is a batch system of dask-jobqueue,
    whose class gets the `options`: cores, memory, walltime, queue, account and the like.
    """

    kind: str = "local"
    scheduler: str | None = None
    workers: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


CLUSTER_KINDS = ("local", "join", "slurm", "pbs", "sge", "lsf", "htcondor", "oar", "moab")
ENGINES = ("local", "dask")
CLOCKS = ("wall", "virtual")
VALIDATIONS = ("fold", "holdout")


@dataclass(frozen=True)
class Suite:
    """All that a file or a command line can ask for; what neither says is as here.

    `places` says where in a file a key was given its value.
    """

    learners: tuple[Choice, ...] = (Choice("xgboost"),)
    tasks: tuple[Pick, ...] = ()
    exclude: tuple[Pick, ...] = ()
    methods: tuple[Choice, ...] = ()
    folds: str = "all"
    n_folds: int | None = None
    seeds: tuple[int, ...] = (_RUN["seed"],)
    budget_seconds: float | None = None
    max_trials: int | None = _RUN["max_trials"]
    trial_timeout_seconds: float | None = _RUN["trial_timeout_seconds"]
    threads: int = _RUN["threads"]
    parallel: int = _RUN["parallel"]
    memory_mb: int | None = _RUN["memory_mb"]
    validation: str = _RUN["validation"]
    holdout_share: float = _RUN["holdout_share"]
    clock: str = _RUN["clock"]
    engine: str = "local"
    jobs: int = 1
    cluster: Cluster = Cluster()
    results: Path = Path("results")
    data_dir: Path | None = None
    task_tables: tuple[Path, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)


DEFAULTS = Suite()


def expand(
    learners: Sequence[str],
    tasks: Sequence[str],
    methods: Sequence[tuple[str, Mapping[str, Any]]],
    folds: Sequence[int],
    seeds: Sequence[int],
    **common: Any,
) -> list[RunSpec]:
    """The product of all; a method comes with its options. The methods take turns, fold by fold."""
    return [
        RunSpec(learner, task, method, fold, seed, options=options, **common)
        for learner, task, seed, fold, (method, options) in product(learners, tasks, seeds, folds, methods)
    ]


_SOME_FOLDS = "[0-9]{1,18}(-[0-9]{1,18})?"
FOLDS = f"^ *(all|{_SOME_FOLDS}( *, *{_SOME_FOLDS})*) *$"
FOLDS_RULE = "all, 0, 0-4 or 0,3"


def parse_folds(text: str, n_folds: int, key: str = "--folds") -> list[int]:
    """`all`, `0`, `0-4`, `0,3` or a mixture, each below `n_folds`; `key` is what they were given by."""
    if text.strip() == "all":
        return list(range(n_folds))
    if not re.fullmatch(FOLDS, text):
        raise UserError(f"{key} {text!r}: write {FOLDS_RULE}")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not low <= high < n_folds:
            raise UserError(
                f"{key} {text!r}: with {n_folds} folds, give numbers from 0 to {n_folds - 1}, the lower first"
            )
        found.update(range(low, high + 1))
    return sorted(found)


def command_line(spec: RunSpec, data: DataRef) -> str:
    """The command that does exactly this run again."""
    words = ["cfo-bench", "run"]
    if data.source == "file":
        words += ["--data", str(data.path), "--target", str(data.target)]
        words += ["--problem", str(data.problem)] if data.problem else []
    else:
        words += ["--task", spec.task]
    # A task's official folds, where it has some, are the default of --n-folds.
    defaults = _RUN | {"learner": DEFAULTS.learners[0].name, **({"n_folds": None} if data.origins else {})}
    words += ["--method", spec.method, "--budget", _number(spec.budget_seconds), "--folds", str(spec.fold)]
    for flag, name in _FLAGS.items():
        value = getattr(spec, name)
        if value is not None and value != defaults[name]:
            words += [flag, _number(value) if isinstance(value, float) else str(value)]
    words += _options("--option", spec.options)
    words += _options("--learner-option", spec.learner_options)
    if data.folder is not None:
        words += ["--data-dir", data.folder]
    if data.table is not None:
        words += ["--tasks", data.table]
    return shlex.join(words)


_FLAGS = {
    "--learner": "learner",
    "--n-folds": "n_folds",
    "--seed": "seed",
    "--max-trials": "max_trials",
    "--parallel": "parallel",
    "--threads": "threads",
    "--memory": "memory_mb",
    "--trial-timeout": "trial_timeout_seconds",
    "--clock": "clock",
    "--validation": "validation",
    "--holdout-share": "holdout_share",
}


def _number(value: float) -> str:
    """Every digit that it takes to read the same number again, and no more."""
    return repr(value).removesuffix(".0")


def _options(flag: str, options: Mapping[str, Any]) -> Iterable[str]:
    for key, value in options.items():
        yield from (flag, f"{key}={'null' if value is None else value}")
