"""Hands cases to worker processes, ends those that hang, and counts."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Job
from tests.fuzz.worker import obey_permissions

ROOT = Path(__file__).resolve().parents[2]

# A command that takes longer on a machine with nothing else to do hangs. A worker's first words take
# longer: it imports everything.
HANG_SECONDS, START_SECONDS = 10.0, 120.0
GIVEN_SECONDS = {"compare": 30.0}  # commands that are told how long they may take


@dataclass
class Kind:
    """Failures with one cause: how many, and the first of them."""

    times: int = 0
    job: Job | None = None
    detail: str = ""


@dataclass
class Counts:
    inputs: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    failures: dict[str, Kind] = field(default_factory=dict)
    seconds: float = 0.0

    def failed(self, signature: str, job: Job, detail: str) -> None:
        kind = self.failures.setdefault(signature, Kind())
        kind.times += 1
        if kind.job is None or (kind.job.only is None and job.only is not None):
            kind.job, kind.detail = job, detail

    def lines(self, seed: int) -> Iterator[str]:
        """What a person wants to know, what is wrong last."""
        by_kind = ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.inputs.items()))
        yield f"{self.inputs.total():,} inputs ({by_kind}) in {self.seconds:.0f} s"
        yield f"{self.commands:,} commands"
        if not self.failures:
            yield "no failure"
            return
        total = sum(kind.times for kind in self.failures.values())
        yield f"{total:,} failures of {len(self.failures)} kinds:"
        for signature, kind in sorted(self.failures.items(), key=lambda item: -item[1].times):
            yield f"  {kind.times:6,} × {signature}"
            yield f"           {kind.detail!r}"
            yield f"           again: python -m tests.fuzz --seed {seed} --case {kind.job}"


class Worker:
    """One worker process, started again when it hangs or dies."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._seed = folder, seed
        self._process: subprocess.Popen[str] | None = None

    def carry_out(self, job: Job, counts: Counts) -> bool:
        """Whether all was well; what was not is counted."""
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None and process.stdin is not None
        command = "the start"
        try:
            process.stdin.write(f"{job}\n")
            process.stdin.flush()
            while True:
                row = self._next_unless_it_hangs(GIVEN_SECONDS.get(command, 0.0) + HANG_SECONDS)
                if "command" in row:
                    command = row["command"]
                    continue
                break
        except TimeoutError:
            counts.failed(f"{command}: hangs", job, "")
            self.end()
            return False
        except (EOFError, BrokenPipeError):
            code = process.wait()
            counts.failed(f"{command}: its process died", job, f"exit code {code}: {self._last_words()}")
            self.end()
            return False
        if job.only is None:
            counts.inputs[job.kind] += len(row["inputs"])
        counts.commands += row["commands"]
        for signature, detail in row["failures"]:
            what = f"{detail} ({row['inputs'][0]})" if len(row["inputs"]) == 1 else detail
            counts.failed(signature, job, what[:300])
        return not row["failures"]

    def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        reading, writing = os.pipe()
        self._log = self._folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", str(self._folder), str(self._seed), str(writing)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
                pass_fds=[writing],
                start_new_session=True,
                preexec_fn=obey_permissions,
            )
        os.close(writing)
        self._rows: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_read_into, args=(reading, self._rows), daemon=True).start()
        try:
            self._next(START_SECONDS)
        except (EOFError, TimeoutError):
            raise RuntimeError(f"the fuzzer's worker did not start: {self._last_words()}") from None

    def _next_unless_it_hangs(self, seconds: float) -> dict[str, Any]:
        """The next row; the time is stretched by what other processes take of the machine meanwhile."""
        began, factor = time.monotonic(), _slowness()
        while (remaining := began + seconds * factor - time.monotonic()) > 0:
            with suppress(TimeoutError):
                return self._next(remaining)
            factor = max(factor, _slowness(), _seconds_for_a_second())
        raise TimeoutError

    def _next(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._rows.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if not line:
            raise EOFError
        row: dict[str, Any] = json.loads(line)
        return row

    def _last_words(self) -> str:
        return self._log.read_text(errors="replace")[-500:]

    def end(self) -> None:
        """The worker, and everything that it started."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            with suppress(BrokenPipeError):
                process.communicate()


def _slowness() -> float:
    """How many times longer everything takes since other processes want the processors, too."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _seconds_for_a_second(share: float = 0.1) -> float:
    """How long a process as nice as this one takes at the moment for what a free processor does in one."""
    began, used = time.monotonic(), time.thread_time()
    while time.thread_time() - used < share:
        pass
    return (time.monotonic() - began) / share


def _read_into(fd: int, rows: queue.SimpleQueue[str]) -> None:
    with os.fdopen(fd) as lines:
        for line in lines:
            rows.put(line)
    rows.put("")


def fuzz(
    wanted: Iterable[Job],
    seed: int,
    seconds: float = float("inf"),
    workers: int = 1,
    inputs: float = float("inf"),
    say: Callable[[str], None] = lambda line: None,
) -> Counts:
    """Carries out cases until there are none left, the time is over or there were so many inputs.

    `say` is called with every failure when it is found, and with the counts once a minute.
    """
    counts, began = Counts(), time.monotonic()
    said_at = began
    remaining, lock = iter(wanted), threading.Lock()
    errors: list[BaseException] = []

    def next_job() -> Job | None:
        with lock:
            is_over = time.monotonic() - began > seconds or counts.inputs.total() >= inputs
            return None if is_over else next(remaining, None)

    def count(found: Counts) -> None:
        nonlocal said_at
        with lock:
            _add(counts, found)
            counts.seconds = time.monotonic() - began
            if found.failures:
                say("\n".join(list(found.lines(seed))[2:]))
            if time.monotonic() - said_at > 60:
                said_at = time.monotonic()
                say("; ".join(list(counts.lines(seed))[:3]))

    def work(folder: Path) -> None:
        worker = Worker(folder, seed)
        try:
            while (job := next_job()) is not None:
                count(_carry_out(job, worker))
        except BaseException as error:
            errors.append(error)
        finally:
            worker.end()

    with tempfile.TemporaryDirectory(prefix="cfo-fuzz-", ignore_cleanup_errors=True) as folder:
        threads = [threading.Thread(target=work, args=(Path(folder) / f"{n}",)) for n in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    counts.seconds = time.monotonic() - began
    return counts


def _carry_out(job: Job, worker: Worker) -> Counts:
    """A case; where one with several inputs fails, fewer and fewer of them say whose fault it was."""
    found = Counts()
    if not worker.carry_out(job, found):
        parts = Counts(found.inputs, found.commands)
        for half in job.halves():
            _add(parts, _carry_out(half, worker))
        found = parts if parts.failures else found
    return found


def _add(counts: Counts, more: Counts) -> None:
    counts.inputs += more.inputs
    counts.commands += more.commands
    for signature, kind in more.failures.items():
        if kind.job is not None:
            counts.failed(signature, kind.job, kind.detail)
            counts.failures[signature].times += kind.times - 1
