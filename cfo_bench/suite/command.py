"""The command that repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from cfo_bench.records import DataRef, RunSpec
from cfo_bench.settings import DEFAULT_LEARNER, DEFAULT_SEED, Settings, settings_of

_DEFAULTS = {one.name: one.default for one in fields(RunSpec)}


def command_line(spec: RunSpec, data: DataRef) -> str:
    """The command that does exactly this run again."""
    words = ["cfo-bench", "run"]
    if data.source == "file":
        words += ["--data", str(data.path), "--target", str(data.target)]
        words += ["--problem", str(data.problem)] if data.problem else []
        words += [word for name in data.drop for word in ("--drop", name)]
        words += ["--drop-missing-target"] if data.drop_missing_target else []
    else:
        words += ["--task", spec.task]
    words += ["--method", spec.method, *(["--name", spec.variant] if spec.variant else [])]
    words += ["--budget", _word(spec.budget_seconds), "--folds", str(spec.fold)]
    if spec.learner != DEFAULT_LEARNER:
        words += ["--learner", spec.learner]
    if spec.seed != DEFAULT_SEED:
        words += ["--seed", str(spec.seed)]
    for one in settings_of(Settings):
        value = getattr(spec, one.name)
        # Without --n-folds, a task with official folds would be run on those.
        is_needed = value != _DEFAULTS[one.name] or (one.name == "n_folds" and data.origins)
        if is_needed and one.name != "budget_seconds":
            words += [one.flags[-1]] if value is True else [one.flags[-1], _word(value)]
    words += _options("--option", spec.options)
    named = data.path if data.source == "surrogate" else None  # --surrogate gives it to the learner
    words += _options(
        "--learner-option", {key: value for key, value in spec.learner_options.items() if value != named}
    )
    if data.folder is not None:
        words += ["--data-dir", data.folder]
    if data.table is not None:
        words += ["--tasks", data.table]
    if data.source == "yahpo" and data.path is not None:
        words += ["--yahpo", data.path]
    if named is not None:
        words += ["--surrogate", named]
    return shlex.join(words)


def _word(value: object) -> str:
    """A number has every digit that it takes to read the same number again, and no more."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _options(flag: str, options: Mapping[str, Any]) -> Iterable[str]:
    for key, value in options.items():
        yield from (flag, f"{key}={'null' if value is None else value}")
