"""The budget, the trial's timeout and the memory cap hold against trials and methods that never give in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cfo_bench.records import EndReason, Status
from cfo_bench.report.reading.load import load

# A busy machine gets this much; benchmarks/deadline.py prints what a quiet one takes.
SLACK_SECONDS = 3.0


@pytest.mark.parametrize("fault", ["busy_in_c", "sleeps"])
def test_a_trial_of_minutes_ends_with_the_budget_unscored(bench, faulty, fault: str):
    result = bench.run(*faulty(fault, budget=1))
    trace = bench.trace()
    assert result.returncode == 0
    assert trace.end is not None and trace.end.reason is EndReason.BUDGET
    assert 1.0 <= trace.end.elapsed < 1.0 + SLACK_SECONDS
    last = trace.trials[-1]
    assert (last.number, last.status, last.loss, last.score) == (3, Status.TIMEOUT, None, None)
    assert last.ended == pytest.approx(trace.end.elapsed, abs=0.1)
    assert trace.end.best_number != 3
    bench.assert_nothing_is_left()


def test_a_trial_that_ends_past_the_budget_does_not_count(bench, faulty):
    bench.run(*faulty("overdue", budget=1))
    last = bench.trace().trials[-1]
    assert (last.number, last.status, last.loss) == (3, Status.TIMEOUT, None)
    assert bench.trace().best.loss > 0


@pytest.mark.parametrize("method", ["NeverAsks", "NeverTells"])
def test_a_method_that_never_answers_ends_with_the_budget(
    bench, faulty, methods: Callable[[str], str], method: str
):
    result = bench.run(*faulty(budget=1, method=methods(method), at=-1))
    trace = bench.trace()
    assert result.returncode == 0
    assert trace.end is not None and trace.end.reason is EndReason.BUDGET
    assert 1.0 <= trace.end.elapsed < 1.0 + SLACK_SECONDS
    # A trial that was evaluated in time counts, even if the method never heard of it.
    assert [trial.number for trial in trace.trials] == list(range(3 if method == "NeverAsks" else 4))
    assert {trial.status for trial in trace.trials} == {Status.OK}
    bench.assert_nothing_is_left()


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("method", ["NeverAsks", "NeverTells"])
def test_what_a_method_was_at_when_it_was_cut_off_is_its_own_time(
    bench, faulty, methods: Callable[[str], str], method: str, parallel: int
):
    result = bench.run(*faulty(budget=2, method=methods(method), at=-1), "--parallel", parallel)
    assert result.returncode == 0, result.stderr
    end = bench.trace().end
    assert end is not None and end.reason is EndReason.BUDGET
    asking, telling = end.cut_ask_seconds, end.cut_tell_seconds
    assert (asking > 1.0, telling > 1.0) == ((True, False) if method == "NeverAsks" else (False, True))
    [found] = load(bench.results).runs
    # With two trials at once, the other evaluator may have one that the method was never told of.
    assert found.spent["method"] >= max(asking, telling)
    assert found.spent["harness"] + found.spent["idle"] < 0.1 * sum(found.spent.values())


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_trial_that_takes_too_long_is_cut_off_and_the_run_goes_on(bench, faulty, parallel: int):
    result = bench.run(
        *faulty("busy_in_c", budget=60), "--trial-timeout", 0.3, "--max-trials", 8, "--parallel", parallel
    )
    trace = bench.trace()
    assert result.returncode == 0, result.stderr
    assert trace.end is not None and trace.end.reason is EndReason.MAX_TRIALS
    by_number = {trial.number: trial for trial in trace.trials}
    assert sorted(by_number) == list(range(8))
    assert by_number[3].status is Status.TIMEOUT and by_number[3].loss is None
    assert 0.3 <= by_number[3].ended - by_number[3].started < 0.3 + SLACK_SECONDS
    assert all(by_number[number].status is Status.OK for number in by_number if number != 3)
    if parallel == 1:
        # The clock goes on from the cut: starting another process is not charged to the method.
        assert 0 <= by_number[4].started - by_number[3].ended < 0.1
    bench.assert_nothing_is_left()


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_trial_that_blows_memory_is_logged_so_and_the_run_goes_on(bench, faulty, parallel: int):
    result = bench.run(
        *faulty("takes_all_memory", budget=60), "--memory", 300, "--max-trials", 8, "--parallel", parallel
    )
    trace = bench.trace()
    assert result.returncode == 0, result.stderr
    statuses = {trial.number: trial.status for trial in trace.trials}
    assert statuses == {n: Status.MEMORY if n == 3 else Status.OK for n in range(8)}
    # It was caught: nobody had to be replaced, and so nothing was resumed.
    assert not [line for line in bench.lines() if b'"resume"' in line]
    bench.assert_nothing_is_left()
