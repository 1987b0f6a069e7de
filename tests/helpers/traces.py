"""Traces written by hand, as a run would write them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cfo_bench.metrics import METRIC_OF, METRICS
from cfo_bench.records import EndReason, Problem, RunSpec, Status
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import SCHEMA_VERSION, EndRecord, FoldData, Header, TrialRecord, encode
from cfo_bench.results.trace import path_of, sealed_end

BUDGET = 100.0

Trials = Sequence[tuple[float, float | None, float]]


def header_of(spec: RunSpec, metric: str = "auc") -> Header:
    """A header with the required keys only."""
    return Header(
        schema=SCHEMA_VERSION,
        spec=spec,
        problem=Problem.BINARY,
        metric=metric,
        metric_facts=METRICS[metric].facts,
        constant_loss=0.5,
        data=FoldData(sha256="0" * 64, train_rows=90),
    )


def runs_of(*paths: Path) -> list[Run]:
    """The runs of these traces."""
    return [run for path in paths if (run := read_run(path)) is not None]


def write_run(
    results: Path,
    task: str,
    method: str,
    fold: int,
    trials: Trials,
    *,
    learner: str = "xgboost",
    problem: Problem = Problem.BINARY,
    metric: str = "",
    constant_loss: float = 0.5,
    n_rows: int = 1000,
    rows: Sequence[int | None] = (),
    test_scores: Sequence[float | None] = (),
    elapsed: float = BUDGET,
    reason: EndReason | None = EndReason.BUDGET,
    validation: str = "fold",
    parallel: int = 1,
    seed: int = 0,
    is_sealed: bool = True,
    options: Mapping[str, Any] | None = None,
    changed_options: Mapping[str, Any] | None = None,
) -> Path:
    """Writes a trace as a run does; a trial is (second it ended, loss, cost).

    Losses are of the problem's own metric unless one is given. An end that is not sealed has no
    checksum and no digest, as in traces of older versions.
    """
    scored = METRICS[metric or METRIC_OF[problem]]
    spec = RunSpec(
        *(learner, task, method, fold, seed),
        budget_seconds=BUDGET,
        validation=validation,
        parallel=parallel,
        options=options or {},
    )
    header = Header(
        schema=SCHEMA_VERSION,
        spec=spec,
        cost_related=["n_estimators", "max_leaves"],
        problem=problem,
        metric=scored.name,
        metric_facts=scored.facts,
        constant_loss=constant_loss,
        data=FoldData(sha256="0" * 64, rows=n_rows, train_rows=n_rows * 9 // 10),
        space=[],
        start={},
        changed_options=changed_options,
    )
    lines = [encode(header)]
    for number, (ended, loss, cost) in enumerate(trials):
        lines.append(
            encode(
                TrialRecord(
                    number=number,
                    config={"n_estimators": 4 * (number + 1), "max_leaves": 8 * (number + 1)},
                    rows=rows[number] if rows else None,
                    thread=0,
                    status=Status.TIMEOUT if loss is None else Status.OK,
                    loss=loss,
                    score=None if loss is None else scored.facts.to_score(loss),
                    started=ended - cost,
                    ended=ended,
                    ask_seconds=0.25,
                    fit_seconds=0.75 * cost,
                    validate_seconds=0.25 * cost,
                    tell_seconds=0.25,
                    peak_memory_mb=None,
                    error=None,
                    test_score=test_scores[number] if test_scores else None,
                )
            )
        )
    if reason is not None:
        best = min((loss for ended, loss, _ in trials if loss is not None and ended <= BUDGET), default=None)
        end = EndRecord(
            reason=reason,
            elapsed=elapsed,
            trials=len(trials),
            best_loss=best,
            best_score=None,
            best_number=None,
            error="it broke" if reason is EndReason.ERROR else None,
        )
        lines.append(encode(sealed_end(end, b"".join(lines)) if is_sealed else end))
    path = path_of(results, spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def existing_run(path: Path) -> Run:
    """The run of a trace that exists, with its trials."""
    run = read_run(path, parse_trials=True)
    assert run is not None
    return run


@contextmanager
def held(page: Path) -> Iterator[None]:
    """The page of a run, locked as its supervisor does."""
    fd = os.open(page, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)
