"""Export of runs to an Optuna storage, for Optuna's plots and its dashboard; and import of studies as runs.

A study has the id of its run as its name, and minimises the loss. Everything that Optuna has no field for is
in user attributes, so that an exported study can be imported unchanged.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from cfo_bench.errors import (
    CfoBenchError,
    MissingPackageError,
    SpaceError,
    UnknownNameError,
    UserError,
    describe,
    install_command,
)
from cfo_bench.exchange.exported_runs import RunToExport, params_of
from cfo_bench.exchange.imported_trace import (
    Meaning,
    SourceClock,
    SourceRun,
    SourceTrial,
    read_bytes,
    sha256_of,
)
from cfo_bench.exchange.trial_table import COLUMN_OF, run_columns
from cfo_bench.records import Status
from cfo_bench.results.run import Run
from cfo_bench.results.schema import BadLineError, Header, TrialRecord, end_from, header_from, to_mapping
from cfo_bench.space import PLAIN_TYPES, Categorical, Float, Int, Param, Space

# --- storages -------------------------------------------------------------------------------------
# Storages are opened without a warning. Nothing is written to a storage that is only read.

SQLITE_MAGIC = b"SQLite format 3\0"
# Optuna defines no suffix for journal files; its documentation names them journal.log.
JOURNAL_SUFFIXES = (".log", ".journal")

# With or without the name of the driver; the file may be a URI.
_SQLITE_URL = re.compile(r"sqlite(\+\w+)?:///(?P<uri>file:)?(?P<file>[^?]*)")
# Drivers whose package and module have different names.
_PACKAGES = {"MySQLdb": "mysqlclient", "psycopg2": "psycopg2-binary", "psycopg": "psycopg[binary]"}


def require_optuna() -> None:
    for package in ("optuna", "sqlalchemy"):
        if find_spec(package) is None:
            raise MissingPackageError("an Optuna storage", package, install_command("baselines"))


def sqlite_file(storage: str) -> Path | None:
    """The file of an SQLite storage, given as a URL or as a path; None for another kind of storage."""
    if match := _SQLITE_URL.match(storage):
        return Path(unquote(match["file"]) if match["uri"] else match["file"])
    return None if "://" in storage else Path(storage)


def is_journal(beginning: bytes) -> bool:
    """Whether a file with this beginning is a journal of Optuna: each line is an operation as JSON."""
    try:
        first = json.loads(beginning.partition(b"\n")[0])
    except ValueError:
        return False
    return isinstance(first, dict) and {"op_code", "worker_id"} <= first.keys()


def without_password(storage: str) -> str:
    """The URL of a storage without its password, for printing and storing."""
    return re.sub(r"(?<=://)([^/@:]*):[^/]*@", r"\1:***@", storage)


@contextmanager
def opened(url: str, *, to_read: bool = False, name: str = "") -> Iterator[Any]:
    """A context with the storage of a URL. Its tables are created unless it is only read.

    An error refers to the storage by `name`, or else by its URL.
    """
    import optuna

    _require_driver(url)
    with _in_one_line(name or url), _quietly():
        if to_read:
            _require_tables(url, name or url)
        storage = optuna.storages.RDBStorage(url, skip_table_creation=to_read)
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()


@contextmanager
def opened_journal(file: Path) -> Iterator[Any]:
    """The storage in a journal file, which is created if it does not exist."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    with _in_one_line(str(file)), _quietly():
        yield JournalStorage(JournalFileBackend(str(file)))


@contextmanager
def opened_to_read(source: str) -> Iterator[Any]:
    """A storage that is only read: an SQLite file, a journal file, or a database on a server."""
    file = sqlite_file(source)
    if file is None:
        with opened(source, to_read=True) as storage:
            yield storage
    elif not file.is_file():
        raise UserError(f"no storage {source!r}: give the file of an Optuna storage, or its URL")
    elif is_journal(read_bytes(file)[:100_000]):
        with opened_journal(file) as storage:
            yield storage
    else:
        with _opened_sqlite(file) as storage:
            yield storage


