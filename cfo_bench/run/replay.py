"""Replay: a new method repeats the asks and tells that a trace records.

In this way an interrupted run is resumed, and a trace is checked: it must follow from its method and seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cfo_bench.errors import CfoBenchError, Exhausted, RunError, SpaceError, TraceError, UserError, describe
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.options import with_facts_of_run
from cfo_bench.records import Optimizer, RunSpec, Trial
from cfo_bench.registry import is_users_code
from cfo_bench.results.limits import shortened
from cfo_bench.results.run import Run, read_verified_run
from cfo_bench.run.loop import Limits, Referee
from cfo_bench.space import Space


def replay(optimizer: Optimizer, past: Run, spec: RunSpec, referee: Referee) -> list[tuple[Trial, float]]:
    """Repeats the asks and tells of a run; returns the trials that the method asked for without a result.

    Each is returned with the second of the run's clock at which it was asked for. Before each tell, the
    method is asked for as many trials as the trace records (`asked`) or, without this record, as could be
    running in parallel. The method has to ask for exactly the trials of the trace.
    """
    untold: dict[int, tuple[Trial, float]] = {}
    asked, now = 0, 0.0
    for n_told, record in enumerate(past.trials):
        most = min(n_told + spec.parallel, spec.max_trials or n_told + spec.parallel)
        while asked < (record.asked or most):
            try:
                trial, _ = referee.ask(optimizer, asked)
            except Exhausted:
                break
            untold[trial.number] = (trial, now)
            asked += 1
        same, _ = untold.pop(record.number, (None, now))
        if same is None or same.config != record.config or same.rows != record.rows:
            raise TraceError(
                f"trial {record.number} of the trace is not what method {spec.method!r} asks for now: "
                "it was made by another version; use --force to run it again, or another --results"
            )
        optimizer.tell(same, record.result())
        now = record.ended
    return [untold[number] for number in sorted(untold)]


# --- checking a trace -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AtBudget:
    """The result of a run with a budget."""

    budget_seconds: float
    trials: int
    best_loss: float | None  # None: no trial is `ok`
    best_score: float | None
    found_at: float | None  # seconds of the run's clock


@dataclass(frozen=True, slots=True)
class Replayed:
    """A trace that follows from its method and seed."""

    spec: RunSpec
    metric: str
    standings: list[AtBudget]  # with the run's own budget, and with the requested ones


def replay_trace(path: Path, budgets: tuple[float, ...] = (), *, trust_method: bool = False) -> Replayed:
    """Repeat the asks and tells of a run with its method, and shorten the run to smaller budgets.

    Nothing is trained and no data is loaded: the method receives the results in the trace. The learner and
    the task matter only through the space and the start, which the trace contains. A RunError if the method
    asks for other trials. A method that is a local file or a program is code that the trace names: it is
    imported or started only with `trust_method`.
    """
    run = read_verified_run(path)
    if run is None:
        raise TraceError(f"no trace {str(path)!r}: give the path of a .jsonl file of a run")
    too_long = [budget for budget in budgets if budget > run.budget_seconds]
    if too_long:
        raise UserError(
            f"--budget {too_long[0]:g}: the run had {run.budget_seconds:g} s; give a shorter budget"
        )
    if is_users_code(run.spec.method) and not trust_method:
        raise UserError(
            f"the trace names {run.spec.method} as the method, which is code: if the trace is yours, give "
            "--trust-method"
        )
    _check(run)
    runs = [run, *(shortened(run, budget) for budget in budgets)]
    return Replayed(run.spec, run.header.metric, [_at_budget(run) for run in runs])


def _check(run: Run) -> None:
    path, spec, header = run.path, run.spec, run.header
    if run.is_imported:
        raise UserError(f"{path} was imported, so its method can't be asked again: replay a run of cfo-bench")
    if header.space is None or header.method_seed is None:
        raise UserError(f"{path} was written by a version that did not record the space or the method's seed")
    try:
        space, data = Space.from_json(header.space), header.data
    except SpaceError as error:
        raise UserError(f"{path} can't be replayed: {error}") from None
    n_rows = data.train_rows if data.recording is None else data.resource_rows or None
    options = with_facts_of_run(spec.options, n_rows, header.cost_related or [], spec.budget_seconds)
    method = METHODS.load(spec.method)
    if not getattr(method, "replays", True):
        raise UserError(
            f"method {spec.method!r} can't be replayed: its proposals do not follow from its seed"
        )
    try:
        optimizer = method(space, header.start, header.method_seed, **options)
        limits = Limits(spec.budget_seconds, spec.max_trials, spec.trial_timeout_seconds)
        replay(optimizer, run, spec, Referee(space, limits))
    except TraceError as error:
        raise RunError(
            f"{path} does not follow from its method and seed: {str(error).split(':')[0]}"
        ) from None
    except CfoBenchError as error:
        raise RunError(f"{path} does not follow from its method and seed: {error}") from None
    except Exception as error:  # a package may raise anything for results that it never produced
        raise RunError(f"{path} does not follow from its method and seed: {describe(error)}") from None


def _at_budget(run: Run) -> AtBudget:
    incumbents = run.incumbents
    if not incumbents.losses:
        return AtBudget(run.budget_seconds, run.n_trials, None, None, None)
    score = run.header.metric_facts.to_score(incumbents.losses[-1])
    return AtBudget(run.budget_seconds, run.n_trials, incumbents.losses[-1], score, incumbents.seconds[-1])
