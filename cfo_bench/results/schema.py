"""The lines of a trace: the only description of them.

A trace has a header (`kind: run`), trials, a resume record where the run was resumed, and an end record.
Decoding, validation, encoding, the JSON Schema and the tables of the documentation are derived from the four
structs below. A key that is not declared here is ignored when a line is read.

In a line a field that has its default is left out, unless the default is `always` written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from cfo_bench.errors import SpaceError
from cfo_bench.metrics import METRICS, MetricFacts
from cfo_bench.records import EndReason, Problem, Result, RunLimits, RunSpec, StartedTrial, TrialStatus
from cfo_bench.settings import Affects, settings_of
from cfo_bench.space import Space
from cfo_bench.values import LEAST_INT, MOST_INT, NonNegative, NonNegativeInt, PositiveInt

# Version 2: CFO's `delta_lower: alg3` is the paper's rule; version 1 used this name for `with_floats`.
SCHEMA_VERSION = 2

# The value of a hyperparameter.
ConfigValue = Annotated[int, Meta(ge=LEAST_INT, le=MOST_INT)] | float | str | bool | None


class BadLineError(ValueError):
    """A line is not a record of a trace; the text names the key, its value and the rule."""


class OtherVersionError(BadLineError):
    """The header is of another version of the format."""


def always(default: Any) -> Any:
    """A default that is written into a line, too."""
    return msgspec.field(default_factory=lambda: default)


def described(text: str, affects: Affects = Affects.NOTHING, plural: str = "") -> Meta:
    """What a field is, and whether two runs must have it in common; `plural` is its name in a warning."""
    return Meta(description=text, extra={"affects": affects, "plural": plural})


# --- the header -----------------------------------------------------------------------------------

# The format of traces that are restored from an archive: they were runs of cfo-bench.
ARCHIVE = "archive"


class ImportOrigin(Struct, frozen=True, kw_only=True):
    """The origin of a run that `cfo-bench import` wrote."""

    format: Annotated[str, described("optuna, smac, flaml, csv or archive.")]
    source: Annotated[str, described("The file, folder or storage, as it was named.")]
    part: Annotated[str | None, described("A part of the source, such as the name of a study.")] = None
    sha256: Annotated[str, described("SHA-256 of the files that were read.")]
    clock: Annotated[
        str,
        described(
            "The meaning of its times: wall (real seconds), virtual, durations (seconds of trials added up) "
            "or trials (one second per trial)."
        ),
    ]
    unknown: Annotated[
        list[str],
        described(
            "Facts that the source does not contain. A setting in spec that is named here is a default."
        ),
    ]
    utc: Annotated[str | None, described("When it was imported.")] = None
    cfo_bench_version: Annotated[str | None, described("The version that imported it.")] = None


class DataIdentity(Struct, frozen=True, kw_only=True):
    """The source of a task's data, and the facts that identify it; None: not stated."""

    source: Annotated[
        str | None, described("bundled, synthetic, or the origin of the file, with its name.")
    ] = None
    sha256: Annotated[
        str,
        described(
            "SHA-256 of the table that was read, or of the recording; empty for an imported run whose source "
            "does not state it.",
            Affects.COMPARISON | Affects.RESUME,
            "versions of the data (SHA-256)",
        ),
    ]
    target: Annotated[
        str | None, described("The column to predict; null if there is no table.", Affects.RESUME)
    ] = always(None)
    problem: Annotated[Problem | None, described("The problem type of the target.", Affects.RESUME)] = None
    dropped_columns: Annotated[
        list[str] | None, described("Columns of the user's file that were left out.", Affects.RESUME)
    ] = None
    dropped_rows: Annotated[
        NonNegativeInt | None,
        described("Rows that were left out because they have no target.", Affects.RESUME),
    ] = None
    split: Annotated[
        str | None,
        described(
            "How a column of the user's file made the folds: group:COLUMN, time:COLUMN or column:COLUMN; "
            "null: no column did.",
            Affects.COMPARISON | Affects.RESUME,
            "splits",
        ),
    ] = None
    weight: Annotated[
        str | None,
        described(
            "The column of the user's file with the weights of rows; null: all rows have the same weight.",
            Affects.COMPARISON | Affects.RESUME,
            "columns of weights",
        ),
    ] = None
    target_encoded: Annotated[
        tuple[str, ...],
        described(
            "Text columns of the user's file that are encoded by the mean of the target, since they have "
            "many values.",
            Affects.COMPARISON | Affects.RESUME,
            "columns encoded by the target",
        ),
    ] = ()


