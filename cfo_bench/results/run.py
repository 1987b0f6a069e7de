"""A run on disk, in the form in which all other modules read results.

`read_run` checks a whole trace. The first line is the header; every other line is a trial, a resume record or
an end record. Trials are numbered without gaps; only a resume with other limits may follow a final end; an
end or a resume counts the trials before it. Trials that a resume superseded do not count.

The trials of a finished run are parsed only when they are needed: a checksum in the end record shows whether
they are unchanged, and a report needs only their digest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from cfo_bench.errors import SpaceError, TraceError
from cfo_bench.records import EndReason, RunLimits, RunSpec, RunStatus, TrialStatus, method_label
from cfo_bench.registry import label
from cfo_bench.results.digest import Incumbents, TrialDigest, agrees, digest_of, stored_digest
from cfo_bench.results.folder import stamp
from cfo_bench.results.schema import (
    ARCHIVE,
    DECODE_ERRORS,
    NO_DIGEST,
    SCHEMA_VERSION,
    BadLineError,
    EndRecord,
    Header,
    Line,
    OtherVersionError,
    Pause,
    ResumeRecord,
    TrialRecord,
    decode,
    decode_header,
    decode_lines,
    decode_trials,
    resumed_header,
)
from cfo_bench.results.trace import counting_trials, is_trial, split_lines, trials_crc32, whole_lines
from cfo_bench.space import Space

# Larger losses are clipped to this value, because sums and squares of larger numbers overflow.
LARGEST_LOSS = 1e100

# These methods do not search: the first two scale the scores, a study tries every value.
CONSTANT, FOREST, STUDY = "constant", "tuned-rf", "study"
NOT_COMPARED = (CONSTANT, FOREST, STUDY)
# The learner of the reference forest, whose runs are stored beside those of the tuned learner.
FOREST_LEARNER = "random-forest"


@dataclass(frozen=True, eq=False)
class Run:
    """A run as its trace describes it. The limits in `header.spec` are those of the last resume."""

    path: Path
    header: Header
    resumes: tuple[ResumeRecord, ...] = ()
    end: EndRecord | None = None  # the last line, if it is an end record; without its digest
    n_trials: int = 0
    reached: float = 0.0  # the reading of the run's clock at the last line
    pauses: tuple[Pause, ...] = ()  # as far as they are recorded: an interrupted run records them in its end
    late_trials: int = 0  # `ok` in the trace, but ended past the budget: they count as timeouts
    superseded: int = 0  # trials that are left out because the run is resumed with other limits
    # The run had ended, was given other limits since then, and has not finished with those.
    is_being_extended: bool = False
    stored: TrialDigest | None = None  # the digest in the end record, if it is valid
    parsed: Sequence[TrialRecord] | None = None  # the trials, if they have been parsed

    # --- its identity -----------------------------------------------------------------------------

    @property
    def spec(self) -> RunSpec:
        return self.header.spec

    @property
    def learner(self) -> str:
        return self.spec.learner

    @property
    def task(self) -> str:
        return self.spec.task

    @cached_property
    def method(self) -> str:
        """The name of the method in folders, tables and figures."""
        return method_label(self.spec)

    @property
    def fold(self) -> int:
        return self.spec.fold

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def names(self) -> tuple[str, str, str, int, int]:
        """Learner, task, method, fold and seed, as in tables."""
        return label(self.learner), label(self.task), self.method, self.fold, self.seed

    @property
    def is_reference(self) -> bool:
        """Whether scores are scaled by its result, whatever its budget was."""
        return self.method in (CONSTANT, FOREST)

    @property
    def is_imported(self) -> bool:
        return self.header.imported is not None

    # --- its progress -----------------------------------------------------------------------------

    @property
    def status(self) -> RunStatus:
        """The status according to the trace: an `unfinished` run is running, or its process was killed."""
        if self.end is None:
            return RunStatus.UNFINISHED
        by_reason = {EndReason.ERROR: RunStatus.FAILED, EndReason.INTERRUPTED: RunStatus.INTERRUPTED}
        return by_reason.get(self.end.reason, RunStatus.DONE)

    @property
    def is_finished(self) -> bool:
        """Whether the run has finished. An interrupted run has not, because it can be resumed."""
        return self.end is not None and self.end.reason is not EndReason.INTERRUPTED

    @property
    def limits(self) -> RunLimits:
        return self.spec.limits

    @property
    def budget_seconds(self) -> float:
        return float(self.spec.budget_seconds)

    @property
    def elapsed(self) -> float:
        """The reading of the run's clock at the end or, without one, after the last tell."""
        return self.told_seconds if self.end is None else self.end.elapsed

    @property
    def told_seconds(self) -> float:
        """The reading of the run's clock after the last tell; a resumed run continues from there."""
        return max((trial.told_at for trial in self.trials), default=0.0)

    @property
    def error(self) -> str | None:
        return self.end.error if self.end else None

    @property
    def nodes(self) -> list[str]:
        """The machines that it ran on."""
        first = self.header.machine.node if self.header.machine else None
        return list(
            dict.fromkeys(name for name in (first, *(resume.node for resume in self.resumes)) if name)
        )

    # --- its results ------------------------------------------------------------------------------

    @cached_property
    def trials(self) -> Sequence[TrialRecord]:
        """The trials that count, in the order in which the method received their results."""
        if self.parsed is not None:
            return self.parsed
        part = read_finished_part(self.path) if self.is_being_extended else None
        run = part or read_run(self.path, parse_trials=True)
        if run is None or run.parsed is None:
            raise TraceError(f"{self.path} no longer exists: run the same command again")
        return run.parsed

    @cached_property
    def digest(self) -> TrialDigest:
        return self.stored or digest_of(self.header, self.trials, self.end)

    @property
    def incumbents(self) -> Incumbents:
        return self.digest.incumbents

    @property
    def best(self) -> TrialRecord | None:
        """The trial with the lowest loss; of several, the first."""
        scored = [trial for trial in self.trials if trial.loss is not None]
        return min(scored, key=lambda trial: trial.loss or 0.0, default=None)

    @property
    def constant_loss(self) -> float:
        return min(max(self.header.constant_loss, -LARGEST_LOSS), LARGEST_LOSS)

    @cached_property
    def spent(self) -> dict[str, float]:
        """Seconds by purpose; with parallel trials, those of each evaluator are added.

        With one trial at a time, everything that is neither the method's time nor training is cfo-bench's own
        work (`harness`), up to the last trial: checking, writing the trace, restarting processes. Seconds
        after it are `idle`. With parallel trials an evaluator may have no trial, and in an imported run the
        method may have been working: then all remaining seconds are idle.
        """
        digest, parallel = self.digest, self.spec.parallel
        spent = {"method": digest.method_seconds, "fit": digest.fit_seconds}
        spent["validate"] = digest.validate_seconds
        elapsed = self.measured_seconds
        left = max(elapsed * parallel - sum(spent.values()), 0.0)
        if parallel > 1 or (self.header.imported and self.header.imported.format != ARCHIVE):
            return {**spent, "harness": 0.0, "idle": left}
        cut = self.end.cut_ask_seconds + self.end.cut_tell_seconds if self.end else 0.0
        idle = min(left, max(elapsed - digest.last_ended - cut, 0.0))
        return {**spent, "harness": left - idle, "idle": idle}

    @property
    def measured_seconds(self) -> float:
        """The reading of the run's clock at the end or, without an end, when the last trial ended."""
        return self.end.elapsed if self.end else self.digest.last_ended

    @property
    def expensive_share(self) -> float:
        """The share of the time spent in trials that cost more than the best one."""
        available = self.measured_seconds * self.spec.parallel
        return min(self.digest.expensive_seconds / available, 1.0) if available else 0.0

    @property
    def paused_seconds(self) -> float:
        """The seconds of its pauses that do not count on its clock."""
        pauses = self.end.pauses if self.end else ()
        return sum(pause.seconds for pause in pauses) - self.charged_pause_seconds

    @property
    def charged_pause_seconds(self) -> float:
        """The seconds of its pauses that count on its clock, because the run used the processor meanwhile."""
        return sum(pause.charged_seconds for pause in self.end.pauses) if self.end else 0.0

    # --- other views of it ------------------------------------------------------------------------

    def with_trials(self, trials: Sequence[TrialRecord], end: EndRecord | None, header: Header) -> Run:
        """The same run with other trials, as if its trace contained exactly these."""
        return replace(
            self,
            header=header,
            end=end,
            n_trials=len(trials),
            reached=end.elapsed if end else trials[-1].ended if trials else 0.0,
            late_trials=_late(trials, header.spec.budget_seconds),
            stored=None,
            parsed=trials,
        )

    def without_trials(self) -> Run:
        """The run without its large parts, so that thousands fit into memory."""
        return replace(self, stored=None, parsed=None)

    def digested(self) -> Run:
        """The run with the digest of its trials instead of the trials, for a report on thousands of runs."""
        return replace(self, stored=self.digest, parsed=None)

    def is_same_as(self, other: Run) -> bool:
        """Whether both traces are of the same run and have the same results, whatever their paths."""
        first, second = (
            (run.header, run.nodes, run._end_without_checksums, run.digest, run.is_being_extended)
            for run in (self, other)
        )
        return first == second

    @property
    def _end_without_checksums(self) -> EndRecord | None:
        """The end record without checksums, which older versions did not write."""
        if self.end is None:
            return None
        return msgspec.structs.replace(self.end, trials_crc32=None, digest_crc32=None)

    def that_may_follow(self, records: Iterable[TrialRecord]) -> list[TrialRecord]:
        """The records of a live page that are missing in the trace and may follow its trials.

        The first record that may not follow, and all later ones, are left out, because the page was damaged.
        """
        parallel, space = self.spec.parallel, self.header.search_space
        known = {trial.number for trial in self.trials}
        ended = max((trial.ended for trial in self.trials), default=0.0)
        accepted: list[TrialRecord] = []
        for record in records:
            if record.number in known:
                continue
            if record.number >= len(known) + parallel or (parallel == 1 and record.ended < ended):
                break
            if self.header.space and not (space and _contains(space, record)):
                break
            known.add(record.number)
            ended = record.ended
            accepted.append(record)
        return accepted


