"""From what was asked for to runs: every (learner, task, method, fold, seed) becomes one RunSpec."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.records import DataRef, RunSpec

DEFAULT_LEARNER = "xgboost"
DEFAULT_N_FOLDS = 10


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


def parse_folds(text: str, n_folds: int) -> list[int]:
    """`all`, `0`, `0-4`, `0,3` or a mixture, each below `n_folds`."""
    if text.strip() == "all":
        return list(range(n_folds))
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UserError(f"--folds {text!r}: write all, 0, 0-4 or 0,3")
        low, high = int(first), int(last or first)
        if not low <= high < n_folds:
            last_fold = n_folds - 1
            raise UserError(
                f"--folds {text!r}: with {n_folds} folds, give numbers from 0 to {last_fold}, the lower first"
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
    defaults = {field.name: field.default for field in fields(RunSpec)} | {"learner": DEFAULT_LEARNER}
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
    "--workers": "workers",
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
