"""Does a simulation on surrogates of recorded runs say what real runs on other folds say?

    python benchmarks/studies/surrogate_agreement.py FOLDER_OF_DATA_SETS FOLDER_FOR_RESULTS

Seven data sets, XGBoost, four methods, 25 seconds a run. Folds 0 and 1 are recorded, with two longer runs of
random search beside them; a surrogate is fitted to them. Folds 2 and 3 are really run. The surrogate
simulates folds 2 to 9, the methods' own seconds charged. What is there already is not run again: 70 + 56 runs
take an hour on one core.

slower    how much longer the same trials took in the real runs than the surrogate predicts, at the median:
          neighbours on the machine, mostly
order     pairs of methods whose mean final losses are in the same order; `clear` pairs are those that both
          real folds have in the same order
error     of the simulated mean final loss, averaged over methods, beside the spread of the real final losses
          over folds and methods; `gap` is the same after the mean of all methods is taken off both: folds
          have different levels
time      simulated by real seconds until a method has reached what the worst method of its fold ends with:
          the geometric mean over methods, and the same with the real seconds divided by `slower`
look-up   processor time of one answer
"""

from __future__ import annotations

import math
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from cfo_bench import Suite, fit_surrogate, run_suite
from cfo_bench.recordings.surrogate import ModelledFold
from cfo_bench.recordings.surrogate_file import read
from cfo_bench.records import RunSpec
from cfo_bench.results.run import read_run
from cfo_bench.results.trace import path_of

TASKS = ("Australian", "blood-transfusion", "credit-g", "kc1", "kr-vs-kp", "car", "vehicle")
METHODS = ("cfo", "rs", "flaml-cfo", "tpe")
BUDGET_SECONDS, LONGER_SECONDS = 25.0, 50.0
RECORDED, TESTED, SIMULATED = "0-1", range(2, 4), range(2, 10)

Curve = tuple[list[float], list[float]]  # when each incumbent was found, and its loss


def record_and_run(data: Path, work: Path) -> None:
    """The real runs that are missing."""
    common = {"tasks": TASKS, "data_dir": data, "memory_mb": "1GB"}
    recorded, tested = work / "recorded", work / "tested"
    run_suite(
        Suite(
            **common,
            methods=["rs"],
            seeds=[1],
            folds=RECORDED,
            budget_seconds=LONGER_SECONDS,
            results=recorded,
        )
    )
    for folder, folds in ((recorded, RECORDED), (tested, f"{TESTED[0]}-{TESTED[-1]}")):
        run_suite(
            Suite(**common, methods=METHODS, folds=folds, budget_seconds=BUDGET_SECONDS, results=folder)
        )


def curve(folder: Path, learner: str, task: str, method: str, fold: int) -> Curve:
    run = read_run(path_of(folder, RunSpec(learner, task, method, fold)))
    assert run is not None
    return run.incumbents.seconds, run.incumbents.losses


def reached(one: Curve, target: float) -> float:
    return next((second for second, loss in zip(*one, strict=True) if loss <= target), BUDGET_SECONDS)


def times(curves: dict[tuple[str, int], Curve], folds: range) -> dict[str, float]:
    """Seconds to the loss that the worst method of a fold ends with: the geometric mean over folds."""
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for fold in folds:
        target = max(curves[method, fold][1][-1] for method in METHODS)
        for method in METHODS:
            found[method].append(math.log(reached(curves[method, fold], target)))
    return {method: math.exp(float(np.mean(logs))) for method, logs in found.items()}


def slower(work: Path, file: Path, task: str) -> float:
    """How much longer trials took than predicted, at the median over the trials of each run, then of all."""
    one = read(file).of("xgboost", task)
    medians = []
    for method in METHODS:
        for fold in TESTED:
            run = read_run(path_of(work / "tested", RunSpec("xgboost", task, method, fold)))
            assert run is not None
            trials = [trial for trial in run.trials if trial.loss is not None]
            vectors = one.encoding.encode_all([t.config for t in trials], [t.rows for t in trials])
            took = np.array([t.fit_seconds + t.validate_seconds for t in trials])
            medians.append(float(np.median(np.log(took) - one.log_seconds.predict_all(vectors))))
    return math.exp(float(np.median(medians)))