class FoldData(DataIdentity, frozen=True, kw_only=True, omit_defaults=True):
    """The data, and this fold of it."""

    rows: Annotated[NonNegativeInt | None, described("Rows in total.")] = None
    features: Annotated[NonNegativeInt | None, described("Columns without the target.")] = None
    classes: Annotated[NonNegativeInt | None, described("Classes; 0 for regression.")] = None
    train_rows: Annotated[NonNegativeInt, described("Rows that models were trained on.")]
    validation_rows: Annotated[NonNegativeInt | None, described("Rows that losses were measured on.")] = None
    folds: Annotated[str | None, described("The origin of the folds.", Affects.RESUME)] = None
    test_rows: Annotated[
        NonNegativeInt | None,
        described("Rows that test scores were measured on; 0 with validation fold."),
    ] = None
    recording: Annotated[
        str | None,
        described(
            "The recording that losses and seconds were looked up in; nothing was trained.",
            Affects.COMPARISON,
            "recordings",
        ),
    ] = None
    resource_rows: Annotated[
        PositiveInt | UnsetType | None,
        described("Of a recording: the rows of a trial at its full fidelity; null: it has no fidelity."),
    ] = UNSET
    paper_task: Annotated[str | None, described("The paper's name of the recorded data.")] = None


class Build(Struct, frozen=True):
    """The cfo-bench that ran it."""

    version: Annotated[str, described("Version of cfo-bench.")] = ""
    commit: Annotated[str | None, described("Commit of the checkout; null for an installed wheel.")] = None


class Machine(Struct, frozen=True, kw_only=True):
    """The machine that it ran on."""

    cpu: Annotated[str | None, described("Model of the processor.")] = None
    cores: Annotated[PositiveInt | None, described("Cores that the run could use.")] = None
    memory_mb: Annotated[NonNegativeInt | NonNegative | None, described("Memory of the machine.")] = None
    os: Annotated[str | None, described("Operating system.")] = None
    node: Annotated[str | None, described("Name of the machine.")] = None
    cpus: Annotated[
        PositiveInt | None, described("Processors of the machine; its load is relative to them.")
    ] = None
    load: Annotated[NonNegative | None, described("Load average over a minute when the run started.")] = None
    load_5min: Annotated[
        NonNegative | None, described("Load average over five minutes when the run started.")
    ] = None
    steal_percent: Annotated[
        NonNegative | None,
        described(
            "Time that the hypervisor gave to other machines since the command or the cluster's worker "
            "started; null if the system does not report it."
        ),
    ] = None


class ProgramFacts(Struct, frozen=True, kw_only=True):
    """A method that is a separate program."""

    command: Annotated[str, described("The command that started it.")] = ""
    version: Annotated[str | None, described("The version that it reports.")] = None
    round_trip_seconds: Annotated[
        NonNegative | None, described("Time of an empty message and its answer.")
    ] = None


class OwnCode(Struct, frozen=True, kw_only=True):
    """The content of the local files that a run names; UNSET: none, or not known."""

    metric: Annotated[
        str | UnsetType,
        described(
            "SHA-256 of the file of the metric.",
            Affects.COMPARISON | Affects.RESUME,
            "versions of the metric's file (SHA-256)",
        ),
    ] = UNSET
    learner: Annotated[
        str | UnsetType,
        described(
            "SHA-256 of the file of the learner.",
            Affects.COMPARISON | Affects.RESUME,
            "versions of the learner's file (SHA-256)",
        ),
    ] = UNSET
    method: Annotated[
        str | UnsetType,
        described("SHA-256 of the file of the method, or of its program's script.", Affects.RESUME),
    ] = UNSET


