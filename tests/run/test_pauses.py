"""A pause is taken off the clock; a busy machine, a short stop and a supervisor that slept are no pause."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cfo_bench.clock import SharedWallClock, WallClock, monotonic
from cfo_bench.machine.processes import SpawnContext, call_in_subprocess, descendants_cpu_seconds
from cfo_bench.results.schema import Pause
from cfo_bench.run.page import LivePage, NotedPause
from cfo_bench.run.pauses import ANSWER_SECONDS, LEAST_SECONDS, UNSEEN_SECONDS, PauseWatch, take_off_pauses


@pytest.fixture
def page(tmp_path: Path) -> Iterator[LivePage]:
    with closing(LivePage.own(tmp_path / "page")) as found:
        found.clear()
        yield found


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as found:
        yield found
        found.kill()


def cpu_seconds_of_children() -> float:
    return descendants_cpu_seconds(os.getpid())


def wait_for_state(pid: int, letters: str) -> None:
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in letters:
        time.sleep(0.005)


# --- in the run's process ---


def test_a_process_that_is_continued_sets_its_clock_back_to_when_it_was_last_seen(page: LivePage) -> None:
    clock = WallClock(5.0)
    page.start_clock(clock.zero)
    with take_off_pauses(clock, page):
        page.seen_running(monotonic() - 3.0, cpu_seconds_of_children())
        clock.zero -= 3.0  # as if three seconds had passed since
        os.kill(os.getpid(), signal.SIGCONT)
        assert 5.0 <= clock.now() < 5.5
    [pause] = page.pauses()
    assert pause.at == pytest.approx(5.0, abs=0.2) and pause.seconds == pytest.approx(3.0, abs=0.2)
    assert page.snapshot().zero == clock.zero


def test_the_clock_does_not_go_back_behind_what_it_has_told(page: LivePage) -> None:
    clock = WallClock(9.0)
    page.start_clock(clock.zero)
    with take_off_pauses(clock, page):
        page.seen_running(monotonic() - 9.0, cpu_seconds_of_children())
        page.note_pause(NotedPause(monotonic() - 9.0, 9.0, 0.0, False))
        page.latest = 7.0
        os.kill(os.getpid(), signal.SIGCONT)
        assert 7.0 <= clock.now() < 7.5
    assert page.noted_pause is None


@pytest.mark.parametrize("clock", [WallClock(9.0), SharedWallClock(9.0)])
def test_the_clock_does_not_go_back_behind_what_was_read_before_the_pause(
    page: LivePage, clock: WallClock
) -> None:
    """Else a learner would see its validation take less than no time."""
    with take_off_pauses(clock, page):
        page.start_clock(clock.zero)
        page.seen_running(monotonic() - 0.2, cpu_seconds_of_children())
        before = clock.now()
        clock.zero -= 3.0  # as if three seconds had passed since
        page.seen_running(page.seen_running_at - 3.0, cpu_seconds_of_children())
        os.kill(os.getpid(), signal.SIGCONT)
        assert before <= clock.now() < before + 0.1
    [pause] = page.pauses()
    assert pause.at == pytest.approx(before, abs=0.05) and pause.seconds == pytest.approx(3.0, abs=0.1)


def test_what_was_read_since_the_end_of_the_pause_does_not_hide_it(page: LivePage) -> None:
    clock = SharedWallClock(9.0)
    with take_off_pauses(clock, page):
        page.start_clock(clock.zero)
        page.seen_running(monotonic() - 3.0, cpu_seconds_of_children())
        clock.zero -= 3.0
        assert clock.now() >= 12.0  # by an evaluator, or by another thread of the learner's
        os.kill(os.getpid(), signal.SIGCONT)
        assert clock.now() < 9.5
    assert len(page.pauses()) == 1


def test_what_the_supervisor_noted_counts_if_the_process_was_busy_when_it_was_continued(
    page: LivePage,
) -> None:
    clock = WallClock(20.0)
    page.start_clock(clock.zero)
    with take_off_pauses(clock, page):
        page.seen_running(monotonic(), cpu_seconds_of_children())  # it has run for ten seconds since
        page.note_pause(NotedPause(clock.zero + 3.0, 7.0, 0.0, False))
        os.kill(os.getpid(), signal.SIGCONT)
    assert page.pauses() == (Pause(pytest.approx(3.0), pytest.approx(7.0)),)
    assert clock.now() == pytest.approx(13.0, abs=0.5)


# Computes for as many seconds as its argument says, beside 64 threads that wait.
COMPUTES = """
import sys, threading, time
for _ in range(64):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
while time.thread_time() < float(sys.argv[1]):
    pass
