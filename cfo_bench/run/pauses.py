"""Pauses: a run that is stopped and continued later keeps its budget.

Ctrl-Z, a batch system, a frozen container or a halted virtual machine stop a run's process while the
machine's clock runs on. The system sends SIGCONT to a process that it continues. The run's process then
takes the pause off its clock, before it runs any other code of ours: see `take_off_pauses`. The supervisor
looks at the run's process several times a second: see `PauseWatch`. It delays the kill at the deadline, and
detects pauses without a signal.

A busy machine is not a pause. The run takes time off only after SIGCONT, and the supervisor sends this signal
only if its own process did not run, did not wait for a processor, and was not continued by a signal.
Otherwise only the supervisor was stopped.

A pause counts on the clock if a descendant of the run's process used the processor during it: a program in
its own session is not stopped by Ctrl-Z, and a program or a child could stop the run's process to compute for
free. The trace records such a pause as charged.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cfo_bench.clock import WallClock, monotonic, process_seconds, sleep
from cfo_bench.machine import processes
from cfo_bench.machine.processes import descendants_cpu_seconds, threads_that_computed, times_continued
from cfo_bench.run.page import LivePage, NotedPause

# A shorter stop is not recorded and counts on the clock.
LEAST_SECONDS = 1.0
# The same without a signal: a frozen container, a halted virtual machine.
LEAST_UNSIGNALLED_SECONDS = 2.0
# Waiting processes use a little processor time: this number of seconds plus this share of the pause is
# tolerated.
IDLE_CPU_SECONDS, IDLE_SHARE = 0.05, 0.002
# Seconds between two looks of the supervisor at the run's process, and while the process is stopped.
LOOK_SECONDS, STOPPED_LOOK_SECONDS = 0.25, 0.02
# Seconds that a process can compute between the last look of its supervisor and a stop of both.
UNSEEN_SECONDS = LOOK_SECONDS + 0.1
# How long a run that was continued may take to handle the signal, before the supervisor decides.
ANSWER_SECONDS = 0.2


@contextmanager
def take_off_pauses(clock: WallClock, page: LivePage) -> Iterator[None]:
    """Inside, whenever this process is continued, its clock is set back to when it was stopped.

    This is not done if its descendants computed meanwhile. Processes that are forked from it share the clock,
    and wait until it is set.
    """
    owner = os.getpid()
    page.seen_running(monotonic(), descendants_cpu_seconds(owner))

    def on_continue(*_: Any) -> None:
        if os.getpid() == owner:
            _take_off(clock, page)
        else:
            _wait_for_owner(page)

    before = signal.signal(signal.SIGCONT, on_continue)
    signal.siginterrupt(signal.SIGCONT, False)  # libraries may not expect interrupted calls
    try:
        yield
    finally:
        signal.signal(signal.SIGCONT, before)


def _take_off(clock: WallClock, page: LivePage) -> None:
    now, noted = monotonic(), page.noted_pause
    since = max(page.seen_running_at, _last_read(clock, page, now))
    seconds = now - since
    cpu_so_far = descendants_cpu_seconds(os.getpid())
    cpu_seconds = _cpu_in_pause(os.getpid(), cpu_so_far - page.seen_cpu_seconds)
    if noted is not None:
        cpu_seconds = max(cpu_seconds, noted.cpu_seconds)
        if noted.seconds > seconds:  # this code ran late after the end of the pause
            end = noted.since + noted.seconds
            since = max(noted.since, _last_read(clock, page, end))
            seconds = end - since
    if seconds >= LEAST_SECONDS and page.is_clock_running:
        pause = NotedPause(since, seconds, cpu_seconds, _is_charged(seconds, cpu_seconds))
        page.add_pause(pause.record(clock.zero))
        if not pause.is_charged:
            clock.zero += seconds
            page.start_clock(clock.zero)
    page.note_pause(None)
    page.seen_running(now, cpu_so_far)


def _cpu_in_pause(pid: int, since_seen: float) -> float:
    """The least time that descendants of a process computed in a pause, given their processor seconds since
    the last look before it.
    """
    unseen = UNSEEN_SECONDS * min(threads_that_computed(pid), os.cpu_count() or 1)
    return max(since_seen - unseen, 0.0)


def _is_charged(seconds: float, cpu_seconds: float) -> bool:
    return cpu_seconds > IDLE_CPU_SECONDS + IDLE_SHARE * seconds


def _last_read(clock: WallClock, page: LivePage, end: float) -> float:
    """The last reading of the clock before a pause with this end. The clock must not go back further."""
    recorded, read = clock.zero + page.latest, clock.zero + clock.latest
    # A pause lasts longer, so a reading this shortly before its end was made after it.
    return recorded if end - read < LEAST_SECONDS else max(recorded, read)


def _wait_for_owner(page: LivePage) -> None:
    began, seen_at = monotonic(), page.seen_running_at
    if began - seen_at < LEAST_SECONDS:
        return
    while page.seen_running_at == seen_at and monotonic() - began < LEAST_SECONDS:
        sleep(0.001)


@dataclass(frozen=True, slots=True)
class _Look:
    """The observations in one look of the supervisor."""

    at: float  # on the machine's monotonic clock
    ours: float  # seconds that this process ran, or this thread waited for a processor
    run: float  # seconds that the run's process has run
    descendants: float  # seconds that its descendants have run
    trials: int  # finished trials of the run
    continued: int | None  # how often this process was continued by a signal


class PauseWatch:
    """The supervisor's watch over one process of the run; `is_paused` is called several times a second.

    With `has_evaluators`, trials run in forks of that process; while one is not stopped, the run continues.
    """

    def __init__(self, pid: int, page: LivePage, has_evaluators: bool = False) -> None:
        self._pid, self._page, self._has_evaluators = pid, page, has_evaluators
        self._last = self._before = self._look(processes.process_stat(pid))
        # The processor seconds of the descendants when the run's process was first seen stopped (None: it is
        # not), and those since.
        self._cpu_at_stop: float | None = None
        self._cpu_in_stop = 0.0
        self._n_pauses = len(page.pauses())  # recorded by the run's process
        self._wait_until: float | None = None  # when the run must have handled the signal

    def is_paused(self) -> bool:
        """Whether the run's process is stopped, or was until now. Then no deadline holds.

        False if its descendants compute meanwhile: the deadlines hold.
        """
        now = monotonic()
        fields = processes.process_stat(self._pid)
        if processes.is_stopped(fields) and not self._is_evaluating():
            cpu_seconds = descendants_cpu_seconds(self._pid)
            if self._cpu_at_stop is None:
                self._cpu_at_stop, self._cpu_in_stop = cpu_seconds, 0.0
            # If a process ignores the end of its child, the child's seconds are no longer counted.
            self._cpu_in_stop = max(self._cpu_in_stop, cpu_seconds - self._cpu_at_stop)
            self._note(now, self._cpu_in_stop)
            return not _is_charged(now - self._last.at, self._cpu_in_stop)
        if self._cpu_at_stop is not None:  # the run's process records the noted pause as soon as it can
            self._cpu_at_stop = None
            self._note(now, self._cpu_in_stop)
        elif now - self._last.at >= LEAST_SECONDS and len(self._page.pauses()) == self._n_pauses:
            # This process did not look for a while. If the run was also stopped, it soon records this.
            if self._wait_until is None:
                self._wait_until = now + ANSWER_SECONDS
            if now < self._wait_until:
                return True
            if self._were_both_frozen():
                since_seen = descendants_cpu_seconds(self._pid) - self._last.descendants
                self._note(now, _cpu_in_pause(self._pid, since_seen))
                os.kill(self._pid, signal.SIGCONT)
        self._n_pauses, self._wait_until = len(self._page.pauses()), None
        self._before, self._last = self._last, self._look(fields)
        self._page.seen_running(self._last.at, self._last.descendants)
        return False

    def start_again(self) -> None:
        """Ignore the time since the last look: the supervisor was busy, which is not a pause."""
        if self._cpu_at_stop is None:
            self._last = self._look(processes.process_stat(self._pid))

    def _is_evaluating(self) -> bool:
        """Whether an evaluator is not stopped. A program of the method is in its own session."""
        if not self._has_evaluators:
            return False
        session = processes.session_of(processes.process_stat(self._pid))
        children = map(processes.process_stat, processes.children_of(self._pid))
        return any(
            processes.session_of(child) == session and not processes.is_stopped(child) for child in children
        )

    def _note(self, now: float, cpu_seconds: float) -> None:
        """Writes the present length of the pause to the page, unless the run's process has recorded it."""
        seconds = now - self._last.at
        if seconds >= LEAST_SECONDS and len(self._page.pauses()) == self._n_pauses:
            noted = NotedPause(self._last.at, seconds, cpu_seconds, _is_charged(seconds, cpu_seconds))
            self._page.note_pause(noted if self._page.is_clock_running else None)
        if len(self._page.pauses()) != self._n_pauses:
            self._page.note_pause(None)

    def _were_both_frozen(self) -> bool:
        """Whether neither this process nor that of the run ran since the last look, although both could
        have.
        """
        now, last = self._look(processes.process_stat(self._pid)), self._last
        if now.continued != last.continued:  # if the run was stopped, it received this signal too
            return False
        missing = now.at - last.at - (now.ours - last.ours) - LOOK_SECONDS - ANSWER_SECONDS
        is_run_active = now.run - last.run > (now.at - last.at) / 2
        has_continued = now.trials - last.trials > 2 * (last.trials - self._before.trials) + 2
        return missing >= LEAST_UNSIGNALLED_SECONDS and not is_run_active and not has_continued

    def _look(self, fields: list[bytes]) -> _Look:
        return _Look(
            at=monotonic(),
            ours=process_seconds() + processes.seconds_waited(),
            run=processes.seconds_run(fields),
            descendants=descendants_cpu_seconds(self._pid),
            trials=self._page.snapshot().trials,
            continued=times_continued(),
        )
