"""The runs of a suite: `runs_of` lists them, and `run_suite` executes the missing ones.

`cfo-bench run` is a thin skin over these two. Nothing is printed: events are passed to a callback.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfo_bench import machine
from cfo_bench.engines import Engine, engine_of
from cfo_bench.engines.scheduling import Active
from cfo_bench.errors import UserError
from cfo_bench.machine.fork_server import fork_server
from cfo_bench.metrics import MetricFacts
from cfo_bench.recordings import yahpo_folder
from cfo_bench.records import DataRef, RunSpec, RunStatus, TaskFacts, method_label, run_id
from cfo_bench.registry import is_in_file, is_users_code
from cfo_bench.results import status
from cfo_bench.results.comparability import (
    code_differences,
    data_differences,
    data_identity,
    of_another_run,
)
from cfo_bench.results.folder import check_no_links
from cfo_bench.results.limits import (
    in_words,
    is_done,
    past_run,
    refuse_other_limits,
    spent_seconds,
)
from cfo_bench.results.run import Run
from cfo_bench.results.schema import DataIdentity, OwnCode
from cfo_bench.results.trace import path_of
from cfo_bench.run.checks import (
    MethodTraits,
    facts_of_metrics,
    fetch_task,
    inspect_task,
    packages,
    rehearse,
    with_own_folds,
)
from cfo_bench.run.header import own_code_of, reproducing_command
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Verdict
from cfo_bench.suite.chosen_options import learner_options as options_of_learners
from cfo_bench.suite.chosen_options import method_options as options_of_methods
from cfo_bench.suite.expansion import data_of, narrowed, specs_of, tasks_of
from cfo_bench.suite.file import find, read
from cfo_bench.suite.model import Suite
from cfo_bench.suite.simulation import on_surrogate
from cfo_bench.tasks import facts_if_known, is_stored

if TYPE_CHECKING:
    from cfo_bench.machine.processes import ForkServerContext
    from cfo_bench.results.frames import ResultFrames


# --- events ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preparing:
    """The data of this task is being fetched, or read for the first time."""

    task: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of this task is ready, or could not be prepared."""

    task: str


@dataclass(frozen=True, slots=True)
class RunsStarted:
    """All runs of the suite, including those that are already done, and the number of parallel runs."""

    jobs: Sequence[Job]
    at_once: int
    metrics: Mapping[str, MetricFacts]  # of each task
    # The spent part of each budget, by run id: the whole budget if the run is done.
    spent_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunsUnderWay:
    """The runs that are running now; sent several times a second."""

    active: Sequence[Active]


@dataclass(frozen=True, slots=True)
class Note:
    """A message for the user, such as that a run is retried."""

    text: str
    is_warning: bool = False  # True: also for a user who wants no progress


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run is done, has failed, or was done before: see the `outcome` of the verdict."""

    job: Job
    verdict: Verdict


Event = Preparing | Prepared | RunsStarted | RunsUnderWay | Note | RunFinished


OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The callback that ignores every event."""


@contextmanager
def while_preparing(task: str, on_event: OnEvent) -> Iterator[None]:
    on_event(Preparing(task))
    try:
        yield
    finally:
        on_event(Prepared(task))


