"""Finds the best method and learner on a data file, within a given time.

From Python, `cfo-bench compare` is `compare("my.csv", "y", for_seconds="10m").sentence`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from cfo_bench import machine
from cfo_bench.clock import monotonic
from cfo_bench.comparison.answer import Comparison, answer_from
from cfo_bench.comparison.plan import MOST_REPETITIONS, Workload, further_folds, planned
from cfo_bench.engines.suite_runs import (
    Event,
    Note,
    RunFinished,
    RunsStarted,
    SuiteRuns,
    ignore,
    run_suite,
    runs_of,
    while_preparing,
)
from cfo_bench.errors import OtherRunError, RunError, UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.learners.estimator import Estimator
from cfo_bench.machine.fork_server import fork_server
from cfo_bench.machine.processes import slowness
from cfo_bench.metrics import canonical_name
from cfo_bench.optimizers import METHODS
from cfo_bench.records import RunStatus, TaskFacts, run_id
from cfo_bench.registry import Registry, label
from cfo_bench.report.contents import plural
from cfo_bench.report.numbers.scores import FoldSeed
from cfo_bench.results.comparability import check_resumable
from cfo_bench.results.comparison_record import (
    ComparisonPlan,
    ComparisonRecord,
    ComparisonVerdict,
    read_record,
)
from cfo_bench.results.limits import past_run
from cfo_bench.results.run import CONSTANT, FOREST
from cfo_bench.results.trace import path_of
from cfo_bench.run.checks import most_folds, packages
from cfo_bench.run.supervisor import Verdict
from cfo_bench.suite.choices import Choice
from cfo_bench.suite.model import Suite
from cfo_bench.values import DURATION_RULE, MAX_SEED, duration
from cfo_bench.values import seconds as seconds_of

# In the order of preference: of the installed ones, as many as there is time for.
LEARNERS_TO_TRY = ("xgboost", "lightgbm", "random-forest")
METHODS_TO_TRY = ("cfo-tuned", "tpe", "rs")
# Candidate numbers of folds: the first for which the data has enough rows is used.
_FOLDS = (10, 5, 3, 2)
# Time that is kept at the end to read the traces and compute the answer; more on a busy machine.
_RESERVE_SECONDS, _RESERVE_SHARE, _MOST_SLOWNESS = 1.5, 0.002, 6.0
LEAST_SECONDS = 15.0
# The reference forest. It has as many trees as its time allows. Trees on samples of the rows, with larger
# leaves, take a fraction of the time, and a few of them predict better than a few trees on all rows.
_FOREST = {"trees": 200, "least_trees": 10, "leaf_rows": 3, "tree_rows": 20_000, "tuning_share": 0.3}


def compare(
    data: str | Path,
    target: str,
    *,
    for_seconds: float | str = 600.0,
    problem: str | None = None,
    drop: Sequence[str] = (),
    drop_missing_target: bool = False,
    split: str | None = None,
    weight: str | None = None,
    learners: Sequence[str | Estimator] = (),
    methods: Sequence[str] = (),
    metric: str | None = None,
    validation: str = "holdout",
    results: str | Path | None = None,
    jobs: int | None = None,
    seed: int = 0,
    spent_seconds: float = 0.0,
    on_event: Callable[[Event], None] = ignore,
) -> Comparison:
    """Compare learners and methods on a data file, within a given total time.

    Runs that do not finish in time do not count.

    Parameters
    ----------
    data : str or Path
        The file.
    target : str
        The column to predict.
    for_seconds : float or str, default 600
        The total time, such as 600 or "10m".
    problem : {"binary", "multiclass", "regression"}, optional
        The problem type. By default it follows from the values of the target.
    drop : sequence of str
        Columns to leave out.
    drop_missing_target : bool, default False
        Leave out rows without a target.
    split : str, optional
        Make the folds by a column: "group:COLUMN", "time:COLUMN" or "column:COLUMN". By default at random.
    weight : str, optional
        The column with the weights of rows.
    learners : sequence of str or Estimator
        Compare only these: names, YAML files of estimators, or estimators. By default they are chosen.
    methods : sequence of str
        Compare only these methods. By default they are chosen.
    metric : str, optional
        What is optimised, such as "f1" or "metric.py:function". By default it follows from the problem type.
    validation : {"holdout", "fold"}, default "holdout"
        "holdout": scores are on rows that no method has seen; "fold": on the rows by which trials were
        selected.
    results : str or Path, optional
        The folder for the traces. By default a folder such as compare-my-600s. The same call again finds
        them there.
    jobs : int, optional
        Runs at a time. By default one for each core.
    seed : int, default 0
        The seed of the methods.
    spent_seconds : float, default 0
        Part of the total time that has passed before the call, for example while the program started.
    on_event : callable, optional
        Called with each event of the runs.

    Returns
    -------
    Comparison
        The answer as a sentence, and the scores behind it.

    Raises
    ------
    UserError
        If the time is too short, the data can't be read in time, no fold was done by all candidates, or the
        folder has a comparison with another target, metric or validation, for example.
    """
    started = monotonic() - spent_seconds
    total = _seconds(for_seconds)
    on_event = _each_warning_once(on_event)
    suite = Suite(
        data_file=Path(data),
        target=target,
        problem=problem,
        drop=tuple(drop),
        drop_missing_target=drop_missing_target,
        split=split,
        weight=weight,
        learners=tuple(dict.fromkeys(learners or _installed(LEARNERS_TO_TRY, LEARNERS))),  # type: ignore[arg-type]
        methods=tuple(map(Choice, dict.fromkeys(methods or _installed(METHODS_TO_TRY, METHODS)))),
        metric=metric,
        validation=validation,
        budget_seconds=total,
        folds="0",
        seeds=(seed,),
        jobs=jobs or machine.cores(),
        results=Path(results or _folder_name(Path(data), total, metric)),
    )
    scores: dict[str, Any] = {"target": target, "problem": problem, "drop": list(drop)}
    scores |= {"drop_missing_target": drop_missing_target, "split": split, "weight": weight}
    scores |= {"metric": metric and canonical_name(metric), "validation": validation}
    asked = {**scores, "for_seconds": total, "data": str(Path(data).resolve())}
    asked |= {"learners": [[choice.name, choice.options] for choice in suite.learners if learners]}
    asked |= {"methods": list(methods), "jobs": suite.jobs, "seed": seed}
    record = read_record(suite.results)
    if record is not None:
        _refuse_other_scores(record, scores, suite.results)
    reserve = min(slowness(), _MOST_SLOWNESS) * (_RESERVE_SECONDS + _RESERVE_SHARE * total)
    ends_at = started + total - reserve
    n_folds, facts = _most_folds(suite, on_event, ends_at, total)
    suite = replace(suite, n_folds=n_folds, folds=f"0-{n_folds - 1}")
    _refuse_other_runs(suite)
    most = _most_places(suite, n_folds)
    at_once = min(suite.jobs, machine.cores())
    if record is None or record.asked != asked or not _can_do(suite, most, record.plan):
        began = monotonic()
        overhead = _overhead_seconds(suite, ends_at, on_event)
        # Preparing the runs of all methods takes about twice as long as preparing the constant predictor's.
        preparation = 2 * (monotonic() - began - overhead)
        plan = planned(
            ends_at - monotonic() - preparation,
            Workload(at_once, overhead, facts.n_rows * facts.n_features, most),
            [choice.name for choice in suite.learners],
            [choice.name for choice in suite.methods],
            all_learners=bool(learners),
            all_methods=bool(methods),
        )
        record = ComparisonRecord(asked, plan)
    on_event(Note(_in_words(record.plan, suite, facts, total)))
    comparing = _Comparing(
        suite=suite,
        n_folds=n_folds,
        most_folds=most,
        task=facts.name,
        at_once=at_once,
        deadline=started + total,
        total=total,
        on_event=on_event,
    )
    return comparing.run(record, reserve)


def _refuse_other_scores(record: ComparisonRecord, scores: Mapping[str, Any], results: Path) -> None:
    """A UserError if the scores in the folder mean something else than those that are asked for."""
    for name, value in scores.items():
        if (before := record.asked.get(name, value)) != value:
            raise UserError(
                f"{results} has a comparison with another --{name.replace('_', '-')} ({before!r} there, "
                f"{value!r} here): give another --results"
            )


def _refuse_other_runs(suite: Suite) -> None:
    """A UserError if the folder has runs of another learner or method of the same name, such as another
    search space in the same YAML file.
    """
    with _without_option_of_run():
        for spec in runs_of(replace(suite, methods=(*suite.methods, Choice(CONSTANT)))).specs:
            if (past := past_run(path := path_of(suite.results, spec))) is not None:
                check_resumable(path, past.header, spec)


@contextmanager
def _without_option_of_run() -> Iterator[None]:
    """Rewords the error for a trace of another run: it names an option that only `run` has (--force)."""
    try:
        yield
    except OtherRunError as error:
        raise UserError(f"{error.finding}: give another --results") from None


def _most_places(suite: Suite, n_folds: int) -> int:
    """The most folds of all splits. No seed changes a split by time or by the user's own folds."""
    is_random = suite.split is None or suite.split.startswith("group:")
    return MOST_REPETITIONS * n_folds if is_random else n_folds


