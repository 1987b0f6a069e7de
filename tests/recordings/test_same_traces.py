"""The same seed gives the same trace of a recording, byte for byte but for its first line.

tests/cli/test_recordings.py and test_surrogate.py see to it for `hpobench-mlp` and for surrogates of traces.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench import Suite, run_suite
from cfo_bench.recordings.yahpo_folder import ENVIRONMENT

KINDS = {
    "hpolib": {"learners": "hpolib", "tasks": "hpolib:naval_propulsion"},
    "yahpo": {"learners": "yahpo:iaml_glmnet", "tasks": "yahpo:1067"},
}


def bodies(results: Path) -> dict[str, bytes]:
    """Every trace without its header."""
    return {
        str(path.relative_to(results)): path.read_bytes().split(b"\n", 1)[1]
        for path in results.rglob("*.jsonl")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_one_job_and_two_give_the_same_traces(
    kind: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "yahpo":
        pytest.importorskip("onnxruntime")
    monkeypatch.setenv(ENVIRONMENT, str(shared / "yahpo"))
    what: dict[str, Any] = {**KINDS[kind], "methods": ["cfo", "rs"], "max_trials": 20, "folds": "0-1"}
    for jobs in (1, 2):
        outcome = run_suite(Suite(**what, budget_seconds="1h", jobs=jobs, results=tmp_path / str(jobs)))
        assert not outcome.failures

    first = bodies(tmp_path / "1")
    assert len(first) == 4 and first == bodies(tmp_path / "2")