print(flush=True)
time.sleep(600)
"""


def pause_of_one_that_computes(path: Path) -> Pause:
    clock = WallClock(9.0)
    command = [sys.executable, "-c", COMPUTES, f"{UNSEEN_SECONDS + 0.3}"]
    with closing(LivePage.own(path)) as page:
        page.clear()
        page.start_clock(clock.zero)
        with take_off_pauses(clock, page), subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            page.seen_running(monotonic() - 3.0, cpu_seconds_of_children())
            assert process.stdout is not None and process.stdout.readline()
            os.kill(os.getpid(), signal.SIGCONT)
            process.kill()
        [pause] = page.pauses()
    return pause


def test_threads_that_wait_do_not_make_computing_in_a_pause_free(tmp_path: Path) -> None:
    """What a process computes unseen before a stop is tolerated for each thread that can have computed."""
    # In a new process, which has no other children.
    pause = call_in_subprocess(SpawnContext(), "the pause", pause_of_one_that_computes, tmp_path / "page")
    assert pause.cpu_seconds > 0.2 and pause.charged_seconds == pause.seconds


@pytest.mark.parametrize("is_running", [True, False])
def test_a_short_stop_and_one_while_the_clock_stands_stay_as_they_are(
    page: LivePage, is_running: bool
) -> None:
    clock = WallClock(5.0)
    if is_running:
        page.start_clock(clock.zero)
    with take_off_pauses(clock, page):
        page.seen_running(monotonic() - (0.5 if is_running else 50.0), cpu_seconds_of_children())
        os.kill(os.getpid(), signal.SIGCONT)
    assert page.pauses() == () and clock.now() >= 5.0


def test_the_signal_is_handled_as_before_when_the_run_is_over(page: LivePage) -> None:
    before = signal.getsignal(signal.SIGCONT)
    with take_off_pauses(WallClock(), page):
        assert signal.getsignal(signal.SIGCONT) != before
    assert signal.getsignal(signal.SIGCONT) == before


def test_processes_that_were_forked_see_a_shared_clock_go_back() -> None:
    clock = SharedWallClock(5.0)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        clock.rewind(2.0)
        os.write(write, b"!")
        os._exit(0)
    os.read(read, 1)
    assert 2.0 <= clock.now() < 4.0
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)


# --- the supervisor ---


def test_while_the_process_is_stopped_the_run_s_clock_stands_still(
    page: LivePage, process: subprocess.Popen[bytes]
) -> None:
    page.start_clock(monotonic())
    watch = PauseWatch(process.pid, page)
    assert not watch.is_paused()
    zero = page.snapshot().zero
    process.send_signal(signal.SIGSTOP)
    wait_for_state(process.pid, "T")
    time.sleep(LEAST_SECONDS + 0.2)
    assert watch.is_paused()
    moved = page.snapshot().zero
    assert zero is not None and moved is not None and moved - zero >= LEAST_SECONDS
    process.send_signal(signal.SIGCONT)
    wait_for_state(process.pid, "SR")
    assert not watch.is_paused()
    assert page.noted_pause is not None  # for the run's process, which takes it off when it can


def test_a_stop_that_the_run_has_taken_off_itself_is_not_noted_again(
    page: LivePage, process: subprocess.Popen[bytes]
) -> None:
    page.start_clock(monotonic())
    watch = PauseWatch(process.pid, page)
    time.sleep(LEAST_SECONDS + 0.1)
    page.add_pause(Pause(0.5, LEAST_SECONDS))
    assert not watch.is_paused() and page.noted_pause is None


def test_a_supervisor_that_got_no_processor_takes_that_for_no_pause(
    page: LivePage, process: subprocess.Popen[bytes]
) -> None:
    page.start_clock(monotonic())
    watch = PauseWatch(process.pid, page)
    busy_until = monotonic() + 2 * LEAST_SECONDS + 1.0
    while monotonic() < busy_until:  # another thread would have the interpreter meanwhile
        pass
    assert watch.is_paused()  # until it is clear what it was
    time.sleep(ANSWER_SECONDS)
    assert not watch.is_paused() and page.noted_pause is None


def test_what_stopped_both_without_a_signal_is_noted_and_the_run_is_told(
    page: LivePage, process: subprocess.Popen[bytes]
) -> None:
    page.start_clock(monotonic())
    watch = PauseWatch(process.pid, page)
    time.sleep(5)  # as if the container had been frozen
    watch.is_paused()
    time.sleep(ANSWER_SECONDS)
    assert not watch.is_paused()
    assert page.noted_pause is not None and page.noted_pause.seconds >= 5


def test_a_run_that_went_on_while_only_its_supervisor_was_stopped_was_not_paused(
    page: LivePage, process: subprocess.Popen[bytes]
) -> None:
    page.start_clock(monotonic())
    watch = PauseWatch(process.pid, page)
    time.sleep(3.5)
    page.tally(70, 0.5)
    watch.is_paused()
    time.sleep(ANSWER_SECONDS)
    assert not watch.is_paused() and page.noted_pause is None