def compare(work: Path, file: Path, task: str) -> tuple[list[str], dict[str, float]]:
    real = {
        (method, fold): curve(work / "tested", "xgboost", task, method, fold)
        for method in METHODS
        for fold in TESTED
    }
    simulated = {
        (method, fold): curve(work / "simulated", "surrogate:xgboost", task, method, fold)
        for method in METHODS
        for fold in SIMULATED
    }
    finals = {key: one[1][-1] for key, one in real.items()}
    mean_real = {method: float(np.mean([finals[method, fold] for fold in TESTED])) for method in METHODS}
    mean_simulated = {
        method: float(np.mean([simulated[method, fold][1][-1] for fold in SIMULATED])) for method in METHODS
    }
    same = clear = same_clear = 0
    for one, other in combinations(METHODS, 2):
        agrees = (mean_real[one] < mean_real[other]) == (mean_simulated[one] < mean_simulated[other])
        signs = {finals[one, fold] < finals[other, fold] for fold in TESTED}
        same += agrees
        clear += len(signs) == 1
        same_clear += agrees and len(signs) == 1
    real_times, simulated_times = times(real, TESTED), times(simulated, SIMULATED)
    ratio = math.exp(float(np.mean([math.log(simulated_times[m] / real_times[m]) for m in METHODS])))
    factor = slower(work, file, task)
    level_real, level_simulated = (float(np.mean(list(one.values()))) for one in (mean_real, mean_simulated))
    numbers = {
        "slower": factor,
        "same": same,
        "clear": clear,
        "same_clear": same_clear,
        "error": float(np.mean([abs(mean_simulated[m] - mean_real[m]) for m in METHODS])),
        "gap": float(
            np.mean(
                [abs((mean_simulated[m] - level_simulated) - (mean_real[m] - level_real)) for m in METHODS]
            )
        ),
        "spread": float(np.std(list(finals.values()), ddof=1)),
        "best_same": float(
            min(mean_real, key=mean_real.__getitem__) == min(mean_simulated, key=mean_simulated.__getitem__)
        ),
        "time": ratio,
        "time_corrected": ratio * factor,
    }
    lines = [
        f"  {method:<10} final loss {mean_real[method]:.4f} real {mean_simulated[method]:.4f} simulated; "
        f"seconds to target {real_times[method]:6.2f} real {simulated_times[method]:6.2f} simulated"
        for method in METHODS
    ]
    return lines, numbers


def lookup_ms(file: Path, task: str, times: int = 1000) -> float:
    one = read(file).of("xgboost", task)
    fold, rng = ModelledFold(one, 5, 0), np.random.default_rng(0)
    configs = [one.space.sample(rng) for _ in range(times)]
    began = time.process_time()
    for config in configs:
        fold.look_up(config, None)
    return 1000 * (time.process_time() - began) / times


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    record_and_run(data, work)
    file = work / "surrogate.npz"
    fitted = fit_surrogate(work / "recorded", file, force=True)
    run_suite(
        Suite(
            surrogate=file,
            tasks=TASKS,
            methods=METHODS,
            folds=f"{SIMULATED[0]}-{SIMULATED[-1]}",
            budget_seconds=BUDGET_SECONDS,
            charge_method=True,
            results=work / "simulated",
        )
    )
    enough = {one.task: one.quality for one in fitted.fits}
    print(
        f"{fitted.traces} traces recorded; {len(TASKS)} tasks, {len(METHODS)} methods, "
        f"{BUDGET_SECONDS:g} s a run"
    )
    rows = {}
    for task in TASKS:
        quality = enough[task]
        lines, numbers = compare(work, file, task)
        rows[task] = numbers
        verdict = "enough" if quality.is_enough else "refused without --force"
        print(f"{task}: rank correlation of {quality.in_words()} ({verdict})")
        print("\n".join(lines))
        print(
            f"  slower ×{numbers['slower']:.2f}; order {numbers['same']:.0f}/6 pairs, clear "
            f"{numbers['same_clear']:.0f}/{numbers['clear']:.0f}; best method "
            f"{'the same' if numbers['best_same'] else 'another'}; error {numbers['error']:.4f}, gap "
            f"{numbers['gap']:.4f}, spread "
            f"{numbers['spread']:.4f}; time ×{numbers['time']:.2f}, "
            f"corrected ×{numbers['time_corrected']:.2f}; look-up {lookup_ms(file, task):.2f} ms"
        )
    for what, chosen in (
        ("all", list(TASKS)),
        ("of enough quality", [task for task in TASKS if enough[task].is_enough]),
        ("refused without --force", [task for task in TASKS if not enough[task].is_enough]),
    ):
        of = [rows[task] for task in chosen]
        if of:
            total = {key: sum(one[key] for one in of) for key in of[0]}
            print(
                f"{what}, {len(of)} tasks: order {total['same']:.0f}/{6 * len(of)} pairs, clear "
                f"{total['same_clear']:.0f}/{total['clear']:.0f}; best method the same on "
                f"{total['best_same']:.0f}; median by spread: error "
                f"{np.median([one['error'] / one['spread'] for one in of]):.2f}, gap "
                f"{np.median([one['gap'] / one['spread'] for one in of]):.2f}; "
                f"time within a factor of 2 on {sum(0.5 <= one['time'] <= 2 for one in of)}, corrected on "
                f"{sum(0.5 <= one['time_corrected'] <= 2 for one in of)}"
            )


if __name__ == "__main__":
    main()
