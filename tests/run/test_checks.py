"""Learner, method, clock and task have to fit together, and the user is told before anything starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cfo_bench.errors import UserError
from cfo_bench.learners import LEARNERS, REFERENCES
from cfo_bench.records import Problem, RunSpec, TaskFacts
from cfo_bench.run.checks import check_clock, check_problem, learner_of

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"
RECORDED = RunSpec("hpolib", "hpolib:naval_propulsion", "cfo", 0, clock="virtual")
VIRTUAL = RunSpec("synthetic", "synthetic-1k", "cfo", 0, clock="virtual")
REAL = RunSpec(f"{PLUGINS / 'learners.py'}:Faulty", "synthetic-1k", "cfo", 0)


def test_the_learner_is_the_specs_own_or_that_of_a_reference_method() -> None:
    assert type(learner_of(VIRTUAL)) is LEARNERS.load("synthetic")
    assert type(learner_of(replace(VIRTUAL, method="constant"))) is REFERENCES.load("constant")


@pytest.mark.parametrize("spec", [VIRTUAL, REAL, replace(REAL, validation="holdout")])
def test_a_learner_on_its_own_clock_passes(spec: RunSpec) -> None:
    check_clock(spec, learner_of(spec))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (replace(VIRTUAL, clock="wall"), "--clock wall: learner 'synthetic' does not train"),
        (replace(REAL, clock="virtual"), "really trains, so that its seconds are real"),
        (replace(VIRTUAL, method="constant"), "'constant' trains, which takes real seconds"),
        (replace(REAL, charge_method=True), "--charge-method is for the virtual clock"),
        (replace(RECORDED, validation="holdout"), "has no rows to hold out"),
        (replace(REAL, validation="holdout", parallel=2), "--parallel 2 can't be combined with"),
    ],
)
def test_a_clock_that_does_not_fit_is_the_users_mistake(spec: RunSpec, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_clock(spec, learner_of(spec))


def test_a_learner_takes_the_problems_that_it_names_and_no_other() -> None:
    learner = learner_of(replace(REAL, learner=f"{PLUGINS / 'learners.py'}:Classifier"))
    facts = TaskFacts("t", Problem.BINARY, "auc", 10, 2, 2, "here", "0" * 64, "by seed 0")
    check_problem("mine", learner, facts)
    with pytest.raises(UserError, match="task 't' is regression, and learner 'mine' takes binary only"):
        check_problem("mine", learner, replace(facts, problem=Problem.REGRESSION))
