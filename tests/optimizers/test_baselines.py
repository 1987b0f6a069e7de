from __future__ import annotations

import pytest

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.baselines import RandomSearch, Study, parse_values
from cfo_bench.records import Result, Trial
from cfo_bench.space import Categorical, Float, Int, Space

SPACE = Space([Int("i", 1, 1000, log=True), Float("x", -1.0, 1.0), Categorical("c", "abc")])
START = {"i": 1, "x": 0.0, "c": "a"}


def test_the_start_comes_first_and_draws_from_the_space_after_it() -> None:
    method = RandomSearch(SPACE, START, seed=0)

    trials = [method.ask() for _ in range(200)]

    assert trials[0].config == START
    assert [trial.number for trial in trials] == list(range(200))
    assert all(SPACE.check(trial.config) == trial.config for trial in trials)
    assert len({trial.config["x"] for trial in trials}) == 200


def test_what_it_is_told_changes_nothing() -> None:
    informed, uninformed = RandomSearch(SPACE, START, seed=1), RandomSearch(SPACE, START, seed=1)

    for _ in range(20):
        trial = informed.ask()
        informed.tell(trial, Result.ok(trial.config["x"]))
        assert uninformed.ask() == trial


def test_it_draws_on_the_scale_that_is_declared() -> None:
    method = RandomSearch(SPACE, START, seed=2)

    drawn = [method.ask().config["i"] for _ in range(1000)]

    # On a log scale as many lie below √1000 ≈ 31.6 as above; on a linear one 3 % would.
    assert 400 < sum(i < 32 for i in drawn) < 600


STUDY_SPACE = Space([Int("k", 1, 20, log=True), Float("x", 0.0, 1.0)])
STUDY_START = {"k": 1, "x": 0.25}


def asked(method: Study) -> list[Trial]:
    trials = []
    while True:
        try:
            trials.append(method.ask())
        except Exhausted:
            return trials
        method.tell(trials[-1], Result.ok(0.5))


def test_every_value_is_asked_for_once_and_the_rest_stays_as_at_the_start() -> None:
    trials = asked(Study(STUDY_SPACE, STUDY_START, values="9,2-4,3"))
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert [trial.config for trial in trials] == [{"k": k, "x": 0.25} for k in (2, 3, 4, 9)]


def test_by_default_every_value_that_there_is_is_asked_for() -> None:
    assert [trial.config["k"] for trial in asked(Study(STUDY_SPACE, STUDY_START))] == list(range(1, 21))


def test_a_value_out_of_bounds_is_refused() -> None:
    with pytest.raises(OptionError, match=r"values '1-30': k = 21 is out of \[1, 20\] here"):
        Study(STUDY_SPACE, STUDY_START, values="1-30")


def test_a_hyperparameter_that_is_no_whole_number_is_refused() -> None:
    with pytest.raises(OptionError, match="'x' is not one"):
        Study(Space([Float("x", 0.0, 1.0)]), {"x": 0.5})


@pytest.mark.parametrize("text", ["", "a", "1-", "-5", "1;2", "1.5", "1-2-3"])
def test_what_is_no_list_of_whole_numbers_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="write 1-100, 1,2,5-9 or 7"):
        parse_values(text)


def test_a_range_that_goes_down_is_refused() -> None:
    with pytest.raises(OptionError, match="9-1 goes down"):
        parse_values("3,9-1")


def test_a_single_number_from_a_command_line_will_do() -> None:
    options = METHODS.options("study", {"values": 7})
    assert [trial.config["k"] for trial in asked(Study(STUDY_SPACE, STUDY_START, **options))] == [7]