def _can_do(suite: Suite, most_folds: int, plan: ComparisonPlan) -> bool:
    """Whether a plan from a file names only what was asked for: another name may be a file with code."""
    return (
        {*plan.learners} <= {choice.name for choice in suite.learners}
        and {*plan.methods} <= {choice.name for choice in suite.methods}
        and plan.folds <= most_folds
    )


def _folder_name(data: Path, total: float, metric: str | None) -> str:
    name = "" if metric is None else f"-{label(canonical_name(metric))}"
    return f"compare-{data.stem}-{total:g}s{name}"


def _each_warning_once(on_event: Callable[[Event], None]) -> Callable[[Event], None]:
    """Leaves out warnings that were reported before: the data is checked in each round of folds."""
    reported: set[str] = set()

    def show(event: Event) -> None:
        if isinstance(event, Note) and event.is_warning:
            if event.text in reported:
                return
            reported.add(event.text)
        on_event(event)

    return show


class _TimeIsUpError(Exception):
    """Raised by the callback, to stop the runs."""


@dataclass
class _Watch:
    """The callback of runs: it stops them at the deadline, and records their start, number and failures."""

    deadline: float
    on_event: Callable[[Event], None]
    started_at: float = math.inf
    n_done: int = 0  # runs that this call finished, without the constant predictor's
    failures: list[RunFinished] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        match event:
            case RunsStarted():
                self.started_at = monotonic()
            case RunFinished(verdict=Verdict(outcome=RunStatus.FAILED)):
                self.failures.append(event)
            case RunFinished(job, verdict) if job.spec.method != CONSTANT:
                self.n_done += verdict.outcome is not RunStatus.ALREADY_DONE
        self.on_event(event)
        if monotonic() > self.deadline:
            raise _TimeIsUpError