# --- the runs of a suite --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SuiteRuns:
    """The runs of a suite, in the order in which they are listed, and where their data is.

    Parameters
    ----------
    suite
        The suite.
    specs
        What each run does.
    data
        Where the data of each task is.
    engine
        The engine of the suite; None if it is in a local file that was not imported.
    import_files
        False if the runs can be listed, but not executed: no local file was imported, and no option of one
        was checked.
    """

    suite: Suite
    specs: Sequence[RunSpec]
    data: Mapping[str, DataRef]
    engine: Engine | None
    import_files: bool = True

    @property
    def without_data(self) -> list[str]:
        """The tasks whose data is not on this machine yet: their official folds are not known, either."""
        return [task for task, ref in self.data.items() if ref.origins and not is_stored(ref)]

    def commands(self) -> list[str]:
        """The command that executes each run, with the same results folder."""
        results = shlex.quote(str(self.suite.results))
        return [
            f"{reproducing_command(spec, self.data[spec.task], import_files=self.import_files)} "
            f"--results {results}"
            for spec in self.specs
        ]

    def there_before(self, traits: MethodTraits) -> str:
        """The number of these runs in the results folder, in words; "" if none.

        A UserError if a run exists with other limits, and can't be resumed with these.
        """
        results = self.suite.results
        pasts = [past_run(path_of(results, spec)) for spec in self.specs]
        refuse_other_limits(self.specs, pasts, results, traits.not_resumable, traits.knows_budget)
        return in_words(self.specs, pasts)

    def price(self) -> str:
        """The time, cores and memory that all runs need, in words."""
        if self.engine is None:
            runs = f"{len(self.specs)} run{'s' * (len(self.specs) != 1)}"
            return f"{runs}; only the engine {self.suite.engine} knows what they need"
        return self.engine.price(self.specs)

    def check(self) -> MethodTraits:
        """Builds every learner and method once, so that a mistake is an error before anything starts."""
        if self.engine is not None:
            self.engine.check()
        each = {(spec.learner, method_label(spec)): spec for spec in self.specs}
        return rehearse(
            [
                spec
                for spec in each.values()
                if self.import_files
                or not any(map(is_users_code, (spec.learner, spec.method, spec.metric or "")))
            ],
            {choice.label: choice.place for choice in self.suite.methods},
        )


def runs_of(
    suite: Suite | str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    learner_options: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    shard: tuple[int, int] | None = None,
    offline: bool = False,
    fetch: bool = True,
    import_files: bool = True,
    on_event: OnEvent = ignore,
) -> SuiteRuns:
    """Return every run of a suite, without executing any.

    Parameters
    ----------
    suite
        A `Suite`, the path of its file, or the name of a suite that comes with the package.
    options
        Options for all methods that have them, or as `name.key` for one method.
    learner_options
        The same for learners.
    only
        Take only the runs with these ids.
    shard
        (k, n) takes every n-th run from the k-th on.
    offline
        Never use the network.
    fetch
        Fetch data that is not on this machine: only then are a task's official folds known.
    import_files
        False: import no local file that the suite names (`mine.py:Mine`), and start no program (`exec:…`).
        Such runs can be listed, but not executed.
    on_event
        Called when data is fetched.

    Returns
    -------
    SuiteRuns
        The runs, with the time, cores and memory that they need.

    Raises
    ------
    UserError
        If the suite has a mistake.
    """
    if not isinstance(suite, Suite):
        suite = read(find(str(suite)))
    _check_is_complete(suite)
    yahpo_folder.use(suite.yahpo)
    if suite.surrogate is not None:
        suite, data = _on_surrogate(suite, suite.surrogate, offline, on_event)
    else:
        data = data_of(suite, offline)
    if suite.n_folds is None:
        data = {task: with_own_folds(ref) for task, ref in data.items()}
    methods = options_of_methods(suite.methods, options or {}, suite.parallel, import_files=import_files)
    learners = options_of_learners(suite.learners, learner_options or {}, import_files=import_files)
    if only:
        wanted = tasks_of(only, specs_of(suite, learners, methods, data, import_files=import_files))
        data = {task: ref for task, ref in data.items() if task in wanted}
    if fetch:
        for task, ref in data.items():
            if ref.origins and not is_stored(ref):
                with while_preparing(task, on_event):
                    fetch_task(ref)
    specs = narrowed(specs_of(suite, learners, methods, data, import_files=import_files), only, shard)
    engine = engine_of(suite) if import_files or not is_in_file(suite.engine) else None
    return SuiteRuns(suite, specs, data, engine, import_files)


def _on_surrogate(
    suite: Suite, path: Path, offline: bool, on_event: OnEvent
) -> tuple[Suite, dict[str, DataRef]]:
    if suite.data_file is not None:
        raise UserError(
            f"--data {suite.data_file} is data to train on, and --surrogate {path} does not train: "
            "leave one out"
        )
    simulated = on_surrogate(suite, path, offline)
    if simulated.left_out:
        names = ", ".join(simulated.left_out)
        on_event(Note(f"left out, since a surrogate has no data to train on: {names}", is_warning=True))
    return simulated.suite, simulated.data


