"""Checks that a trace follows from its method and seed, and what it would have been with a shorter budget."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cfo_bench.errors import CfoBenchError, RunError, TraceError, UserError, describe
from cfo_bench.metrics import METRICS
from cfo_bench.optimizers import METHODS
from cfo_bench.records import RunSpec
from cfo_bench.results import trace
from cfo_bench.results.shortening import shortened
from cfo_bench.results.trial_digest import digest_of_trials
from cfo_bench.results.validation import Lines
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
    found = trace.read(path)
    if found is None:
        raise TraceError(f"no trace {str(path)!r}: give the path of a .jsonl file of a run")
    header = found.header
    known = {one.name for one in fields(RunSpec)}
    spec = RunSpec(**{key: value for key, value in header["spec"].items() if key in known})
    beyond = [budget for budget in budgets if budget > spec.budget_seconds]
    if beyond:
        raise UserError(
            f"--budget {beyond[0]:g}: the run had {spec.budget_seconds:g} s; give a shorter budget"
        )
    _check(path, found, spec)
    lines = trace.lines_of(path)
    assert lines is not None
    cut = [lines, *(shortened(lines, budget) for budget in budgets)]
    return Replayed(spec, header["metric"], [_standing(one) for one in cut])


def _check(path: Path, found: trace.Trace, spec: RunSpec) -> None:
    header = found.header
    if "imported" in header:
        raise UserError(f"{path} was imported, so its method can't be asked again: replay a run of cfo-bench")
    if "space" not in header or "method_seed" not in header:
        raise UserError(f"{path} was written by a version that did not record the space or the method's seed")
    space = Space.from_json(header["space"])
    # What a run tells a method of its data, under these names: see the runner.
    data = header["data"]
    told = {
        "n_rows": data.get("resource_rows") if "recording" in data else data["train_rows"],
        "cost_related": list(header.get("cost_related", [])),
    }
    options: dict[str, Any] = {
        **spec.options,
        **{name: value for name, value in told.items() if name in spec.options},
    }
    method = METHODS.load(spec.method)
    if not getattr(method, "replays", True):
        raise UserError(f"method {spec.method!r} can't be replayed: the same seed need not ask for the same")
    try:
        optimizer = method(space, header["start"], header["method_seed"], **options)
        limits = Limits(spec.budget_seconds, spec.max_trials, spec.trial_timeout_seconds)
        replay(optimizer, found, spec, Referee(space, limits))
    except TraceError as error:
        raise RunError(
            f"{path} does not follow from its method and seed: {str(error).split(':')[0]}"
        ) from None
    except CfoBenchError as error:
        raise RunError(f"{path} does not follow from its method and seed: {error}") from None
    except Exception as error:  # whatever a package does with results that it never had
        raise RunError(f"{path} does not follow from its method and seed: {describe(error)}") from None


def _standing(lines: Lines) -> AtBudget:
    digest = digest_of_trials(lines)
    budget, steps = float(lines.header["spec"]["budget_seconds"]), digest.steps
    if not steps.losses:
        return AtBudget(budget, digest.trials, None, None, None)
    score = METRICS[lines.header["metric"]].to_score(steps.losses[-1])
    return AtBudget(budget, digest.trials, steps.losses[-1], score, steps.seconds[-1])
