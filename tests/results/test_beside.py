"""Which runs of other methods stand beside those of a command: only what can be compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cfo_bench.records import EndReason, EndRecord, RunLimits, RunSpec
from cfo_bench.results.beside import beside
from cfo_bench.results.trace import TraceWriter, path_of
from tests.helpers.traces import header_of

SPEC = RunSpec("xgboost", "iris", "cfo", 0, budget_seconds=10.0)


def write(results: Path, spec: RunSpec, sha256: str = "0" * 64, is_over: bool = True) -> Path:
    path = path_of(results, spec)
    header = header_of(spec)
    with TraceWriter(path) as writer:
        writer.append({**header, "data": {**header["data"], "sha256": sha256}})
        if is_over:
            writer.append(
                EndRecord(
                    reason=EndReason.BUDGET,
                    elapsed=spec.budget_seconds,
                    trials=0,
                    best_loss=None,
                    best_score=None,
                    best_number=None,
                )
            )
    return path


def test_other_methods_on_the_same_fold_stand_beside_also_if_they_ran_for_longer(tmp_path: Path) -> None:
    own = write(tmp_path, SPEC)
    rs = write(tmp_path, replace(SPEC, method="rs"))
    longer = write(tmp_path, replace(SPEC, method="tpe", budget_seconds=60.0))

    assert beside(tmp_path, [own], RunLimits(10.0)) == [rs, longer]


@pytest.mark.parametrize(
    "changed",
    [
        {"fold": 1},
        {"seed": 1},
        {"task": "wine"},
        {"learner": "knn"},
        {"budget_seconds": 5.0},
        {"n_folds": 3},
        {"validation": "holdout"},
        {"threads": 2},
        {"learner_options": {"categories": "native"}},
    ],
)
def test_what_can_not_be_compared_does_not(tmp_path: Path, changed: dict[str, object]) -> None:
    own = write(tmp_path, SPEC)
    write(tmp_path, replace(SPEC, method="rs", **changed))  # type: ignore[arg-type]

    assert beside(tmp_path, [own], RunLimits(10.0)) == []


def test_other_data_and_unfinished_runs_do_not_stand_beside(tmp_path: Path) -> None:
    own = write(tmp_path, SPEC)
    write(tmp_path, replace(SPEC, method="rs"), sha256="1" * 64)
    write(tmp_path, replace(SPEC, method="tpe"), is_over=False)

    assert beside(tmp_path, [own], RunLimits(10.0)) == []
