"""Checks that a trace follows from its method and seed, and what it would have been with a shorter budget."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfo_bench.errors import CfoBenchError, RunError, TraceError, UserError, describe
from cfo_bench.metrics import METRICS
from cfo_bench.optimizers import METHODS
from cfo_bench.records import RunSpec
from cfo_bench.results.limits import shortened
from cfo_bench.results.run import Run, read_run
from cfo_bench.run.loop import Limits, Referee
from cfo_bench.run.resume import replay
from cfo_bench.space import Space


@dataclass(frozen=True, slots=True)
class AtBudget:
    """What a run came to with a budget."""

    budget_seconds: float
    trials: int
    best_loss: float | None  # None: no trial ended well
    best_score: float | None
    found_at: float | None  # seconds of the run's clock


@dataclass(frozen=True, slots=True)
class Replayed:
    """A trace that follows from its method and seed."""

    spec: RunSpec
    metric: str
    standings: list[AtBudget]  # with the run's own budget, and with those that were asked for


def replay_trace(path: Path, budgets: tuple[float, ...] = ()) -> Replayed:
    """Asks and tells the method again as the run did; a RunError if it asks for other trials.

    Nothing is trained and no data is loaded: the method is told what the trace says. The learner and the task
    matter only by the space and the start, which the trace has.
    """
    run = read_run(path, parse_trials=True)
    if run is None:
        raise TraceError(f"no trace {str(path)!r}: give the path of a .jsonl file of a run")
    too_long = [budget for budget in budgets if budget > run.budget_seconds]
    if too_long:
        raise UserError(
            f"--budget {too_long[0]:g}: the run had {run.budget_seconds:g} s; give a shorter budget"
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
    space, data = Space.from_json(header.space), header.data
    # The facts of the data that a run passes to its method, under these names: see the runner.
    known = {
        "n_rows": (data.resource_rows or None) if data.recording is not None else data.train_rows,
        "cost_related": list(header.cost_related or []),
    }
    options: dict[str, Any] = {
        **spec.options,
        **{name: value for name, value in known.items() if name in spec.options},
    }
    method = METHODS.load(spec.method)
    if not getattr(method, "replays", True):
        raise UserError(f"method {spec.method!r} can't be replayed: the same seed need not ask for the same")
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
    except Exception as error:  # whatever a package does with results that it never had
        raise RunError(f"{path} does not follow from its method and seed: {describe(error)}") from None


def _at_budget(run: Run) -> AtBudget:
    incumbents = run.incumbents
    if not incumbents.losses:
        return AtBudget(run.budget_seconds, run.n_trials, None, None, None)
    score = METRICS[run.header.metric].to_score(incumbents.losses[-1])
    return AtBudget(run.budget_seconds, run.n_trials, incumbents.losses[-1], score, incumbents.seconds[-1])