class Header(Struct, frozen=True, kw_only=True, tag_field="kind", tag="run", omit_defaults=True):
    """The first line: everything needed to run it again and to trust it."""

    schema: Annotated[int, described("Version of this format.")]
    spec: Annotated[RunSpec, described("The run as requested, with every default filled in.")]
    imported: Annotated[
        ImportOrigin | None, described("Only in a run that cfo-bench import wrote: its origin.")
    ] = None
    changed_options: Annotated[
        dict[str, Any] | None, described("Options of the method that differ from its defaults.")
    ] = None
    knows_budget: Annotated[
        bool | None,
        described(
            "Whether the method plans with its budget: a short run is then not the beginning of a long one."
        ),
    ] = None
    method_seed: Annotated[
        NonNegativeInt | None,
        described("The seed that the method was built with; follows from the spec's seed and fold."),
    ] = None
    space: Annotated[list[dict[str, Any]] | None, described("The hyperparameters in their order.")] = None
    start: Annotated[
        dict[str, ConfigValue] | None, described("The low-cost configuration that every method starts from.")
    ] = None
    program: Annotated[
        ProgramFacts | None, described("Only if the method is a separate program: the program.")
    ] = None
    cost_related: Annotated[
        list[str] | None, described("Hyperparameters that determine the cost of a trial.")
    ] = None
    problem: Annotated[Problem, described("The problem type.")]
    metric: Annotated[
        str,
        described(
            "The metric of the scores: auc, log_loss, r2, accuracy, balanced_accuracy, mse, a scorer of "
            "scikit-learn, or metric.py:function.",
            Affects.COMPARISON,
            "metrics",
        ),
    ]
    metric_facts: Annotated[
        MetricFacts,
        described(
            "Its title, whether a higher score is better (the loss is then 1 - score), and its bounds.",
            Affects.COMPARISON,
            "directions of the metric",
        ),
    ]
    constant_loss: Annotated[
        float, described("The loss of a predictor that uses no feature, on the same rows.")
    ]
    optimum: Annotated[
        float | None, described("The lowest loss of all configurations, if a recording contains it.")
    ] = None
    data: Annotated[FoldData, described("The data, and this fold of it.")]
    own_code: Annotated[
        OwnCode | None,
        described(
            "The local files that the metric, the learner and the method name; null: none, or not known."
        ),
    ] = None
    utc: Annotated[str | None, described("When the run started.")] = None
    command: Annotated[str | None, described("The command that repeats this run.")] = None
    cfo_bench: Annotated[Build | None, described("The cfo-bench that ran it.")] = None
    machine: Annotated[Machine | None, described("The machine that it ran on.")] = None
    python: Annotated[str | None, described("Version of Python.")] = None
    packages: Annotated[
        dict[str, str] | None, described("Versions of the packages that may change a result.")
    ] = None

    @property
    def zero_loss(self) -> float:
        """The loss of a scaled score of 0. r2 is its own scaled score."""
        return 1.0 if self.metric == "r2" else self.constant_loss

    @property
    def search_space(self) -> Space | None:
        """The search space; None if the header does not contain a valid one."""
        try:
            return Space.from_json(self.space) if self.space else None
        except SpaceError:
            return None


# --- trials ---------------------------------------------------------------------------------------


