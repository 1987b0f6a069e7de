"""A run of another program as a trace.

The reader of a format converts the content of a file to a `SourceRun`, and `trace_of` converts this to a
trace. The header contains the origin of the run, and names the facts that the source does not state.
"""

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
from cfo_bench.errors import CfoBenchError, TraceError, UserError, brief_line, describe
from cfo_bench.files.writing import open_regular
from cfo_bench.metrics import METRIC_OF, METRICS, MetricFacts
from cfo_bench.records import EndReason, Problem, RunSpec, Status
from cfo_bench.results.frames import RUN_KEYS
from cfo_bench.results.limits import new_end
from cfo_bench.results.run import run_of_text
from cfo_bench.results.schema import (
    NO_DIGEST,
    SCHEMA_VERSION,
    EndRecord,
    FoldData,
    Header,
    ImportOrigin,
    TrialRecord,
    encode,
)
from cfo_bench.results.trace import sealed_end
from cfo_bench.space import Config, Space

# --- runs in their source -------------------------------------------------------------------------


class SourceClock(StrEnum):
    """The meaning of the times of an imported run."""

    WALL = "wall"  # real seconds since its start, including those of the method
    VIRTUAL = "virtual"  # it was exported from a run on the virtual clock
    DURATIONS = "durations"  # the sum of the seconds of its trials, without those of the method
    TRIALS = "trials"  # no times at all: each trial counts as one second


class Meaning(StrEnum):
    """The meaning of the value of a trial."""

    LOSS = "loss"  # lower is better
    SCORE = "score"  # the metric itself


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrial:
    """A trial as its source states it; None: not stated."""

    config: Config
    status: Status = Status.OK
    value: float | None = None
    started: float | None = None  # in seconds, from any moment that is the same for all trials of the run
    ended: float | None = None
    seconds: float | None = None  # its duration
    rows: int | None = None
    error: str | None = None
    record: TrialRecord | None = None  # as in its trace, if cfo-bench exported it


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """A run as its source states it; None: not stated."""

    trials: Sequence[SourceTrial]
    part: str | None = None  # the part of the source, such as the name of a study
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
    remarks: tuple[str, ...] = ()  # for the user: what was left out, for example


def sha256_of(*files: Path) -> str:
    """The hash of the concatenated contents of files."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(read_bytes(file))
    return digest.hexdigest()


def read_bytes(file: Path) -> bytes:
    """The content of a file that the user named; a UserError if it can't be read."""
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


# --- the trace ------------------------------------------------------------------------------------

# The names of imported methods in folders, tables and figures begin with it; names of measured methods never
# do.
PREFIX = "imported "

# The loss of the constant predictor, for metrics that determine it.
_CONSTANT = {"auc": 0.5, "r2": 1.0}
# The problem type of each metric that has only one.
_PROBLEM = {**{metric: problem for problem, metric in METRIC_OF.items()}, "mse": Problem.REGRESSION}


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFacts:
    """What the user states about the runs; None: as the source states it."""

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
    """The origin of a run."""

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


def trace_of(run: SourceRun, given: GivenFacts, source: Source) -> ImportedTrace:
    """The trace of a run; a UserError if it would be invalid."""
    try:
        return _trace_of(run, given, source)
    except TraceError as error:
        why = str(error).partition(": move the file away")[0]
        raise UserError(f"{source.file} can't be imported, as its trace would be damaged: {why}") from None
    except CfoBenchError:
        raise
    except Exception as error:  # a value in a storage, a log or a JSON file may be of any type
        raise UserError(
            f"{source.file} can't be imported, as a value in it is wrong: {describe(error)}"
        ) from None