@contextmanager
def _opened_sqlite(file: Path) -> Iterator[Any]:
    address = f"file:{file.resolve().as_posix().replace('%', '%25').replace('?', '%3f').replace('#', '%23')}"
    if not read_bytes(file).startswith(SQLITE_MAGIC):
        raise UserError(f"{str(file)!r} is neither an SQLite file nor a journal of Optuna: give its storage")
    with opened(f"sqlite:///{address}?mode=ro&uri=true", to_read=True, name=str(file)) as storage:
        yield storage


def _require_tables(url: str, name: str) -> None:
    """A UserError if Optuna's tables are missing, because Optuna's own error would not name the remedy."""
    from sqlalchemy import create_engine, inspect

    engine = create_engine(url)
    try:
        tables = inspect(engine).get_table_names()
    finally:
        engine.dispose()
    if not {"studies", "trials", "version_info"} <= set(tables):
        raise UserError(f"{without_password(name)!r} has no studies of Optuna: give a storage of its own")


def _require_driver(url: str) -> None:
    from sqlalchemy import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        make_url(url).get_dialect().import_dbapi()
    except ModuleNotFoundError as error:
        package = _PACKAGES.get(error.name or "", error.name or "")
        raise MissingPackageError(
            f"the storage {without_password(url)!r}", package, f"pip install '{package}'"
        ) from None
    except SQLAlchemyError:
        raise UserError(
            f"{without_password(url)!r} is not a storage of Optuna: give a file, or a URL such as "
            "postgresql://user:password@host/name"
        ) from None


@contextmanager
def _in_one_line(storage: str) -> Iterator[None]:
    """Converts an error of a storage to a one-line UserError."""
    import optuna

    try:
        yield
    except (CfoBenchError, optuna.exceptions.DuplicatedStudyError):
        raise
    except Exception as error:  # Optuna may raise anything for tables or lines that it did not write
        why = without_password(describe(error))
        raise UserError(f"the storage {without_password(storage)!r} can't be used: {why}") from None


@contextmanager
def _quietly() -> Iterator[None]:
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)


# --- export ---------------------------------------------------------------------------------------

# The user attribute of a study with the header and the end of its run.
TRACE_ATTRIBUTE = "cfo_bench_trace"
# The user attributes of a trial, by field; a field without a value has no attribute.
TRIAL_ATTRIBUTES = {
    name: COLUMN_OF.get(name, name)
    for name in TrialRecord.__struct_fields__
    if name not in ("config", "loss")
}
# A trace without a date starts at the Unix epoch, so that its durations are right.
_NO_DATE = datetime(1970, 1, 1)


def write_studies(storage: str, runs: Sequence[RunToExport], *, force: bool = False) -> int:
    """Adds a study for each run, and returns the number of trials.

    An existing study is an error; with `force`, it is replaced. Other studies of the storage are kept.
    """
    require_optuna()
    with _opened(storage) as opened_storage:
        _make_room(storage, opened_storage, runs, force)
        return sum(_write(opened_storage, run, run.read()) for run in runs)


def _opened(storage: str) -> AbstractContextManager[Any]:
    file = sqlite_file(storage)
    if file is None:
        return opened(storage)
    if file.is_symlink():  # studies are added to a storage, so it cannot be replaced like other exports
        raise UserError(f"{storage!r} is a link, and links are not followed: name the file itself")
    if not file.parent.is_dir():
        raise UserError(f"no folder {str(file.parent)!r} for the storage {storage!r}: make it first")
    if "://" in storage:
        return opened(storage)
    if file.suffix not in JOURNAL_SUFFIXES:
        raise UserError(
            f"{storage!r} is not a storage of Optuna: write it as a URL, sqlite:///{storage}, or name a "
            f"journal file that ends in {' or '.join(JOURNAL_SUFFIXES)}"
        )
    if file.exists() and not is_journal(read_bytes(file)[:100_000]):
        raise UserError(f"{storage!r} is not a journal of Optuna: choose another file")
    return opened_journal(file)


def _make_room(name: str, storage: Any, runs: Sequence[RunToExport], force: bool) -> None:
    existing = {study.study_name: study._study_id for study in storage.get_all_studies()}
    same_names = [run.id for run in runs if run.id in existing]
    if same_names and not force:
        more = f" and {len(same_names) - 1} more" if len(same_names) > 1 else ""
        raise UserError(
            f"{without_password(name)} has a study {same_names[0]!r}{more} already: choose another storage, "
            "or --force to replace it"
        )
    for study_name in same_names:
        storage.delete_study(existing[study_name])


