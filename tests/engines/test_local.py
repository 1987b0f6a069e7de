"""Many runs on this machine, by the real engine in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "tests" / "plugins"

SCRIPT = """
from dataclasses import replace
import json, sys, time
from pathlib import Path
from cfo_bench.engines import local
from cfo_bench.records import DataRef, RunSpec
from cfo_bench.runner import Job
from cfo_bench.supervisor import fork_server
from cfo_bench.trace import path_of

heard = []

class Progress:
    most = 0
    def tick(self, active): self.most = max(self.most, len(active))
    def said(self, text): heard.append(text)
    def finished(self, job, verdict): heard.append([job.spec.fold, verdict.outcome, verdict.message])

def spec(fold, **changes):
    made = RunSpec(f"{plugins}/learners.py:Faulty", "synthetic-1k", "rs", fold, budget_seconds=1.0,
                   options={{"workers": 1}}, learner_options={{"seconds": 0.02}})
    return replace(made, **changes)

def go(specs, side_by_side):
    jobs = [Job(one, DataRef("synthetic-1k", "synthetic"), path_of(Path("results"), one)) for one in specs]
    shown = Progress()
    verdicts = local.run_jobs(jobs, side_by_side, fork_server([]), False, shown)
    print(json.dumps({{"outcomes": [one.outcome for one in verdicts],
                       "codes": [one.exit_code for one in verdicts], "most": shown.most, "heard": heard}}))

if __name__ == "__main__":
    {body}
"""


def run(tmp_path: Path, body: str) -> dict[str, object]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(plugins=PLUGINS, body=textwrap.indent(body, "    ").strip()))
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = orjson.loads(done.stdout.splitlines()[-1])
    return found


def test_runs_go_side_by_side_and_are_answered_in_order(tmp_path: Path):
    found = run(tmp_path, "go([spec(fold, max_trials=10) for fold in range(5)], 2)")
    assert found["outcomes"] == ["done"] * 5
    assert 1 <= found["most"] <= 2
    assert sorted(one[0] for one in found["heard"]) == [0, 1, 2, 3, 4]


def test_a_run_that_fails_stops_no_other(tmp_path: Path):
    body = """
    bad = spec(1, method=spec(0).learner.replace("learners.py:Faulty", "methods.py:RaisesInAsk"), options={})
    go([spec(0, max_trials=3), bad, spec(2, max_trials=3)], 1)
    """
    found = run(tmp_path, textwrap.dedent(body).strip())
    assert found["outcomes"] == ["done", "failed", "done"]
    assert found["codes"] == [0, 1, 0]
    assert any("RuntimeError: no idea" in str(one) for one in found["heard"])


def test_what_ended_a_process_is_said(tmp_path: Path):
    body = 'go([spec(0, max_trials=6, learner_options={"fault": "segfaults", "seconds": 0.02})], 1)'
    found = run(tmp_path, body)
    assert found["outcomes"] == ["done"]
    assert "trial 3 ended its process (killed by SIGSEGV" in found["heard"][0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_supervisor_that_does_not_answer_is_given_up_on_and_the_next_run_is_done(tmp_path: Path):
    """The trace turns into a named pipe that nobody writes to: whoever reads it waits for ever."""
    (tmp_path / "stuck.py").write_text(
        f"import os, pathlib, sys, time\n"
        f"sys.path.insert(0, {str(PLUGINS)!r})\n"
        f"from learners import Faulty\n"
        f"class Stuck(Faulty):\n"
        f"    def evaluate(self, trial, deadline):\n"
        f"        [path] = pathlib.Path('results').rglob('*.jsonl')\n"
        f"        path.unlink()\n"
        f"        os.mkfifo(path)\n"
        f"        time.sleep(600)\n"
    )
    body = """
    local.GIVE_UP_SECONDS = 0.5
    go([spec(0, learner="stuck.py:Stuck", learner_options={}), spec(1, max_trials=3)], 1)
    """
    found = run(tmp_path, textwrap.dedent(body).strip())
    assert found["outcomes"] == ["failed", "done"]
    assert [0, "failed", "its supervisor did not answer: given up"] in found["heard"]