def _contains(space: Space, record: TrialRecord) -> bool:
    try:
        return bool(space.check(record.config))
    except (SpaceError, LookupError, TypeError):
        return False


# --- reading --------------------------------------------------------------------------------------


def read_run(path: Path, parse_trials: bool = False) -> Run | None:
    """The run of a trace; None without a file or a complete header. An incomplete last line is ignored.

    A TraceError names the first bad line. Without `parse_trials`, the trials of a finished run are not parsed
    if their checksum is right.
    """
    text = whole_lines(path)
    return None if text is None else run_of_text(path, text, parse_trials)


def read_verified_run(path: Path) -> Run | None:
    """`read_run` with its trials; a TraceError if a report would use a digest that is not that of the trials.

    A checksum is not enough here, because a changed digest can have a correct one.
    """
    text = whole_lines(path)
    if text is None or (run := run_of_text(path, text, parse_trials=True)) is None:
        return None
    by_checksum = _by_checksum(path, text)
    stored = by_checksum.stored if by_checksum else None
    if stored and not agrees(stored, digest_of(run.header, run.trials, run.end)):
        raise TraceError(
            f"{path}: the digest in its last line is not that of its trials: move the file away, or run it "
            "again with --force"
        )
    return run


def run_of_text(path: Path, text: bytes, parse_trials: bool = False) -> Run | None:
    """The run of the complete lines of a trace; None without a line."""
    if not text:
        return None
    if not parse_trials and (run := _by_checksum(path, text)) is not None:
        return run
    lines = split_lines(text)
    header = _header(path, lines[0])
    try:
        records = decode_lines(text[len(lines[0]) + 1 :])
        if len(records) != len(lines) - 1:  # the decoder skips blank lines
            raise BadLineError("a line is empty")
        return _checked(path, header, records)
    except (BadLineError, *DECODE_ERRORS):
        number, why = _first_bad_line(header, lines)
        raise _bad_trace(path, number, why) from None


