"""Resuming a run: a fresh method is brought to where the trace stands, by replay."""

from __future__ import annotations

from cfo_bench.errors import Exhausted, TraceError
from cfo_bench.records import Optimizer, RunSpec, Trial
from cfo_bench.results.run import Run
from cfo_bench.run.loop import Referee


def replay(optimizer: Optimizer, past: Run, spec: RunSpec, referee: Referee) -> list[tuple[Trial, float]]:
    """Asks and tells the method as the run did; returns the trials that it asked for and was not told of.

    Each comes with the second of the run's clock at which it was asked for. Before each tell, the method
    is asked for as many trials as the trace says (`asked`), or, where it does not say, for as many as
    could be under way at once. The method has to ask for the very trials of the trace.
    """
    untold: dict[int, tuple[Trial, float]] = {}
    asked, now = 0, 0.0
    for told, record in enumerate(past.trials):
        under_way = min(told + spec.parallel, spec.max_trials or told + spec.parallel)
        while asked < (record.asked or under_way):
            try:
                trial = referee.ask(optimizer, asked)
            except Exhausted:
                break
            untold[trial.number] = (trial, now)
            asked += 1
        found, _ = untold.pop(record.number, (None, now))
        if found is None or found.config != record.config or found.rows != record.rows:
            raise TraceError(
                f"trial {record.number} of the trace is not what method {spec.method!r} asks for now: "
                "it was made by another version; use --force to run it again, or another --results"
            )
        optimizer.tell(found, record.result())
        now = record.ended
    return [untold[number] for number in sorted(untold)]