def _check_is_complete(suite: Suite) -> None:
    for name, what in (("methods", "methods to compare"), ("budget_seconds", "a budget for each run")):
        if not getattr(suite, name):
            raise UserError(f"the suite has no {name}: give it {what}")


# --- executing the runs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SuiteOutcome:
    """The result of each run, in the order of the suite.

    Parameters
    ----------
    runs
        The runs of the suite.
    jobs
        Each run as its engine got it.
    verdicts
        The result of each run.
    """

    runs: SuiteRuns
    jobs: Sequence[Job]
    verdicts: Sequence[Verdict]

    @property
    def failures(self) -> list[tuple[RunSpec, str]]:
        """The runs that failed, each with the reason."""
        return [
            (job.spec, verdict.message or "")
            for job, verdict in zip(self.jobs, self.verdicts, strict=True)
            if verdict.outcome is RunStatus.FAILED
        ]

    @property
    def exit_code(self) -> int:
        """0 without a failure, 1 if a run failed, 2 for a mistake in the suite; the largest counts."""
        return max((verdict.exit_code for verdict in self.verdicts), default=0)

    @property
    def traces(self) -> list[Path]:
        """The traces of the runs that have ended.

        A trace that could not be resumed may be of another run, and is not included.
        """
        ended = zip(self.jobs, self.verdicts, strict=True)
        return [job.trace_path for job, verdict in ended if verdict.end is not None]

    def frames(self) -> ResultFrames:
        """All results in the folder of the suite, as pandas frames."""
        from cfo_bench.results.frames import load_results

        return load_results(self.runs.suite.results)


def run_suite(
    suite: Suite | SuiteRuns | str | Path,
    *,
    force: bool = False,
    on_event: OnEvent = ignore,
) -> SuiteOutcome:
    """Execute the missing runs of a suite. Finished runs are skipped, interrupted ones are resumed.

    Everything that can be checked is checked before the first run starts. A run that fails does not stop the
    others: see `SuiteOutcome.failures`.

    Parameters
    ----------
    suite
        A `Suite`, the path of its file, the name of a suite that comes with the package, or `runs_of(…)`.
    force
        Execute finished runs again; a copy of each old trace is kept.
    on_event
        Called with each event, in the thread that called `run_suite`.

    Returns
    -------
    SuiteOutcome
        The result of each run.

    Raises
    ------
    UserError
        If the suite has a mistake.
    Interrupted
        After Ctrl-C, when all runs have ended; the same call resumes them.

    Examples
    --------
    >>> import tempfile
    >>> from cfo_bench import Suite, run_suite
    >>> suite = Suite(
    ...     learners=["synthetic-5d"], tasks=["synthetic-1k"], methods=["cfo", "rs"], folds="0-1",
    ...     budget_seconds=1e6, max_trials=20, clock="virtual", results=tempfile.mkdtemp(),
    ... )
    >>> outcome = run_suite(suite)
    >>> len(outcome.verdicts), outcome.failures
    (4, [])
    >>> frames = outcome.frames()
    >>> len(frames.runs), len(frames.trials)
    (4, 80)
    """
    runs = suite if isinstance(suite, SuiteRuns) else runs_of(suite, on_event=on_event)
    if runs.engine is None or not runs.import_files:
        raise UserError("these runs can only be listed: make them without import_files=False")
    results = runs.suite.results
    check_no_links(results, map(run_id, runs.specs))
    traits = runs.check()
    context = fork_server(packages(runs.specs, runs.data.values()))
    paths = [path_of(results, spec) for spec in runs.specs]
    pasts = [None if force else past_run(path) for path in paths]
    refuse_other_limits(runs.specs, pasts, results, traits.not_resumable, traits.knows_budget)
    if summary := in_words(runs.specs, pasts):
        on_event(Note(summary))
    facts, inspected = _facts(runs, pasts, context, on_event)
    questions = {spec.task: (spec, facts[spec.task, spec.learner]) for spec in runs.specs}
    metrics = dict(zip(questions, facts_of_metrics(list(questions.values()), context), strict=True))
    identities = [data_identity(facts[spec.task, spec.learner]) for spec in runs.specs]
    own_codes = [own_code_of(spec) for spec in runs.specs]
    _refuse_other_inputs(runs.specs, paths, pasts, identities, own_codes)
    for task in inspected:
        _note_columns(task, next(known for (name, _), known in facts.items() if name == task), on_event)
    status.record_plan(results, runs.specs)
    here = machine.provenance()
    jobs = [
        Job(
            spec,
            runs.data[spec.task],
            path,
            here,
            data_identity=identity,
            own_code=own_code,
            replays=method_label(spec) not in traits.not_resumable,
        )
        for spec, path, identity, own_code in zip(runs.specs, paths, identities, own_codes, strict=True)
    ]
    at_once = min(runs.engine.at_once(), len(jobs))
    on_event(RunsStarted(jobs, at_once, metrics, spent_seconds(runs.specs, pasts)))
    verdicts = runs.engine.run(jobs, _EventListener(results, on_event), force=force, context=context)
    return SuiteOutcome(runs, jobs, verdicts)


