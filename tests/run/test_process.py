"""What the run's process writes: every trial is in the trace or on the page, and then leaves the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cfo_bench.records import EndReason, Result, RunSpec, StartedTrial, Status, Trial
from cfo_bench.results.run import read_run
from cfo_bench.results.schema import EndRecord, TrialRecord, decode_trials, trial_record
from cfo_bench.results.trace import TraceWriter, split_lines, trials_crc32
from cfo_bench.run.page import LivePage, Snapshot
from cfo_bench.run.process import TOGETHER_SECONDS, Output
from tests.helpers.runs import cut_off
from tests.helpers.traces import header_of

HEADER = header_of(RunSpec("xgboost", "iris", "rs", 0))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[TraceWriter]:
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        yield writer


def done(page: LivePage, number: int, ended: float, loss: float | None = 0.5) -> TrialRecord:
    """A trial that the method was told of, as the loop yields it."""
    begun = StartedTrial(Trial(number, {"x": number}), max(ended - 0.001, 0.0), 0.0)
    result = Result(Status.FAILED) if loss is None else Result(Status.OK, loss)
    page.began(begun)
    page.evaluated(begun, result, loss, ended)
    return trial_record(begun, result, loss, ended, tell_seconds=0.0)


def in_trace(writer: TraceWriter) -> list[int]:
    found = read_run(writer.path)
    return [] if found is None else [record.number for record in found.trials]


def kept(page: LivePage) -> list[int]:
    return [trial.number for trial in decode_trials(page.kept().splitlines())]


def test_cheap_trials_are_kept_on_the_page_and_written_together(writer: TraceWriter, page: LivePage) -> None:
    output = Output(writer, page)
    output.write(HEADER)
    output.write(done(page, 0, 0.0))
    assert in_trace(writer) == [0]
    for number in (1, 2):
        output.write(done(page, number, number * TOGETHER_SECONDS / 4))
    assert in_trace(writer) == [0] and kept(page) == [1, 2]
    output.write(done(page, 3, TOGETHER_SECONDS))
    assert in_trace(writer) == [0, 1, 2, 3] and kept(page) == []


def test_the_end_is_written_after_the_trials_that_wait(writer: TraceWriter, page: LivePage) -> None:
    output = Output(writer, page)
    output.write(HEADER)
    for number in range(3):
        output.write(done(page, number, 0.0))
    end = EndRecord(
        reason=EndReason.BUDGET, elapsed=1.0, trials=3, best_loss=0.5, best_score=0.5, best_number=0
    )
    output.write(end)
    found = read_run(writer.path)
    assert found is not None and [one.number for one in found.trials] == [0, 1, 2]
    checksum = trials_crc32(split_lines(writer.path.read_bytes()))
    assert found.end is not None and found.end.trials_crc32 == checksum and checksum != 0


def test_a_trial_leaves_the_page_when_the_next_one_starts_and_not_before(
    writer: TraceWriter, page: LivePage
) -> None:
    output = Output(writer, page)
    output.write(HEADER)
    for number in range(3):
        record = done(page, number, float(number))
        assert [one.number for one in page.trials().evaluated] == [number]
        output.write(record)
        assert set(page._rows) == set()


def test_a_page_that_is_full_is_written_at_once(writer: TraceWriter, page: LivePage) -> None:
    output = Output(writer, page)
    output.write(HEADER)
    for number in range(1000):
        output.write(done(page, number, 0.0))
    written = in_trace(writer)
    assert 1 < len(written) < 1000
    assert written + kept(page) == list(range(1000))


def test_the_tally_counts_every_trial_and_has_the_best_loss(writer: TraceWriter, page: LivePage) -> None:
    output = Output(writer, page)
    assert page.snapshot() == Snapshot(None, 0, None)
    output.write(HEADER)
    tallies = []
    for number, loss in enumerate([None, 0.5, 0.7, 0.25]):
        output.write(done(page, number, 0.0, loss))
        tallies.append((page.snapshot().trials, page.snapshot().best_loss))
    assert tallies == [(1, None), (2, 0.5), (3, 0.5), (4, 0.25)]


def test_the_tally_of_a_resumed_run_goes_on_from_its_past(writer: TraceWriter, page: LivePage) -> None:
    past = cut_off(HEADER, [done(page, 0, 0.0, 0.3), done(page, 1, 0.0, None)])
    output = Output(writer, page, past)
    assert page.snapshot() == Snapshot(None, 2, 0.3)
    output.write(done(page, 2, 0.0, 0.4))
    assert page.snapshot() == Snapshot(None, 3, 0.3)