def _trace_of(run: SourceRun, given: GivenFacts, source: Source) -> ImportedTrace:
    if not run.trials:
        part = f" of study {run.part!r}" if run.part else ""
        raise UserError(f"{source.file}: no trial{part} has ended, so there is nothing to import")
    (metric, metric_facts), problem = _metric(run, given), _problem(run, given)
    clock = SourceClock(given.clock) if given.clock else run.clock
    remarks = list(run.remarks)
    trials = _records(run, metric, metric_facts, clock)
    elapsed = max(trial.ended for trial in trials)
    if run.end is not None:
        elapsed = max(elapsed, run.end.elapsed)
    before = run.header
    unknown = list(before.imported.unknown) if before and before.imported else []
    spec, not_stated = _spec(run, given, clock, elapsed, trials)
    constant, is_known = _constant_loss(run, given, metric, trials)
    if not before:
        unknown += [*not_stated, "machine"]
        known = {
            "data": run.data_sha256,
            "space": run.space,
            "method_seconds": any(trial.record for trial in run.trials),
        }
        unknown += [name for name, value in known.items() if not value]
    if not is_known:
        unknown.append("constant_loss")
    if clock in (SourceClock.DURATIONS, SourceClock.TRIALS):
        unknown.append("clock")
    remarks += _gaps(trials) if clock is SourceClock.WALL and not before else []
    unknown = list(dict.fromkeys(unknown))
    facts: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "spec": spec,
        "imported": origin_of(source, clock, run.part, unknown),
        "problem": problem,
        "metric": metric,
        "metric_facts": metric_facts,
        "constant_loss": constant,
    }
    if before:
        header = msgspec.structs.replace(before, **facts)
    else:
        data = FoldData(
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


def origin_of(
    source: Source, clock: SourceClock, part: str | None = None, unknown: Sequence[str] = ()
) -> ImportOrigin:
    return ImportOrigin(
        format=source.format,
        source=source.file,
        part=part,
        sha256=source.sha256,
        clock=str(clock),
        unknown=list(unknown),
        utc=utc_now(),
        cfo_bench_version=__version__,
    )


# --- facts ----------------------------------------------------------------------------------------


def _metric(run: SourceRun, given: GivenFacts) -> tuple[str, MetricFacts]:
    """The name and the facts of the metric: one of METRICS, or as the header of a trace describes it."""
    if run.header is not None and given.metric in (None, run.header.metric):
        return run.header.metric, run.header.metric_facts
    metric = given.metric or run.metric
    if metric is None:
        raise UserError(
            "its source does not state which metric was tuned: name it with --metric, one of "
            f"{', '.join(METRICS)}"
        )
    if metric not in METRICS:
        raise UserError(f"unknown metric {metric!r}: choose from {', '.join(METRICS)}")
    facts = METRICS[metric].facts
    if run.meaning is Meaning.SCORE and not facts.higher_is_better:
        raise UserError(f"the values were maximised, and {metric} is minimised: name another --metric")
    return metric, facts


def _problem(run: SourceRun, given: GivenFacts) -> Problem:
    metric, _ = _metric(run, given)
    recorded = run.header.problem if run.header else run.problem
    problem = given.problem or recorded or _PROBLEM.get(metric)
    if problem is None:
        raise UserError(
            f"the problem does not follow from --metric {metric}: add --problem binary or multiclass"
        )
    if problem not in set(Problem):
        raise UserError(f"unknown problem {problem!r}: choose from {', '.join(Problem)}")
    return Problem(problem)


def _constant_loss(
    run: SourceRun, given: GivenFacts, metric: str, trials: Sequence[TrialRecord]
) -> tuple[float, bool]:
    """The loss of the constant predictor, and whether it is known. If not, it is the worst loss of the
    trials.
    """
    recorded = run.header.constant_loss if run.header else run.constant_loss
    for known in (given.constant_loss, recorded, _CONSTANT.get(metric)):
        if known is not None:
            return known, True
    return max((trial.loss for trial in trials if trial.loss is not None), default=1.0), False


def _spec(
    run: SourceRun, given: GivenFacts, clock: SourceClock, elapsed: float, trials: Sequence[TrialRecord]
) -> tuple[RunSpec, list[str]]:
    """The spec of the run, and the settings that the source does not state."""
    before = run.header.spec if run.header else None
    names = {
        **({key: getattr(before, key) for key in RUN_KEYS} if before else {}),
        **run.names,
        **{key: value for key in RUN_KEYS if (value := getattr(given, key)) is not None},
    }
    for name in ("learner", "task"):
        if not names.get(name):
            raise UserError(f"its source does not state the {name}: name it with --{name}")
    method = given.method or (before.variant if before else "") or names["method"]
    variant = method if method.startswith(PREFIX) else f"{PREFIX}{method}"
    budget = given.budget_seconds or (before.budget_seconds if before else run.budget_seconds)
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
            # Seconds that are not known to be real are never pooled with real seconds.
            "clock": "wall" if clock is SourceClock.WALL else "virtual",
            **({} if before else {"max_trials": run.max_trials, "parallel": _at_once(trials)}),
        }
    )
    if before:
        return spec, []
    not_stated = [] if budget else ["budget_seconds"]
    not_stated += ["n_folds", "threads", "learner_options"]
    not_stated += [] if clock is SourceClock.WALL else ["parallel"]
    return spec, not_stated


# --- trials ---------------------------------------------------------------------------------------