def _run(runs: SuiteRuns, watch: _Watch) -> None:
    """Execute the runs until the watch stops them."""
    with suppress(_TimeIsUpError), _without_option_of_run():
        run_suite(runs, on_event=watch)


def _overhead_seconds(suite: Suite, ends_at: float, on_event: Callable[[Event], None]) -> float:
    """The wall time of a run besides its budget, measured now on a run of the constant predictor."""
    constant = replace(suite, learners=suite.learners[:1], methods=(Choice(CONSTANT),), folds="0")
    watch = _Watch(ends_at, on_event)
    _run(runs_of(constant), watch)
    return max(monotonic() - watch.started_at, 0.0)


@dataclass(frozen=True, slots=True)
class _Comparing:
    """A comparison that adds folds as long as they fit into its time."""

    suite: Suite
    n_folds: int  # of a split
    most_folds: int  # of all splits
    task: str
    at_once: int
    deadline: float
    total: float
    on_event: Callable[[Event], None]

    def run(self, record: ComparisonRecord, reserve: float) -> Comparison:
        """Runs the folds of the plan, and then further ones, unless the record has a verdict, which is final.

        `reserve` is the time that is kept for the answer.
        """
        plan, n_done = record.plan, 0
        while True:
            ends_at, began = self.deadline - reserve, monotonic()
            msgspec.structs.replace(record, plan=plan).write(self.suite.results)
            watch = _Watch(ends_at, self.on_event)
            _run(self._runs(plan, range(n_done, plan.folds)), watch)
            ended = monotonic()
            comparison = self._answer(plan, watch.failures)
            msgspec.structs.replace(record, plan=plan, verdict=_verdict(comparison)).write(self.suite.results)
            if record.verdict is not None or ended > ends_at or not watch.n_done:
                return comparison
            answer_seconds = monotonic() - ended
            reserve = min(reserve, max(4 * answer_seconds, slowness()))  # stopping runs takes time, too
            further = further_folds(
                self.deadline - reserve - monotonic() - (watch.started_at - began),
                self.at_once,
                len(plan.learners) * len(plan.methods),
                (ended - watch.started_at) / max(watch.n_done / self.at_once, 1.0),
            )
            further = min(further, self.most_folds - plan.folds)
            if further <= 0:
                return comparison
            self.on_event(Note(f"there is time for {plural(further, 'more fold')}"))
            n_done, plan = plan.folds, msgspec.structs.replace(plan, folds=plan.folds + further)

    def _runs(self, plan: ComparisonPlan, numbers: range) -> SuiteRuns:
        """The methods with every learner, the references once; ordered by fold, to finish whole folds."""
        places = {place: at for at, place in enumerate(map(self._place, numbers))}
        suite = replace(
            self.suite,
            learners=tuple(choice for choice in self.suite.learners if choice.name in plan.learners),
            methods=tuple(map(Choice, plan.methods)),
            seeds=tuple(dict.fromkeys(seed for _, seed in places)),
            budget_seconds=plan.budget_seconds,
        )
        scale = (Choice(CONSTANT), Choice(FOREST, _FOREST))
        compared, references = (
            runs_of(suite),
            runs_of(replace(suite, learners=suite.learners[:1], methods=scale)),
        )
        specs = [spec for spec in (*compared.specs, *references.specs) if (spec.fold, spec.seed) in places]
        return replace(compared, specs=sorted(specs, key=lambda spec: places[spec.fold, spec.seed]))

    def _place(self, number: int) -> FoldSeed:
        """The fold and the seed of a number. After the last fold of a split comes the next seed's split."""
        repetition, fold = divmod(number, self.n_folds)
        return fold, (self.suite.seeds[0] + repetition) % (MAX_SEED + 1)

    def _answer(self, plan: ComparisonPlan, failures: Sequence[RunFinished]) -> Comparison:
        elapsed = monotonic() - (self.deadline - self.total)
        places = list(map(self._place, range(plan.folds)))
        can_add_folds = plan.folds < self.most_folds
        comparison = answer_from(
            self.suite, plan, self.task, places, self.n_folds, elapsed, can_add_folds=can_add_folds
        )
        if comparison is None:
            reason = (
                _in_words_of_failures(failures)
                if failures
                else "give more time with --for, or fewer rows; this machine may be busy"
            )
            raise UserError(
                f"no fold was finished by all of {_pairs_in_words(plan)} in {duration(elapsed)}: {reason}"
            )
        return comparison