def read_finished_part(path: Path) -> Run | None:
    """The finished run before it was resumed with other limits; None if it was not."""
    lines = split_lines(whole_lines(path) or b"")
    for count in range(len(lines) - 1, 0, -1):
        if lines[count - 1].startswith(b'{"kind":"end"'):
            part = run_of_text(path, b"\n".join(lines[:count]) + b"\n", parse_trials=True)
            if part is not None and part.is_finished:
                return replace(part, is_being_extended=True)
    return None


def read_runs(paths: Iterable[Path]) -> Iterator[Run]:
    """The runs of the traces with a header."""
    for path in paths:
        if (run := read_run(path)) is not None:
            yield run


_cached: dict[str, tuple[tuple[int, int], Run | None]] = {}


def cached_run(path: Path) -> Run | None:
    """`read_run`, but a trace that has not changed since the last call is not read again."""
    try:
        now = stamp(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"can't read {path}: {error.strerror}") from None
    known = _cached.get(str(path))
    if known is not None and known[0] == now:
        return known[1]
    run = read_run(path)
    _cached[str(path)] = now, run.without_trials() if run else None
    return _cached[str(path)][1]


def _header(path: Path, line: bytes) -> Header:
    try:
        return decode_header(line)
    except OtherVersionError as error:
        raise TraceError(
            f"{path} has {error}, this cfo-bench reads version {SCHEMA_VERSION}: "
            "use another --results, or --force to run it again"
        ) from None
    except BadLineError as error:
        raise _bad_trace(path, 1, str(error)) from None