class TrialRecord(Struct, frozen=True, tag_field="kind", tag="trial", omit_defaults=True):
    """One trial with its result, in the order in which trials ended."""

    number: Annotated[NonNegativeInt, described("The number of the trial, counted by the method from 0.")]
    config: Annotated[dict[str, ConfigValue], described("One value for each hyperparameter of the space.")]
    rows: Annotated[PositiveInt | None, described("Training rows that were used; null: all.")]
    thread: Annotated[
        NonNegativeInt,
        described("The search thread that asked for it; 0 unless the run has several trials at once."),
    ]
    status: Annotated[TrialStatus, described("How it ended; only an ok trial counts.")]
    loss: Annotated[float | None, described("The minimised value; null unless ok.")]
    score: Annotated[float | None, described("The metric itself; null unless ok.")]
    started: Annotated[NonNegative, described("When the evaluation started, on the run's clock.")]
    ended: Annotated[NonNegative, described("When the evaluation ended.")]
    ask_seconds: Annotated[NonNegative, described("Time that the method took to ask for it.")]
    fit_seconds: Annotated[NonNegative, described("Time of training.")]
    validate_seconds: Annotated[NonNegative, described("Time of predicting and scoring.")]
    tell_seconds: Annotated[
        NonNegative | None,
        described("Time of the method's tell; null if it was not called, or did not return."),
    ] = always(None)
    peak_memory_mb: Annotated[
        NonNegative | None, described("The most memory that the run's process had used by then.")
    ] = always(None)
    error: Annotated[str | None, described("Why it failed, in one line.")] = always(None)
    test_score: Annotated[
        float | None,
        described("Score of a new incumbent on the fold's held-out part, with validation holdout."),
    ] = always(None)
    asked: Annotated[
        PositiveInt | None,
        described(
            "With several trials at once: the number of trials that the method had been asked for before it "
            "received this result. A replay calls ask and tell in the same order."
        ),
    ] = None
    cpu_seconds: Annotated[
        NonNegative | None,
        described(
            "Processor seconds of training, predicting and scoring, of all threads; null: not measured."
        ),
    ] = None
    method_cpu_seconds: Annotated[
        NonNegative | None,
        described("Processor seconds of the method's ask and tell, of all threads; null: not measured."),
    ] = None

    def __post_init__(self) -> None:
        if (self.status is TrialStatus.OK) != (self.loss is not None):
            raise ValueError(f"status is {self.status} and loss is {short(self.loss)}: only ok has a loss")
        if self.started > self.ended:
            raise ValueError(f"it ended at {self.ended}, before it started at {self.started}")

    @property
    def seconds(self) -> float:
        """The duration of the trial, without the method's own time."""
        return self.fit_seconds + self.validate_seconds

    @property
    def told_at(self) -> float:
        """The reading of the run's clock after the tell."""
        return self.ended + (self.tell_seconds or 0.0)

    def result(self) -> Result:
        """The result that the method received, for a replay."""
        return Result(
            self.status,
            self.loss,
            self.fit_seconds,
            self.validate_seconds,
            self.peak_memory_mb,
            self.error,
            self.cpu_seconds,
        )


def trial_record(
    begun: StartedTrial,
    result: Result,
    score: float | None,
    ended: float,
    tell_seconds: float | None = None,
    test_score: float | None = None,
    asked: int | None = None,
    tell_cpu_seconds: float | None = None,
) -> TrialRecord:
    """The record of a trial that was evaluated."""
    trial, started, ask_seconds, method_cpu_seconds = begun
    status, loss, fit_seconds, validate_seconds, peak_memory_mb, error, cpu_seconds = result
    if method_cpu_seconds is not None and tell_cpu_seconds is not None:
        method_cpu_seconds += tell_cpu_seconds
    # Positional arguments, which are faster: a cheap trial has few microseconds to spare.
    return TrialRecord(
        trial.number,
        trial.config,
        trial.rows,
        trial.thread,
        status,
        loss,
        score,
        started,
        ended,
        ask_seconds,
        fit_seconds,
        validate_seconds,
        tell_seconds,
        peak_memory_mb,
        error,
        test_score,
        asked,
        cpu_seconds,
        method_cpu_seconds,
    )


# --- resumptions and ends -------------------------------------------------------------------------


class ResumeRecord(Struct, frozen=True, kw_only=True, tag_field="kind", tag="resume"):
    """The run was resumed here, by replay."""

    elapsed: Annotated[NonNegative, described("The reading of the run's clock, which continues from here.")]
    trials: Annotated[NonNegativeInt, described("Trials that were replayed.")]
    utc: Annotated[str, described("When it was resumed.")]
    why: Annotated[str, described("Why the run had ended before.")]
    node: Annotated[str | None, described("The machine that resumed it.")] = None
    superseded: Annotated[
        NonNegativeInt,
        described(
            "Number of trials above that no longer count: the old limits affected them, and they are asked "
            "for again."
        ),
    ] = 0
    limits: Annotated[RunLimits | None, described("The limits from here on; null: unchanged.")] = None

    def __post_init__(self) -> None:
        if self.superseded and self.limits is None:
            raise ValueError("superseded is allowed only with limits")

    def drop_superseded(self, trials: list[Any]) -> None:
        """Remove the trials before this line that no longer count."""
        del trials[max(len(trials) - self.superseded, 0) :]


