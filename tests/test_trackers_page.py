"""docs/trackers.md: each recipe runs, where its package is installed, and the tracker has the runs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cfo_bench import Suite, load_results, run_suite
from tests.helpers.program import ROOT, clean_environment

PAGE = (ROOT / "docs" / "trackers.md").read_text(encoding="utf-8")


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skips a test without the packages of its recipe, which are no dependencies of cfo-bench."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


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


def run_recipe(folder: Path, heading: str, then: str = "") -> str:
    """What the program of a recipe, with more lines at its end, prints."""
    match = re.search(rf"^## {heading}$.*?^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    (folder / "recipe.py").write_text(match[1] + then, encoding="utf-8")
    environment = clean_environment(WANDB_SILENT="true")
    answer = subprocess.run(
        [sys.executable, "recipe.py"], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def best_losses(folder: Path) -> list[float]:
    return sorted(load_results(folder / "results").trials.groupby("method")["loss"].min())


@needs("mlflow")
def test_mlflow_has_every_run_with_its_best_loss(folder: Path) -> None:
    printed = run_recipe(
        folder,
        "MLflow",
        'runs = mlflow.search_runs(experiment_names=["cfo-bench"])\n'
        'print(*sorted(runs["metrics.best_loss"]), *sorted(runs["params.method"]))\n',
    )

    words = printed.split()
    assert words[-2:] == ["cfo", "rs"]
    assert [float(word) for word in words[-4:-2]] == pytest.approx(best_losses(folder))


@needs("wandb")
def test_wandb_writes_every_run_offline(folder: Path) -> None:
    run_recipe(folder, "W&B")

    assert len(list(folder.glob("wandb/offline-run-*/*.wandb"))) == 2


@needs("tensorboard", "torch")
def test_tensorboard_has_every_run_with_its_curve(folder: Path) -> None:
    run_recipe(folder, "TensorBoard")

    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    last = []
    for file in (folder / "tensorboard").glob("*/events*"):
        accumulator = events.EventAccumulator(str(file))
        accumulator.Reload()
        scalars = accumulator.Scalars("best_loss")
        assert len(scalars) == 6
        last.append(scalars[-1].value)
    assert sorted(last) == pytest.approx(best_losses(folder), rel=1e-6)
