"""Methods against each other on the parts of docs/tuned-protocol.md: ranks over time, and p-values.

    python benchmarks/studies/tuned_race.py run --part tune --out runs.jsonl cfo "cfo-tuned delta_init=0.2"
    python benchmarks/studies/tuned_race.py traces results --out runs.jsonl
    python benchmarks/studies/tuned_race.py show runs.jsonl --base cfo-tuned

A method is a name, with options behind it if it is a candidate. `run` appends a line for each finished run
and skips those that the file has, so that it can be stopped and started again, or run in pieces. `show`
prints mean ranks at 1, 3, 10, 30 and 100 % of the budget, and Wilcoxon's p with Holm's correction.

Recordings and formulas are on a virtual clock, which moves by the recorded seconds and by the processor
seconds of ask and tell. Real XGBoost is on a clock of processor seconds with one thread. Busy neighbours
change neither. Recordings are found by CFO_BENCH_YAHPO, data sets by CFO_BENCH_DATA.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cfo_bench import tasks
from cfo_bench.clock import Clock, Deadline, VirtualClock
from cfo_bench.errors import Exhausted
from cfo_bench.learners import LEARNERS
from cfo_bench.learners.synthetic import BOOSTING, NETWORK, Shape, SyntheticObjective
from cfo_bench.metrics import Array
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Objective, Optimizer, Status
from cfo_bench.report.numbers.significance import against, tied_ranks
from cfo_bench.results.frames import RUN_KEYS, load_results
from cfo_bench.space import Config, Space
from cfo_bench.tasks import resolve

SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)
TABLE_SECONDS, SYNTHETIC_SECONDS = 3600.0, 600.0
REAL_SECONDS = {"tune": 3.0, "test": 5.0, "second": 12.0}
RANDOM_CONFIGS = 60  # the budget on YAHPO, in mean costs of a random configuration
YAHPO = "yahpo:rbv2_xgboost"
YAHPO_OPTIONS = {"booster": "gbtree", "num_impute_selected_cpo": "impute.median"}
# So many instances of YAHPO are run of the halves of the protocol, evenly spread; all in the second test.
YAHPO_RUN = {"tune": 30, "test": 30}
# And these seeds: the second test has recorded seeds of the tables, and folds of the data, that are new.
FIRST_SEED = {"tune": 0, "test": 0, "second": 2}
HPOLIB = ("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization")
TABLES = ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle")
REAL = (
    *("2dplanes", "adult", "Australian", "bank-marketing", "blood-transfusion", "BNG_breastTumor"),
    *("BNG_echoMonths", "BNG_lowbwt", "BNG_pwLinear", "car", "cnae-9", "connect-4", "credit-g", "fried"),
    *("house_16H", "houses", "jasmine", "kc1", "kr-vs-kp", "mv", "segment", "shuttle", "vehicle"),
)


@dataclass(frozen=True)
class Problem:
    group: str
    name: str
    space: Space
    start: Config
    cost_related: tuple[str, ...]
    n_rows: int | None
    budget: float
    objective: Callable[[int], Objective]  # of a seed
    clock: Callable[[], Clock] = VirtualClock


class ProcessorClock(VirtualClock):
    """Processor seconds of this process: the method's own and those of training on one thread alike."""

    def __init__(self) -> None:
        self._zero = time.process_time()

    def now(self) -> float:
        return time.process_time() - self._zero

    def account(self, seconds: float) -> None:
        pass


def half(names: Sequence[str], part: str) -> list[str]:
    """Even places of the sorted list are for tuning, odd ones for the test."""
    return list(names[0 if part == "tune" else 1 :: 2])


def problems(part: str, groups: Sequence[str], every: int) -> Iterator[Problem]:
    if "synthetic" in groups and part == "tune":
        yield from (synthetic("synthetic", BOOSTING), synthetic("synthetic-5d", NETWORK))
    if "tables" in groups:
        yield from (table("hpobench", name) for name in half(TABLES, part))
        if part == "second":
            yield from (table("hpolib", name) for name in HPOLIB)
    if "yahpo" in groups:
        learner = LEARNERS.load(YAHPO)(**YAHPO_OPTIONS)
        instances = half(sorted(learner.scenario.instances, key=int), part)
        number = YAHPO_RUN.get(part, len(instances))
        places = np.linspace(0, len(instances) - 1, number).round().astype(int)[::every]
        yield from (yahpo(learner, instances[place]) for place in places)
    if "real" in groups:
        yield from (real(name, part) for name in half(REAL, part))


def synthetic(name: str, shape: Shape) -> Problem:
    learner = LEARNERS.load(name)()
    space, rows = learner.space(30_000), 30_000
    start = learner.start(space)

    def objective(seed: int) -> Objective:
        return SyntheticObjective(shape, space, start, rows, seed)

    return Problem("synthetic", name, space, start, learner.cost_related, rows, SYNTHETIC_SECONDS, objective)


