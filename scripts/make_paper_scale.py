"""Writes a results folder of the paper's size, to measure the report on: made-up losses, lifelike lines.

    python scripts/make_paper_scale.py FOLDER [--tasks 45] [--folds 10] [--trials 2000]

At the default size 3,150 traces of 2,000 trials, 6.3 million lines, 4.4 GB. The same arguments write
the same bytes.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cfo_bench.metrics import METRICS
from cfo_bench.records import EndReason, Problem, RunSpec
from cfo_bench.results.schema import SCHEMA_VERSION, Build, EndRecord, FoldData, Header, Machine, encode
from cfo_bench.results.trace import path_of, sealed_end

BUDGET_SECONDS = 3600.0
PROBLEMS = (("binary", "auc", 0.5), ("multiclass", "log_loss", 1.4), ("regression", "r2", 1.0))
SPACE = (
    ("n_estimators", 4, 32768),
    ("max_leaves", 4, 32768),
    ("min_child_weight", 0.01, 20.0),
    ("learning_rate", 0.01, 0.1),
    ("subsample", 0.6, 1.0),
    ("reg_alpha", 1e-10, 1.0),
    ("reg_lambda", 1e-10, 1.0),
    ("colsample_bylevel", 0.6, 1.0),
    ("colsample_bytree", 0.7, 1.0),
)


@dataclass(frozen=True)
class Character:
    """How a method behaves: how fast it comes down, how far, and what its trials cost at first."""

    pace: float
    gap: float
    early_cost: float


METHODS = {
    "cfo": Character(0.02, 0.000, 0.02),
    "cfo-0": Character(0.012, 0.006, 0.03),
    "bohb": Character(0.010, 0.008, 0.5),
    "gpei": Character(0.010, 0.010, 1.0),
    "gpeips": Character(0.012, 0.012, 0.4),
    "rs": Character(0.005, 0.015, 1.0),
    "smac": Character(0.009, 0.007, 0.8),
}

LINE = (
    '{"kind":"trial","number":%d,"config":{"n_estimators":%d,"max_leaves":%d,"min_child_weight":%.15f,'
    '"learning_rate":%.17f,"subsample":%.16f,"reg_alpha":%.16e,"reg_lambda":%.16e,'
    '"colsample_bylevel":%.16f,"colsample_bytree":%.16f},"rows":null,"thread":0,"status":"%s",'
    '"loss":%s,"score":%s,"started":%.15f,"ended":%.15f,"ask_seconds":%.18f,"fit_seconds":%.16f,'
    '"validate_seconds":%.18f,"tell_seconds":%.19f,"peak_memory_mb":%.5f,"error":null,"test_score":null}\n'
)


def write_trace(results: Path, task: int, method: str, fold: int, n_trials: int) -> None:
    problem, metric, constant = PROBLEMS[task % len(PROBLEMS)]
    name = f"task-{task:02d}"
    spec = RunSpec("xgboost", name, method, fold, budget_seconds=BUDGET_SECONDS, memory_mb=4096)
    rng = np.random.default_rng([task, fold, list(METHODS).index(method)])
    character = METHODS[method]
    # Floor and spread are the fold's, not the method's: that is what makes folds comparable.
    floor = constant * (0.1 + 0.02 * (task % 20)) + 0.02 * np.random.default_rng([task, fold]).random()
    order = np.arange(n_trials)
    level = np.exp(-character.pace * order) + character.gap * (1 + 0.5 * rng.random())
    loss = floor + (constant - floor) * (0.6 * level + rng.exponential(0.05, n_trials))
    growth = np.geomspace(character.early_cost, 1.0, n_trials)
    cost = growth * rng.lognormal(0.0, 0.8, n_trials)
    ended = np.cumsum(cost) * (0.999 * BUDGET_SECONDS / cost.sum())
    started = np.concatenate([[0.0], ended[:-1]]) + 1e-4
    fit = (ended - started) * 0.97
    configs = [np.exp(rng.uniform(np.log(low), np.log(high), n_trials)) for _, low, high in SPACE]
    scores = 1.0 - loss if metric != "log_loss" else loss
    failed = rng.random(n_trials) < 0.002
    path = path_of(results, spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = (
        order.tolist(),
        *(column.tolist() for column in configs),
        ["failed" if bad else "ok" for bad in failed],
        ["null" if bad else repr(value) for bad, value in zip(failed, loss.tolist(), strict=True)],
        ["null" if bad else repr(value) for bad, value in zip(failed, scores.tolist(), strict=True)],
        started.tolist(),
        ended.tolist(),
        np.full(n_trials, 8.4e-05).tolist(),
        fit.tolist(),
        (fit * 0.03).tolist(),
        np.full(n_trials, 1.2e-05).tolist(),
        (140 + 60 * rng.random(n_trials)).tolist(),
    )
    best = int(np.argmin(np.where(failed, np.inf, loss)))
    end = EndRecord(
        reason=EndReason.BUDGET,
        elapsed=BUDGET_SECONDS,
        trials=n_trials,
        best_loss=float(loss[best]),
        best_score=float(scores[best]),
        best_number=best,
    )
    lines = "".join([LINE % row for row in zip(*columns, strict=True)]).encode()
    before = encode(header(spec, problem, metric, constant)) + lines
    path.write_bytes(before + encode(sealed_end(end, before)))


def header(spec: RunSpec, problem: str, metric: str, constant: float) -> Header:
    space = [
        {"type": "int" if index < 2 else "float", "name": name, "low": low, "high": high, "log": True}
        for index, (name, low, high) in enumerate(SPACE)
    ]
    return Header(
        schema=SCHEMA_VERSION,
        spec=spec,
        method_seed=spec.fold,
        space=space,
        start={name: low for name, low, _ in SPACE},
        cost_related=["n_estimators", "max_leaves", "min_child_weight"],
        problem=Problem(problem),
        metric=metric,
        metric_facts=METRICS[metric].facts,
        constant_loss=constant,
        data=FoldData(
            source="made up",
            sha256=f"{spec.task:>064}".replace("-", "0"),
            rows=50000,
            features=20,
            classes=2,
            train_rows=45000,
            validation_rows=5000,
            folds="stratified 10-fold by seed 0",
            test_rows=0,
        ),
        utc="2026-01-01T00:00:00Z",
        command=f"cfo-bench run --task {spec.task} --method {spec.method} --budget 3600",
        cfo_bench=Build("0.2.0"),
        machine=Machine(node="made-up", cpu="none", cores=2, memory_mb=24000, load=1.0, os="Linux"),
        python="3.11.7",
        packages={"numpy": "2.4.6", "xgboost-cpu": "3.2.0"},
    )


def make(results: Path, n_tasks: int, n_folds: int, n_trials: int) -> int:
    """How many traces were written."""
    runs = [(task, method, fold) for task in range(n_tasks) for method in METHODS for fold in range(n_folds)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        written = [
            pool.submit(write_trace, results, task, method, fold, n_trials) for task, method, fold in runs
        ]
        for job in written:
            job.result()
    return len(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=45)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=2000)
    given = parser.parse_args()
    runs = make(given.folder, given.tasks, given.folds, given.trials)
    print(f"{runs} traces, {runs * given.trials:,} trials in {given.folder}")


if __name__ == "__main__":
    main()
