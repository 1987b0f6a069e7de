"""An imported run as a trace: its header says where it is from, and what its source does not tell."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from cfo_bench import __version__
from cfo_bench.clock import utc_now
from cfo_bench.errors import TraceError, UserError, brief_line, describe
from cfo_bench.files.writing import open_regular
from cfo_bench.metrics import METRIC_OF, METRICS
from cfo_bench.records import EndReason, Problem, RunSpec, Status
from cfo_bench.results.run import run_of_text
from cfo_bench.results.schema import (
    NO_DIGEST,
    SCHEMA_VERSION,
    Data,
    EndRecord,
    Header,
    Imported,
    TrialRecord,
    encode,
)
from cfo_bench.results.trace import sealed_end
from cfo_bench.space import Config, Space

# --- found runs ------------------------------------------------------------------------------------
# What a reader finds in a file of another program: runs, before they are traces.


class SourceClock(StrEnum):
    """What the times of an imported run are."""

    WALL = "wall"  # real seconds since its start, with all that the method took
    VIRTUAL = "virtual"  # it was exported from a run on the virtual clock
    DURATIONS = "durations"  # the seconds of its trials added up: the method's own are missing
    TRIALS = "trials"  # no times at all: each trial counts as one second


class Meaning(StrEnum):
    """What the value of a trial is."""

    LOSS = "loss"  # lower is better
    SCORE = "score"  # the metric itself


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTrial:
    """A trial as its source tells it; None is what it does not tell."""

    config: Config
    status: Status = Status.OK
    value: float | None = None
    started: float | None = None  # in seconds, from any moment that is the same for all trials of the run
    ended: float | None = None
    seconds: float | None = None  # how long it took
    rows: int | None = None
    error: str | None = None
    record: TrialRecord | None = None  # of a trial that cfo-bench has exported: all that was in its trace


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A run as its source tells it; None is what it does not tell."""

    trials: Sequence[FoundTrial]
    part: str | None = None  # which part of the source it is, such as the name of a study
    clock: SourceClock
    meaning: Meaning = Meaning.LOSS
    names: Mapping[str, Any] = field(default_factory=dict)  # learner, task, method, fold, seed
    metric: str | None = None
    problem: str | None = None
    constant_loss: float | None = None
    budget_seconds: float | None = None
    max_trials: int | None = None
    train_rows: int | None = None
    data_sha256: str | None = None
    space: Space | None = None
    utc: str | None = None  # when it started
    header: Header | None = None  # of a run that cfo-bench has exported
    end: EndRecord | None = None  # likewise
    remarks: tuple[str, ...] = ()  # what was left out, and what should be known of it


def sha256_of(*files: Path) -> str:
    """The hash of files' contents, one after the other."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(read_bytes(file))
    return digest.hexdigest()


def read_bytes(file: Path) -> bytes:
    """The content of a file that the user named; what is wrong with it is one line."""
    try:
        with open_regular(file) as opened:
            return opened.read()
    except FileNotFoundError:
        raise UserError(f"no file {str(file)!r}: give the file to import") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"can't read {str(file)!r}: {reason}") from None


def read_text(file: Path) -> str:
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{str(file)!r} is not UTF-8: save it as text in UTF-8") from None


# --- imported trace --------------------------------------------------------------------------------


# How an imported method is called in folders, tables and figures: it is never taken for a measured one.
PREFIX = "imported "

# The loss of a predictor that has seen no feature, where the metric alone says it.
_CONSTANT = {"auc": 0.5, "r2": 1.0}
# The problem of a metric, where it has only one.
_PROBLEM = {**{metric: problem for problem, metric in METRIC_OF.items()}, "mse": Problem.REGRESSION}
_NAMES = ("learner", "task", "method", "fold", "seed")
# Losses of these metrics are shares.
_SHARES = ("auc", "balanced_accuracy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the user says of the runs; None: what the source says."""

    learner: str | None = None
    task: str | None = None
    method: str | None = None
    fold: int | None = None
    seed: int | None = None
    metric: str | None = None
    problem: str | None = None
    budget_seconds: float | None = None
    constant_loss: float | None = None
    clock: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a run is from."""

    format: str
    file: str  # as the user named it
    sha256: str


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """A trace that is ready to be written."""

    spec: RunSpec
    content: bytes
    trials: int
    clock: SourceClock
    unknown: tuple[str, ...]
    remarks: tuple[str, ...]


def trace_of(run: FoundRun, told: Told, source: Source) -> ImportedTrace:
    """The lines of a run's trace, which the check of traces accepts."""
    try:
        return _trace_of(run, told, source)
    except TraceError as error:
        why = str(error).partition(": move the file away")[0]
        raise UserError(f"{source.file} can't be imported, as its trace would be damaged: {why}") from None
    # What stands in a storage, a log or a JSON file may be of any kind: a text for a number, say. TypeError
    # is also what a value raises that a trace can't hold.
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{source.file} can't be imported, as a value in it is wrong: {describe(error)}"
        ) from None