def _in_words_of_failures(failures: Sequence[RunFinished]) -> str:
    first = failures[0]
    return f"{plural(len(failures), 'run')} failed, such as {run_id(first.job.spec)}: {first.verdict.message}"


def _verdict(comparison: Comparison) -> ComparisonVerdict:
    best = comparison.candidates[0]
    return ComparisonVerdict(comparison.task, best.learner, best.method, comparison.verdict)


def _seconds(value: float | str) -> float:
    total = seconds_of(value)
    if total is None:
        raise UserError(f"--for {value!r} is not a time: {DURATION_RULE}")
    if total < LEAST_SECONDS:
        raise UserError(f"--for {value} is too short to compare anything: give {LEAST_SECONDS:g} s or more")
    return total


def _installed(names: Sequence[str], registry: Registry) -> tuple[str, ...]:
    return tuple(name for name in names if registry.row(name).missing is None)


def _most_folds(
    suite: Suite, on_event: Callable[[Event], None], ends_at: float, total: float
) -> tuple[int, TaskFacts]:
    """The most folds that the data allows, and the facts of the data."""
    runs = runs_of(suite, on_event=on_event)
    [(task, ref)] = runs.data.items()
    with while_preparing(task, on_event):
        server = fork_server(packages(runs.specs, [ref]))
        limit = max(ends_at - monotonic(), 0.0)
        try:
            choices = (ref.own_folds,) if ref.own_folds else _FOLDS
            return most_folds(runs.specs[0], ref, server, choices, (limit, "--for"))
        except RunError:
            if monotonic() < ends_at:
                raise
            raise UserError(
                f"the data was not read within {duration(total)}: give more time with --for; this machine "
                "may be busy"
            ) from None


def _in_words(plan: ComparisonPlan, suite: Suite, facts: TaskFacts, total: float) -> str:
    return (
        f"{facts.n_rows} rows, {facts.n_features} features, {facts.problem}: {_pairs_in_words(plan)} for "
        f"{plan.budget_seconds:g} s on each of {plan.folds} folds, {suite.jobs} at a time, beside a random "
        f"forest of up to {_FOREST['trees']} trees; {duration(total)} in all"
    )


def _pairs_in_words(plan: ComparisonPlan) -> str:
    learners, methods = (list(map(label, names)) for names in (plan.learners, plan.methods))
    return f"{' and '.join(learners)}, each tuned by {' and by '.join(methods)}"
