"""How much GPEI depends on `xi`, the least improvement that counts, and on the unit of that number.

The synthetic learner, with its losses as they are and shrunk to a hundredth around the optimum, as on a
task where all configurations are nearly alike. A method that is told what matters finds the same on both.
The seconds of the method are not charged: each run has the same trials.
"""

from __future__ import annotations

import statistics
from itertools import product

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.learners.synthetic import BOOSTING, SyntheticObjective
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.optimizers.gaussian_process import GPEI
from cfo_bench.records import Result, Trial

N_ROWS, SEEDS, TRIALS = 30_000, range(4), 30
SHRUNK = (1.0, 0.01)
SETTINGS = [(0.0, "loss"), (0.001, "loss"), (0.01, "loss"), (0.01, "spread"), (0.1, "spread")]


def regret(seed: int, shrunk: float, xi: float, unit: str) -> float:
    """The best loss above the optimum, as a share of the start's."""
    space, start = boosting_space(N_ROWS), boosting_start()
    objective = SyntheticObjective(BOOSTING, space, start, N_ROWS, seed)

    def loss(trial: Trial) -> float:
        found = objective.evaluate(trial, Deadline(VirtualClock(), 1e9)).value
        return objective.best_loss + shrunk * (found - objective.best_loss)

    method = GPEI(space, start, seed, xi=xi, xi_unit=unit)
    losses = []
    for _ in range(TRIALS):
        trial = method.ask()
        losses.append(loss(trial))
        method.tell(trial, Result.ok(losses[-1], 1.0))
    return (min(losses) - objective.best_loss) / (losses[0] - objective.best_loss)


def main() -> int:
    print(f"GPEI, {TRIALS} trials, {len(SEEDS)} seeds: mean regret, the start's being 1")
    heads = "".join(f"{'losses × ' + format(shrunk, 'g'):>15}" for shrunk in SHRUNK)
    print(f"{'xi':>6} {'of the':<7}{heads}")
    found: dict[tuple[float, str, float], float] = {}
    for (xi, unit), shrunk in product(SETTINGS, SHRUNK):
        found[xi, unit, shrunk] = statistics.mean(regret(seed, shrunk, xi, unit) for seed in SEEDS)
        if shrunk == SHRUNK[-1]:
            cells = "".join(f"{found[xi, unit, one]:15.4f}" for one in SHRUNK)
            print(f"{xi:6g} {unit:<7}{cells}", flush=True)
    default = [found[0.01, "spread", shrunk] for shrunk in SHRUNK]
    # With a unit of the losses, shrinking them changes nothing but rounding; chaos may grow from that.
    print(f"the default on shrunk losses against losses as they are: ×{default[1] / default[0]:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
