"""An estimator in YAML, in a suite or in a file: how it is read, and every mistake with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from cfo_bench import Categorical, Estimator, Float, Int, Space, Suite
from cfo_bench.errors import UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.suite.choices import Choice
from cfo_bench.suite.estimator_file import schema
from cfo_bench.suite.file import read, suite_schema
from cfo_bench.terminal.command_options import suite_of

BOOSTING = """\
estimator: sklearn.ensemble.HistGradientBoostingClassifier
fixed: {early_stopping: false, tol: 1e-7}
space:
  max_iter: {int: [10, 2e3], log: true, cost_related: true, start: 1e1}
  learning_rate: {float: [1e-2, 1.0], log: true, start: 0.3}
  kind: {categorical: [a, b], start: a}
  shift: {float: [-1e-3, 1], when: {kind: b}, start: 0}
"""
SPACE = Space(
    [
        Int("max_iter", 10, 2000, log=True),
        Float("learning_rate", 0.01, 1.0, log=True),
        Categorical("kind", ["a", "b"]),
        Float("shift", -1e-3, 1.0, when={"kind": "b"}),
    ]
)
START = {"max_iter": 10, "learning_rate": 0.3, "kind": "a", "shift": 0.0}


def learner(reference: str) -> Choice:
    fixed = {"early_stopping": False, "tol": 1e-7}
    estimator = Estimator(reference, SPACE, START, cost_related=["max_iter"], fixed=fixed)
    return Choice(estimator.name, estimator.options)


def in_suite(text: str) -> str:
    return "learners:\n  - " + text.replace("\n", "\n    ").rstrip() + "\n  - xgboost\ntasks: iris\n"


def test_a_suite_describes_an_estimator(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(in_suite(BOOSTING))

    first, second = read(tmp_path / "suite.yaml").learners

    assert first == learner("sklearn.ensemble.HistGradientBoostingClassifier")
    assert (first.label, second.name) == ("HistGradientBoostingClassifier", "xgboost")


def test_paths_are_relative_to_the_file_that_has_them(tmp_path: Path) -> None:
    text = BOOSTING.replace("sklearn.ensemble.HistGradientBoostingClassifier", "mine.py:make")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.yaml").write_text(text)
    (tmp_path / "suite.yaml").write_text("learners:\n  - own/model.yaml\n  - " + text.replace("\n", "\n    "))

    of_file, of_suite = read(tmp_path / "suite.yaml").learners
    [of_command] = suite_of(
        None, {"learners": [str(tmp_path / "own/model.yaml")], "methods": ["rs"], "budget_seconds": 1}
    ).learners

    assert of_file == of_command == learner(f"{tmp_path}/own/mine.py:make")
    assert of_suite == learner(f"{tmp_path}/mine.py:make")
    assert of_suite.label == "make"


def test_python_takes_the_estimator_itself() -> None:
    estimator = Estimator(
        "sklearn.tree.DecisionTreeClassifier", Space([Int("max_depth", 1, 9)]), {"max_depth": 1}
    )
    assert Suite(learners=[estimator]).learners == (Choice(estimator.name, estimator.options),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fixed:", "fix:", r"line 2: unknown key 'fix' .did you mean 'fixed'"),
        (
            "sklearn.ensemble.HistGradientBoostingClassifier",
            "forest",
            "line 1: estimator is 'forest': write package",
        ),
        (
            "{early_stopping: false, tol: 1e-7}",
            "3",
            "line 2: fixed is 3: write the parameters as name: value",
        ),
        ("int: [10, 2e3]", "int: [10]", r"line 4: max_iter.int is \[10\]: write two whole numbers"),
        ("int: [10, 2e3]", "int: [2000, 10]", r"line 4: bounds of 'max_iter' are \[2000, 10\]: low must not"),
        ("int: [10, 2e3], ", "", "line 4: max_iter is .*: write one of int"),
        (", start: 0.3", "", "line 5: learning_rate is .*: add start: VALUE"),
        ("start: 0.3", "start: 3", r"line 5: learning_rate = 3.0 is not a number in \[0.01, 1.0\]"),
        ("log: true, start: 0.3", "lag: true, start: 0.3", "line 5: unknown key 'lag' .did you mean 'log'"),
        (
            "log: true, start: 0.3",
            "log: yes please, start: 0.3",
            "line 5: log is 'yes please': write true or false",
        ),
        ("when: {kind: b}", "when: {kind: c}", "'shift' depends on kind = 'c': choose from"),
        ("when: {kind: b}", "when: {kin: b}", "'shift' depends on 'kin': name a categorical hyperparameter"),
        ("categorical: [a, b]", "categorical: a", "line 6: kind.categorical is 'a': write a list of choices"),
    ],
)
def test_a_mistake_is_reported_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BOOSTING
    (tmp_path / "model.yaml").write_text(BOOSTING.replace(old, new))
    with pytest.raises(UserError, match=message) as caught:
        Suite(learners=[str(tmp_path / "model.yaml")])
    assert "\n" not in str(caught.value) and "model.yaml, line" in str(caught.value)


def test_a_space_is_needed(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("learners:\n  - estimator: sklearn.svm.SVC\n")
    with pytest.raises(
        UserError, match=r"line 2: the estimator is .*: write a mapping with estimator and space"
    ):
        read(tmp_path / "suite.yaml")


def test_an_estimator_without_a_file_is_refused_with_the_remedy() -> None:
    with pytest.raises(
        UserError, match=r"the learner is 'sklearn.svm.SVC': describe an estimator and its space"
    ):
        Suite(learners=["sklearn.svm.SVC"])


def test_a_function_of_a_file_is_no_learner_without_a_description(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def pipeline(): ...\n")
    with pytest.raises(UserError, match=r"has no class 'pipeline': .* FILE.yaml \(see docs/learners.md\)$"):
        LEARNERS.load(f"{tmp_path}/mine.py:pipeline")


def test_the_schema_knows_the_form() -> None:
    described, whole = yaml.safe_load(BOOSTING), yaml.safe_load(in_suite(BOOSTING))
    Draft202012Validator.check_schema(suite_schema())
    assert Draft202012Validator(schema()).is_valid(described)
    assert Draft202012Validator(suite_schema()).is_valid(whole)
    del described["space"]["kind"]["start"]
    assert not Draft202012Validator(schema()).is_valid(described)
