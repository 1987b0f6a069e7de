"""A suite from Python, and a figure of your own: the best score so far of each method, over time.

python examples/suite_with_plot.py
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from cfo_bench import Suite, load_results, run_suite

results = sys.argv[1] if len(sys.argv) > 1 else "results-suite"
outcome = run_suite(
    Suite(tasks=["breast_cancer"], methods=["cfo", "rs"], folds="0-1", budget_seconds=2, results=results)
)
assert not outcome.failures, outcome.failures

trials = load_results(results).trials
trials = trials[trials["status"] == "ok"].sort_values("ended")
figure, axes = plt.subplots(figsize=(6, 4))
for color, (method, of_method) in zip(("tab:blue", "tab:orange"), trials.groupby("method"), strict=True):
    for fold, run in of_method.groupby("fold"):
        label = method if fold == 0 else None
        axes.step(run["ended"], run["score"].cummax(), where="post", color=color, label=label)
axes.set(xlabel="seconds", ylabel="best AUC so far", title="XGBoost on breast_cancer, each line a fold")
axes.legend()
figure.savefig("curves.png", dpi=120)
print(f"curves.png: {len(trials)} trials of {results}")
