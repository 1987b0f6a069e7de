"""A learner of your own: a search space, a cheap configuration to start from, and how to fit and predict.

python examples/own_learner.py
cfo-bench run --learner examples/own_learner.py:ExtraTrees --task iris --method cfo --budget 5
"""

import sys

import numpy as np

from cfo_bench.plugins import FitAndPredict, Float, Int, Problem, Space, check_deadline, shuffled_order


class ExtraTrees:
    problems = (Problem.BINARY, Problem.MULTICLASS)
    cost_related = ("n_estimators",)
    virtual = False

    def space(self, n_rows):
        return Space([Int("n_estimators", 2, 500, log=True), Float("max_features", 0.1, 1.0)])

    def start(self, space):
        return {"n_estimators": 2, "max_features": 1.0}

    def prepare(self, fold, threads, seed):
        return Objective(fold, threads, seed)


class Objective(FitAndPredict):
    def __init__(self, fold, threads, seed):
        import sklearn.ensemble  # noqa: F401  # before the clock starts

        super().__init__(fold)
        self._threads, self._seed, self._order = threads, seed, shuffled_order(fold, seed)

    def _fit(self, trial, deadline):
        from sklearn.ensemble import ExtraTreesClassifier

        rows = self._order[: trial.rows]
        forest = ExtraTreesClassifier(0, warm_start=True, random_state=self._seed, n_jobs=self._threads)
        forest.set_params(max_features=trial.config["max_features"])
        while forest.n_estimators < trial.config["n_estimators"]:
            check_deadline(deadline)  # so that a large forest does not run over its budget
            forest.set_params(n_estimators=min(forest.n_estimators + 20, trial.config["n_estimators"]))
            forest.fit(self._fold.train_x[rows], self._fold.train_y[rows])
        return forest

    def _predict(self, forest, x, deadline):
        check_deadline(deadline)
        shares = np.zeros((len(x), self._fold.n_classes))
        shares[:, forest.classes_] = forest.predict_proba(x)
        return shares[:, 1] if self._fold.problem is Problem.BINARY else shares


if __name__ == "__main__":
    from cfo_bench import Suite, load_results, run_suite

    results = sys.argv[1] if len(sys.argv) > 1 else "results-own-learner"
    outcome = run_suite(
        Suite(
            tasks=["iris"],
            learners=[f"{__file__}:ExtraTrees"],
            methods=["cfo", "rs"],
            folds="0",
            budget_seconds=2,
            results=results,
        )
    )
    assert not outcome.failures, outcome.failures
    print(load_results(results).runs[["learner", "method", "trials", "metric", "best_score"]].to_string())
