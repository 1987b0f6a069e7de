"""Which method for which budget: the tables of docs/choosing.md, from results on recordings.

    cfo-bench run … --results choosing     # docs/choosing.md has the commands
    python benchmarks/studies/choosing.py choosing

For each recording and each budget, the mean rank of each method over tasks, and the median regret over runs:
how far it is from the best loss, as a share of the distance from the loss of the start to it. The best loss
is the least of the recording where that is known, and else the least that any run found. A shorter budget is
read off the longer runs: what was found by then. A method that has no loss by then counts as the start. Only
tasks and folds that all methods have are compared.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from cfo_bench.results.folder import run_files
from cfo_bench.results.run import Run, read_runs

BUDGETS = (60.0, 360.0, 3600.0)
# Random configurations tell what trials cost.
COSTS_OF = "rs"


def runs_in(folders: Sequence[Path]) -> dict[str, list[Run]]:
    """The finished runs of results folders, by learner."""
    runs: dict[str, list[Run]] = defaultdict(list)
    for folder in folders:
        for run in read_runs(run_files(folder).traces):
            if run.is_finished:
                runs[run.learner].append(run)
    return runs


def best(run: Run, budget: float = math.inf) -> float:
    """The lowest loss within the budget."""
    incumbents = run.incumbents
    losses = zip(incumbents.seconds, incumbents.losses, strict=True)
    return min((loss for ended, loss in losses if ended <= budget), default=math.inf)


def ranks(losses: Mapping[str, float]) -> dict[str, float]:
    """The mean of the places that equal losses share."""
    ordered = sorted(losses.values())
    return {
        method: statistics.mean(place for place, other in enumerate(ordered, 1) if other == loss)
        for method, loss in losses.items()
    }


def compared(runs: Sequence[Run], budget: float) -> dict[str, tuple[float, float]]:
    """Of each method, its mean rank over tasks and its median regret over runs."""
    methods = sorted({run.method for run in runs})
    cases: dict[tuple[str, int], dict[str, Run]] = defaultdict(dict)
    least: dict[str, float] = defaultdict(lambda: math.inf)
    for run in runs:
        cases[run.task, run.fold][run.method] = run
        least[run.task] = min(least[run.task], best(run))
    regrets: dict[str, list[float]] = defaultdict(list)
    of_task: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (task, _), by_method in cases.items():
        if len(by_method) < len(methods):
            continue
        optimum = by_method[COSTS_OF].header.optimum
        lowest = least[task] if optimum is None else optimum
        start = by_method[COSTS_OF].incumbents.losses[0]  # every method begins with the start
        for method, run in by_method.items():
            regret = (min(best(run, budget), start) - lowest) / (start - lowest)
            regrets[method].append(regret)
            of_task[task][method].append(regret)
    placed = [
        ranks({name: statistics.mean(each) for name, each in task.items()}) for task in of_task.values()
    ]
    return {
        name: (statistics.mean(places[name] for places in placed), statistics.median(regrets[name]))
        for name in methods
    }


def show(learner: str, runs: Sequence[Run]) -> None:
    cases = Counter((run.task, run.fold) for run in runs)
    whole = [case for case, count in cases.items() if count == max(cases.values())]
    costs: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.method == COSTS_OF:
            costs[run.task] += [trial.fit_seconds + trial.validate_seconds for trial in run.trials]
    mean = statistics.median(map(statistics.mean, costs.values()))
    tenths = [statistics.quantiles(each, n=10) for each in costs.values()]
    spread = statistics.median(limits[-1] / limits[0] for limits in tenths)
    tasks = len({task for task, _ in whole})
    print(f"\n{learner}: {tasks} tasks, {len(whole)} runs of each method. Random trials, median task:")
    print(f"{mean:.0f} s on average, the most expensive tenth at least ×{spread:.0f} of the cheapest tenth\n")
    tables = {budget: compared(runs, budget) for budget in BUDGETS}
    last = tables[BUDGETS[-1]]
    print("| method | " + " | ".join(f"{budget / 60:g} min" for budget in BUDGETS) + " | trials |")
    print("| --- |" + " ---: |" * (len(BUDGETS) + 1))
    for method in sorted(last, key=lambda name: last[name]):
        cells = [f"{rank:.1f} ({regret:.1%})" for rank, regret in (tables[b][method] for b in BUDGETS)]
        trials = statistics.median(run.n_trials for run in runs if run.method == method)
        print(f"| `{method}` | " + " | ".join(cells) + f" | {trials:.0f} |")


def main(folders: Sequence[str]) -> int:
    if not folders:
        print("no results given: docs/choosing.md has the commands that make them")
        return 0
    for learner, runs in runs_in([Path(folder) for folder in folders]).items():
        show(learner, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
