"""`--charge-method`: the method's own seconds move the virtual clock."""

from __future__ import annotations

from pathlib import Path

from cfo_bench.clock import VirtualClock, sleep
from cfo_bench.engines.suite_runs import run_suite
from cfo_bench.records import Result, Trial
from cfo_bench.results.run import read_run
from cfo_bench.run.loop import Charged
from cfo_bench.suite.model import Suite


class Slow:
    def ask(self) -> Trial:
        sleep(0.02)
        return Trial(0, {})

    def tell(self, trial: Trial, result: Result) -> None:
        sleep(0.01)


def test_what_a_method_takes_is_put_on_the_clock() -> None:
    clock = VirtualClock(100.0)
    method = Charged(Slow(), clock)

    trial = method.ask()
    after_ask = clock.now()
    method.tell(trial, Result.ok(0.5))

    assert after_ask - 100.0 >= 0.02
    assert clock.now() - after_ask >= 0.01


def test_a_run_says_whether_its_method_was_charged(tmp_path: Path) -> None:
    def ask_seconds(charge: bool) -> tuple[bool, float]:
        results = tmp_path / str(charge)
        outcome = run_suite(
            Suite(
                learners=["synthetic-5d"], tasks=["synthetic-1k"], methods=["cfo"], folds="0",
                budget_seconds=1e6, max_trials=30, charge_method=charge, results=results,
            )
        )  # fmt: skip
        run = read_run(outcome.traces[0])
        assert run is not None and len(run.trials) == 30
        seconds = sum(trial.ask_seconds + (trial.tell_seconds or 0.0) for trial in run.trials)
        return run.spec.charge_method, seconds

    assert ask_seconds(False) == (False, 0.0)
    is_charged, seconds = ask_seconds(True)
    assert is_charged and seconds > 0