class Pause(Struct, frozen=True):
    """A time in which a run was stopped, for example by Ctrl-Z."""

    at: Annotated[NonNegative, described("The reading of the run's clock.")]
    seconds: Annotated[NonNegative, described("How long it lasted.")]
    cpu_seconds: Annotated[
        NonNegative, described("Processor seconds that processes of the run used meanwhile.")
    ] = 0.0
    charged_seconds: Annotated[
        NonNegative,
        described(
            "The part of it that is on the run's clock: all of it if the run used the processor, else 0."
        ),
    ] = 0.0


NO_DIGEST = Raw(b"null")


class EndRecord(Struct, frozen=True, kw_only=True, tag_field="kind", tag="end"):
    """Why the run ended, and its best trial."""

    reason: Annotated[EndReason, described("interrupted: the same command resumes the run.")]
    elapsed: Annotated[NonNegative, described("The reading of the run's clock.")]
    trials: Annotated[NonNegativeInt, described("Trials in total, including those before a resume.")]
    best_loss: Annotated[float | None, described("The lowest loss; null without an ok trial.")]
    best_score: Annotated[float | None, described("Its score.")]
    best_number: Annotated[NonNegativeInt | None, described("Its trial.")]
    error: Annotated[str | None, described("Why the run failed, in one line; with reason error.")] = None
    cut_ask_seconds: Annotated[
        NonNegative, described("Time of an ask that had not returned when the run ended.")
    ] = 0.0
    cut_tell_seconds: Annotated[
        NonNegative, described("Time of a tell that had not returned when the run ended.")
    ] = 0.0
    load: Annotated[
        NonNegative | None, described("Load average over a minute at the end; null on the virtual clock.")
    ] = None
    steal_percent: Annotated[
        NonNegative | None,
        described("Time that the hypervisor gave to other machines since the run started or was resumed."),
    ] = None
    pauses: Annotated[
        tuple[Pause, ...],
        described("Times in which the run was stopped, for example by Ctrl-Z."),
    ] = ()
    # Set by the writer of the trace, so that a reader need not parse the trials.
    trials_crc32: Annotated[
        NonNegativeInt | None, described("CRC-32 of the trial lines before it, joined by line ends.")
    ] = None
    digest: Annotated[
        Raw,
        described("A summary of the trials; its keys depend on its version. null in an interrupted run."),
    ] = always(NO_DIGEST)
    digest_crc32: Annotated[
        NonNegativeInt | None,
        described("CRC-32 of the lines of trials_crc32 followed by the digest; null without a digest."),
    ] = None


Line = TrialRecord | ResumeRecord | EndRecord  # after the header
AnyLine = Header | Line


def with_limits(header: Header, limits: RunLimits | None) -> Header:
    """The header of a run with other limits; None: the same ones."""
    if limits is None:
        return header
    spec = replace(header.spec, budget_seconds=limits.budget_seconds, max_trials=limits.max_trials)
    return msgspec.structs.replace(header, spec=spec)


def resumed_header(header: Header, resumes: Iterable[ResumeRecord]) -> Header:
    """The header of a run with the limits of its last resume."""
    for resume in resumes:
        header = with_limits(header, resume.limits)
    return header


# --- encoding and decoding ------------------------------------------------------------------------

# What a decoder raises for text that is not what it expects.
DECODE_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(TrialRecord | ResumeRecord | EndRecord)
_TRIAL_DECODER = msgspec.json.Decoder(TrialRecord)
# msgspec reads the annotations of a struct at its first use, which crashes if two threads do so at once: a
# report reads traces in threads. A decoder reads them here.
msgspec.json.Decoder(Header)

# Keys that every spec must have, although RunSpec has a default for them.
_REQUIRED_IN_SPEC = ("seed", "budget_seconds")


