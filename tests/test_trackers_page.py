"""docs/trackers.md: each recipe runs with its package from the index, and the tracker has the runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

from cfo_bench import Suite, load_results, run_suite
from tests.helpers.program import ROOT, clean_environment

PAGE = (ROOT / "docs" / "trackers.md").read_text(encoding="utf-8")


# The packages are no dependencies of cfo-bench: each is installed into an environment of its own.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a folder `results` with a run of two methods."""
    place = tmp_path_factory.mktemp("trackers")
    suite = Suite(
        tasks=["synthetic-1k"],
        learners=["synthetic-5d"],
        methods=["cfo", "rs"],
        folds="0",
        clock="virtual",
        budget_seconds=600,
        max_trials=6,
        results=str(place / "results"),
    )
    assert not run_suite(suite).failures
    return place


def run_recipe(folder: Path, heading: str, package: str, then: str = "") -> str:
    """What the program of a recipe, with more lines at its end, prints."""
    match = re.search(rf"^## {heading}\n\n`pip install ([^`]*)`.*?^```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert match is not None and match[1].split()[0] == package
    python = environment(folder / package, package)
    (folder / "recipe.py").write_text(match[2] + then, encoding="utf-8")
    answer = subprocess.run(
        [python, "recipe.py"],
        cwd=folder,
        env=clean_environment(WANDB_SILENT="true"),
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def environment(place: Path, package: str) -> Path:
    """The Python of a new environment with the package, beside all that is installed here."""
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    paths = {"base": str(place), "platbase": str(place)}
    here, there = sysconfig.get_path("purelib"), sysconfig.get_path("purelib", vars=paths)
    Path(there, "here.pth").write_text(f"{here}\n{ROOT}\n", encoding="utf-8")
    subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
    return python


def best_losses(folder: Path) -> list[float]:
    return sorted(load_results(folder / "results").trials.groupby("method")["loss"].min())


def test_mlflow_has_every_run_with_its_best_loss(folder: Path) -> None:
    printed = run_recipe(
        folder,
        "MLflow",
        "mlflow",
        'runs = mlflow.search_runs(experiment_names=["cfo-bench"])\n'
        'print(*sorted(runs["metrics.best_loss"]), *sorted(runs["params.method"]))\n',
    )

    words = printed.split()
    assert words[-2:] == ["cfo", "rs"]
    assert [float(word) for word in words[-4:-2]] == pytest.approx(best_losses(folder))


def test_wandb_writes_every_run_offline(folder: Path) -> None:
    run_recipe(folder, "W&B", "wandb")

    assert len(list(folder.glob("wandb/offline-run-*/*.wandb"))) == 2


def test_tensorboard_has_every_run_with_its_curve(folder: Path) -> None:
    pytest.importorskip("torch", reason="the recipe writes with torch")
    printed = run_recipe(
        folder,
        "TensorBoard",
        "tensorboard",
        "import glob, json\n"
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "curves = []\n"
        "for file in glob.glob('tensorboard/*/events*'):\n"
        "    curve = EventAccumulator(file).Reload().Scalars('best_loss')\n"
        "    curves.append([point.value for point in curve])\n"
        "print(json.dumps(curves))\n",
    )

    curves: Sequence[Sequence[float]] = json.loads(printed.splitlines()[-1])
    assert [len(curve) for curve in curves] == [6, 6]
    assert sorted(curve[-1] for curve in curves) == pytest.approx(best_losses(folder), rel=1e-6)
