"""Trials of a formula, as arrays and as traces, to fit surrogates to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.metrics import METRICS
from cfo_bench.recordings.surrogate import Encoding, Surrogate
from cfo_bench.records import EndReason, Problem, RunSpec, Status
from cfo_bench.results.schema import SCHEMA_VERSION, EndRecord, FoldData, Header, TrialRecord, encode
from cfo_bench.results.trace import path_of, sealed_end
from cfo_bench.space import Categorical, Config, Float, Int, Space
from cfo_bench.surrogates.boosting import fit_models
from cfo_bench.surrogates.fitting import fit, thinned
from cfo_bench.surrogates.trials import read_trials

SPACE = Space(
    [Int("trees", 4, 1000, log=True), Float("rate", 0.01, 1.0, log=True), Categorical("kind", ("a", "b"))]
)
START = {"trees": 4, "rate": 1.0, "kind": "a"}
TRAIN_ROWS = 900
FOLD_OFFSETS = (0.0, 0.05, -0.03, 0.02)


def loss_of(config: Config, fold: int = 0) -> float:
    """Best at 60 trees and a rate of 0.1, kind b."""
    trees, rate = math.log2(config["trees"] / 60), math.log2(config["rate"] / 0.1)
    bowl = 0.01 * trees**2 + 0.02 * rate**2 + (0.05 if config["kind"] == "a" else 0.0)
    return 0.2 + FOLD_OFFSETS[fold % 4] + 0.3 * bowl / (1 + bowl)


def seconds_of(config: Config) -> float:
    return 0.01 + 0.002 * float(config["trees"])


def write_traces(
    results: Path,
    *,
    methods: Sequence[str] = ("rs", "cfo", "tpe"),
    folds: Sequence[int] = (0, 1),
    trials: int = 60,
    task: str = "bowl",
    learner: str = "xgboost",
    timeout: float = math.inf,
    fails: Any = lambda config: False,
    losses: Any = loss_of,
    settings: dict[str, Any] | None = None,
) -> Path:
    """Traces of searches that draw at random, each method in another part of the space."""
    for number, method in enumerate(methods):
        for fold in folds:
            spec = RunSpec(learner, task, method, fold, budget_seconds=1e6, **(settings or {}))
            rng = np.random.default_rng([number, fold])
            lines, now = [], 0.0
            for at in range(trials):
                config = SPACE.sample(rng)
                if number % 2:  # a search that has found where it is good
                    config = {
                        **config,
                        "trees": int(np.clip(config["trees"] ** 0.5 * 8, 4, 1000)),
                        "kind": "b",
                    }
                seconds, loss, status = seconds_of(config), losses(config, fold), Status.OK
                if fails(config):
                    status, loss = Status.FAILED, None
                elif seconds > timeout:
                    seconds, status, loss = timeout, Status.TIMEOUT, None
                score = None if loss is None else 1 - loss
                record = (at, config, None, 0, status, loss, score, now, now + seconds, 0.0, 0.9 * seconds)
                lines.append(encode(TrialRecord(*record, validate_seconds=0.1 * seconds)))
                now += seconds
            end = EndRecord(
                reason=EndReason.BUDGET,
                elapsed=now,
                trials=trials,
                best_loss=None,
                best_score=None,
                best_number=None,
            )
            whole = encode(_header(spec)) + b"".join(lines)
            path = path_of(results, spec)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(whole + encode(sealed_end(end, whole)))
    return results


def _header(spec: RunSpec) -> Header:
    return Header(
        schema=SCHEMA_VERSION,
        spec=spec,
        space=SPACE.to_json(),
        start=START,
        cost_related=["trees"],
        problem=Problem.BINARY,
        metric="auc",
        metric_facts=METRICS["auc"].facts,
        constant_loss=0.5,
        data=FoldData(
            source="a formula",
            sha256="0" * 64,
            problem=Problem.BINARY,
            rows=1000,
            features=3,
            classes=2,
            train_rows=TRAIN_ROWS,
            validation_rows=100,
            folds="by hand",
        ),
    )


def fitted(results: Path, **wanted: Any) -> Surrogate:
    """The surrogate of the traces that `write_traces` writes."""
    [trials] = read_trials([write_traces(results, **wanted)]).trials
    return fit(trials, fit_models(trials, thinned(trials)), {"loss_rank": None})


ENCODING = Encoding(SPACE, TRAIN_ROWS)