@dataclass(frozen=True, slots=True)
class _EventListener:
    """Converts the reports of an engine to events, and records why a run without an end in its trace
    failed.
    """

    results: Path
    on_event: OnEvent = field(repr=False)

    def tick(self, active: Sequence[Active]) -> None:
        self.on_event(RunsUnderWay(active))

    def said(self, text: str) -> None:
        self.on_event(Note(text))

    def warned(self, text: str) -> None:
        self.on_event(Note(text, is_warning=True))

    def finished(self, job: Job, verdict: Verdict) -> None:
        if verdict.outcome is RunStatus.FAILED and verdict.end is None:
            status.record_failure(self.results, job.spec, verdict.message or "")
        self.on_event(RunFinished(job, verdict))


def _facts(
    runs: SuiteRuns,
    pasts: Sequence[Run | None],
    context: ForkServerContext,
    on_event: OnEvent,
) -> tuple[dict[tuple[str, str], TaskFacts], list[str]]:
    """The facts of each task with each learner, and the tasks whose data was inspected.

    Two learners may have recordings of the same task. Data is inspected once for each task and learner,
    except if all their runs are done and the data has not changed since.
    """
    first: dict[tuple[str, str], RunSpec] = {}
    unfinished = set()
    for spec, past in zip(runs.specs, pasts, strict=True):
        first.setdefault((spec.task, spec.learner), spec)
        if past is None or not is_done(past, spec.limits):
            unfinished.add((spec.task, spec.learner))
    facts: dict[tuple[str, str], TaskFacts] = {}
    inspected: dict[str, None] = {}  # in order, each once
    for key, spec in first.items():
        ref = runs.data[spec.task]
        known = None if key in unfinished else facts_if_known(ref, spec.n_folds)
        if known is None:
            with while_preparing(spec.task, on_event):
                known = inspect_task(spec, ref, context)
            inspected[spec.task] = None
        facts[key] = known
    return facts, list(inspected)


def _note_columns(task: str, facts: TaskFacts, on_event: OnEvent) -> None:
    """Reports rows of a file that were left out, and columns that may be a mistake."""
    for remark in facts.remarks:
        on_event(Note(f"{task}: {remark}", is_warning=True))
    if facts.dropped_rows:
        rows = f"{facts.dropped_rows} row{'s' * (facts.dropped_rows != 1)}"
        on_event(Note(f"{task}: {rows} without a target left out, {facts.n_rows} are left"))


def _refuse_other_inputs(
    specs: Sequence[RunSpec],
    paths: Sequence[Path],
    pasts: Sequence[Run | None],
    identities: Sequence[DataIdentity],
    own_codes: Sequence[OwnCode | None],
) -> None:
    """An OtherRunError, before any run, if a trace is of other data or other user code, finished or not."""
    others = [
        (path, differences)
        for spec, path, past, identity, own_code in zip(
            specs, paths, pasts, identities, own_codes, strict=True
        )
        if past is not None
        and (
            differences := data_differences(past.header.data, identity)
            or code_differences(spec, past.header.own_code, own_code)
        )
    ]
    if others:
        path, differences = others[0]
        more = f", and {len(others) - 1} more" if len(others) > 1 else ""
        raise of_another_run(path, differences, more)