def _trace_of(run: FoundRun, told: Told, source: Source) -> ImportedTrace:
    if not run.trials:
        part = f" of study {run.part!r}" if run.part else ""
        raise UserError(f"{source.file}: no trial{part} has ended, so there is nothing to import")
    metric, problem = _metric(run, told), _problem(run, told)
    clock = SourceClock(told.clock) if told.clock else run.clock
    remarks = list(run.remarks)
    trials = _records(run, metric, clock)
    elapsed = max(trial.ended for trial in trials)
    if run.end is not None:
        elapsed = max(elapsed, run.end.elapsed)
    before = run.header
    unknown = list(before.imported.unknown) if before and before.imported else []
    spec, not_told = _spec(run, told, clock, elapsed, trials)
    constant, is_known = _constant_loss(run, told, metric, trials)
    if not before:
        unknown += [*not_told, "machine"]
        unknown += [] if run.data_sha256 else ["data"]
        unknown += [] if run.space else ["space"]
        unknown += [] if any(trial.record for trial in run.trials) else ["method_seconds"]
    unknown += [] if is_known else ["constant_loss"]
    if clock in (SourceClock.DURATIONS, SourceClock.TRIALS):
        unknown.append("clock")
    remarks += _gaps(trials) if clock is SourceClock.WALL and not before else []
    unknown = list(dict.fromkeys(unknown))
    facts: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "spec": spec,
        "imported": Imported(
            format=source.format,
            source=source.file,
            part=run.part,
            sha256=source.sha256,
            clock=str(clock),
            unknown=unknown,
            utc=utc_now(),
            cfo_bench_version=__version__,
        ),
        "problem": problem,
        "metric": metric,
        "constant_loss": constant,
    }
    if before:
        header = msgspec.structs.replace(before, **facts)
    else:
        data = Data(
            source=f"not known: imported from {source.format}",
            sha256=run.data_sha256 or "",
            train_rows=run.train_rows or 0,
        )
        space = run.space.to_json() if run.space else None
        header = Header(**facts, data=data, space=space, utc=run.utc)
    lines = encode(header) + b"".join(map(encode, trials))
    content = lines + encode(sealed_end(_end(run, spec, trials, elapsed), lines))
    run_of_text(Path(source.file), content, parse_trials=True)
    return ImportedTrace(spec, content, len(trials), clock, tuple(unknown), tuple(remarks))


# --- what is known --------------------------------------------------------------------------------


def _metric(run: FoundRun, told: Told) -> str:
    metric = told.metric or (run.header.metric if run.header else run.metric)
    if metric is None:
        raise UserError(
            "its source does not tell which metric was tuned: name it with --metric, one of "
            f"{', '.join(METRICS)}"
        )
    if metric not in METRICS:
        raise UserError(f"unknown metric {metric!r}: choose from {', '.join(METRICS)}")
    if run.meaning is Meaning.SCORE and not METRICS[metric].higher_is_better:
        raise UserError(f"the values were maximised, and {metric} is minimised: name another --metric")
    return metric


