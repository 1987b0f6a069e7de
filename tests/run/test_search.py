"""The loop of one run, on a virtual clock: what ends it, what counts, and whose fault a fault is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.errors import Exhausted, RunError
from cfo_bench.records import EndReason, Result, StartedTrial, Status, Trial
from cfo_bench.results.schema import TrialRecord
from cfo_bench.run.loop import InProcessPool, Limits, Records, Referee, search
from cfo_bench.space import Float, Int, Space
from tests.helpers.loop import drain

SPACE = Space([Int("x", 0, 100), Float("y", 0.0, 1.0)])


class Counting:
    """Asks for x = 0, 1, 2, … and remembers what it is told."""

    def __init__(self, configs: int = 101) -> None:
        self.configs = configs
        self.asked = 0
        self.told: list[tuple[int, float]] = []

    def ask(self) -> Trial:
        if self.asked == self.configs:
            raise Exhausted("no more")
        self.asked += 1
        return Trial(self.asked - 1, {"x": self.asked - 1, "y": 0.5})

    def tell(self, trial: Trial, result: Result) -> None:
        self.told.append((trial.number, result.value))


class Costs:
    """A loss of 1/(1+x) that takes `seconds(x)`, whatever the deadline says."""

    def __init__(self, seconds: Callable[[int], float] = lambda x: 1.0) -> None:
        self._seconds = seconds

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        x = trial.config["x"]
        return Result.ok(1 / (1 + x), self._seconds(x) * 0.75, self._seconds(x) * 0.25)

    def test_loss(self) -> float:
        raise NotImplementedError


class Returns(Costs):
    """Gives back, or raises, the same for every trial."""

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


def collect(
    optimizer: Any, objective: Any, clock: VirtualClock | None = None, **limits: Any
) -> tuple[list[TrialRecord], EndReason]:
    referee = Referee(SPACE, Limits(**{"budget_seconds": 1e9, **limits}), lambda loss: 1 - loss)
    return drain(one_at_a_time(optimizer, objective, referee, clock=clock or VirtualClock()))


def one_at_a_time(
    optimizer: Any, objective: Any, referee: Referee, *more: Any, clock: VirtualClock, **past: Any
) -> Records:
    return search(optimizer, InProcessPool(objective, clock, referee), clock, referee, *more, **past)


def test_a_run_ends_when_its_budget_is_spent():
    records, reason = collect(Counting(), Costs(), budget_seconds=3.0)
    assert reason is EndReason.BUDGET
    assert [(one.number, one.started, one.ended) for one in records] == [(0, 0, 1), (1, 1, 2), (2, 2, 3)]
    assert [one.status for one in records] == [Status.OK] * 3
    assert [one.score for one in records] == [1 - one.loss for one in records]


def test_a_trial_that_ends_past_the_budget_never_counts():
    method = Counting()
    records, reason = collect(method, Costs(), budget_seconds=2.5)
    assert reason is EndReason.BUDGET
    last = records[-1]
    assert (last.number, last.status, last.loss, last.score, last.ended) == (
        2,
        Status.TIMEOUT,
        None,
        None,
        3.0,
    )
    assert method.told[-1] == (2, math.inf)


def test_a_run_ends_after_so_many_trials():
    records, reason = collect(Counting(), Costs(), max_trials=4)
    assert reason is EndReason.MAX_TRIALS and len(records) == 4


def test_the_trials_of_a_resumed_run_count_too():
    method = Counting()
    method.asked = 3
    referee = Referee(SPACE, Limits(1e9, max_trials=4))
    assert [
        one.number for one in one_at_a_time(method, Costs(), referee, clock=VirtualClock(3.0), done=3)
    ] == [3]


def test_a_method_with_nothing_left_to_ask_ends_its_run_cleanly():
    records, reason = collect(Counting(configs=5), Costs())
    assert reason is EndReason.EXHAUSTED and len(records) == 5


def test_a_trial_that_takes_too_long_is_a_timeout_and_the_next_one_is_not():
    records, _ = collect(
        Counting(), Costs(lambda x: 5.0 if x == 1 else 1.0), max_trials=3, trial_timeout_seconds=2.0
    )
    assert [one.status for one in records] == [Status.OK, Status.TIMEOUT, Status.OK]
    assert records[2].started == 6.0


def test_a_learner_is_told_the_earlier_of_both_deadlines():
    seen = []

    class Looks(Costs):
        def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
            seen.append(deadline.at)
            return super().evaluate(trial, deadline)

    collect(Counting(), Looks(), budget_seconds=3.5, trial_timeout_seconds=2.0)
    assert seen == [2.0, 3.0, 3.5, 3.5]


@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        (RuntimeError("two\nlines"), Status.FAILED, "RuntimeError: two lines"),
        (KeyError(), Status.FAILED, "KeyError"),
        (MemoryError("no room"), Status.MEMORY, "MemoryError: no room"),
        (Result.ok(math.nan), Status.FAILED, "the loss is nan"),
        (Result(Status.OK, math.inf), Status.FAILED, "the loss is inf"),
        (Result(Status.OK, None), Status.FAILED, "the loss is None"),
        (Result(Status.FAILED, 0.25, error="half done"), Status.FAILED, "half done"),
        (None, Status.FAILED, "the learner gave None: give a Result"),
    ],
)
def test_whatever_a_model_does_is_a_result_without_a_loss(outcome: Any, status: Status, error: str):
    method = Counting()
    [record], reason = collect(method, Returns(outcome), max_trials=1)
    assert reason is EndReason.MAX_TRIALS
    assert (record.status, record.loss, record.score, record.error) == (status, None, None, error)
    assert method.told == [(0, math.inf)]


def test_an_exception_in_ask_is_an_error_of_the_run():
    class Fails(Counting):
        def ask(self) -> Trial:
            raise ZeroDivisionError("by zero")

    with pytest.raises(RunError, match="the method failed in ask: ZeroDivisionError: by zero"):
        collect(Fails(), Costs())


def test_an_exception_in_tell_is_an_error_of_the_run():
    class Fails(Counting):
        def tell(self, trial: Trial, result: Result) -> None:
            raise ZeroDivisionError("by zero")

    records = one_at_a_time(Fails(), Costs(), Referee(SPACE, Limits(1e9)), clock=VirtualClock())
    kept = next(records)  # the trial was evaluated in time, and so it counts
    assert (kept.number, kept.loss, kept.tell_seconds) == (0, 1.0, None)
    with pytest.raises(RunError, match="the method failed in tell: ZeroDivisionError: by zero"):
        next(records)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"x": 101, "y": 0.5}, "x = 101"),
        ({"x": 1.5, "y": 0.5}, "x = 1.5"),
        ({"x": 1}, "missing"),
        ({"x": 1, "y": math.nan}, "y = nan"),
    ],
)
def test_a_configuration_outside_the_space_is_an_error_of_the_run(config: dict[str, Any], words: str):
    class Strays(Counting):
        def ask(self) -> Trial:
            return Trial(0, config)

    with pytest.raises(RunError, match=rf"the method failed in ask.*{words}"):
        collect(Strays(), Costs())


def test_a_method_that_counts_its_trials_wrongly_is_an_error_of_the_run():
    class Miscounts(Counting):
        def ask(self) -> Trial:
            return Trial(0, super().ask().config)

    with pytest.raises(RunError, match="trial 0 in place of 1"):
        collect(Miscounts(), Costs())


def test_ask_and_tell_are_on_the_clock():
    clock = VirtualClock()

    class Slow(Counting):
        def ask(self) -> Trial:
            clock.account(0.5)
            return super().ask()

        def tell(self, trial: Trial, result: Result) -> None:
            clock.account(0.25)

    records, _ = collect(Slow(), Costs(), clock, max_trials=2)
    assert [(one.ask_seconds, one.started, one.ended, one.tell_seconds) for one in records] == [
        (0.5, 0.5, 1.5, 0.25),
        (0.5, 2.25, 3.25, 0.25),
    ]
    assert clock.now() == 3.5


def test_a_suggestion_that_takes_the_rest_of_the_budget_leaves_a_trial_that_does_not_count():
    clock = VirtualClock()

    class Slow(Counting):
        def ask(self) -> Trial:
            clock.account(10.0)
            return super().ask()

    [record], reason = collect(Slow(), Costs(), clock, budget_seconds=5.0)
    assert reason is EndReason.BUDGET and record.status is Status.TIMEOUT


def test_a_watcher_hears_of_each_trial_before_it_is_evaluated_and_before_it_is_told():
    heard: list[Any] = []

    class Watches:
        def asks(self, since: float) -> None:
            heard.append(("asks", since))

        def tells(self, since: float) -> None:
            heard.append(("tells", since))

        def returned(self) -> None:
            heard.append(("returned",))

        def began(self, begun: StartedTrial) -> None:
            heard.append(("began", begun.trial.number, begun.started))

        def evaluated(self, begun: StartedTrial, result: Result, *numbers: float | None) -> None:
            heard.append(("evaluated", begun.trial.number, result.loss, *numbers))

        def tested(self, record: TrialRecord) -> None:
            heard.append(("tested", record.number, record.test_score, record.tell_seconds))

    class Tells(Counting):
        def tell(self, trial: Trial, result: Result) -> None:
            heard.append(("told", trial.number))

    referee = Referee(SPACE, Limits(1e9, max_trials=1), lambda loss: 10 * loss)
    list(one_at_a_time(Tells(), Costs(), referee, Watches(), clock=VirtualClock()))
    before = [("asks", 0.0), ("began", 0, 0.0), ("evaluated", 0, 1.0, 10.0, 1.0, None)]
    after = [("tells", 1.0), ("told", 0), ("returned",)]
    assert heard == [*before, *after]

    heard.clear()
    list(one_at_a_time(Tells(), Costs(), referee, Watches(), test=lambda: 0.25, clock=VirtualClock()))
    assert heard == [*before, ("tested", 0, 2.5, None), *after]


def test_each_new_incumbent_is_tested_and_no_other():
    tests = []

    def test() -> float:
        tests.append(len(tests))
        return 0.25

    losses = [0.5, 0.7, None, 0.4, 0.4]

    class Listed(Costs):
        def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
            loss = losses[trial.number]
            return Result(Status.FAILED) if loss is None else Result.ok(loss)

    referee = Referee(SPACE, Limits(1e9, max_trials=5), lambda loss: 1 - loss)
    records = list(one_at_a_time(Counting(), Listed(), referee, test=test, clock=VirtualClock()))
    assert [one.test_score for one in records] == [0.75, None, None, 0.75, None]