def encode(line: AnyLine) -> bytes:
    """The line of a record, with its line end."""
    return _ENCODER.encode(line) + b"\n"


def decode(text: bytes) -> Line:
    """A line after the header; a BadLineError names its mistake."""
    try:
        line: Line = _DECODER.decode(text)
        return line
    except DECODE_ERRORS as error:
        raise _bad_line(error, text) from None


def decode_lines(text: bytes) -> list[Line]:
    """The lines after the header; a msgspec.MsgspecError or RecursionError does not name the bad one."""
    lines: list[Line] = _DECODER.decode_lines(text)
    return lines


def decode_trials(texts: list[bytes]) -> list[TrialRecord]:
    return [_TRIAL_DECODER.decode(text) for text in texts]


def decode_header(text: bytes) -> Header:
    """The first line of a trace, with the names that this version uses."""
    try:
        row = msgspec.json.decode(text)
        if not isinstance(row, dict):
            raise BadLineError("it is not a JSON object")
        if row.get("kind") != "run":
            raise BadLineError("the first line is not a header")
        if isinstance(version := row.get("schema"), int) and not 1 <= version <= SCHEMA_VERSION:
            raise OtherVersionError(f"trace version {version}")
        row = _upgraded(row)
        header = msgspec.convert(row, Header)
    except DECODE_ERRORS as error:
        raise _bad_line(error, text) from None
    for key in _REQUIRED_IN_SPEC:
        if key not in row["spec"]:
            raise BadLineError(f"spec.{key} is missing")
    return header


def _upgraded(row: dict[str, Any]) -> dict[str, Any]:
    """A header of an older version with the names of this one.

    `parallel` was called `workers`, and CFO's `delta_lower: with_floats` was called `alg3`. The metric was
    one of METRICS, without facts.
    """
    name = row.get("metric")
    if "metric_facts" not in row and isinstance(name, str):
        if name not in METRICS:
            raise BadLineError(_broken("metric", name, f"one of {', '.join(METRICS)}"))
        row = {**row, "metric_facts": msgspec.to_builtins(METRICS[name].facts)}
    spec = row.get("spec")
    if not isinstance(spec, dict):
        return row
    if "workers" in spec:
        spec = _with_parallel(spec)
        if isinstance(options := spec.get("options"), dict):
            spec["options"] = _with_parallel(options)
    if row.get("schema") != 1:
        return {**row, "spec": spec}
    options = spec.get("options")
    if isinstance(options, dict) and options.get("delta_lower") == "alg3":
        spec = {**spec, "options": {**options, "delta_lower": "with_floats"}}
    return {**row, "schema": SCHEMA_VERSION, "spec": spec}


def _with_parallel(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"parallel" if key == "workers" else key: value for key, value in row.items()}


# --- errors that name key, value and rule ---------------------------------------------------------

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_ENUMS = {"status": TrialStatus, "reason": EndReason, "problem": Problem}
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "null",
}
_BOUNDS = {">= 0": "from 0 on", ">= 0.0": "from 0 on", ">= 1": "from 1 on", "> 0.0": "above 0"}


def _bad_line(error: Exception, text: bytes) -> BadLineError:
    """A decoder's error in words, with the value that it concerns."""
    if isinstance(error, RecursionError):
        return BadLineError("nested too deep")
    if not isinstance(error, msgspec.ValidationError):
        return BadLineError("it is not JSON" if text.strip() else "it is empty")
    match = _MESSAGE.fullmatch(str(error))
    assert match is not None  # the pattern matches every text
    what, path = match["what"], (match["path"] or "").removeprefix(".")
    if missing := _MISSING.fullmatch(what):
        return BadLineError(f"{'.'.join(filter(None, (path, missing[1])))} is missing")
    if not path:
        return BadLineError("it is not a JSON object" if what.startswith("Expected `object`") else what)
    try:
        value = _value_at(text, path)
    except RecursionError:
        return BadLineError("nested too deep")
    if path == "kind":
        return BadLineError("a second header" if value == "run" else f"kind is {short(value)}")
    return BadLineError(_broken(path.partition("[")[0], value, _rule(what, path)))


def _broken(key: str, value: Any, rule: str) -> str:
    return f"{key} is {short(value)}, which is not {rule}"


