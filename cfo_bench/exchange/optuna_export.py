"""Runs as studies in an Optuna storage, for Optuna's own plots and its dashboard.

A study is called as the run's id, and minimises the loss. Everything that Optuna has no place for is in user
attributes, so that `optuna_import` reads the very same trials back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.exchange.found_runs import read_bytes
from cfo_bench.exchange.optuna_storage import (
    JOURNAL_SUFFIXES,
    is_journal,
    opened,
    opened_journal,
    require_optuna,
    sqlite_file,
    without_password,
)
from cfo_bench.exchange.param_ranges import params_of
from cfo_bench.exchange.runs import RunToExport
from cfo_bench.exchange.trial_table import run_columns
from cfo_bench.records import Status, TrialRecord
from cfo_bench.results.trace import Trace
from cfo_bench.space import Categorical, Int, Param

# The user attribute of a study that has the header and the end of its run.
TRACE_ATTRIBUTE = "cfo_bench_trace"
# Those of a trial; each is there only where it has a value.
TRIAL_ATTRIBUTES = {
    name: {"started": "started_seconds", "ended": "ended_seconds"}.get(name, name)
    for name in TrialRecord._fields
    if name not in ("config", "loss")
}
# A trace without a date starts at the beginning of Unix time, so that its durations are right.
_NO_DATE = datetime(1970, 1, 1)


def write_studies(storage: str, runs: Sequence[RunToExport], *, force: bool = False) -> int:
    """Adds a study for each run, and returns how many trials they have.

    A study of that name is an error, with `force` it is replaced. What else is in the storage stays.
    """
    require_optuna()
    with _opened(storage) as there:
        _make_room(storage, there, runs, force)
        return sum(_write(there, run, run.read()) for run in runs)


def _opened(storage: str) -> AbstractContextManager[Any]:
    file = sqlite_file(storage)
    if file is None:
        return opened(storage)
    if not file.parent.is_dir():
        raise UserError(f"no folder {str(file.parent)!r} for the storage {storage!r}: make it first")
    if "://" in storage:
        return opened(storage)
    if file.suffix not in JOURNAL_SUFFIXES:
        raise UserError(
            f"{storage!r} is no storage of Optuna: write it as a URL, sqlite:///{storage}, or name a journal "
            f"file that ends in {' or '.join(JOURNAL_SUFFIXES)}"
        )
    if file.exists() and not is_journal(read_bytes(file)[:100_000]):
        raise UserError(f"{storage!r} is no journal of Optuna: choose another file")
    return opened_journal(file)


def _make_room(name: str, storage: Any, runs: Sequence[RunToExport], force: bool) -> None:
    there = {one.study_name: one._study_id for one in storage.get_all_studies()}
    known = [run.id for run in runs if run.id in there]
    if known and not force:
        more = f" and {len(known) - 1} more" if len(known) > 1 else ""
        raise UserError(
            f"{without_password(name)} has a study {known[0]!r}{more} already: choose another storage, or "
            "--force to replace it"
        )
    for study in known:
        storage.delete_study(there[study])


def _write(storage: Any, run: RunToExport, found: Trace) -> int:
    import optuna

    study = optuna.create_study(storage=storage, study_name=run.id, direction="minimize")
    try:
        study.set_metric_names([f"loss ({found.header['metric']})"])
        for name, value in _provenance(run, found).items():
            study.set_user_attr(name, value)
        if found.trials:
            add = _insert if hasattr(storage, "engine") else _append
            add(storage, study._study_id, run, found)
    except BaseException:
        storage.delete_study(study._study_id)  # half a study would be taken for a whole one
        raise
    return len(found.trials)


def _insert(storage: Any, study_id: int, run: RunToExport, found: Trace) -> None:
    """Adds the trials to Optuna's tables, all at once.

    `Study.add_trial` takes 50 ms for each: it asks the data base some forty questions.
    """
    from optuna.distributions import distribution_to_json
    from optuna.storages._rdb import models
    from optuna.trial import TrialState
    from sqlalchemy import insert

    started = _start(found.header)
    distributions = {one.name: _distribution(one) for one in params_of(run.space, found.trials)}
    as_json = {name: distribution_to_json(one) for name, one in distributions.items()}
    finite = models.TrialValueModel.TrialValueType.FINITE
    trials = [
        {
            "study_id": study_id,
            "number": number,
            "state": TrialState.COMPLETE if trial.status is Status.OK else TrialState.FAIL,
            "datetime_start": started + timedelta(seconds=trial.started),
            "datetime_complete": started + timedelta(seconds=trial.ended),
        }
        for number, trial in enumerate(found.trials)
    ]
    with storage.engine.begin() as connection:
        table = models.TrialModel.__table__
        added = insert(table).returning(table.c.trial_id, sort_by_parameter_order=True)
        ids = connection.execute(added, trials).scalars().all()
        with_ids = list(zip(ids, found.trials, strict=True))
        values = [
            {"trial_id": at, "objective": 0, "value": trial.loss, "value_type": finite}
            for at, trial in with_ids
            if trial.loss is not None
        ]
        params = [
            {
                "trial_id": at,
                "param_name": name,
                "param_value": distributions[name].to_internal_repr(value),
                "distribution_json": as_json[name],
            }
            for at, trial in with_ids
            for name, value in trial.config.items()
        ]
        attributes = [
            {"trial_id": at, "key": key, "value_json": json.dumps(value)}
            for at, trial in with_ids
            for key, value in _attributes(trial).items()
        ]
        for model, rows in (
            (models.TrialValueModel, values),
            (models.TrialParamModel, params),
            (models.TrialUserAttributeModel, attributes),
        ):
            if rows:
                connection.execute(insert(model.__table__), rows)


def _append(storage: Any, study_id: int, run: RunToExport, found: Trace) -> None:
    """Adds the trials to a journal."""
    from optuna.trial import FrozenTrial, TrialState

    started = _start(found.header)
    distributions = {one.name: _distribution(one) for one in params_of(run.space, found.trials)}
    for trial in found.trials:
        storage.create_new_trial(
            study_id,
            template_trial=FrozenTrial(
                number=-1,  # the storage counts
                trial_id=-1,
                state=TrialState.COMPLETE if trial.status is Status.OK else TrialState.FAIL,
                value=trial.loss,
                datetime_start=started + timedelta(seconds=trial.started),
                datetime_complete=started + timedelta(seconds=trial.ended),
                params=dict(trial.config),
                distributions={name: distributions[name] for name in trial.config},
                user_attrs=_attributes(trial),
                system_attrs={},
                intermediate_values={},
            ),
        )


def _attributes(trial: TrialRecord) -> dict[str, Any]:
    found = {to: getattr(trial, name) for name, to in TRIAL_ATTRIBUTES.items()}
    return {
        name: str(value) if isinstance(value, Status) else value
        for name, value in found.items()
        if value is not None
    }


def _provenance(run: RunToExport, found: Trace) -> dict[str, Any]:
    header = found.header
    machine = header.get("machine", {})
    about: dict[str, Any] = {
        **run_columns(run, found),
        "command": header.get("command"),
        "machine_cpu": machine.get("cpu"),
        "machine_cores": machine.get("cores"),
        "space": "as searched"
        if run.space is not None
        else "not known: ranges of the values that were tried",
        TRACE_ATTRIBUTE: {"header": header, "end": found.end and _end(asdict(found.end))},
    }
    return {name: value for name, value in about.items() if value is not None}


def _end(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "reason": str(row["reason"]), "pauses": list(row["pauses"]), "digest": None}


def _start(header: Mapping[str, Any]) -> datetime:
    """When the run started: in UTC and without a time zone, as Optuna's tables have it."""
    try:
        return datetime.fromisoformat(header["utc"]).astimezone(UTC).replace(tzinfo=None)
    except (KeyError, ValueError):
        return _NO_DATE


def _distribution(param: Param) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(param, Categorical):
        return CategoricalDistribution(param.choices)
    if isinstance(param, Int):
        return IntDistribution(param.low, param.high, log=param.log)
    return FloatDistribution(param.low, param.high, log=param.log)
