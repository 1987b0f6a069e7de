"""Every engine in the registry keeps the promises of the protocol, on real runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.engines import ENGINES

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import json, sys
from pathlib import Path
from cfo_bench.engines import ENGINES
from cfo_bench.records import DataRef, RunSpec
from cfo_bench.results.trace import path_of
from cfo_bench.run.runner import Job
from cfo_bench.run.supervisor import fork_server


class Listener:
    def __init__(self): self.finishes = []
    def tick(self, active): pass
    def said(self, text): pass
    def finished(self, job, verdict): self.finishes.append(job.spec.fold)


if __name__ == "__main__":
    engine = ENGINES.load(sys.argv[1])()
    engine.check()
    specs = [RunSpec("synthetic", "synthetic-1k", "rs", fold, budget_seconds=1e9, max_trials=fold + 2,
                     clock="virtual") for fold in range(3)]
    jobs = [Job(one, DataRef("synthetic-1k", "synthetic"), path_of(Path("results"), one)) for one in specs]
    answers = {"price": engine.price(specs), "at_once": engine.at_once()}
    for name, force in [("first", False), ("second", False), ("forced", True)]:
        listener = Listener()
        verdicts = engine.run(jobs, listener, force=force, context=fork_server([]))
        answers[name] = [[one.outcome, one.end.trials] for one in verdicts]
        answers[name + " finishes"] = sorted(listener.finishes)
    print(json.dumps(answers))
"""


@pytest.mark.parametrize("name", list(ENGINES.rows()))
def test_an_engine_does_each_run_once_and_again_only_if_it_is_forced(name: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py", name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = orjson.loads(done.stdout.splitlines()[-1])
    assert found["first"] == found["forced"] == [["done", 2], ["done", 3], ["done", 4]]
    assert found["second"] == [["already done", 2], ["already done", 3], ["already done", 4]]
    assert all(found[f"{when} finishes"] == [0, 1, 2] for when in ("first", "second", "forced"))
    assert found["price"].startswith("3 runs, ") and found["at_once"] >= 1