def _write(storage: Any, exported: RunToExport, run: Run) -> int:
    import optuna

    study = optuna.create_study(storage=storage, study_name=exported.id, direction="minimize")
    try:
        study.set_metric_names([f"loss ({run.header.metric})"])
        for name, value in _provenance(exported, run).items():
            study.set_user_attr(name, value)
        if run.trials:
            add = _insert if hasattr(storage, "engine") else _append
            add(storage, study._study_id, run)
    except BaseException:
        storage.delete_study(study._study_id)  # an incomplete study would look complete
        raise
    return len(run.trials)


def _insert(storage: Any, study_id: int, run: Run) -> None:
    """Adds all trials to Optuna's tables in one transaction.

    `Study.add_trial` takes 50 ms per trial, because it makes about forty queries.
    """
    from optuna.distributions import distribution_to_json
    from optuna.storages._rdb import models
    from sqlalchemy import insert

    started, distributions = _start(run.header), _distributions(run)
    as_json = {name: distribution_to_json(distribution) for name, distribution in distributions.items()}
    finite = models.TrialValueModel.TrialValueType.FINITE
    trials = [
        {
            "study_id": study_id,
            "number": number,
            "state": _state(trial),
            "datetime_start": started + timedelta(seconds=trial.started),
            "datetime_complete": started + timedelta(seconds=trial.ended),
        }
        for number, trial in enumerate(run.trials)
    ]
    with storage.engine.begin() as connection:
        table = models.TrialModel.__table__
        added = insert(table).returning(table.c.trial_id, sort_by_parameter_order=True)
        ids = connection.execute(added, trials).scalars().all()
        with_ids = list(zip(ids, run.trials, strict=True))
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


