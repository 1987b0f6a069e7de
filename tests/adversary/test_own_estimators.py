"""A pipeline of one's own from the command line: tuned on a file, and cut when it ignores its deadline."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfo_bench import load_results
from tests.helpers.commands import ROOT, Commands, no_stack_trace, one_line

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
PIPELINE = re.findall(
    r"<!-- file: pipeline.py -->\n```python\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL
)[0]
METRIC = re.findall(r"<!-- file: metric.py -->\n```python\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)[0]
DESCRIPTION = re.findall(r"```yaml\n# svm.yaml\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)[0]
SLEEPS = """
from time import sleep

from sklearn.dummy import DummyClassifier


class Sleeps(DummyClassifier):
    def __init__(self, constant=0, strategy="prior"):
        super().__init__(constant=constant, strategy=strategy)

    def fit(self, x, y, sample_weight=None):
        sleep(600 if self.constant > 1 else 0)
        return super().fit(x, y, sample_weight)
"""


@pytest.fixture
def folder(commands: Commands) -> Path:
    """The files of the tutorial, a data file, and an estimator that sleeps for minutes."""
    folder = Path(commands.folder)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=90), "colour": rng.choice(["red", "blue"], 90)})
    frame["y"] = np.where(frame["size"] + (frame["colour"] == "red") > 0.4, "yes", "no")
    frame.loc[::8, "size"] = np.nan
    frame.to_csv(folder / "my.csv", index=False)
    (folder / "pipeline.py").write_text(PIPELINE)
    (folder / "metric.py").write_text(METRIC)
    (folder / "svm.yaml").write_text(DESCRIPTION)
    (folder / "sleeps.py").write_text(SLEEPS)
    (folder / "sleeps.yaml").write_text(
        "estimator: sleeps.py:Sleeps\nspace: {constant: {int: [0, 1000], log: false, start: 0}}\n"
    )
    return folder


def of_file(learner: str, *more: str) -> list[str]:
    words = f"run --data my.csv --target y --learner {learner} --method rs --folds 0 -q"
    return [*words.split(), *more]


def test_the_pipeline_of_the_tutorial_is_tuned_and_its_command_does_it_again(
    commands: Commands, folder: Path
) -> None:
    result = commands(*of_file("svm.yaml", "--budget", "60", "--max-trials", "4"))
    assert result.returncode == 0, result.stderr
    trials = commands.rows()
    assert [row["status"] for row in trials] == ["ok"] * 4 and "svc__gamma" in trials[0]["config"]

    [header] = commands.rows("run")
    shutil.rmtree(folder / "results")
    again = commands(*shlex.split(header["command"])[1:], "-q")

    assert again.returncode == 0, again.stderr
    assert [(row["config"], row["loss"]) for row in commands.rows()] == [
        (row["config"], row["loss"]) for row in trials
    ]


def test_the_commands_of_the_tutorial_tune_the_pipeline_by_the_metric_and_save_it(
    commands: Commands, folder: Path
) -> None:
    [section] = re.findall(r"^## \d+. Tune your own pipeline$(.*?)^## ", TUTORIAL, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^\$ cfo-bench (.*)$", section, re.MULTILINE)
    assert len(lines) == 3

    for line in lines:
        few = ["--max-trials", "2", "--folds", "0", "-q"] if line.startswith("run ") else []
        no_stack_trace(commands(*shlex.split(line), *few), 0)

    assert (folder / "svm.skops").is_file()
    no_stack_trace(commands("report", "results", "--learner", "svm", "--format", "csv"), 0)
    one_line(commands("best", "results", "--learner", "sv"), 2, "(did you mean 'svm'?)")
    runs = load_results(folder / "results-cost").runs
    assert set(runs["metric"]) == {"metric.py:cost"}
    assert runs["best_score"].between(0.0, 5.0).all()


def test_a_training_that_ignores_its_deadline_ends_with_the_budget(commands: Commands, folder: Path) -> None:
    result = commands(*of_file("sleeps.yaml", "--budget", "2"))
    assert result.returncode == 0, result.stderr
    statuses = [row["status"] for row in commands.rows()]
    assert statuses[0] == "ok" and statuses[-1] == "timeout"
    assert [row["reason"] for row in commands.rows("end")] == ["budget"]


@pytest.mark.parametrize("words", [["--dry-run"], ["--list"]])
def test_looking_at_a_run_imports_no_estimator(commands: Commands, folder: Path, words: list[str]) -> None:
    (folder / "pipeline.py").write_text("from pathlib import Path\nPath('executed').touch()\n")
    result = commands(*of_file("svm.yaml", "--budget", "5"), *words)
    no_stack_trace(result, 0)
    assert not (folder / "executed").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("svc__C:", "svc__c:", "has no parameter 'svc__c' (did you mean 'svc__C'?)"),
        ("pipeline.py:svm", "pipeline.py:sw", "pipeline.py has no 'sw'"),
        ("pipeline.py:svm", "no.py:svm", "no file 'no.py'"),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(
    commands: Commands, folder: Path, old: str, new: str, message: str
) -> None:
    (folder / "svm.yaml").write_text(DESCRIPTION.replace(old, new))
    one_line(commands(*of_file("svm.yaml", "--budget", "5")), 2, message)
