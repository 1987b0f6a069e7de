"""All methods on the synthetic learner: a virtual clock, their own seconds charged, several seeds.

The clock is moved by the analytic cost of each trial and by the processor seconds of each ask and tell,
which on the one thread that `make` sets are real ones, without those of busy neighbours. A
run ends with its budget, after so many trials, or when its method has taken its share of this
benchmark's time; the last two are marked, and the best so far is carried to the budget's end. The
functions were written down before any method was run on them.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from dataclasses import dataclass

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.errors import Exhausted
from cfo_bench.learners.synthetic import BOOSTING, SyntheticObjective
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Optimizer, Result, Status

N_ROWS, SEEDS = 100_000, (0, 1, 2)
BUDGET_SECONDS, MAX_TRIALS = 3600.0, 20_000  # the paper's hour
OWN_SECONDS_A_RUN = 30.0
SHARES = (0.01, 0.1, 1.0)


@dataclass(frozen=True)
class Race:
    """One run: the best loss by each share of the budget, the least there is, and what it took."""

    bests: list[float]
    optimum: float
    trials: int
    mean_cost: float
    own_seconds: float
    cut_by: str


def race(name: str, seed: int) -> Race:
    space, start = boosting_space(N_ROWS), boosting_start()
    objective = SyntheticObjective(BOOSTING, space, start, N_ROWS, seed)
    options = METHODS.options(name, {})
    if "n_rows" in options:
        options["n_rows"] = N_ROWS
    if "budget_seconds" in options:
        options["budget_seconds"] = BUDGET_SECONDS
    method: Optimizer = METHODS.load(name)(space, start, seed, **options)
    clock, bests, costs = VirtualClock(), [math.inf] * len(SHARES), []
    own, cut_by = 0.0, ""

    def charged(began: float) -> None:
        nonlocal own
        seconds = time.process_time() - began
        own += seconds
        clock.account(seconds)

    while clock.now() < BUDGET_SECONDS:
        if len(costs) == MAX_TRIALS or own > OWN_SECONDS_A_RUN:
            cut_by = "trials" if len(costs) == MAX_TRIALS else "time"
            break
        began = time.process_time()
        try:
            trial = method.ask()
        except Exhausted:
            cut_by = "exhausted"
            break
        charged(began)
        result: Result = objective.evaluate(trial, Deadline(clock, BUDGET_SECONDS))
        seconds = result.fit_seconds + result.validate_seconds
        clock.account(seconds)
        costs.append(seconds)
        if result.status is Status.OK and clock.now() <= BUDGET_SECONDS:
            for i, share in enumerate(SHARES):
                if clock.now() <= share * BUDGET_SECONDS:
                    bests[i] = min(bests[i], result.value)
        began = time.process_time()
        method.tell(trial, result)
        charged(began)
    return Race(bests, objective.best_loss, len(costs), statistics.mean(costs), own, cut_by)


def main() -> int:
    names = [name for name, row in METHODS.rows().items() if row.learner is None and name != "study"]
    print(
        f"{N_ROWS:,} rows, {BUDGET_SECONDS:g} virtual seconds, at most {MAX_TRIALS:,} trials or "
        f"{OWN_SECONDS_A_RUN:g} seconds of the method's own, seeds {', '.join(map(str, SEEDS))}"
    )
    print("mean best loss by so much of the budget, trials, seconds of a trial and of the method itself")
    shares = "".join(f"{share:>9.0%}" for share in SHARES)
    print(f"{'method':<14}{shares}{'trials':>9}{'a trial':>10}{'own':>9}   cut by")
    races: list[Race] = []
    for name in sorted(names):
        if METHODS.row(name).missing:
            print(f"{name:<14} needs {METHODS.row(name).missing}")
            continue
        races = [race(name, seed) for seed in SEEDS]
        means = [statistics.mean(one.bests[i] for one in races) for i in range(len(SHARES))]
        cells = "".join(f"{mean:9.4f}" for mean in means)
        trials = statistics.mean(one.trials for one in races)
        cost = statistics.mean(one.mean_cost for one in races)
        own = statistics.mean(one.own_seconds for one in races)
        cuts = ", ".join(sorted({one.cut_by for one in races} - {""})) or "–"
        print(f"{name:<14}{cells}{trials:9.0f}{cost:10.3f}{own:9.2f}   {cuts}", flush=True)
    print(f"{'the optimum':<14}{statistics.mean(one.optimum for one in races):9.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
