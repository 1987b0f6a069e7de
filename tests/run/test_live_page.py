"""The page that a run shares with its supervisor: whole at any moment, and outliving both."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfo_bench.errors import RunError, TraceError
from cfo_bench.files.locks import is_locked
from cfo_bench.records import Result, StartedTrial, Status, Trial
from cfo_bench.results.schema import Pause, TrialRecord, encode, trial_record
from cfo_bench.run.page import SLOT_BYTES, BusyError, Layout, LivePage, NotedPause, Snapshot, TrialsOnPage

fork = multiprocessing.get_context("fork")
NOTHING = TrialsOnPage([], [])


def started(number: int, config: dict[str, Any] | None = None) -> StartedTrial:
    return StartedTrial(Trial(number, {"x": number} if config is None else config), float(number), 0.125)


def evaluated(number: int, loss: float = 0.5, **more: Any) -> TrialRecord:
    result = Result(Status.OK, loss, 0.25, 0.125, 99.0)
    return trial_record(started(number), result, 1 - loss, number + 0.5, **more)


def evaluate(page: LivePage, number: int, loss: float = 0.5) -> None:
    """The page hears of this record."""
    record = evaluated(number, loss)
    page.evaluated(started(number), record.result(), record.score, record.ended)


def overwrite(page: LivePage, at: int, content: bytes) -> None:
    """Writes to the page's file, which is mapped into memory."""
    with page.path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def numbers(page: LivePage) -> tuple[list[int], list[int]]:
    """Of the evaluated trials, and of those without a result."""
    found = page.trials()
    return [one.number for one in found.evaluated], [one.trial.number for one in found.started]


def test_a_fresh_page_says_nothing(page: LivePage) -> None:
    assert page.trials() == NOTHING
    assert page.snapshot() == Snapshot(None, 0, None)


RESULTS = [
    Result(Status.OK, 0.25, 2.0, 0.5, 99.0),
    Result(Status.OK, 0.25, 2.0, 0.5, None),
    Result(Status.FAILED, None, 2.0, error="ü\nb"),
    Result(Status.TIMEOUT),
]


@pytest.mark.parametrize("asked", [None, 5])
@pytest.mark.parametrize("result", RESULTS)
def test_a_trial_has_no_result_until_it_is_evaluated(
    page: LivePage, result: Result, asked: int | None
) -> None:
    begun = StartedTrial(Trial(7, {"x": 1.5, "name": "ü"}, rows=100, thread=2), 1.5, 0.25)
    page.began(begun)
    assert page.trials() == TrialsOnPage([], [begun])
    page.evaluated(begun, result, result.loss, 4.0, asked)
    record = trial_record(begun, result, result.loss, 4.0, asked=asked)
    assert page.trials() == TrialsOnPage([record], [])
    [found] = page.trials().evaluated
    assert isinstance(found.status, Status)


@pytest.mark.parametrize("result", RESULTS[:2])
def test_a_test_score_joins_the_result_of_its_trial(page: LivePage, result: Result) -> None:
    for number in range(2):
        page.began(started(number))
        page.evaluated(started(number), result, 0.75, number + 0.5)
        record = trial_record(started(number), result, 0.75, number + 0.5, test_score=0.5)
        page.tested(record)
        assert page.trials() == TrialsOnPage([record], [])
        page.remove(number)


def test_the_result_of_one_trial_is_not_taken_for_the_next_ones(page: LivePage) -> None:
    for number in range(3):
        page.began(started(number))
        assert numbers(page) == ([], [number])
        evaluate(page, number, 1 / (1 + number))
        assert page.trials() == TrialsOnPage([evaluated(number, 1 / (1 + number))], [])
        page.remove(number)


def test_a_removed_trial_goes_when_the_next_one_comes(page: LivePage) -> None:
    for number in range(3):
        page.began(started(number))
    page.remove(1)
    assert numbers(page) == ([], [0, 1, 2])
    page.began(started(3))
    assert numbers(page) == ([], [0, 2, 3])


