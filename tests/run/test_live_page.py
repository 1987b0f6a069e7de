"""The page that a run shares with its supervisor: whole at any moment, and outliving both."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfo_bench.errors import RunError, TraceError
from cfo_bench.records import Result, Status, Trial
from cfo_bench.results.trace import trial_record
from cfo_bench.run import live_page
from cfo_bench.run.live_page import BusyError, LivePage, Snapshot
from cfo_bench.run.search import record_of

fork = multiprocessing.get_context("fork")


@pytest.fixture
def page(tmp_path: Path):
    page = LivePage.own(tmp_path / "t.live")
    left = page.under_way()
    assert left == []
    page.clear()
    yield page
    page.close(remove=True)


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return [row["number"] for row in rows]


def test_a_fresh_page_says_nothing(page: LivePage):
    assert page.under_way() == []
    assert page.snapshot() == Snapshot(None, 0, None)


def test_a_trial_under_way_has_no_status_until_it_is_evaluated(page: LivePage):
    trial = Trial(7, {"x": 1, "name": "ü"}, rows=100, thread=2)
    page.began(trial, 1.5, 0.25)
    [row] = page.under_way()
    assert "status" not in row
    assert (row["number"], row["config"], row["started"]) == (7, trial.config, 1.5)
    page.evaluated(trial, Result(Status.OK, 0.25, 2.0, 0.5, 99.0), 0.75, 4.0)
    record = trial_record(page.under_way()[0])
    assert (record.number, record.config, record.rows, record.thread) == (7, trial.config, 100, 2)
    assert (record.status, record.loss, record.score) == (Status.OK, 0.25, 0.75)
    assert (record.started, record.ended, record.ask_seconds) == (1.5, 4.0, 0.25)
    assert (record.fit_seconds, record.validate_seconds, record.tell_seconds) == (2.0, 0.5, None)
    assert (record.peak_memory_mb, record.error) == (99.0, None)


def test_what_was_found_for_one_trial_is_not_taken_for_the_next_ones(page: LivePage):
    for number in range(3):
        page.began(Trial(number, {}), float(number), 0.0)
        assert ["status" in row for row in page.under_way()] == [False]
        page.evaluated(Trial(number, {}), Result(Status.OK, 0.5), 0.5, number + 0.5)
        assert [(row["number"], row["ended"]) for row in page.under_way()] == [(number, number + 0.5)]
        page.told(number, 0, None)


@pytest.mark.parametrize("result", [Result(Status.OK, 0.5, 1.0, 2.0, 3.0), Result(Status.FAILED, error="no")])
def test_the_line_of_a_trial_is_its_record(page: LivePage, result: Result):
    trial = Trial(3, {"x": 1.5}, rows=10, thread=0)
    page.began(trial, 1.0, 0.125)
    score = result.loss
    page.evaluated(trial, result, score, 4.0)
    record = record_of(trial, result, score, 1.0, 4.0, 0.125, 0.25, 0.75, asked=5)
    line = page.line(record)
    assert line.endswith(b"}\n") and line.count(b"\n") == 1
    assert trial_record(orjson.loads(line)) == record


def test_a_told_trial_goes_with_the_next_one(page: LivePage):
    for number in range(3):
        page.began(Trial(number, {}), 0.0, 0.0)
    page.told(1, 0, None)
    page.began(Trial(3, {}), 0.0, 0.0)
    assert numbers(page.under_way()) == [0, 2, 3]


def test_the_last_of_several_trials_is_known_once_it_is_evaluated(page: LivePage):
    for number in range(2):
        page.began(Trial(number, {}), 0.0, 0.0)
    page.evaluated(Trial(0, {}), Result(Status.OK, 0.5), 0.5, 1.0)
    page.told(0, 0, None)
    page.evaluated(Trial(1, {}), Result(Status.OK, 0.25), 0.25, 2.0)
    assert [row["loss"] for row in page.under_way() if row["number"] == 1] == [0.25]


def line(page: LivePage, number: int, loss: float) -> bytes:
    """A trial from its beginning to the line that the trace is to get."""
    trial, result = Trial(number, {"x": number}), Result(Status.OK, loss)
    page.began(trial, float(number), 0.0)
    page.evaluated(trial, result, loss, number + 0.5)
    whole = page.line(record_of(trial, result, loss, float(number), number + 0.5, 0.0, 0.0))
    page.told(number, number + 1, loss)
    return whole


def test_lines_that_wait_are_seen_by_the_other_side_until_they_are_let_go_of(page: LivePage):
    with LivePage.join(page.path) as run:
        lines = [line(run, number, 0.5) for number in range(3)]
        for one in lines[:2]:
            assert run.keep(one)
        assert run.kept() == b"".join(lines[:2])
        # The third was evaluated, but its line was not kept yet.
        assert [(row["number"], row["status"]) for row in page.under_way()] == [(n, "ok") for n in range(3)]
        run.keep(lines[2])
        assert numbers(page.under_way()) == [0, 1, 2], "the slot has the third one too"
        run.let_go()
        assert numbers(page.under_way()) == [2] and run.kept() == b""


def test_a_line_that_was_being_kept_when_the_kill_came_does_not_count(page: LivePage):
    page.keep(line(page, 0, 0.5))
    half = line(page, 1, 0.25)[:40]
    page._map[live_page._LINES_AT + page._kept : live_page._LINES_AT + page._kept + 40] = half
    assert [(row["number"], row["loss"]) for row in page.under_way()] == [(0, 0.5), (1, 0.25)]
    page.clear()
    assert page.under_way() == []


def test_a_page_without_room_for_a_line_says_so_and_keeps_the_others(page: LivePage):
    kept = 0
    while page.keep(line(page, kept, 0.5)):
        kept += 1
    assert kept > 100 and page.kept().count(b"\n") == kept
    assert numbers(page.under_way()) == [*range(kept), kept]
    page.let_go()
    assert page.keep(line(page, kept, 0.5))


def test_the_clock_and_the_tally_are_seen_by_the_other_side(page: LivePage):
    with LivePage.join(page.path) as run:
        run.tally(5, 0.125)
        run.start_clock(1234.5)
        assert page.snapshot() == Snapshot(1234.5, 5, 0.125)
        run.stop_clock()
        assert page.snapshot() == Snapshot(None, 5, 0.125)


def test_clearing_forgets_everything(page: LivePage):
    page.began(Trial(0, {}), 0.0, 0.0)
    page.start_clock(1.0)
    page.clear()
    assert page.under_way() == [] and page.snapshot() == Snapshot(None, 0, None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 600), junk=st.binary(min_size=1, max_size=80))
def test_a_write_that_was_cut_off_leaves_the_slot_before_it(page: LivePage, position: int, junk: bytes):
    page.clear()
    page._begun.clear()
    page._turn = 0
    page.began(Trial(0, {"x": 1}), 0.0, 0.0)
    # The next write goes to the other slot, and dies before it says that it is done.
    at = live_page._SLOT_AT + ((page._turn + 1) % 2) * live_page._SLOT_SIZE + position
    page._map[at : at + len(junk)] = junk
    assert numbers(page.under_way()) == [0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 200), junk=st.binary(min_size=1, max_size=80))
def test_a_page_full_of_junk_is_read_as_rows_or_as_nothing(page: LivePage, position: int, junk: bytes):
    page.began(Trial(0, {"x": 1}), 0.0, 0.0)
    page._map[position : position + len(junk)] = junk
    assert isinstance(page.under_way(), list)
    page.snapshot()


def test_a_configuration_too_large_for_the_page_is_an_error(page: LivePage):
    with pytest.raises(RunError, match="a configuration has to be smaller"):
        page.began(Trial(0, {"x": "long" * 50_000}), 0.0, 0.0)


def test_what_was_under_way_outlives_a_kill(tmp_path: Path):
    path = tmp_path / "t.live"
    ready = fork.Event()
    process = fork.Process(target=_own_and_wait, args=(path, ready))
    process.start()
    assert ready.wait(20)
    with pytest.raises(BusyError, match="another cfo-bench is at this run"):
        LivePage.own(path)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    page = LivePage.own(path)
    left = page.under_way()
    assert numbers(left) == [4, 5] and ["status" in row for row in left] == [True, False]
    # Until it is cleared, the next owner would find the same.
    page.close()
    page = LivePage.own(path)
    again = page.under_way()
    assert again == left
    page.close(remove=True)
    assert not path.exists()


def _own_and_wait(path: Path, ready: Any) -> None:
    page = LivePage.own(path)
    page.clear()
    page.began(Trial(4, {}), 0.0, 0.0)
    page.began(Trial(5, {}), 0.0, 0.0)
    page.evaluated(Trial(4, {}), Result(Status.OK, 0.5), 0.5, 1.0)
    ready.set()
    signal.pause()


def test_many_owners_one_after_another_never_hold_it_at_once(tmp_path: Path):
    """Each removes the file as it leaves: who waits at the lock of a removed file must take the new one."""
    path, held = tmp_path / "t.live", tmp_path / "held"
    owners = [fork.Process(target=_own_in_turn, args=(path, held)) for _ in range(4)]
    for owner in owners:
        owner.start()
    for owner in owners:
        owner.join()
    assert [owner.exitcode for owner in owners] == [0] * 4


def _own_in_turn(path: Path, held: Path) -> None:
    turns = 0
    while turns < 50:
        try:
            page = LivePage.own(path)
        except BusyError:
            continue
        held.touch(exist_ok=False)  # fails if somebody else holds it
        held.unlink()
        page.close(remove=True)
        turns += 1


def test_a_reader_never_sees_half_of_a_write(page: LivePage):
    """While another process writes as fast as it can, every look finds a whole row."""
    writer = fork.Process(target=_write_for_ever, args=(page.path,), daemon=True)
    writer.start()
    seen = set()
    try:
        for _ in range(200_000):
            for row in page.under_way():
                assert set(row["config"].values()) == {row["number"]}
                seen.add(row["number"])
            if len(seen) > 500:
                break
    finally:
        writer.kill()
        writer.join()
    assert len(seen) > 10


def _write_for_ever(path: Path) -> None:
    page = LivePage.join(path)
    number = 0
    while True:
        page.began(Trial(number, {f"x{i}": number for i in range(60)}), 0.0, 0.0)
        page.told(number, 0, None)
        number += 1


def test_a_folder_that_can_not_be_written_is_an_error_with_a_remedy(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TraceError, match=r"can't write .*choose another --results"):
        LivePage.own(tmp_path / "file" / "t.live")