def table(tables: str, name: str) -> Problem:
    learner = LEARNERS.load({"hpobench": "hpobench-mlp"}.get(tables, tables))()
    task = learner.recorded(resolve(f"{tables}:{name}"))
    space = learner.space(task.train_rows)
    return Problem(
        "tables",
        name,
        space,
        learner.start(space),
        learner.cost_related,
        None,
        TABLE_SECONDS,
        lambda seed: learner.prepare(task.fold(seed % task.n_folds), 1, seed),
    )


def yahpo(learner: Any, instance: str) -> Problem:
    task = learner.recorded(resolve(f"yahpo:{instance}"))
    space, fold, rng = learner.space(task.train_rows), task.fold(0), np.random.default_rng(0)
    answers = [fold.recording.look_up(space.sample(rng), None) for _ in range(200)]
    mean = statistics.mean(one.fit_seconds + one.validate_seconds for one in answers)
    start, rows = learner.start(space), fold.recording.full_rows
    return Problem(
        *("yahpo", instance, space, start, learner.cost_related, rows, RANDOM_CONFIGS * mean),
        lambda seed: learner.prepare(fold, 1, seed),
    )


def real(name: str, part: str) -> Problem:
    learner = LEARNERS.load("xgboost")()
    rows = tasks.load_fold(resolve(name), 0, 10, 0)[0].n_rows
    space = learner.space(rows)

    @cache
    def objective(seed: int) -> Objective:
        found: Objective = learner.prepare(tasks.load_fold(resolve(name), seed % 10, 10, 0)[0], 1, seed)
        return found

    return Problem(
        *("real", name, space, learner.start(space), learner.cost_related, rows, REAL_SECONDS[part]),
        objective,
        ProcessorClock,
    )


def built(label: str, problem: Problem, seed: int) -> Optimizer:
    name, *pairs = label.split()
    given = {key: yaml.safe_load(value) for key, _, value in (pair.partition("=") for pair in pairs)}
    options = METHODS.options(name, given)
    known = {
        "n_rows": problem.n_rows,
        "cost_related": list(problem.cost_related),
        "budget_seconds": problem.budget,
    }
    options |= {key: value for key, value in known.items() if key in options}
    method: Optimizer = METHODS.load(name)(problem.space, problem.start, seed, **options)
    return method


def race(label: str, problem: Problem, seed: int, most_own_seconds: float) -> dict[str, Any]:
    """One run. What a method loads at its first trials is loaded before, and not charged."""
    warm_up(label)
    # With one seed for all problems, a method would take the same steps on each: luck would look like a lead.
    own_seed = int(np.random.SeedSequence([seed, *problem.name.encode()]).generate_state(1)[0])
    method, objective = built(label, problem, own_seed), problem.objective(seed)
    clock = problem.clock()
    deadline, bests = Deadline(clock, problem.budget), [math.inf] * len(SHARES)
    own, trials, spent, start_loss, dearest, cut = 0.0, 0, 0.0, math.inf, 0.0, False
    while clock.now() < problem.budget and not cut:
        began = time.process_time()
        try:
            trial = method.ask()
        except Exhausted:
            break
        asked = time.process_time() - began
        clock.account(asked)
        result = objective.evaluate(trial, deadline)
        seconds = result.fit_seconds + result.validate_seconds
        clock.account(seconds)
        now = clock.now()
        if now <= problem.budget and result.status is Status.OK:
            start_loss = result.value if trials == 0 else start_loss
            bests = [
                min(best, result.value) if now <= share * problem.budget else best
                for share, best in zip(SHARES, bests, strict=True)
            ]
        began = time.process_time()
        method.tell(trial, result)
        told = time.process_time() - began
        clock.account(told)
        trials, own, spent, dearest = trials + 1, own + asked + told, spent + seconds, max(dearest, seconds)
        cut = own > most_own_seconds
    return {
        "group": problem.group,
        "problem": problem.name,
        "method": label,
        "seed": seed,
        "bests": bests,
        "start": start_loss,
        "budget": problem.budget,
        "trials": trials,
        "cut": cut,
        "own_seconds": own,
        "trial_seconds": spent,
        "dearest": dearest,
    }


@cache
def warm_up(label: str) -> None:
    problem = synthetic("synthetic", BOOSTING)
    method, objective, clock = built(label, problem, 0), problem.objective(0), VirtualClock()
    for _ in range(12):
        trial = method.ask()
        method.tell(trial, objective.evaluate(trial, Deadline(clock, math.inf)))


def run(arguments: argparse.Namespace) -> None:
    out = Path(arguments.out)
    done = {(row["group"], row["problem"], row["method"], row["seed"]) for row in read([out])}
    for problem in problems(arguments.part, arguments.groups.split(","), arguments.every):
        first = FIRST_SEED[arguments.part]
        for seed in range(first, first + arguments.seeds):
            for label in arguments.methods:
                if (problem.group, problem.name, label, seed) not in done:
                    row = race(label, problem, seed, arguments.own_seconds)
                    with out.open("a") as file:
                        file.write(json.dumps(row) + "\n")