def test_the_last_of_several_trials_is_known_once_it_is_evaluated(page: LivePage) -> None:
    for number in range(2):
        page.began(started(number))
    evaluate(page, 0)
    page.remove(0)
    evaluate(page, 1, 0.25)
    assert evaluated(1, 0.25) in page.trials().evaluated and page.trials().started == []


def line(page: LivePage, number: int, loss: float = 0.5) -> bytes:
    """A trial from its start to the line that the trace is to get."""
    page.began(started(number))
    evaluate(page, number, loss)
    page.remove(number)
    return encode(evaluated(number, loss, tell_seconds=0.0))


def test_lines_that_wait_are_seen_by_the_other_side_until_they_are_dropped(page: LivePage) -> None:
    with closing(LivePage.join(page.path)) as run:
        lines = [line(run, number) for number in range(3)]
        for one in lines[:2]:
            assert run.keep(one)
        assert run.kept() == b"".join(lines[:2])
        assert numbers(page) == ([0, 1, 2], []), "the line of the third is not kept yet, the slot has it"
        assert [one.tell_seconds for one in page.trials().evaluated] == [0.0, 0.0, None]
        run.keep(lines[2])
        assert numbers(page) == ([0, 1, 2], []), "the slot still has the third one too"
        assert [one.tell_seconds for one in page.trials().evaluated] == [0.0, 0.0, 0.0]
        run.drop_kept()
        assert numbers(page) == ([2], []) and run.kept() == b""


def test_a_line_that_was_being_kept_when_the_kill_came_does_not_count(page: LivePage) -> None:
    page.keep(line(page, 0))
    half = line(page, 1, 0.25)[:40]
    overwrite(page, Layout.waiting.offset + 8 + len(page.kept()), half)
    assert [(one.number, one.loss) for one in page.trials().evaluated] == [(0, 0.5), (1, 0.25)]
    page.clear()
    assert page.trials() == NOTHING


def test_a_page_without_room_for_a_line_says_so_and_keeps_the_others(page: LivePage) -> None:
    kept = 0
    while page.keep(line(page, kept)):
        kept += 1
    assert kept > 100 and page.kept().count(b"\n") == kept
    assert numbers(page) == ([*range(kept), kept], [])
    page.drop_kept()
    assert page.keep(line(page, kept))


def test_the_clock_and_the_tally_are_seen_by_the_other_side(page: LivePage) -> None:
    with closing(LivePage.join(page.path)) as run:
        run.tally(5, 0.125)
        run.start_clock(1234.5)
        assert page.snapshot() == Snapshot(1234.5, 5, 0.125)
        run.stop_clock()
        assert page.snapshot() == Snapshot(None, 5, 0.125)


def test_pauses_outlive_the_process_that_they_were_in(page: LivePage) -> None:
    page.add_pause(Pause(1.0, 2.0))
    page.note_pause(NotedPause(5.0, 3.0, 0.0, False))
    page.clear()
    assert page.pauses() == (Pause(1.0, 2.0),) and page.noted_pause is None
    for n in range(40):  # more than there is room for
        page.add_pause(Pause(2.0 + n, 1.0, 0.5, 1.0))
    assert len(page.pauses()) == 32 and sum(pause.seconds for pause in page.pauses()) == 42.0
    assert sum(pause.cpu_seconds for pause in page.pauses()) == 20.0
    assert sum(pause.charged_seconds for pause in page.pauses()) == 40.0
    page.forget_pauses()
    assert page.pauses() == ()


