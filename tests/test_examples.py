"""The scripts and the notebook in examples/ run as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.program import ROOT, clean_environment

EXAMPLES = ROOT / "examples"
# What each script says at the end, among other things.
SAYS = {
    "minimize.py": "auc 0.",
    "ask_tell.py": "trial 0: loss",
    "own_learner.py": "ExtraTrees",
    "own_method.py": "Shrinking",
    "own_pipeline.py": "Pipeline",
    "suite_with_plot.py": "curves.png: ",
}
NOTEBOOK = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))


def run(script: Path, folder: Path) -> str:
    answer = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env=clean_environment(MPLBACKEND="Agg"),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


QUICK = ("ask_tell.py", "own_method.py", "own_pipeline.py")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SAYS]
)
def test_a_script_runs(tmp_path: Path, name: str) -> None:
    assert SAYS[name] in run(EXAMPLES / name, tmp_path)


def test_every_script_is_run_here() -> None:
    # A method that is a program waits for questions: tests/cli/test_exec.py runs it.
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*SAYS, "hill_climb.py"}


def test_the_code_of_the_notebook_runs(tmp_path: Path) -> None:
    cells = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    script = tmp_path / "tour.py"
    script.write_text("\n".join(cells), encoding="utf-8")

    run(script, tmp_path)


def test_the_notebook_can_be_shown() -> None:
    """By the rules of its format, version 4.5: each cell has an id, and code has a number and its outputs."""
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in NOTEBOOK["cells"]]
    assert len(set(ids)) == len(ids)
    code = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = [output["output_type"] for cell in code for output in cell["outputs"]]
    assert "display_data" in kinds and "error" not in kinds
