"""A trace with all that is hard to write in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from cfo_bench.records import RunSpec, Status
from cfo_bench.results.schema import TrialRecord, encode
from cfo_bench.results.trace import path_of
from cfo_bench.space import Categorical, Float, Int, Space
from tests.helpers.traces import header_of

SPACE = Space([Int("n", 1, 9), Float("x", 0.0, 1.0), Categorical("kind", ["=cmd()", 2, "1", None, True])])


def write_odd_run(results: Path, method: str = "rs") -> Path:
    """A run with every status, and with values and texts that are hard to write."""
    spec = RunSpec("xgboost", "iris", method, 0, budget_seconds=10.0)
    configs: list[dict[str, Any]] = [
        {"n": number + 1, "x": 0.1 * number, "kind": kind}
        for number, kind in enumerate(SPACE["kind"].choices)  # type: ignore[union-attr]
    ]
    errors = [None, "=1+1", None, "it broke,\nbadly", '"']
    statuses = [Status.OK, Status.FAILED, Status.OK, Status.TIMEOUT, Status.MEMORY]
    header = msgspec.structs.replace(header_of(spec), space=SPACE.to_json(), utc="2026-11-17T22:00:00Z")
    lines = [encode(header)]
    for number, (config, error, status) in enumerate(zip(configs, errors, statuses, strict=True)):
        loss = 0.1 / (number + 3) if status is Status.OK else None
        lines.append(
            encode(
                TrialRecord(
                    number=number,
                    config=config,
                    rows=50 if number else None,
                    thread=0,
                    status=status,
                    loss=loss,
                    score=None if loss is None else 1.0 - loss,
                    started=number / 3,
                    ended=(number + 0.7) / 3,
                    ask_seconds=1e-7,
                    fit_seconds=0.2,
                    validate_seconds=0.01,
                    tell_seconds=None if number == 3 else 1e-9,
                    peak_memory_mb=191.25,
                    error=error,
                )
            )
        )
    path = path_of(results, spec)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines))
    return path