def _value_at(text: bytes, path: str) -> Any:
    """The value at a path such as `spec.fold`; of a path with an index, the list or mapping."""
    try:
        value = _upgraded_or_same(msgspec.json.decode(text))
        for key in path.partition("[")[0].split("."):
            value = value[key]
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError):
        return None
    return value


def _upgraded_or_same(row: Any) -> Any:
    return _upgraded(row) if isinstance(row, dict) and row.get("kind") == "run" else row


def _rule(what: str, path: str) -> str:
    """The rule in a decoder's message, such as "Expected `int` >= 0", in words."""
    key = path.rpartition(".")[2]
    if key in _ENUMS:
        return f"one of {', '.join(_ENUMS[key])}"
    if path.startswith("config"):
        return "a mapping of hyperparameters to numbers, texts, true, false or null"
    if what.startswith("Number out of range"):
        return "a finite number"
    match = re.match(r"Expected `([^`]*)`(?: of length (>= 1)| ([<>]=? [\d.]+))?", what)
    if match is None:
        return f"valid: {what}"
    names, length, bound = match.groups()
    if length:
        return "a name"
    if choices := re.search(r"matching regex '\^\((.*)\)\$'", what):
        return f"one of {choices[1].replace('|', ', ')}"
    if "[" in path:
        return f"a list or mapping of values, each {_words(names)}"
    return f"{_words(names)} {_BOUNDS.get(bound, bound)}" if bound else _words(names)


def _words(names: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in names.split(" | "))


def short(value: Any) -> str:
    """A value for an error message, shortened."""
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:39]}…"


# --- the JSON Schema ------------------------------------------------------------------------------

_KINDS = {"run": Header, "trial": TrialRecord, "resume": ResumeRecord, "end": EndRecord}


def trace_schema() -> dict[str, Any]:
    """The JSON Schema of a line."""
    kinds = tuple(_KINDS.values())
    _, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    spec = definitions[RunSpec.__name__]
    spec["required"] = [*spec["required"], *_REQUIRED_IN_SPEC]
    for setting in settings_of(RunSpec):
        spec["properties"][setting.name]["description"] = setting.in_trace or setting.help
    spec["properties"]["workers"] = {
        **spec["properties"]["parallel"],
        "deprecated": True,
        "description": "Trials at once, in older versions.",
    }
    definitions[Header.__name__]["properties"]["schema"]["enum"] = [*range(1, SCHEMA_VERSION + 1)]
    header = definitions[Header.__name__]
    header["required"].remove("metric_facts")
    header["if"] = {"not": {"required": ["metric_facts"]}}  # in older versions
    header["then"] = {"properties": {"metric": {"enum": list(METRICS)}}}
    definitions[EndRecord.__name__]["properties"]["digest"]["type"] = ["object", "null"]
    is_ok = {"properties": {"status": {"const": str(TrialStatus.OK)}}}
    definitions[TrialRecord.__name__] |= {
        "if": is_ok,
        "then": {"properties": {"loss": {"type": "number"}}},
        "else": {"properties": {"loss": {"type": "null"}}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of a cfo-bench trace",
        "description": "The keys of a line, by its kind. Other keys are allowed and ignored.",
        "oneOf": [{"$ref": f"#/$defs/{record.__name__}"} for record in kinds],
        "$defs": definitions,
    }


def to_mapping(line: Header | EndRecord) -> dict[str, Any]:
    """A record as JSON has it, for other programs; without a digest."""
    if isinstance(line, EndRecord):
        line = msgspec.structs.replace(line, digest=NO_DIGEST)
    row: dict[str, Any] = msgspec.json.decode(_ENCODER.encode(line))
    return row


def header_from(row: Mapping[str, Any]) -> Header:
    """The header that `to_mapping` gave to another program; a BadLineError names its mistake."""
    return decode_header(_ENCODER.encode(row))


def end_from(row: Mapping[str, Any]) -> EndRecord:
    """The same for an end record."""
    line = decode(_ENCODER.encode({"kind": "end", **row}))
    assert isinstance(line, EndRecord)
    return line
