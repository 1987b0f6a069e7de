"""A method of your own: `ask` says what to try next, `tell` hears what came of it.

python examples/own_method.py
cfo-bench run --method examples/own_method.py:Shrinking --method cfo --task iris --budget 5
"""

import sys

import numpy as np

from cfo_bench.plugins import Trial


class Shrinking:
    """Draws from a box around the best configuration, which shrinks with every draw that is no better.

    shrink  by which factor the box shrinks
    """

    def __init__(self, space, start, seed, *, shrink: float = 0.95):
        self.space, self.shrink = space, shrink
        self.best, self.loss, self.width, self.asked = space.check(start), float("inf"), 1.0, 0
        self.rng = np.random.default_rng(seed)

    def ask(self):
        config = self.best if self.asked == 0 else self.drawn()
        self.asked += 1
        return Trial(self.asked - 1, config)

    def drawn(self):
        """Each hyperparameter is drawn anew with the share `width`, and else stays as it is in the best."""
        fresh = self.space.sample(self.rng)
        return {
            name: fresh[name] if self.rng.random() < self.width else value
            for name, value in self.best.items()
        }

    def tell(self, trial, result):
        if result.value < self.loss:
            self.best, self.loss, self.width = trial.config, result.value, 1.0
        else:
            self.width = max(self.width * self.shrink, 1.0 / len(self.space))


if __name__ == "__main__":
    from cfo_bench import Suite, load_results, run_suite

    results = sys.argv[1] if len(sys.argv) > 1 else "results-own-method"
    # A learner whose loss and seconds are formulas: ten minutes of tuning take a moment.
    outcome = run_suite(
        Suite(
            tasks=["synthetic-1k"],
            learners=["synthetic"],
            methods=[f"{__file__}:Shrinking", "cfo", "rs"],
            folds="0-2",
            clock="virtual",
            budget_seconds=600,
            max_trials=100,
            results=results,
        )
    )
    assert not outcome.failures, outcome.failures
    print(load_results(results).runs.groupby("method")["best_score"].mean().to_string())