def test_clearing_forgets_everything(page: LivePage) -> None:
    page.keep(line(page, 0))
    page.began(started(1))
    page.start_clock(1.0)
    page.tally(1, 0.5)
    page.clear()
    assert page.trials() == NOTHING and page.snapshot() == Snapshot(None, 0, None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(position=st.integers(0, 600), junk=st.binary(min_size=1, max_size=80))
def test_a_write_that_was_cut_off_leaves_the_slot_before_it(
    page: LivePage, position: int, junk: bytes
) -> None:
    page.clear()
    page._rows.clear()
    page._turn = 0
    page.began(started(0))
    # The next write goes to the other slot, and dies before it says that it is done.
    overwrite(page, Layout.slots.offset + ((page._turn + 1) % 2) * SLOT_BYTES + position, junk)
    assert page.trials() == TrialsOnPage([], [started(0)])


# The head, the six numbers, the slots and the lines that wait.
PLACES = st.one_of(
    st.integers(0, 200),
    st.integers(0, 200).map(lambda n: Layout.slots.offset + SLOT_BYTES + n),
    st.integers(0, 400).map(lambda n: Layout.waiting.offset + n),
)
BYTES = st.binary(min_size=1, max_size=80)
JSON = st.sampled_from([b"[1],", b"null", b"[]", b'{"a":1}', b'"x"', b"true", b"0", b",", b"[", b"]"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300)
@given(position=PLACES, junk=st.one_of(BYTES, st.lists(JSON, min_size=1).map(b"".join)))
def test_a_page_full_of_junk_is_read_as_trials_or_as_nothing(
    page: LivePage, position: int, junk: bytes
) -> None:
    page.clear()
    page._rows.clear()
    page._turn = 0
    page.keep(line(page, 0))
    page.began(started(1))
    overwrite(page, position, junk)
    found = page.trials()
    assert all(isinstance(one, TrialRecord) for one in found.evaluated)
    assert all(isinstance(one, StartedTrial) for one in found.started)
    page.snapshot()


def test_a_page_of_another_version_is_read_as_nothing(page: LivePage) -> None:
    page.keep(line(page, 0))
    overwrite(page, 0, b"cfolive5")
    assert page.trials() == NOTHING


def test_a_configuration_too_large_for_the_page_is_an_error(page: LivePage) -> None:
    with pytest.raises(RunError, match="a configuration has to be smaller"):
        page.began(started(0, {"x": "long" * 50_000}))


def test_a_page_can_be_taken_while_others_look_whether_it_is_held(tmp_path: Path) -> None:
    """`cfo-bench status` and `watch` hold its lock for an instant."""
    path = tmp_path / "a.live"
    LivePage.own(path).close()
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            is_locked(path)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(300):
            LivePage.own(path).close()
    finally:
        is_over.set()
        for looker in lookers:
            looker.join()


def test_what_was_under_way_outlives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "t.live"
    ready = fork.Event()
    process = fork.Process(target=_own_and_wait, args=(path, ready))
    process.start()
    assert ready.wait(20)
    with pytest.raises(BusyError, match="another cfo-bench executes this run"):
        LivePage.own(path)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    page = LivePage.own(path)
    left = page.trials()
    assert left == TrialsOnPage([evaluated(4)], [started(5)])
    # Until it is cleared, the next owner would find the same.
    page.close()
    page = LivePage.own(path)
    assert page.trials() == left
    page.close(remove=True)
    assert not path.exists()


def _own_and_wait(path: Path, ready: Any) -> None:
    page = LivePage.own(path)
    page.clear()
    page.began(started(4))
    page.began(started(5))
    evaluate(page, 4)
    ready.set()
    signal.pause()


def test_many_owners_one_after_another_never_hold_it_at_once(tmp_path: Path) -> None:
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


def test_a_reader_never_sees_half_of_a_write(page: LivePage) -> None:
    """While another process writes as fast as it can, every look finds a whole trial."""
    writer = fork.Process(target=_write_for_ever, args=(page.path,), daemon=True)
    writer.start()
    seen = set()
    try:
        for _ in range(200_000):
            for trial, begun_at, *_ in page.trials().started:
                assert set(trial.config.values()) == {trial.number} and begun_at == trial.number
                seen.add(trial.number)
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
        page.began(started(number, {f"x{i}": number for i in range(60)}))
        page.remove(number)
        number += 1


def test_a_folder_that_can_not_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TraceError, match=r"can't write .*choose another --results"):
        LivePage.own(tmp_path / "file" / "t.live")