def _bad_trace(path: Path, number: int, why: str) -> TraceError:
    return TraceError(
        f"{path}, line {number} is not a record of a trace ({why}): "
        "move the file away, or run it again with --force"
    )


def _by_checksum(path: Path, text: bytes) -> Run | None:
    """A finished run without parsed trials, if their checksum shows that they are unchanged.

    None for a run that has not ended, or whose checksum is missing or wrong. Then every line has to be
    checked.
    """
    first, last = text.find(b"\n"), text.rfind(b"\n", 0, -1)
    if not 0 < first <= last or is_trial(text[last + 1 : last + 100]):
        return None
    try:
        end = decode(text[last + 1 :])
        if not isinstance(end, EndRecord) or end.trials_crc32 is None:
            return None
        resumes: list[ResumeRecord] = []
        n_trials: int | None = None
        # Most runs were never resumed: all lines between the header and the end are trials.
        if zlib.crc32(memoryview(text)[first + 1 : last]) != end.trials_crc32:
            lines = split_lines(text)[1:]
            if trials_crc32(lines) != end.trials_crc32:
                return None
            others = [(at, decode(line)) for at, line in enumerate(lines) if not is_trial(line)]
            n_trials = _check_others(others, len(lines))
            resumes = [record for _, record in others if isinstance(record, ResumeRecord)]
        header = resumed_header(_header(path, text[:first]), resumes)
        budget = header.spec.budget_seconds
        stored = stored_digest(end, budget)
        if n_trials is None:
            n_trials = stored.trials if stored else text.count(b"\n", first, last)
        if n_trials != end.trials:
            return None
        late_trials = 0
        if stored is None or stored.last_ended > budget:
            are_in_order = header.spec.parallel == 1 and not resumes
            late_trials = _late(
                _last_trials(text, last, budget) if are_in_order else _all_trials(text), budget
            )
        return Run(
            path,
            header,
            tuple(resumes),
            msgspec.structs.replace(end, digest=NO_DIGEST),
            n_trials=end.trials,
            reached=end.elapsed,
            pauses=end.pauses,
            late_trials=late_trials,
            stored=stored,
        )
    except (BadLineError, *DECODE_ERRORS):
        return None


def _late(trials: Iterable[TrialRecord], budget_seconds: float) -> int:
    return sum(trial.status is TrialStatus.OK and trial.ended > budget_seconds for trial in trials)


def _all_trials(text: bytes) -> list[TrialRecord]:
    """The trials that count."""
    return decode_trials(counting_trials(split_lines(text)[1:])[0])


def _last_trials(text: bytes, stop: int, seconds: float) -> Iterator[TrialRecord]:
    """The last trials before `stop`, backwards, as long as they ended after `seconds`."""
    while True:
        start = text.rfind(b"\n", 0, stop) + 1
        if not is_trial(line := text[start:stop]):
            return
        [trial] = decode_trials([line])
        if trial.ended <= seconds:
            return
        yield trial
        stop = start - 1