def _append(storage: Any, study_id: int, run: Run) -> None:
    """Adds the trials to a journal."""
    from optuna.trial import FrozenTrial

    started, distributions = _start(run.header), _distributions(run)
    for trial in run.trials:
        storage.create_new_trial(
            study_id,
            template_trial=FrozenTrial(
                number=-1,  # the storage assigns the number
                trial_id=-1,
                state=_state(trial),
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
    values = {attribute: getattr(trial, name) for name, attribute in TRIAL_ATTRIBUTES.items()}
    return {
        name: str(value) if isinstance(value, Status) else value
        for name, value in values.items()
        if value is not None
    }


def _provenance(exported: RunToExport, run: Run) -> dict[str, Any]:
    header, machine = run.header, run.header.machine
    is_space_known = exported.space is not None
    attributes: dict[str, Any] = {
        **run_columns(exported, run),
        "command": header.command,
        "machine_cpu": machine.cpu if machine else None,
        "machine_cores": machine.cores if machine else None,
        "space": "as searched" if is_space_known else "not known: ranges of the values that were tried",
        TRACE_ATTRIBUTE: {
            "header": to_mapping(header),
            "end": None if run.end is None else to_mapping(run.end),
        },
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _start(header: Header) -> datetime:
    """The start of the run, in UTC and without a time zone, as in Optuna's tables."""
    try:
        return datetime.fromisoformat(header.utc or "").astimezone(UTC).replace(tzinfo=None)
    except ValueError:
        return _NO_DATE


def _state(trial: TrialRecord) -> Any:
    from optuna.trial import TrialState

    return TrialState.COMPLETE if trial.status is Status.OK else TrialState.FAIL


def _distributions(run: Run) -> dict[str, Any]:
    return {param.name: _distribution(param) for param in params_of(run.header.search_space, run.trials)}


def _distribution(param: Param) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(param, Categorical):
        return CategoricalDistribution(param.choices)
    if isinstance(param, Int):
        return IntDistribution(param.low, param.high, log=param.log)
    return FloatDistribution(param.low, param.high, log=param.log)


# --- import ---------------------------------------------------------------------------------------

# The longest list of choices to which a range with a step is converted.
_MOST_CHOICES = 1000


def read_studies(source: str, studies: Sequence[str] = ()) -> tuple[list[SourceRun], str]:
    """The studies of a storage, in the order of their creation, and the SHA-256 of the content that was read.

    `studies` selects studies by name; empty: all.
    """
    require_optuna()
    with opened_to_read(source) as storage:
        existing = {study.study_name: study for study in storage.get_all_studies()}
        for name in studies:
            if name not in existing:
                raise UnknownNameError("study", name, existing)
        if not existing:
            raise UserError(f"{without_password(source)!r} has no study: run one first")
        chosen = [study for name, study in existing.items() if not studies or name in studies]
        trials = [storage.get_all_trials(study._study_id) for study in chosen]
        runs = [_run(study, frozen) for study, frozen in zip(chosen, trials, strict=True)]
    file = sqlite_file(source)
    return runs, _sha256(chosen, trials) if file is None else sha256_of(file)


def _sha256(studies: Sequence[Any], trials: Sequence[Sequence[Any]]) -> str:
    """The hash of studies from a server."""
    content = [
        (study.study_name, [(trial.number, trial.state.name, trial.values, trial.params) for trial in frozen])
        for study, frozen in zip(studies, trials, strict=True)
    ]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def _run(study: Any, frozen: Sequence[Any]) -> SourceRun:
    if len(study.directions) > 1:
        raise UserError(
            f"study {study.study_name!r} has {len(study.directions)} objectives, and a trace has one: name "
            "another one with --study"
        )
    trace = study.user_attrs.get(TRACE_ATTRIBUTE)
    if isinstance(trace, dict) and isinstance(trace.get("header"), dict):
        return _exported(study, trace, frozen)
    done = [trial for trial in frozen if trial.state.is_finished()]
    has_times = bool(done) and all(trial.datetime_start and trial.datetime_complete for trial in done)
    zero = min((trial.datetime_start for trial in done), default=None) if has_times else None
    is_maximised = study.directions[0].name == "MAXIMIZE"
    is_named = not study.study_name.startswith("no-name-")
    return SourceRun(
        trials=[_trial(trial, zero) for trial in done],
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
    """The time in UTC. Optuna's dates are local times."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # type: ignore[no-any-return]


def _trial(frozen: Any, zero: Any) -> SourceTrial:
    value, status, error = frozen.value, Status.OK, None
    if frozen.state.name == "PRUNED":
        last = f" after step {max(frozen.intermediate_values)}" if frozen.intermediate_values else ""
        value, status, error = None, Status.TIMEOUT, f"pruned{last}"
    elif frozen.state.name == "FAIL":
        value, status, error = None, Status.FAILED, str(frozen.system_attrs.get("fail_reason") or "it failed")
    return SourceTrial(
        config={name: _plain(value) for name, value in frozen.params.items()},
        status=status,
        value=value,
        started=None if zero is None else (frozen.datetime_start - zero).total_seconds(),
        ended=None if zero is None else (frozen.datetime_complete - zero).total_seconds(),
        error=error,
    )


def _plain(value: Any) -> Any:
    return value if type(value) in PLAIN_TYPES else str(value)


def _exported(study: Any, trace: Mapping[str, Any], frozen: Sequence[Any]) -> SourceRun:
    try:
        header, end = header_from(trace["header"]), trace.get("end")
        clock = header.imported.clock if header.imported else header.spec.clock
        return SourceRun(
            trials=[_exported_trial(trial) for trial in frozen if trial.state.is_finished()],
            part=study.study_name,
            clock=SourceClock(clock),
            header=header,
            end=end_from(end) if end else None,
        )
    except (BadLineError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"study {study.study_name!r} is not as cfo-bench export wrote it ({describe(error)}): export "
            "it again"
        ) from None


def _exported_trial(frozen: Any) -> SourceTrial:
    fields = {name: frozen.user_attrs.get(attribute) for name, attribute in TRIAL_ATTRIBUTES.items()}
    status = Status(fields.pop("status"))
    record = TrialRecord(config=dict(frozen.params), status=status, loss=frozen.value, **fields)
    return SourceTrial(config=record.config, status=status, value=frozen.value, record=record)


def _space(frozen: Sequence[Any]) -> Space | None:
    """The space, if every trial has the same hyperparameters with the same distributions."""
    if not frozen or any(trial.distributions != frozen[0].distributions for trial in frozen):
        return None
    try:
        return Space([_param(*named) for named in frozen[0].distributions.items()])
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
