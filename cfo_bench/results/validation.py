"""What a whole trace is: the one check that every command puts a trace through.

The first line is the header, every other line a trial, a resume or an end; each has the keys that a reader
needs, with values of the right type. Trials are numbered without gaps, nothing follows a final end but a
resume with other limits, and an end or a resume counts the trials before it. Trials that a resume says are
superseded don't count. Keys that are not named here are ignored.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter, le
from typing import Any

import orjson

from cfo_bench.errors import TraceError
from cfo_bench.metrics import METRICS
from cfo_bench.records import EndReason, Problem, Status, TrialRecord

SCHEMA_VERSION = 1

LineRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lines:
    """The whole lines of a trace, checked."""

    header: LineRow  # with the names that this version uses, and the limits of the last resume
    trials: list[LineRow]  # those that count
    columns: dict[str, Sequence[Any]]  # the trials again: for each field of TrialRecord the values of all
    resumes: list[LineRow]
    ends: list[LineRow]  # those of a run that was interrupted and resumed, and the last one
    last: LineRow  # the last line; the header where there is no other

    @property
    def end(self) -> LineRow | None:
        """The last line, if it is an end: then the run was not resumed after it."""
        return self.last if self.last["kind"] == "end" else None


@dataclass(frozen=True, slots=True)
class Outline:
    """A finished trace without its trials: their checksum says that they are as they were written."""

    header: LineRow  # with the names that this version uses, and the limits of the last resume
    resumes: list[LineRow]
    end: LineRow  # its `digest` is None where the digest's own checksum is wrong


# --- types of values ------------------------------------------------------------------------------


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
_MOST = 2**63 - 1

_TEXT = _Type("text", lambda value: isinstance(value, str))
_NAME = _Type("a name", lambda value: isinstance(value, str) and value != "")
_NUMBER = _Type("a number", _is_number)
_SECONDS = _Type("a number from 0 on", lambda value: _is_number(value) and value >= 0)
_BUDGET = _Type("a number above 0", lambda value: _is_number(value) and value > 0)
_COUNT = _Type("a whole number from 0 on", lambda value: type(value) is int and 0 <= value <= _MOST)
_FROM_ONE = _Type("a whole number from 1 on", lambda value: type(value) is int and 1 <= value <= _MOST)
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
_HEADER: dict[str, _Type] = {
    "spec": _required(_MAPPING),
    "spec.learner": _required(_NAME),
    "spec.task": _required(_NAME),
    "spec.method": _required(_NAME),
    "spec.variant": _TEXT,
    "spec.fold": _required(_COUNT),
    "spec.seed": _required(_COUNT),
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
    "method_seed": _COUNT,
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
    "data.rows": _COUNT,
    "data.features": _COUNT,
    "data.classes": _COUNT,
    "data.train_rows": _required(_COUNT),
    "data.validation_rows": _COUNT,
    "data.test_rows": _COUNT,
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

_END: dict[str, _Type] = {
    "reason": _required(_one_of(tuple(EndReason))),
    "elapsed": _required(_SECONDS),
    "trials": _required(_COUNT),
    "best_loss": _required(_or_null(_NUMBER)),
    "best_score": _required(_or_null(_NUMBER)),
    "best_number": _required(_or_null(_COUNT)),
    "error": _or_null(_TEXT),
    "cut_ask_seconds": _SECONDS,
    "cut_tell_seconds": _SECONDS,
    "load": _or_null(_SECONDS),
    "steal_percent": _or_null(_SECONDS),
    "trials_crc32": _or_null(_COUNT),
    "digest": _or_null(_MAPPING),
    "digest_crc32": _or_null(_COUNT),
    "pauses": _Type(
        "a list of pauses, each with at and seconds",
        lambda value: isinstance(value, list) and all(_is_pause(one) for one in value),
    ),
}


def _is_pause(value: Any) -> bool:
    return isinstance(value, dict) and all(_SECONDS.fits(value.get(key)) for key in ("at", "seconds"))


_RESUME: dict[str, _Type] = {
    "elapsed": _required(_SECONDS),
    "trials": _required(_COUNT),
    "utc": _required(_TEXT),
    "why": _required(_TEXT),
    "node": _or_null(_TEXT),
    "superseded": _COUNT,
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
    "number": _required(_COUNT),
    "config": _required(_CONFIG),
    "rows": _required(_or_null(_FROM_ONE)),
    "thread": _required(_COUNT),
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


def _check_depth(row: LineRow) -> None:
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


def _check_row(row: Mapping[str, Any], types: Mapping[str, _Type]) -> None:
    for name, wanted in types.items():
        holder: Any = row
        *outer, key = name.split(".")
        for part in outer:
            holder = holder.get(part, {})  # a mapping, or missing: its own type is checked before
        if key not in holder:
            if wanted.is_required:
                raise BadLineError(f"{name} is missing")
        elif not wanted.fits(holder[key]):
            raise BadLineError(f"{name} is {_short(holder[key])}, which is not {wanted.rule}")


def _short(value: Any) -> str:
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:39]}…"


# --- a whole trace --------------------------------------------------------------------------------


def check(path: object, whole: bytes) -> Lines | None:
    """The whole lines of a trace, or a TraceError that names the first bad one; None without a line.

    `path` is for the message only. Traces have millions of lines in all: a good one is checked column by
    column, and only a bad one line by line, to find the place.
    """
    texts = split_lines(whole)
    if not texts:
        return None
    header = _header(path, texts[0])
    try:
        return _checked(header, list(map(orjson.loads, texts[1:])))
    except (BadLineError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        number, why = _first_bad(header, texts)
        raise _bad_line(path, number, why) from None


def check_ends(path: object, whole: bytes) -> tuple[LineRow, LineRow] | None:
    """The header and the last line of a trace that was checked; None without a line."""
    unchanged = outline(path, whole)
    if unchanged is not None:
        return unchanged.header, unchanged.end
    found = check(path, whole)
    return None if found is None else (found.header, found.last)


def outline(path: object, whole: bytes) -> Outline | None:
    """A trace without its trials, which are not parsed: millions of them are passed over in seconds.

    None for a run that has not ended, and where the checksum can't tell that its trials are unchanged:
    `check` has to look at every line then.
    """
    first, last = whole.find(b"\n"), whole.rfind(b"\n", 0, -1)
    if not 0 <= first <= last:
        return None
    try:
        end = _parsed(whole[last + 1 :])
        _check_other(end, trials=end["trials"])
        crc32 = end.get("trials_crc32")
        if end["kind"] != "end" or crc32 is None:
            return None
        end = _without_damaged_digest(end)
        # Most runs were never resumed: all lines between the header and the end are trials.
        if zlib.crc32(memoryview(whole)[first + 1 : last]) == crc32:
            count = end["digest"]["trials"] if end["digest"] else whole.count(b"\n", first, last)
            if count != end["trials"]:
                return None
            resumes: list[LineRow] = []
        else:
            resumes = _resumes(split_lines(whole)[1:], crc32)
    except (BadLineError, KeyError):
        return None
    return Outline(with_limits(_header(path, whole[:first]), resumes), resumes, end)


def _without_damaged_digest(end: LineRow) -> LineRow:
    row = end.get("digest")
    is_whole = (
        row is not None
        and end.get("digest_crc32") == digest_crc32(row, end["trials_crc32"])
        and row.get("trials") == end["trials"]
    )
    return end if is_whole else {**end, "digest": None}


def digest_crc32(row: LineRow, trials_crc32: int) -> int:
    """The checksum of a digest. It goes on from that of the trials, and so binds the one to the other."""
    return zlib.crc32(orjson.dumps(row), trials_crc32)


def trials_crc32(whole: bytes) -> int:
    """The checksum of those lines that are trials."""
    return _crc32(split_lines(whole))


def split_lines(whole: bytes) -> list[bytes]:
    texts = whole.split(b"\n")
    return texts if texts[-1] else texts[:-1]


def is_trial(text: bytes) -> bool:
    """Whether the line is a trial, as our writer begins it."""
    return text.startswith(b'{"kind":"trial",')


def _crc32(texts: Iterable[bytes]) -> int:
    return zlib.crc32(b"\n".join(text for text in texts if is_trial(text)))


def _resumes(texts: list[bytes], crc32: int) -> list[LineRow]:
    """The resumes among the lines after the header; BadLineError if the trials have another checksum."""
    if _crc32(texts) != crc32:
        raise BadLineError("trials have changed")
    rows = [(at, _parsed(text)) for at, text in enumerate(texts) if not is_trial(text)]
    _check_others(rows, len(texts))
    return [row for _, row in rows if row["kind"] == "resume"]


def _bad_line(path: object, number: int, why: str) -> TraceError:
    return TraceError(
        f"{path}, line {number} is not a record of a trace ({why}): "
        "move the file away, or run it again with --force"
    )


def _header(path: object, text: bytes) -> LineRow:
    try:
        row = _parsed(text)
        if row.get("kind") != "run":
            raise BadLineError("the first line is no header")
        schema = row.get("schema")
        if type(schema) is int and schema != SCHEMA_VERSION:
            raise TraceError(
                f"{path} has trace version {schema}, this cfo-bench reads version {SCHEMA_VERSION}: "
                "use another --results, or --force to run it again"
            )
        if type(schema) is not int:
            raise BadLineError(f"schema is {_short(schema)}, which is not the version of a trace")
        header = with_current_names(row)
        _check_depth(header)
        _check_row(header, _HEADER)
    except BadLineError as error:
        raise _bad_line(path, 1, str(error)) from None
    return header


def with_current_names(header: LineRow) -> LineRow:
    """A header with the names that this version uses: older ones call `parallel` `workers`."""
    spec = header.get("spec")
    if not isinstance(spec, dict) or "workers" not in spec:
        return header
    options = spec.get("options")
    if isinstance(options, dict):
        options = {"parallel" if key == "workers" else key: value for key, value in options.items()}
    renamed = {"parallel" if key == "workers" else key: value for key, value in spec.items()}
    return {**header, "spec": {**renamed, "options": options}}


def with_limits(header: LineRow, resumes: Iterable[LineRow]) -> LineRow:
    """A header with the limits that the run has now: each resume may have changed them."""
    for row in resumes:
        if row.get("limits"):
            header = {**header, "spec": {**header["spec"], **row["limits"]}}
    return header


def counted_trials(texts: Sequence[bytes]) -> tuple[list[bytes], list[LineRow]]:
    """The lines of the trials that count, and the resumes, of the lines after the header."""
    trials: list[bytes] = []
    resumes = []
    for text in texts:
        if is_trial(text):
            trials.append(text)
        elif text.startswith(b'{"kind":"resume",'):
            resumes.append(_parsed(text))
            trials = trials[: len(trials) - resumes[-1].get("superseded", 0)]
    return trials, resumes


def _parsed(text: bytes) -> LineRow:
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise BadLineError("it is no JSON" if text.strip() else "it is empty") from None
    if not isinstance(row, dict):
        raise BadLineError("no mapping")
    return row


def _checked(header: LineRow, rows: list[LineRow]) -> Lines:
    others = [(at, row) for at, row in enumerate(rows) if row["kind"] != "trial"]
    _check_others(others, len(rows))
    resumes, ends = ([row for _, row in others if row["kind"] == kind] for kind in ("resume", "end"))
    trials = _counted(rows) if any(row.get("superseded") for row in resumes) else None
    if trials is None:
        trials = [row for row in rows if row["kind"] == "trial"]
    columns = _columns(trials)
    _check_columns(columns, _trials_at_once(header))
    header = with_limits(header, resumes)
    return Lines(header, trials, columns, resumes, ends, rows[-1] if rows else header)


def _counted(rows: Sequence[LineRow]) -> list[LineRow]:
    """The trials that count. The others are checked here, since nobody else looks at them."""
    found: list[LineRow] = []
    for row in rows:
        if row["kind"] == "trial":
            found.append(row)
        elif row["kind"] == "resume":
            count = len(found) - row.get("superseded", 0)
            for gone in found[count:]:
                check_trial(gone)
            del found[count:]
    return found


def _trials_at_once(header: LineRow) -> int:
    at_once: int = header["spec"].get("parallel", 1)
    return at_once


def _check_others(others: Sequence[tuple[int, LineRow]], n_lines: int) -> None:
    """The lines that are no trials, each with its place among the lines after the header."""
    superseded = 0
    for before, (at, row) in enumerate(others):
        _check_row(row, {"superseded": _COUNT})
        if row["kind"] == "resume":
            superseded += row.get("superseded", 0)
        _check_other(row, trials=at - before - superseded)
        is_followed_by_trial = before + 1 == len(others) or others[before + 1][0] != at + 1
        if at + 1 < n_lines:
            _check_may_follow(row, None if is_followed_by_trial else others[before + 1][1])


def _check_may_follow(end: LineRow, row: LineRow | None) -> None:
    """What stands after an end; None: a trial."""
    if end["kind"] != "end" or end["reason"] == EndReason.INTERRUPTED:
        return
    if row is None or row["kind"] != "resume" or not row.get("limits"):
        raise BadLineError("lines follow the end of the run")


def _check_other(row: LineRow, trials: int) -> None:
    """A line that is no trial, after so many trials that count."""
    kind = row["kind"]
    if kind not in ("resume", "end"):
        raise BadLineError("a second header" if kind == "run" else f"kind is {_short(kind)}")
    _check_depth(row)
    _check_row(row, _END if kind == "end" else _RESUME)
    if row["trials"] != trials:
        raise BadLineError(f"trials is {row['trials']}, and the lines before it have {trials}")
    if kind == "resume" and row.get("superseded") and not row.get("limits"):
        raise BadLineError("superseded goes with limits only")


# --- trials, by columns ---------------------------------------------------------------------------

_OPTIONAL = tuple(TrialRecord._field_defaults)
_NEEDED = TrialRecord._fields[: -len(_OPTIONAL)]
_values_of = itemgetter(*_NEEDED)

_NONE = type(None)
_NUMBERS = {int, float}
# The types that a column of trials may have.
_COLUMN_TYPES: dict[str, set[type]] = {
    "number": {int},
    "config": {dict},
    "rows": {int, _NONE},
    "thread": {int},
    "status": {str},
    "loss": {*_NUMBERS, _NONE},
    "score": {*_NUMBERS, _NONE},
    "started": _NUMBERS,
    "ended": _NUMBERS,
    "ask_seconds": _NUMBERS,
    "fit_seconds": _NUMBERS,
    "validate_seconds": _NUMBERS,
    "tell_seconds": {*_NUMBERS, _NONE},
    "peak_memory_mb": {*_NUMBERS, _NONE},
    "error": {str, _NONE},
    "test_score": {*_NUMBERS, _NONE},
    "asked": {int, _NONE},
}
# The smallest number that a column may have; whole numbers also have a largest.
_LEAST = {
    **dict.fromkeys(("number", "thread", "started", "ended", "ask_seconds", "fit_seconds"), 0),
    **dict.fromkeys(("validate_seconds", "tell_seconds", "peak_memory_mb"), 0),
    **dict.fromkeys(("rows", "asked"), 1),
}
_WHOLE = ("number", "thread", "rows", "asked")
_STATUSES = frozenset(map(str, Status))


def _columns(trials: list[LineRow]) -> dict[str, Sequence[Any]]:
    if not trials:
        return dict.fromkeys(TrialRecord._fields, ())
    needed = dict(zip(_NEEDED, zip(*map(_values_of, trials), strict=True), strict=True))
    return {**needed, **{name: [row.get(name) for row in trials] for name in _OPTIONAL}}


def _check_columns(columns: Mapping[str, Sequence[Any]], at_once: int) -> None:
    """Raises BadLineError, which does not say where: see `_first_bad`."""
    for name, column in columns.items():
        types = set(map(type, column))
        if not types <= _COLUMN_TYPES[name]:
            raise BadLineError(name)
        if name not in _LEAST or types <= {_NONE}:
            continue
        numbers = [value for value in column if value is not None] if _NONE in types else column
        if min(numbers) < _LEAST[name] or (name in _WHOLE and max(numbers) > _MOST):
            raise BadLineError(name)
    if not are_configs(columns["config"]):
        raise BadLineError("config")
    statuses, numbers, ended = columns["status"], columns["number"], columns["ended"]
    if not _STATUSES.issuperset(statuses):
        raise BadLineError("status")
    if [status == "ok" for status in statuses] != [loss is not None for loss in columns["loss"]]:
        raise BadLineError("loss")
    if not all(map(le, columns["started"], ended)):
        raise BadLineError("ended")
    if at_once == 1:
        if list(numbers) != list(range(len(numbers))) or not all(map(le, ended, ended[1:])):
            raise BadLineError("number")
    elif numbers and (len(set(numbers)) < len(numbers) or max(numbers) >= len(numbers) + at_once):
        raise BadLineError("number")


def check_trial(row: Mapping[str, Any]) -> None:
    """One trial line by itself; BadLineError says what is wrong with it."""
    _check_row(row, _TRIAL)
    if (row["status"] == "ok") != (row["loss"] is not None):
        raise BadLineError(f"status is {row['status']} and loss is {_short(row['loss'])}: only ok has a loss")
    if row["started"] > row["ended"]:
        raise BadLineError(f"it ended at {row['ended']}, before it started at {row['started']}")


# --- where a bad trace is bad ---------------------------------------------------------------------


def _first_bad(header: LineRow, texts: Sequence[bytes]) -> tuple[int, str]:
    """The number of the first bad line, from 1, and what is wrong with it."""
    at_once = _trials_at_once(header)
    trials: list[LineRow] = []  # that count
    numbers: set[int] = set()
    before: LineRow = {"kind": "run"}
    for line, text in enumerate(texts[1:], start=2):
        try:
            row = _parsed(text)
            if "kind" not in row:
                raise BadLineError("kind is missing")
            is_trial_line = row["kind"] == "trial"
            try:
                _check_may_follow(before, None if is_trial_line else row)
            except BadLineError as error:
                return line - 1, str(error)
            before = row
            if not is_trial_line:
                _check_row(row, {"superseded": _COUNT})
                if row["kind"] == "resume":
                    del trials[max(len(trials) - row.get("superseded", 0), 0) :]
                    numbers = {one["number"] for one in trials}
                _check_other(row, len(trials))
                continue
            check_trial(row)
            number = row["number"]
            if number in numbers:
                raise BadLineError(f"trial {number} is there twice")
            if at_once == 1 and number != len(numbers):
                raise BadLineError(f"trial {number} stands where trial {len(numbers)} should")
            if at_once == 1 and trials and row["ended"] < trials[-1]["ended"]:
                raise BadLineError(f"trial {number} ended before the trial above it")
        except BadLineError as error:
            return line, str(error)
        numbers.add(number)
        trials.append(row)
    return len(texts), f"trials are missing: the last number is {max(numbers, default=0)}"
