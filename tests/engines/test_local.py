"""Many runs on this machine, by the real engine in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import orjson

from cfo_bench.engines import capacity

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "tests" / "plugins"

SCRIPT = """
from dataclasses import replace
import json, sys, time
from pathlib import Path
from cfo_bench.engines import capacity, local, scheduling
from cfo_bench.records import DataRef, RunSpec
from cfo_bench.run.job import Job
from cfo_bench.machine.fork_server import fork_server
from cfo_bench.results.trace import path_of

heard = []

class Listener:
    most = 0
    def tick(self, active): self.most = max(self.most, len(active))
    def said(self, text): heard.append(text)
    def finished(self, job, verdict): heard.append([job.spec.fold, verdict.outcome, verdict.message])

def spec(fold, **changes):
    made = RunSpec(f"{plugins}/learners.py:Faulty", "synthetic-1k", "rs", fold, budget_seconds=1.0,
                   options={{"parallel": 1}}, learner_options={{"seconds": 0.02}})
    return replace(made, **changes)

def go(specs, side_by_side, oversubscribe=False):
    jobs = [Job(one, DataRef("synthetic-1k", "synthetic"), path_of(Path("results"), one)) for one in specs]
    shown = Listener()
    verdicts = local.run_jobs(jobs, side_by_side, fork_server([]), False, shown, oversubscribe)
    print(json.dumps({{"outcomes": [one.outcome for one in verdicts],
                       "codes": [one.exit_code for one in verdicts], "most": shown.most, "heard": heard}}))

if __name__ == "__main__":
    {body}
"""


def run(tmp_path: Path, body: str) -> Any:
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
    return orjson.loads(done.stdout.splitlines()[-1])


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


def test_a_supervisor_that_does_not_answer_is_given_up_on_and_the_next_run_is_done(tmp_path: Path):
    """It hangs when it completes the trace of a run that was killed at its deadline."""
    (tmp_path / "stuck.py").write_text(
        f"import sys, time\n"
        f"sys.path.insert(0, {str(PLUGINS)!r})\n"
        f"from learners import Faulty\n"
        f"class Stuck(Faulty):\n"
        f"    def evaluate(self, trial, deadline):\n"
        f"        time.sleep(600)\n"
    )
    body = """
    import time
    from cfo_bench.run import recovery
    recovery.complete_trace = lambda *_: time.sleep(600)
    scheduling.GIVE_UP_SECONDS = 0.5
    go([spec(0, learner="stuck.py:Stuck", learner_options={}), spec(1, max_trials=3)], 1)
    """
    found = run(tmp_path, textwrap.dedent(body).strip())
    assert found["outcomes"] == ["failed", "done"]
    assert [0, "failed", "its supervisor did not answer: given up"] in found["heard"]


# --- no more than the machine has ---------------------------------------------------------------

HALF = "memory = capacity.of_machine().memory_mb // 2 + 1\n"
THREE = "[spec(fold, max_trials=15, memory_mb=memory) for fold in range(3)]"


def test_fewer_runs_than_asked_for_go_side_by_side_where_more_do_not_fit_and_it_is_said(tmp_path: Path):
    found = run(tmp_path, f"{HALF}go({THREE}, 3)")
    assert found["outcomes"] == ["done"] * 3
    assert found["most"] == 1
    assert found["heard"][0].startswith("--jobs 3: 1 at a time, since this machine has ")


def test_oversubscribed_they_all_go_at_once_and_nothing_is_said(tmp_path: Path):
    found = run(tmp_path, f"{HALF}go({THREE}, 3, True)")
    assert found["outcomes"] == ["done"] * 3
    assert found["most"] == 3
    assert len(found["heard"]) == 3


def test_a_run_that_never_fits_is_refused_before_anything_starts(tmp_path: Path):
    body = """
    try:
        go([spec(0, max_trials=3), spec(1, threads=10_000)], 2)
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error)]))
    """
    kind, text = run(tmp_path, textwrap.dedent(body).strip())
    assert kind == "UserError" and text.startswith("--threads 10000: this machine has ")
    assert not (tmp_path / "results").exists()


def test_a_run_without_memory_is_given_a_share_that_its_header_tells(tmp_path: Path):
    run(tmp_path, "go([spec(0, max_trials=3)], 1)")
    [path] = (tmp_path / "results").rglob("*.jsonl")
    header = orjson.loads(path.read_bytes().partition(b"\n")[0])
    assert header["spec"]["memory_mb"] == capacity.of_machine().memory_mb


# --- what is done already -----------------------------------------------------------------------


def test_three_thousand_finished_runs_are_recognised_in_seconds(tmp_path: Path):
    run(tmp_path, "go([spec(0, max_trials=200, learner_options={'seconds': 0.0})], 1)")
    [path] = (tmp_path / "results").rglob("*.jsonl")
    header, _, body = path.read_bytes().partition(b"\n")
    for seed in range(3150):
        copy = header.replace(b'"seed":0', b'"seed":%d' % seed, 1)
        path.with_name(f"fold-0_seed-{seed}.jsonl").write_bytes(copy + b"\n" + body)
    body = """
    specs = [spec(0, seed=seed, max_trials=200, learner_options={"seconds": 0.0}) for seed in range(3150)]
    began = time.monotonic()
    go(specs, 2)
    kinds = sorted({one[1] for one in heard})
    print(json.dumps({"seconds": time.monotonic() - began, "done": len(heard), "kinds": kinds}))
    """
    found = run(tmp_path, textwrap.dedent(body).strip())
    assert found["kinds"] == ["already done"] and found["done"] == 3150
    assert found["seconds"] < 60
    assert not list((tmp_path / "results").rglob("*.live"))


def test_a_finished_trace_of_another_run_is_not_taken_for_this_one(tmp_path: Path):
    run(tmp_path, "go([spec(0, max_trials=3)], 1)")
    found = run(tmp_path, "go([spec(0, max_trials=3, trial_timeout_seconds=9.0)], 1)")
    assert found["outcomes"] == ["failed"] and found["codes"] == [2]
    assert "belongs to another run (trial_timeout_seconds None there, 9.0 here)" in found["heard"][0][2]
