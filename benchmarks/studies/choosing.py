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
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.records import method_label
from cfo_bench.results import trace
from cfo_bench.results.folder import TRACE_SUFFIX, run_files
from cfo_bench.results.trace import Trace

BUDGETS = (60.0, 360.0, 3600.0)
# Random configurations tell what trials cost.
COSTS_OF = "rs"


@dataclass(frozen=True)
class Run:
    """One run: what it had found when, and what its trials cost."""

    task: str
    method: str
    fold: int
    optimum: float | None  # the least loss of the recording, if every configuration was recorded
    found: list[tuple[float, float]]  # each loss, and when it was there
    seconds: list[float]  # of each trial

    def best(self, budget: float) -> float:
        return min((loss for ended, loss in self.found if ended <= budget), default=math.inf)


def runs_in(folders: Sequence[Path]) -> dict[str, list[Run]]:
    """The finished runs of results folders, by learner."""
    runs: dict[str, list[Run]] = defaultdict(list)
    for path in (folder / f"{name}{TRACE_SUFFIX}" for folder in folders for name in run_files(folder).runs):
        found = trace.read(path)
        if found is not None and found.is_finished:
            runs[found.header["spec"]["learner"]].append(_run(found))
    return runs


def _run(found: Trace) -> Run:
    spec = found.header["spec"]
    return Run(
        spec["task"],
        method_label(spec),
        spec["fold"],
        found.header.get("optimum"),
        [(one.ended, one.loss) for one in found.trials if one.loss is not None],
        [one.fit_seconds + one.validate_seconds for one in found.trials],
    )


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
        least[run.task] = min(least[run.task], run.best(math.inf))
    regrets: dict[str, list[float]] = defaultdict(list)
    of_task: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (task, _), found in cases.items():
        if len(found) < len(methods):
            continue
        optimum = found[COSTS_OF].optimum
        best = least[task] if optimum is None else optimum
        start = found[COSTS_OF].found[0][1]  # every method begins with the start
        for method, run in found.items():
            loss = run.best(budget)
            regret = (min(loss, start) - best) / (start - best)
            regrets[method].append(regret)
            of_task[task][method].append(regret)
    placed = [
        ranks({name: statistics.mean(each) for name, each in task.items()}) for task in of_task.values()
    ]
    return {
        name: (statistics.mean(one[name] for one in placed), statistics.median(regrets[name]))
        for name in methods
    }


def show(learner: str, runs: Sequence[Run]) -> None:
    cases = Counter((run.task, run.fold) for run in runs)
    whole = [case for case, count in cases.items() if count == max(cases.values())]
    costs: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.method == COSTS_OF:
            costs[run.task] += run.seconds
    mean = statistics.median(map(statistics.mean, costs.values()))
    tenths = [statistics.quantiles(each, n=10) for each in costs.values()]
    spread = statistics.median(one[-1] / one[0] for one in tenths)
    tasks = len({task for task, _ in whole})
    print(f"\n{learner}: {tasks} tasks, {len(whole)} runs of each method. Random trials, median task:")
    print(f"{mean:.0f} s on average, the dearest tenth at least ×{spread:.0f} of the cheapest tenth\n")
    tables = {budget: compared(runs, budget) for budget in BUDGETS}
    last = tables[BUDGETS[-1]]
    print("| method | " + " | ".join(f"{budget / 60:g} min" for budget in BUDGETS) + " | trials |")
    print("| --- |" + " ---: |" * (len(BUDGETS) + 1))
    for method in sorted(last, key=lambda name: last[name]):
        cells = [f"{rank:.1f} ({regret:.1%})" for rank, regret in (tables[b][method] for b in BUDGETS)]
        trials = statistics.median(len(run.seconds) for run in runs if run.method == method)
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