def _records(run: SourceRun, metric: str, facts: MetricFacts, clock: SourceClock) -> list[TrialRecord]:
    if all(trial.record is not None for trial in run.trials):
        return [trial.record for trial in run.trials if trial.record is not None]
    records = []
    for trial, (started, ended) in zip(run.trials, _times(run.trials), strict=True):
        status, loss, error = trial.status, None, trial.error
        if status is Status.OK and (trial.value is None or not math.isfinite(trial.value)):
            status, error = Status.FAILED, f"the {run.meaning} is {trial.value}"
        if status is Status.OK and trial.value is not None:
            loss = facts.to_loss(trial.value) if run.meaning is Meaning.SCORE else trial.value
            _check_loss(loss, metric, facts, run.meaning, trial.value)
        records.append(
            TrialRecord(
                number=0,
                config=trial.config,
                rows=trial.rows,
                thread=0,
                status=status,
                loss=loss,
                score=None if loss is None else facts.to_score(loss),
                started=min(started, ended),
                ended=ended,
                ask_seconds=0.0,
                fit_seconds=max(ended - started, 0.0) if clock is not SourceClock.TRIALS else 0.0,
                validate_seconds=0.0,
                error=None if error is None else brief_line(error),
            )
        )
    return _numbered(records)


def _numbered(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The trials in the order of their ends. If several ran in parallel, they are numbered in the order of
    their starts.
    """
    by_end = sorted(trials, key=lambda trial: trial.ended)
    if _at_once(by_end) == 1:
        return [msgspec.structs.replace(trial, number=number) for number, trial in enumerate(by_end)]
    places = sorted(range(len(by_end)), key=lambda at: by_end[at].started)
    number_of = {at: number for number, at in enumerate(places)}
    return [msgspec.structs.replace(trial, number=number_of[at]) for at, trial in enumerate(by_end)]


def _times(trials: Sequence[SourceTrial]) -> list[tuple[float, float]]:
    """The start and end of each trial: as stated, else one after the other, else one second each."""
    ends = [trial.ended for trial in trials if trial.ended is not None]
    if len(ends) == len(trials):
        before = dict(zip(sorted(ends), [0.0, *sorted(ends)], strict=False))
        return [(_started(trial, end, before[end]), end) for trial, end in zip(trials, ends, strict=True)]
    seconds = [1.0 if trial.seconds is None else trial.seconds for trial in trials]
    if any(trial.seconds is None for trial in trials):
        seconds = [1.0] * len(trials)
    added = list(accumulate(seconds))
    return [(end - duration, end) for end, duration in zip(added, seconds, strict=True)]


def _started(trial: SourceTrial, ended: float, ended_before: float) -> float:
    """The start of a trial: as stated, else from its duration, else the end of the previous trial."""
    if trial.started is not None:
        return trial.started
    return ended_before if trial.seconds is None else max(ended - trial.seconds, 0.0)


def _at_once(trials: Sequence[TrialRecord]) -> int:
    """The maximum number of trials that were running at the same time. An end counts before a simultaneous
    start.
    """
    moments = [(trial.started, 1) for trial in trials if trial.ended > trial.started]
    moments += [(trial.ended, -1) for trial in trials if trial.ended > trial.started]
    return max(accumulate(step for _, step in sorted(moments)), default=1)


def _check_loss(loss: float, metric: str, facts: MetricFacts, meaning: Meaning, value: float) -> None:
    low, high = facts.bounds
    if not low <= facts.to_score(loss) <= high:
        expected = f"1 − {metric}" if facts.higher_is_better and meaning is Meaning.LOSS else metric
        raise UserError(
            f"a {meaning} of {value!r} can't be {expected}: name the --metric that was tuned, or "
            "import a CSV file with the right values"
        )


def _gaps(trials: Sequence[TrialRecord]) -> list[str]:
    """A remark if the study seems to have been stopped and resumed, because its clock includes the gap."""
    last, widest = 0.0, 0.0
    for trial in sorted(trials, key=lambda trial: trial.started):
        widest = max(widest, trial.started - last)
        last = max(last, trial.ended)
    if widest < 60.0 or widest < 0.25 * last:
        return []
    return [f"for {widest:.0f} of its {last:.0f} s no trial was running: was it stopped in between?"]


def _end(run: SourceRun, spec: RunSpec, trials: Sequence[TrialRecord], elapsed: float) -> EndRecord:
    if run.end is not None and run.end.reason is not EndReason.INTERRUPTED:
        return msgspec.structs.replace(run.end, trials_crc32=None, digest=NO_DIGEST, digest_crc32=None)
    if elapsed >= spec.budget_seconds:
        reason = EndReason.BUDGET
    elif spec.max_trials is not None and len(trials) >= spec.max_trials:
        reason = EndReason.MAX_TRIALS
    else:
        reason = EndReason.EXHAUSTED
    return new_end(reason, elapsed, trials)
