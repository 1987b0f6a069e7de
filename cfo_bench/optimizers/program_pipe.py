"""A program that answers each line on its stdin with one line on its stdout: its start, its answers, its end.

There are no threads here, since processes may be forked from the one that holds a method. What the program
writes to stderr is read while it is waited for, and passed on to ours.
"""

from __future__ import annotations

import fcntl
import os
import select
import shlex
import signal
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from cfo_bench.clock import monotonic, sleep
from cfo_bench.errors import RunError, UserError, brief_line

# How long a program may take to end by itself once its stdin is closed, and how often we look.
_FAREWELL_SECONDS, _LOOK_SECONDS = 0.5, 0.002
# The longest wait at once. A pause of the machine counts as one of these at the most.
_TICK_SECONDS = 1.0
# How long to wait, when a signal to all processes of a job ended the program, for that signal's effect on us.
_STOPPING_SECONDS = 1.0
# The longest line, the part of stderr that is kept, and how much of what it said an error shows.
_LONGEST_LINE, _KEPT_BYTES, _SHOWN_CHARACTERS = 16 * 2**20, 65536, 200
_MOST_AT_ONCE = 65536
# Room for what a program writes to stderr while nobody waits for it.
_STDERR_PIPE_BYTES = 2**20


class Program:
    """A program that runs, until this object is no more."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self.name = shlex.join(words)
        # So that Python holds no output back, and a set of texts has the same order in every process.
        surroundings = {"PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", **os.environ}
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env=surroundings,
                start_new_session=True,  # Ctrl-C is for the command, which then ends its runs
            )
        except OSError as error:
            raise UserError(f"program {self.name!r} can't be started: {error.strerror}") from None
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._stdin, self._stdout, self._stderr = (
            pipe.fileno() for pipe in (process.stdin, process.stdout, process.stderr)
        )
        with suppress(OSError):  # the system may allow less
            fcntl.fcntl(self._stderr, fcntl.F_SETPIPE_SZ, _STDERR_PIPE_BYTES)
        self._poll = select.poll()
        for pipe in (self._stdout, self._stderr):
            self._poll.register(pipe, select.POLLIN)
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe, False)
        self._heard = bytearray()
        self._stderr_end = b""  # the last that it wrote there
        self._not_passed_on: bytes | None = b""  # None: what it writes is passed on at once
        self._end = weakref.finalize(self, _end, process, os.getpid())

    def exchange(self, message: Mapping[str, Any], limit_seconds: float, remedy: str) -> dict[str, Any]:
        """What the program answers. `remedy` says how to give it more time."""
        self._refuse_unasked_lines()
        to_send = memoryview(orjson.dumps(message) + b"\n")
        waited, since = 0.0, monotonic()
        while True:
            if to_send:
                to_send = to_send[self._write(to_send) :]
                self._poll.register(self._stdin, select.POLLOUT) if to_send else self._stop_watching_stdin()
            if self._listen(min(limit_seconds - waited, _TICK_SECONDS)):
                end = self._heard.find(b"\n", -_MOST_AT_ONCE)  # it was not in what we heard before
                if end >= 0:
                    line = bytes(self._heard[:end])
                    del self._heard[: end + 1]
                    self._stop_watching_stdin()
                    return self._parsed(line)
                if len(self._heard) > _LONGEST_LINE:
                    raise self._failed(
                        f"said {_shown(self._heard)} and goes on: end each answer with a line break",
                        kill=True,
                    )
            now = monotonic()
            waited, since = waited + min(now - since, _TICK_SECONDS), now
            if waited >= limit_seconds:
                said = f", but said {_shown(self._heard)} without a line break" if self._heard else ""
                raise self._failed(
                    f"has not answered {_shown(orjson.dumps(message))} within {limit_seconds:g} s{said}: "
                    f"does it flush its stdout? {remedy}",
                    kill=True,
                )

    def pass_stderr_on(self) -> None:
        """From now on, what the program writes to stderr goes to ours; and what it wrote so far, too."""
        if self._not_passed_on is not None:
            _write_to_stderr(self._not_passed_on)
            self._not_passed_on = None

    def close(self) -> None:
        self._end()

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:  # it has ended, or reads no more: its stdout will tell
            return len(data)

    def _stop_watching_stdin(self) -> None:
        with suppress(KeyError):
            self._poll.unregister(self._stdin)

    def _listen(self, seconds: float) -> bool:
        """Waits until the program can be written to or has said something; true: on stdout."""
        has_spoken = False
        for pipe, _ in self._poll.poll(max(seconds, 0.0) * 1000):
            if pipe == self._stderr:
                self._read_stderr()
            elif pipe == self._stdout:
                piece = os.read(pipe, _MOST_AT_ONCE)
                if not piece:
                    raise self._ended()
                self._heard += piece
                has_spoken = True
        return has_spoken

    def _read_stderr(self) -> bool:
        try:
            piece = os.read(self._stderr, _MOST_AT_ONCE)
        except BlockingIOError:
            return False
        if not piece:
            with suppress(KeyError):
                self._poll.unregister(self._stderr)
            return False
        self._stderr_end = (self._stderr_end + piece)[-_KEPT_BYTES:]
        if self._not_passed_on is None:
            _write_to_stderr(piece)
        else:
            self._not_passed_on = (self._not_passed_on + piece)[-_KEPT_BYTES:]
        return True

    def _refuse_unasked_lines(self) -> None:
        if not self._end.alive:
            raise RunError(f"program {self.name!r} was ended before")
        if not self._heard:
            self._listen(0.0)
        if self._heard:
            raise self._failed(
                f"said {_shown(self._heard)} without being asked: it has to answer each line with one line, "
                "and to print everything else to stderr"
            )

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            answer = orjson.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failed(
                f"said {_shown(line)} in place of a JSON object: it has to answer each line with one, "
                "and to print everything else to stderr"
            )
        return answer

    def _ended(self) -> RunError:
        """The program closed its stdout, so it has ended or is about to."""
        try:
            code = self._process.wait(_FAREWELL_SECONDS)
        except subprocess.TimeoutExpired:
            return self._failed("closed its stdout and runs on: it has to keep it open")
        if -code in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            sleep(_STOPPING_SECONDS)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        said = f" after it said {_shown(self._heard)}" if self._heard else ""
        return self._failed(f"{how}{said}: it has to run until its stdin is closed")

    def _failed(self, text: str, kill: bool = False) -> RunError:
        """Ends the program. The error quotes the last line that it wrote to stderr."""
        self.pass_stderr_on()
        for _ in range(_STDERR_PIPE_BYTES // _MOST_AT_ONCE):  # not for ever: it may write faster than we read
            if not self._read_stderr():
                break
        lines = self._stderr_end.decode(errors="replace").strip().splitlines()
        last = f" (the last line on its stderr: {brief_line(lines[-1], _SHOWN_CHARACTERS)})" if lines else ""
        if kill:
            self._process.kill()
        self.close()
        return RunError(f"program {self.name!r} {text}{last}")


def _shown(said: bytes | bytearray) -> str:
    return repr(brief_line(said[: 10 * _SHOWN_CHARACTERS].decode(errors="replace"), _SHOWN_CHARACTERS))


def _write_to_stderr(data: bytes) -> None:
    with suppress(OSError):  # there may be none
        while data:
            data = data[os.write(2, data) :]


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Closes the program's stdin, gives it a moment, and kills it with all that it has started."""
    if os.getpid() != owner:  # a process that was forked from the one that started the program
        return
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    give_up_at = monotonic() + _FAREWELL_SECONDS
    # It stays a zombie until it is waited for, so that its number can't be that of another group by now.
    while process.returncode is None and _is_running(process.pid) and monotonic() < give_up_at:
        sleep(_LOOK_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stderr.close()


def _is_running(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
