"""What the values of each kind of line have to be: the types by key, and the checks of one line by itself.

Keys that are not named here are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from cfo_bench.metrics import METRICS
from cfo_bench.records import EndReason, Problem, Status

LineRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Type:
    """What a value has to be: in words, and as a check."""

    rule: str
    fits: Callable[[Any], bool]
    is_required: bool = False


def _required(one: _Type) -> _Type:
    return _Type(one.rule, one.fits, is_required=True)


def _or_null(one: _Type) -> _Type:
    return _Type(f"{one.rule} or null", lambda value: value is None or one.fits(value), one.is_required)


def _one_of(names: Sequence[str]) -> _Type:
    return _Type(f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in names)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


# Larger whole numbers don't fit into the columns of the report.
MOST = 2**63 - 1

_TEXT = _Type("text", lambda value: isinstance(value, str))
_NAME = _Type("a name", lambda value: isinstance(value, str) and value != "")
_NUMBER = _Type("a number", _is_number)
_SECONDS = _Type("a number from 0 on", lambda value: _is_number(value) and value >= 0)
_BUDGET = _Type("a number above 0", lambda value: _is_number(value) and value > 0)
COUNT = _Type("a whole number from 0 on", lambda value: type(value) is int and 0 <= value <= MOST)
_FROM_ONE = _Type("a whole number from 1 on", lambda value: type(value) is int and 1 <= value <= MOST)
_FLAG = _Type("true or false", lambda value: isinstance(value, bool))
_MAPPING = _Type("a mapping", lambda value: isinstance(value, dict))
_LIST = _Type("a list", lambda value: isinstance(value, list))
_NAMES = _Type(
    "a list of names", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value)
)
_VERSIONS = _Type(
    "a mapping of texts",
    lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
)

_IMPORTED = _Type(
    "a mapping with format, source, sha256, clock and unknown",
    lambda value: (
        isinstance(value, dict)
        and all(isinstance(value.get(key), str) for key in ("format", "source", "sha256", "clock"))
        and _NAMES.fits(value.get("unknown"))
    ),
)

# The types of the keys in a header; those of an inner mapping are named with a dot. A key that is not
# required may be missing: older versions did not write all of them.
HEADER: dict[str, _Type] = {
    "spec": _required(_MAPPING),
    "spec.learner": _required(_NAME),
    "spec.task": _required(_NAME),
    "spec.method": _required(_NAME),
    "spec.variant": _TEXT,
    "spec.fold": _required(COUNT),
    "spec.seed": _required(COUNT),
    "spec.budget_seconds": _required(_BUDGET),
    "spec.n_folds": _FROM_ONE,
    "spec.max_trials": _or_null(_FROM_ONE),
    "spec.trial_timeout_seconds": _or_null(_BUDGET),
    "spec.prepare_timeout_seconds": _or_null(_BUDGET),
    "spec.threads": _FROM_ONE,
    "spec.parallel": _FROM_ONE,
    "spec.memory_mb": _or_null(_FROM_ONE),
    "spec.validation": _one_of(("fold", "holdout")),
    "spec.holdout_share": _NUMBER,
    "spec.clock": _one_of(("wall", "virtual")),
    "spec.charge_method": _FLAG,
    "spec.options": _MAPPING,
    "spec.learner_options": _MAPPING,
    "imported": _IMPORTED,
    "changed_options": _MAPPING,
    "knows_budget": _Type("true or false", lambda value: type(value) is bool),
    "method_seed": COUNT,
    "space": _LIST,
    "start": _MAPPING,
    "cost_related": _NAMES,
    "problem": _required(_one_of(tuple(Problem))),
    "metric": _required(_one_of(tuple(METRICS))),
    "constant_loss": _required(_NUMBER),
    "optimum": _NUMBER,
    "data": _required(_MAPPING),
    "data.source": _TEXT,
    "data.sha256": _required(_TEXT),
    "data.target": _or_null(_TEXT),
    "data.problem": _or_null(_TEXT),
    "data.rows": COUNT,
    "data.features": COUNT,
    "data.classes": COUNT,
    "data.train_rows": _required(COUNT),
    "data.validation_rows": COUNT,
    "data.test_rows": COUNT,
    "data.folds": _or_null(_TEXT),
    "data.recording": _TEXT,
    "data.resource_rows": _or_null(_FROM_ONE),
    "data.paper_task": _TEXT,
    "utc": _TEXT,
    "command": _TEXT,
    "cfo_bench": _MAPPING,
    "cfo_bench.version": _TEXT,
    "cfo_bench.commit": _or_null(_TEXT),
    "machine": _MAPPING,
    "machine.node": _or_null(_TEXT),
    "machine.cpu": _or_null(_TEXT),
    "machine.os": _or_null(_TEXT),
    "machine.cores": _or_null(_FROM_ONE),
    "machine.cpus": _or_null(_FROM_ONE),
    "machine.memory_mb": _or_null(_SECONDS),
    "machine.load": _or_null(_SECONDS),
    "machine.load_5min": _or_null(_SECONDS),
    "machine.steal_percent": _or_null(_SECONDS),
    "program": _MAPPING,
    "program.command": _TEXT,
    "program.version": _or_null(_TEXT),
    "program.round_trip_seconds": _SECONDS,
    "python": _TEXT,
    "packages": _VERSIONS,
}

END: dict[str, _Type] = {
    "reason": _required(_one_of(tuple(EndReason))),
    "elapsed": _required(_SECONDS),
    "trials": _required(COUNT),
    "best_loss": _required(_or_null(_NUMBER)),
    "best_score": _required(_or_null(_NUMBER)),
    "best_number": _required(_or_null(COUNT)),
    "error": _or_null(_TEXT),
    "cut_ask_seconds": _SECONDS,
    "cut_tell_seconds": _SECONDS,
    "load": _or_null(_SECONDS),
    "steal_percent": _or_null(_SECONDS),
    "trials_crc32": _or_null(COUNT),
    "digest": _or_null(_MAPPING),
    "digest_crc32": _or_null(COUNT),
    "pauses": _Type(
        "a list of pauses, each with at and seconds",
        lambda value: isinstance(value, list) and all(_is_pause(one) for one in value),
    ),
}


def _is_pause(value: Any) -> bool:
    return isinstance(value, dict) and all(_SECONDS.fits(value.get(key)) for key in ("at", "seconds"))


RESUME: dict[str, _Type] = {
    "elapsed": _required(_SECONDS),
    "trials": _required(COUNT),
    "utc": _required(_TEXT),
    "why": _required(_TEXT),
    "node": _or_null(_TEXT),
    "superseded": COUNT,
    "limits": _or_null(
        _Type("a mapping with budget_seconds and max_trials", lambda value: _are_limits(value))
    ),
}


def _are_limits(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _BUDGET.fits(value.get("budget_seconds"))
        and "max_trials" in value
        and _or_null(_FROM_ONE).fits(value["max_trials"])
    )


_SCALARS = frozenset({int, float, str, bool, type(None)})


def are_configs(values: Sequence[Any]) -> bool:
    """Whether all are mappings of hyperparameters to plain values."""
    if not {dict}.issuperset(map(type, values)):
        return False
    return are_plain(chain.from_iterable(map(dict.values, values)))


def are_plain(values: Iterable[Any]) -> bool:
    """Whether all are what the value of a hyperparameter can be."""
    return _SCALARS.issuperset(map(type, values))


_CONFIG = _Type(
    "a mapping of hyperparameters to numbers, texts, true, false or null", lambda value: are_configs([value])
)

_TRIAL: dict[str, _Type] = {
    "number": _required(COUNT),
    "config": _required(_CONFIG),
    "rows": _required(_or_null(_FROM_ONE)),
    "thread": _required(COUNT),
    "status": _required(_one_of(tuple(Status))),
    "loss": _required(_or_null(_NUMBER)),
    "score": _required(_or_null(_NUMBER)),
    "started": _required(_SECONDS),
    "ended": _required(_SECONDS),
    "ask_seconds": _required(_SECONDS),
    "fit_seconds": _required(_SECONDS),
    "validate_seconds": _required(_SECONDS),
    "tell_seconds": _or_null(_SECONDS),
    "peak_memory_mb": _or_null(_SECONDS),
    "error": _or_null(_TEXT),
    "test_score": _or_null(_NUMBER),
    "asked": _or_null(_FROM_ONE),
}


# How deep values may lie in a line that is no trial. JSON can be read deeper than it can be written.
_MOST_NESTED = 100


class BadLineError(ValueError):
    """A line is not a record of a trace; the text says why."""


def check_depth(row: LineRow) -> None:
    inner: list[Any] = [row]
    for _ in range(_MOST_NESTED):
        inner = [
            value
            for one in inner
            if isinstance(one, dict | list)
            for value in (one.values() if isinstance(one, dict) else one)
        ]
        if not inner:
            return
    raise BadLineError(f"nested more than {_MOST_NESTED} deep")


def check_row(row: Mapping[str, Any], types: Mapping[str, _Type]) -> None:
    for name, wanted in types.items():
        holder: Any = row
        *outer, key = name.split(".")
        for part in outer:
            holder = holder.get(part, {})  # a mapping, or missing: its own type is checked before
        if key not in holder:
            if wanted.is_required:
                raise BadLineError(f"{name} is missing")
        elif not wanted.fits(holder[key]):
            raise BadLineError(f"{name} is {short(holder[key])}, which is not {wanted.rule}")


def short(value: Any) -> str:
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:39]}…"


def check_trial(row: Mapping[str, Any]) -> None:
    """One trial line by itself; BadLineError says what is wrong with it."""
    check_row(row, _TRIAL)
    if (row["status"] == "ok") != (row["loss"] is not None):
        raise BadLineError(f"status is {row['status']} and loss is {short(row['loss'])}: only ok has a loss")
    if row["started"] > row["ended"]:
        raise BadLineError(f"it ended at {row['ended']}, before it started at {row['started']}")


def parsed(text: bytes) -> LineRow:
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise BadLineError("it is no JSON" if text.strip() else "it is empty") from None
    if not isinstance(row, dict):
        raise BadLineError("no mapping")
    return row