def traces(arguments: argparse.Namespace) -> None:
    """Appends the runs of a results folder on the real sets of a part: they were run by `cfo-bench run`."""
    found = load_results(arguments.results)
    budgets = found.runs.set_index(list(RUN_KEYS)).budget_seconds
    wanted = half(REAL, arguments.part)
    with Path(arguments.out).open("a") as file:
        for key, trials in found.trials.groupby(list(RUN_KEYS), sort=False):
            _, task, method, fold, _ = key
            if task not in wanted:
                continue
            budget = float(budgets[key])
            done = trials[(trials.status == "ok") & (trials.ended <= budget)]
            first = done[done.number == 0].loss
            seconds = trials.fit_seconds + trials.validate_seconds
            row = {
                "group": "real",
                "problem": task,
                "method": method,
                "seed": int(fold),
                "bests": [float(done[done.ended <= share * budget].loss.min()) for share in SHARES],
                "start": float(first.iloc[0]) if len(first) else math.inf,
                "budget": budget,
                "trials": len(trials),
                "cut": False,
                "own_seconds": float((trials.ask_seconds + trials.tell_seconds).sum()),
                "trial_seconds": float(seconds.sum()),
                "dearest": float(seconds.max()),
            }
            row["bests"] = [math.inf if math.isnan(best) else best for best in row["bests"]]
            file.write(json.dumps(row) + "\n")


def read(paths: Sequence[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths if path.exists() for line in path.read_text().splitlines()]


def show(arguments: argparse.Namespace) -> None:
    rows = read([Path(name) for name in arguments.files])
    names = (
        arguments.methods.split(",") if arguments.methods else list(dict.fromkeys(r["method"] for r in rows))
    )
    rows = [row for row in rows if row["method"] in names]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    for group in [*groups, "all"] if len(groups) > 1 else groups:
        print_group(group, [row for row in rows if group in (row["group"], "all")], names, arguments.base)


def print_group(group: str, rows: list[dict[str, Any]], names: Sequence[str], base: str | None) -> None:
    by_seed = {(r["group"], r["problem"], r["seed"], r["method"]): r for r in rows}
    cells = sorted({key[:3] for key in by_seed if all((*key[:3], name) in by_seed for name in names)})
    units = sorted({cell[:2] for cell in cells})
    if not units:
        return
    print(f"\n{group}: {len(units)} problems, {len(cells)} runs of each method")
    ranks, ends = [], np.zeros((len(units), len(names)))
    for i, _ in enumerate(SHARES):
        scores = defaultdict(list)
        for cell in cells:
            scores[cell[:2]].append(scores_of([by_seed[(*cell, name)] for name in names], i))
        ranks.append(np.array([tied_ranks(np.array(scores[u])).mean(axis=0) for u in units]).mean(axis=0))
        ends = np.array([np.mean(scores[u], axis=0) for u in units])
    pairs = {pair.method: pair for pair in against(ends, names, base)} if base and base in names else {}
    print(
        f"{'mean rank at':<44}" + "".join(f"{s:>6.0%}" for s in SHARES) + "  score trials   own  p (Holm) w/l"
    )
    for column in np.argsort(ranks[-1]):
        name = names[column]
        own = [row for row in rows if row["method"] == name]
        line = f"{name[-44:]:<44}" + "".join(f"{at[column]:6.2f}" for at in ranks)
        line += f"{ends[:, column].mean():7.3f}{statistics.median(r['trials'] for r in own):7.0f}"
        line += f"{statistics.median(r['own_seconds'] / r['budget'] for r in own):6.1%}"
        if name in pairs:
            line += f"  {pairs[name].p_corrected:8.2g} {pairs[name].losses}/{pairs[name].wins}"
        print(line + (f"  cut in {n}" if (n := sum(r["cut"] for r in own)) else ""))


def scores_of(runs: Sequence[dict[str, Any]], share: int) -> Array:
    """1 is the best loss that one of these methods found, 0 the loss of the start."""
    start = min(run["start"] for run in runs)
    best = min(min(run["bests"][-1] for run in runs), start)
    losses = np.array([min(run["bests"][share], start) for run in runs])
    return (start - losses) / (start - best) if best < start else np.ones(len(runs))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run")
    runs.add_argument("methods", nargs="+")
    runs.add_argument("--part", choices=("tune", "test", "second"), required=True)
    runs.add_argument("--groups", default="synthetic,tables,yahpo,real")
    runs.add_argument("--seeds", type=int, default=1)
    runs.add_argument(
        "--every", type=int, default=1, help="of YAHPO's instances every so many, for slow methods"
    )
    runs.add_argument("--own-seconds", type=float, default=60.0, help="a run is cut after so many of its own")
    runs.add_argument("--out", required=True)
    runs.set_defaults(do=run)
    real_runs = commands.add_parser("traces")
    real_runs.add_argument("results")
    real_runs.add_argument("--part", choices=("tune", "second"), default="second")
    real_runs.add_argument("--out", required=True)
    real_runs.set_defaults(do=traces)
    shows = commands.add_parser("show")
    shows.add_argument("files", nargs="+")
    shows.add_argument("--base", help="the method that the others are tested against")
    shows.add_argument("--methods", help="only these, separated by commas")
    shows.set_defaults(do=show)
    arguments = parser.parse_args()
    arguments.do(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
