"""An honest engine, and one for each way to break the contract: `breaks` names the check that sees it."""

from __future__ import annotations

import signal
from typing import ClassVar

from cfo_bench.plugins import Interrupted, Outcome, Stop, Verdict, already_done, signals_into, supervise


class Honest:
    """One run after the other."""

    breaks = None

    def check(self):
        pass

    def at_once(self):
        return 1

    def price(self, specs):
        return f"{len(specs)} runs, one after the other"

    def run(self, jobs, listener, *, force, context):
        stop, signals, verdicts = Stop(), [], []
        with signals_into(signals, stop.set):
            for job in jobs:
                verdict = None if force else already_done(job)
                verdict = verdict or supervise(job, context, stop, force, listener.said, lambda page: None)
                if signals:
                    raise Interrupted(signals[0])
                listener.finished(job, verdict)
                verdicts.append(verdict)
        return verdicts


class HasNoPrice(Honest):
    breaks = "test_it_reports_its_size_and_cost_before_it_starts"

    def price(self, specs):
        return ""


class AnswersInAnotherOrder(Honest):
    breaks = "test_verdicts_come_in_the_order_of_the_jobs"

    def run(self, jobs, listener, **words):
        return super().run(jobs[::-1], listener, **words)


class EndsWithTheFirstFailure(Honest):
    breaks = "test_a_run_that_fails_stops_no_other"

    def run(self, jobs, listener, **words):
        verdicts = []
        for job in jobs:
            if any(verdict.outcome is Outcome.FAILED for verdict in verdicts):
                verdicts.append(Verdict(Outcome.FAILED, 1, "another run failed"))
            else:
                verdicts += super().run([job], listener, **words)
        return verdicts


class ThrowsTracesAway(Honest):
    breaks = "test_every_run_that_is_done_has_its_whole_trace"

    def run(self, jobs, listener, **words):
        verdicts = super().run(jobs, listener, **words)
        jobs[-1].trace_path.unlink(missing_ok=True)
        return verdicts


class ReportsNothing(Honest):
    breaks = "test_each_run_is_reported_once_when_it_has_ended"

    def run(self, jobs, listener, **words):
        listener.finished = lambda job, verdict: None
        return super().run(jobs, listener, **words)


class AlwaysByForce(Honest):
    breaks = "test_what_is_done_is_run_again_by_force_only"

    def run(self, jobs, listener, *, force, context):
        return super().run(jobs, listener, force=True, context=context)


class NeverByForce(Honest):
    breaks = "test_what_is_done_is_run_again_by_force_only"

    def run(self, jobs, listener, *, force, context):
        return super().run(jobs, listener, force=False, context=context)


class HearsNoSignal(Honest):
    breaks = "test_it_stops_when_asked_to_and_the_runs_can_be_resumed"
    settings: ClassVar = {"patience_seconds": 3.0}

    def run(self, jobs, listener, *, force, context):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        return [supervise(job, context, Stop(), force, listener.said, lambda page: None) for job in jobs]
