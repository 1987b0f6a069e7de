"""The learner that docs/extending.md shows is one: it runs as the page says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from cfo_bench.records import Status
from cfo_bench.results import trace

ROOT = Path(__file__).resolve().parents[1]


def blocks() -> dict[str, str]:
    """The blocks of code of the section on learners, by language."""
    text = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    section = text.split("\n## A learner\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))


def test_the_learner_of_the_page_runs_by_the_command_of_the_page(tmp_path: Path) -> None:
    found = blocks()
    (tmp_path / "tree.py").write_text(found["python"], encoding="utf-8")
    program, *arguments = shlex.split(found["console"])
    assert program == "cfo-bench"

    done = subprocess.run(
        [sys.executable, "-m", "cfo_bench", *arguments, "--max-trials", "5"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("results/Tree/iris/cfo/*.jsonl")
    run = trace.read(path)
    assert run is not None and len(run.trials) == 5
    assert all(trial.status is Status.OK for trial in run.trials)
    assert run.trials[0].test_score is not None
    assert run.header["spec"]["learner_options"] == {"criterion": "entropy"}
