"""Several trials at once: on the virtual clock to the second, and with real evaluators that die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from cfo_bench.clock import Deadline, SharedWallClock, VirtualClock
from cfo_bench.errors import Exhausted, RunError
from cfo_bench.records import EndReason, Result, RunSpec, Status, Trial
from cfo_bench.results.schema import TrialRecord
from cfo_bench.run.loop import Limits, ProcessPool, Referee, VirtualPool, search
from cfo_bench.run.replay import replay
from cfo_bench.space import Int, Space
from tests.helpers.loop import drain
from tests.helpers.runs import cut_off
from tests.helpers.traces import header_of

SPACE = Space([Int("x", 0, 1000)])


class Counting:
    """Asks for x = 0, 1, 2, …, one search thread for every trial of three."""

    def __init__(self, configs: int = 1001) -> None:
        self.configs, self.asked, self.order = configs, 0, []

    def ask(self) -> Trial:
        if self.asked == self.configs:
            raise Exhausted("no more")
        self.order.append(f"ask {self.asked}")
        self.asked += 1
        return Trial(self.asked - 1, {"x": self.asked - 1}, thread=(self.asked - 1) % 3)

    def tell(self, trial: Trial, result: Result) -> None:
        self.order.append(f"tell {trial.number}")


class Costs:
    def __init__(self, seconds: Callable[[int], float]) -> None:
        self._seconds = seconds

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        return Result.ok(1.0, self._seconds(trial.config["x"]))

    def test_loss(self) -> float:
        raise NotImplementedError


def virtual(
    method: Any, seconds: Callable[[int], float], parallel: int, **limits: Any
) -> tuple[list[TrialRecord], EndReason]:
    clock = VirtualClock()
    referee = Referee(SPACE, Limits(**{"budget_seconds": 1e9, **limits}))
    pool = VirtualPool(Costs(seconds), clock, parallel, referee)
    return drain(search(method, pool, clock, referee))


def test_trials_are_told_in_the_order_in_which_they_end():
    method = Counting()
    records, reason = virtual(method, lambda x: [5, 1, 2, 1, 1][x], parallel=2, max_trials=5)
    assert reason is EndReason.MAX_TRIALS
    told = "ask 0, ask 1, tell 1, ask 2, tell 2, ask 3, tell 3, ask 4, tell 0, tell 4"
    assert ", ".join(method.order) == told
    assert [(one.number, one.started, one.ended) for one in records] == [
        (1, 0, 1),
        (2, 1, 3),
        (3, 3, 4),
        (0, 0, 5),
        (4, 4, 5),
    ]


def test_as_many_trials_run_at_once_as_there_are_workers():
    records, _ = virtual(Counting(), lambda x: 1 + x % 3, parallel=4, max_trials=40)
    for moment in (one.started for one in records):
        assert sum(one.started <= moment < one.ended for one in records) <= 4
    assert max(one.ended for one in records) < sum(one.fit_seconds for one in records) / 3


def test_the_trace_tells_the_search_thread():
    records, _ = virtual(Counting(), lambda x: 1.0, parallel=3, max_trials=6)
    assert [(one.number, one.thread) for one in records] == [(n, n % 3) for n in range(6)]


def test_under_one_budget_what_ends_past_it_does_not_count():
    records, reason = virtual(Counting(), lambda x: 2.0 + x, parallel=2, budget_seconds=5.5)
    assert reason is EndReason.BUDGET
    assert [(one.number, one.status, one.ended) for one in records] == [
        (0, Status.OK, 2.0),
        (1, Status.OK, 3.0),
        (2, Status.TIMEOUT, 6.0),
        (3, Status.TIMEOUT, 8.0),
    ]


def test_a_method_that_is_exhausted_is_asked_again_after_what_is_under_way():
    class Hesitates(Counting):
        """Has a second configuration only once it knows of the first."""

        def ask(self) -> Trial:
            if self.asked == 1 and "tell 0" not in self.order:
                raise Exhausted("not yet")
            return super().ask()

    records, reason = virtual(Hesitates(configs=4), lambda x: 1.0, parallel=2)
    assert [one.number for one in records] == [0, 1, 2, 3] and reason is EndReason.EXHAUSTED


def test_a_failure_of_the_method_is_an_error_of_the_run():
    class Strays(Counting):
        def ask(self) -> Trial:
            return Trial(self.asked, {"x": -1})

    with pytest.raises(RunError, match="x = -1"):
        virtual(Strays(), lambda x: 1.0, parallel=2)


def test_a_method_that_fails_in_tell_keeps_the_trial_that_it_was_told_of():
    class Fails(Counting):
        def tell(self, trial: Trial, result: Result) -> None:
            raise ZeroDivisionError("by zero")

    clock = VirtualClock()
    referee = Referee(SPACE, Limits(1e9))
    pool = VirtualPool(Costs(lambda x: 1.0), clock, 2, referee)
    records = search(Fails(), pool, clock, referee)
    assert next(records).number == 0
    with pytest.raises(RunError, match="in tell: ZeroDivisionError"):
        next(records)


# --- real evaluators --------------------------------------------------------------------------


class Sleeps:
    """Sleeps x milliseconds; some values of x are deadly."""

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        x = trial.config["x"]
        if x == 666:
            os.kill(os.getpid(), signal.SIGKILL)
        if x == 999:
            sum(range(10**12))
        began = deadline.now()
        time.sleep(x / 1000)
        return Result.ok(float(os.getpid()), deadline.now() - began)

    def test_loss(self) -> float:
        raise NotImplementedError


class Listed:
    def __init__(self, values: list[int]) -> None:
        self._values, self._asked, self.told = values, 0, []

    def ask(self) -> Trial:
        if self._asked == len(self._values):
            raise Exhausted("no more")
        self._asked += 1
        return Trial(self._asked - 1, {"x": self._values[self._asked - 1]})

    def tell(self, trial: Trial, result: Result) -> None:
        self.told.append(trial.number)


def _nothing() -> None:
    pass


@pytest.fixture
def real() -> Iterator[Callable[..., tuple[list[TrialRecord], EndReason]]]:
    pools = []

    def run(
        values: list[int], prepare: Any = Sleeps, method: Any = Listed, **limits: Any
    ) -> tuple[list[TrialRecord], EndReason]:
        referee = Referee(SPACE, Limits(**{"budget_seconds": 60.0, **limits}))
        clock = SharedWallClock()
        pool = ProcessPool(prepare, _nothing, 2, referee, clock)
        pools.append(pool)
        clock.rewind(0.0)
        return drain(search(method(values), pool, clock, referee))

    yield run
    for pool in pools:
        pool.close()
        assert not any(one.process.is_alive() for one in pool._evaluators)


def test_two_evaluators_share_the_trials(real):
    records, reason = real([100] * 6)
    assert reason is EndReason.EXHAUSTED and len(records) == 6
    assert len({one.loss for one in records}) == 2 and os.getpid() not in {one.loss for one in records}
    assert max(one.ended for one in records) < 0.9 * sum(one.fit_seconds for one in records)


def test_a_dead_evaluator_is_replaced_and_its_trial_failed(real):
    records, reason = real([50, 666, 50, 50, 50, 50])
    by_number = {one.number: one for one in records}
    assert reason is EndReason.EXHAUSTED and sorted(by_number) == list(range(6))
    assert by_number[1].status is Status.FAILED and "SIGKILL" in by_number[1].error
    assert {one.status for one in records if one.number != 1} == {Status.OK}


def test_an_evaluator_past_its_trials_deadline_is_killed_and_replaced(real):
    records, reason = real([999, 20, 20, 999, 20], trial_timeout_seconds=0.2)
    status = {one.number: one.status for one in records}
    assert reason is EndReason.EXHAUSTED
    assert [status[n] for n in range(5)] == ["timeout", "ok", "ok", "timeout", "ok"]
    assert all(0.2 <= one.fit_seconds < 2 for one in records if one.status is Status.TIMEOUT)


def test_the_budget_ends_all_that_is_under_way(real):
    records, reason = real([999, 999, 1], budget_seconds=0.3)
    assert reason is EndReason.BUDGET
    assert [(one.status, one.loss) for one in records] == [(Status.TIMEOUT, None)] * 2
    assert max(one.ended for one in records) < 3


def _prepares_slowly_after_the_first(marks: Any) -> Sleeps:
    if len(list(marks.iterdir())) >= 2:
        time.sleep(0.6)
    (marks / str(os.getpid())).touch()
    return Sleeps()


def test_building_the_data_of_a_new_evaluator_is_not_part_of_a_trial(real, tmp_path):
    """Its building takes longer than a trial may: if it counted, every trial from then on would time out."""
    prepare = partial(_prepares_slowly_after_the_first, tmp_path)
    records, _ = real([666, *[100] * 14], prepare, trial_timeout_seconds=0.4)
    assert {one.status for one in records if one.number > 0} == {Status.OK}
    assert len({one.loss for one in records if one.loss}) == 2  # the new one took its share


class Attentive(Listed):
    """What it asks for depends on how many it was told of by then."""

    def ask(self) -> Trial:
        trial = super().ask()
        dies = trial.config["x"] == 666
        return trial if dies else Trial(trial.number, {"x": 100 + len(self.told)})


def test_a_run_that_lost_an_evaluator_is_replayed_in_the_order_it_had(real, tmp_path):
    """While a new evaluator builds its data, the method is told without being asked."""
    values = [666, *[100] * 11]
    prepare = partial(_prepares_slowly_after_the_first, tmp_path)
    records, _ = real(values, prepare, method=Attentive)
    assert any(record.asked < min(told + 2, 12) for told, record in enumerate(records))

    spec = RunSpec("l", "t", "attentive", 0, parallel=2)
    referee = Referee(SPACE, Limits(spec.budget_seconds))
    for kept in range(len(records) + 1):
        again = Attentive(values)
        replay(again, cut_off(header_of(spec), records[:kept]), spec, referee)
        assert again.told == [record.number for record in records[:kept]]


def _dies() -> Sleeps:
    os._exit(7)


def test_an_evaluator_that_can_not_be_built_is_an_error_of_the_run(real):
    with pytest.raises(RunError, match="died while it built the model's data: exit code 7"):
        real([1], _dies)
