"""Studies of an Optuna storage; those that `optuna_export` wrote come back as they were."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from cfo_bench.errors import SpaceError, UnknownNameError, UserError, describe
from cfo_bench.exchange.found_runs import FoundRun, FoundTrial, Meaning, SourceClock, sha256_of
from cfo_bench.exchange.optuna_export import TRACE_ATTRIBUTE, TRIAL_ATTRIBUTES
from cfo_bench.exchange.optuna_storage import opened_to_read, require_optuna, sqlite_file, without_password
from cfo_bench.records import Status, TrialRecord
from cfo_bench.results.trace import parse_end
from cfo_bench.space import PLAIN_TYPES, Categorical, Float, Int, Param, Space

# A range with a step becomes a list of choices, unless that is longer.
_MOST_CHOICES = 1000


def read_studies(source: str, studies: Sequence[str] = ()) -> tuple[list[FoundRun], str]:
    """The studies of a storage, in the order in which they were made, and a hash of what was read.

    All of them, or those that are named.
    """
    require_optuna()
    with opened_to_read(source) as storage:
        there = {one.study_name: one for one in storage.get_all_studies()}
        for name in studies:
            if name not in there:
                raise UnknownNameError("study", name, there)
        if not there:
            raise UserError(f"{without_password(source)!r} has no study: run one first")
        chosen = [one for name, one in there.items() if not studies or name in studies]
        trials = [storage.get_all_trials(one._study_id) for one in chosen]
        found = [_study(one, own) for one, own in zip(chosen, trials, strict=True)]
    file = sqlite_file(source)
    return found, _sha256(chosen, trials) if file is None else sha256_of(file)


def _sha256(studies: Sequence[Any], trials: Sequence[Sequence[Any]]) -> str:
    """Of what a server answered."""
    told = [
        (study.study_name, [(one.number, one.state.name, one.values, one.params) for one in own])
        for study, own in zip(studies, trials, strict=True)
    ]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _study(study: Any, frozen: Sequence[Any]) -> FoundRun:
    if len(study.directions) > 1:
        raise UserError(
            f"study {study.study_name!r} has {len(study.directions)} objectives, and a trace has one: name "
            "another one with --study"
        )
    ours = study.user_attrs.get(TRACE_ATTRIBUTE)
    if isinstance(ours, dict) and isinstance(ours.get("header"), dict):
        return _exported(study, ours, frozen)
    done = [one for one in frozen if one.state.is_finished()]
    has_times = bool(done) and all(one.datetime_start and one.datetime_complete for one in done)
    zero = min((one.datetime_start for one in done), default=None) if has_times else None
    is_maximised = study.directions[0].name == "MAXIMIZE"
    is_named = not study.study_name.startswith("no-name-")
    return FoundRun(
        trials=[_trial(one, zero) for one in done],
        part=study.study_name,
        clock=SourceClock.WALL if has_times else SourceClock.TRIALS,
        meaning=Meaning.SCORE if is_maximised else Meaning.LOSS,
        names={"method": study.study_name if is_named else "optuna"},
        space=_space(done),
        utc=None if zero is None else _utc(zero),
        remarks=_remarks(len(frozen) - len(done)),
    )


def _remarks(unfinished: int) -> tuple[str, ...]:
    return (f"{unfinished} trials that have not ended are left out",) if unfinished else ()


def _utc(moment: Any) -> str:
    """Optuna's dates are local times."""
    from datetime import UTC

    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # type: ignore[no-any-return]


def _trial(frozen: Any, zero: Any) -> FoundTrial:
    value, status, error = frozen.value, Status.OK, None
    if frozen.state.name == "PRUNED":
        last = f" after step {max(frozen.intermediate_values)}" if frozen.intermediate_values else ""
        value, status, error = None, Status.TIMEOUT, f"pruned{last}"
    elif frozen.state.name == "FAIL":
        value, status, error = None, Status.FAILED, str(frozen.system_attrs.get("fail_reason") or "it failed")
    return FoundTrial(
        config={name: _plain(one) for name, one in frozen.params.items()},
        status=status,
        value=value,
        started=None if zero is None else (frozen.datetime_start - zero).total_seconds(),
        ended=None if zero is None else (frozen.datetime_complete - zero).total_seconds(),
        error=error,
    )


def _plain(value: Any) -> Any:
    return value if type(value) in PLAIN_TYPES else str(value)


def _exported(study: Any, ours: Mapping[str, Any], frozen: Sequence[Any]) -> FoundRun:
    header, end = ours["header"], ours.get("end")
    try:
        imported = header.get("imported")
        clock = imported["clock"] if imported else header["spec"].get("clock", "wall")
        return FoundRun(
            trials=[_exported_trial(one) for one in frozen if one.state.is_finished()],
            part=study.study_name,
            clock=SourceClock(clock),
            header=header,
            end=parse_end(end) if end else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"study {study.study_name!r} is not as cfo-bench export wrote it ({describe(error)}): export "
            "it again"
        ) from None


def _exported_trial(frozen: Any) -> FoundTrial:
    known = {name: frozen.user_attrs.get(to) for name, to in TRIAL_ATTRIBUTES.items()}
    status = Status(known.pop("status"))
    record = TrialRecord(config=dict(frozen.params), status=status, loss=frozen.value, **known)
    return FoundTrial(config=record.config, status=status, value=frozen.value, record=record)


def _space(frozen: Sequence[Any]) -> Space | None:
    """The space, if every trial has the same hyperparameters with the same distributions."""
    if not frozen or any(one.distributions != frozen[0].distributions for one in frozen):
        return None
    try:
        return Space([_param(name, one) for name, one in frozen[0].distributions.items()])
    except (SpaceError, TypeError):  # TypeError: choices that can't be hashed
        return None


def _param(name: str, distribution: Any) -> Param:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return Categorical(name, distribution.choices)
    is_int = isinstance(distribution, IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if step is not None and not (is_int and step == 1) and (high - low) / step < _MOST_CHOICES:
        count = round((high - low) / step) + 1
        return Categorical(name, [low + number * step for number in range(count)], ordered=True)
    return Int(name, low, high, distribution.log) if is_int else Float(name, low, high, distribution.log)