def _problem(run: FoundRun, told: Told) -> Problem:
    metric = _metric(run, told)
    recorded = run.header.problem if run.header else run.problem
    problem = told.problem or recorded or _PROBLEM.get(metric)
    if problem is None:
        raise UserError(f"--metric {metric} does not tell the problem: add --problem binary or multiclass")
    if problem not in set(Problem):
        raise UserError(f"unknown problem {problem!r}: choose from {', '.join(Problem)}")
    return Problem(problem)


def _constant_loss(
    run: FoundRun, told: Told, metric: str, trials: Sequence[TrialRecord]
) -> tuple[float, bool]:
    """The loss of the constant predictor, and whether it is known: if not, it is the worst of the trials."""
    if told.constant_loss is not None:
        return told.constant_loss, True
    if run.header is not None:
        return run.header.constant_loss, True
    if run.constant_loss is not None:
        return run.constant_loss, True
    if metric in _CONSTANT:
        return _CONSTANT[metric], True
    return max((trial.loss for trial in trials if trial.loss is not None), default=1.0), False


def _spec(
    run: FoundRun, told: Told, clock: SourceClock, elapsed: float, trials: Sequence[TrialRecord]
) -> tuple[RunSpec, list[str]]:
    """What was run, and which settings the source does not tell."""
    before = run.header.spec if run.header else None
    names = {
        **({key: getattr(before, key) for key in _NAMES} if before else {}),
        **run.names,
    }
    for name in _NAMES:
        if (given := getattr(told, name)) is not None:
            names[name] = given
    for name in ("learner", "task"):
        if not names.get(name):
            raise UserError(f"its source does not tell the {name}: name it with --{name}")
    called = told.method or (before.variant if before else "") or names["method"]
    variant = called if called.startswith(PREFIX) else f"{PREFIX}{called}"
    budget = told.budget_seconds or (before.budget_seconds if before else run.budget_seconds)
    settings = asdict(before) if before else {}
    spec = RunSpec(
        **{
            **settings,
            "learner": names["learner"],
            "task": names["task"],
            "method": names["method"].removeprefix(PREFIX),
            "fold": names.get("fold", 0),
            "seed": names.get("seed", 0),
            "variant": variant,
            "budget_seconds": float(budget or max(elapsed, 1e-6)),
            # Seconds that are not known to be real ones are never pooled with real ones.
            "clock": "wall" if clock is SourceClock.WALL else "virtual",
            **({} if before else {"max_trials": run.max_trials, "parallel": _at_once(trials)}),
        }
    )
    if before:
        return spec, []
    not_told = [] if budget else ["budget_seconds"]
    not_told += ["n_folds", "threads", "learner_options"]
    not_told += [] if clock is SourceClock.WALL else ["parallel"]
    return spec, not_told


# --- trials ---------------------------------------------------------------------------------------


def _records(run: FoundRun, metric: str, clock: SourceClock) -> list[TrialRecord]:
    if all(trial.record is not None for trial in run.trials):
        return [trial.record for trial in run.trials if trial.record is not None]
    to_loss, to_score = METRICS[metric].to_loss, METRICS[metric].to_score
    found = []
    for trial, (started, ended) in zip(run.trials, _times(run.trials), strict=True):
        status, loss, error = trial.status, None, trial.error
        if status is Status.OK and (trial.value is None or not math.isfinite(trial.value)):
            status, error = Status.FAILED, f"the {run.meaning} is {trial.value}"
        if status is Status.OK and trial.value is not None:
            loss = to_loss(trial.value) if run.meaning is Meaning.SCORE else trial.value
            _check_loss(loss, metric, run.meaning, trial.value)
        found.append(
            TrialRecord(
                number=0,
                config=trial.config,
                rows=trial.rows,
                thread=0,
                status=status,
                loss=loss,
                score=None if loss is None else to_score(loss),
                started=min(started, ended),
                ended=ended,
                ask_seconds=0.0,
                fit_seconds=max(ended - started, 0.0) if clock is not SourceClock.TRIALS else 0.0,
                validate_seconds=0.0,
                error=None if error is None else brief_line(error),
            )
        )
    return _numbered(found)


