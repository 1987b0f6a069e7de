"""Whatever times, values and statuses a source tells: its trace is whole, and has all of its trials."""

from __future__ import annotations

import math
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from cfo_bench.exchange.imported_trace import (
    GivenFacts,
    Meaning,
    Source,
    SourceClock,
    SourceRun,
    SourceTrial,
    trace_of,
)
from cfo_bench.records import Status
from cfo_bench.results.run import run_of_text

GIVEN = GivenFacts(learner="xgboost", task="adult", method="tpe", metric="auc")
SOURCE = Source(format="csv", file="own.csv", sha256="0" * 64)

seconds = st.floats(0, 1e6)
values = st.floats(0, 1) | st.sampled_from([math.nan, math.inf, None])


@st.composite
def trials(draw: st.DrawFn) -> SourceTrial:
    started = draw(seconds)
    return SourceTrial(
        config=draw(st.dictionaries(st.sampled_from("xyz"), st.integers(0, 9) | st.text("ab"))),
        status=draw(st.sampled_from(list(Status))),
        value=draw(values),
        started=draw(st.just(started) | st.none()),
        ended=started + draw(st.floats(0, 1e3)),
        seconds=draw(st.floats(0, 1e3) | st.none()),
        rows=draw(st.integers(1, 100) | st.none()),
    )


@settings(deadline=None)
@given(st.lists(trials(), min_size=1, max_size=12), st.sampled_from(SourceClock), st.sampled_from(Meaning))
def test_a_trace_is_whole_and_has_every_trial(
    found: list[SourceTrial], clock: SourceClock, meaning: Meaning
) -> None:
    made = trace_of(SourceRun(trials=found, clock=clock, meaning=meaning), GIVEN, SOURCE)

    run = run_of_text(Path("own.csv"), made.content, parse_trials=True)
    stored = run_of_text(Path("own.csv"), made.content)
    assert run is not None and len(run.trials) == len(found)
    told = [one.value for one in found if one.status is Status.OK and one.value is not None]
    scored = sorted(
        value if meaning is Meaning.LOSS else 1.0 - value for value in told if math.isfinite(value)
    )
    assert sorted(trial.loss for trial in run.trials if trial.loss is not None) == scored
    assert (run.spec.clock == "wall") == (clock is SourceClock.WALL)
    assert stored is not None and stored.stored is not None


def test_a_long_time_without_a_trial_is_remarked_on() -> None:
    found = [
        SourceTrial(config={}, value=0.5, started=second, ended=second + 10.0)
        for second in (0.0, 20.0, 9000.0)
    ]

    made = trace_of(SourceRun(trials=found, clock=SourceClock.WALL), GIVEN, SOURCE)

    assert made.remarks == ("for 8970 of its 9010 s no trial was running: was it stopped in between?",)