def _checked(path: Path, header: Header, lines: list[Line]) -> Run:
    others = [(at, line) for at, line in enumerate(lines) if not isinstance(line, TrialRecord)]
    _check_others(others, len(lines))
    trials: list[TrialRecord] = []
    resumes: list[ResumeRecord] = []
    pauses: tuple[Pause, ...] = ()
    for line in lines:
        if isinstance(line, TrialRecord):
            trials.append(line)
        elif isinstance(line, ResumeRecord):
            resumes.append(line)
            line.drop_superseded(trials)
        else:
            pauses = line.pauses
    _check_numbers(trials, header.spec.parallel)
    header = resumed_header(header, resumes)
    last = lines[-1] if lines else None
    reached = 0.0
    if last is not None:
        reached = last.ended if isinstance(last, TrialRecord) else last.elapsed
    end = last if isinstance(last, EndRecord) else None
    return Run(
        path,
        header,
        tuple(resumes),
        None if end is None else msgspec.structs.replace(end, digest=NO_DIGEST),
        n_trials=len(trials),
        reached=reached,
        pauses=pauses,
        late_trials=_late(trials, header.spec.budget_seconds),
        parsed=trials,
    )


def _check_others(others: Sequence[tuple[int, Line]], n_lines: int) -> int:
    """Check the lines that are not trials, each with its position after the header; returns the number of
    trials that count.
    """
    superseded = 0
    for n_before, (at, line) in enumerate(others):
        if isinstance(line, ResumeRecord):
            superseded += line.superseded
        _check_count(line, at - n_before - superseded)
        if at + 1 < n_lines:
            is_followed_by_trial = n_before + 1 == len(others) or others[n_before + 1][0] != at + 1
            _check_may_follow(line, None if is_followed_by_trial else others[n_before + 1][1])
    return n_lines - len(others) - superseded


def _check_count(line: Line, n_trials: int) -> None:
    if not isinstance(line, TrialRecord) and line.trials != n_trials:
        raise BadLineError(f"trials is {line.trials}, and the lines before it have {n_trials}")


def _check_may_follow(before: Line | None, line: Line | None) -> None:
    """Check whether `line` may follow `before`; None is a trial."""
    if not isinstance(before, EndRecord) or before.reason is EndReason.INTERRUPTED:
        return
    if not isinstance(line, ResumeRecord) or line.limits is None:
        raise BadLineError("lines follow the end of the run")


def _check_numbers(trials: Sequence[TrialRecord], parallel: int) -> None:
    numbers: set[int] = set()
    ended = 0.0
    for trial in trials:
        _check_number(trial, numbers, ended, parallel)
        numbers.add(trial.number)
        ended = trial.ended
    if parallel > 1 and numbers and max(numbers) >= len(numbers) + parallel:
        raise BadLineError(f"trials are missing: the last number is {max(numbers)}")


def _check_number(trial: TrialRecord, numbers: set[int], ended: float, parallel: int) -> None:
    """Check the number of a trial after those with these numbers, the last of which ended at `ended`."""
    if trial.number in numbers:
        raise BadLineError(f"trial {trial.number} occurs twice")
    if parallel == 1 and trial.number != len(numbers):
        raise BadLineError(f"trial {trial.number} is in the place of trial {len(numbers)}")
    if parallel == 1 and trial.ended < ended:
        raise BadLineError(f"trial {trial.number} ended before the trial above it")


def _first_bad_line(header: Header, lines: list[bytes]) -> tuple[int, str]:
    """The number of the first bad line, from 1, and its error."""
    trials: list[TrialRecord] = []  # those that count
    numbers: set[int] = set()
    before: Line | None = None
    for number, text in enumerate(lines[1:], start=2):
        try:
            line = decode(text)
            try:
                _check_may_follow(before, None if isinstance(line, TrialRecord) else line)
            except BadLineError as error:
                return number - 1, str(error)
            before = line
            if isinstance(line, TrialRecord):
                last_ended = trials[-1].ended if trials else 0.0
                _check_number(line, numbers, last_ended, header.spec.parallel)
                trials.append(line)
                numbers.add(line.number)
                continue
            if isinstance(line, ResumeRecord):
                line.drop_superseded(trials)
                numbers = {trial.number for trial in trials}
            _check_count(line, len(trials))
        except BadLineError as error:
            return number, str(error)
    return len(lines), f"trials are missing: the last number is {max(numbers, default=0)}"