def _numbered(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """In the order of their ends; each has the number of its start, if several ran at once."""
    by_end = sorted(trials, key=lambda trial: trial.ended)
    if _at_once(by_end) == 1:
        return [msgspec.structs.replace(trial, number=number) for number, trial in enumerate(by_end)]
    places = sorted(range(len(by_end)), key=lambda at: by_end[at].started)
    number_of = {at: number for number, at in enumerate(places)}
    return [msgspec.structs.replace(trial, number=number_of[at]) for at, trial in enumerate(by_end)]


def _times(trials: Sequence[FoundTrial]) -> list[tuple[float, float]]:
    """When each trial started and ended: as told, else one after the other, else a second each."""
    ends = [trial.ended for trial in trials if trial.ended is not None]
    if len(ends) == len(trials):
        before = dict(zip(sorted(ends), [0.0, *sorted(ends)], strict=False))
        return [(_started(trial, end, before[end]), end) for trial, end in zip(trials, ends, strict=True)]
    seconds = [1.0 if trial.seconds is None else trial.seconds for trial in trials]
    if any(trial.seconds is None for trial in trials):
        seconds = [1.0] * len(trials)
    added = list(accumulate(seconds))
    return [(end - one, end) for end, one in zip(added, seconds, strict=True)]


def _started(trial: FoundTrial, ended: float, ended_before: float) -> float:
    """When a trial started: as told, else by how long it took, else when the one before it had ended."""
    if trial.started is not None:
        return trial.started
    return ended_before if trial.seconds is None else max(ended - trial.seconds, 0.0)


def _at_once(trials: Sequence[TrialRecord]) -> int:
    """The most trials that were under way at a moment. An end comes before a start at the same moment."""
    moments = [(trial.started, 1) for trial in trials if trial.ended > trial.started]
    moments += [(trial.ended, -1) for trial in trials if trial.ended > trial.started]
    return max(accumulate(step for _, step in sorted(moments)), default=1)


def _check_loss(loss: float, metric: str, meaning: Meaning, value: float) -> None:
    if loss < 0 or (metric in _SHARES and loss > 1):
        higher = METRICS[metric].higher_is_better
        wanted = f"1 − {metric}" if higher and meaning is Meaning.LOSS else metric
        raise UserError(
            f"a {meaning} of {value!r} can't be {wanted}: name the --metric that was tuned, or import a CSV "
            "file with the right values"
        )


def _gaps(trials: Sequence[TrialRecord]) -> list[str]:
    """A study may have been stopped, and gone on the next day: then its clock has a night in it."""
    last, widest = 0.0, 0.0
    for trial in sorted(trials, key=lambda one: one.started):
        widest = max(widest, trial.started - last)
        last = max(last, trial.ended)
    if widest < 60.0 or widest < 0.25 * last:
        return []
    return [f"for {widest:.0f} of its {last:.0f} s no trial was under way: was it stopped in between?"]


def _end(run: FoundRun, spec: RunSpec, trials: Sequence[TrialRecord], elapsed: float) -> EndRecord:
    if run.end is not None and run.end.reason is not EndReason.INTERRUPTED:
        return msgspec.structs.replace(run.end, trials_crc32=None, digest=NO_DIGEST, digest_crc32=None)
    best = min((one for one in trials if one.loss is not None), key=lambda one: one.loss or 0.0, default=None)
    if elapsed >= spec.budget_seconds:
        reason = EndReason.BUDGET
    elif spec.max_trials is not None and len(trials) >= spec.max_trials:
        reason = EndReason.MAX_TRIALS
    else:
        reason = EndReason.EXHAUSTED
    return EndRecord(
        reason=reason,
        elapsed=elapsed,
        trials=len(trials),
        best_loss=None if best is None else best.loss,
        best_score=None if best is None else best.score,
        best_number=None if best is None else best.number,
    )
