"""A method that is a separate program: it exchanges JSON lines on stdin and stdout (docs/protocol.md)."""

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
from functools import lru_cache
from inspect import Parameter, Signature
from statistics import median
from typing import Any

import orjson

from cfo_bench.clock import monotonic, sleep
from cfo_bench.errors import CfoBenchError, Exhausted, OptionError, RunError, UserError, brief_line
from cfo_bench.optimizers.options import check_count, check_number
from cfo_bench.records import Result, Trial
from cfo_bench.registry import PREFIX, existing_program, program_label
from cfo_bench.space import Categorical, Int, Param, Space

PROTOCOL = 1
# Seconds that a program may take to start and answer hello, and to give any other answer.
HELLO_SECONDS, ANSWER_SECONDS = 60.0, 600.0
# The time of an empty round trip: the median of at most this many, within at most this many seconds.
_ROUND_TRIPS, _ROUND_TRIPS_SECONDS = 50, 0.5

_HELLO = {"do": "hello", "protocol": PROTOCOL}
# The keys of a program's answer to hello, and their types.
_HELLO_KEYS: dict[str, type] = {
    "protocol": int,
    "options": dict,
    "parallel": int,
    "replays": bool,
    "version": str,
}


class ProgramMethod:
    """A method that is a separate program.

    answer_timeout_seconds  the longest time that the program may take for an answer
    parallel                trials at once
    """

    words: list[str]  # of the command
    folder: str  # the working folder of the program
    replays: bool
    knows_budget: bool  # true if the program has the option budget_seconds
    version: str | None  # of the program and its packages
    most_parallel: int
    signature: Signature

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int = 0, **options: Any) -> None:
        # A wrong argument is a TypeError, as for any other class.
        given = self.signature.bind(self, space, start, seed, **options)
        given.apply_defaults()
        options = {key: given.arguments[key] for key in list(self.signature.parameters)[4:]}
        self._seconds = options.pop("answer_timeout_seconds")
        check_number("answer_timeout_seconds", self._seconds, 0.001)
        parallel = options.pop("parallel", 1)
        check_count("parallel", parallel)
        if parallel > self.most_parallel:
            raise OptionError(
                f"parallel {parallel!r}: the program runs at most {self.most_parallel} trials at once"
            )
        self._space, self._asked = space, 0
        begin = {"space": space.to_json(), "start": space.check(start), "seed": seed, "options": options}
        self._program = Program(self.words, self.folder)
        try:
            hello = _hello_of(self._program)
            self.program_facts: dict[str, Any] = {  # for the header of a trace
                "command": self._program.name,
                "version": hello.get("version"),
                "round_trip_seconds": self._round_trip_seconds(),
            }
            self._exchange({"do": "begin", **begin, "parallel": parallel}, OptionError)
        except CfoBenchError:
            self._program.close()  # the traceback would keep it alive
            raise

    @property
    def pid(self) -> int:
        """The process id of the program."""
        return self._program.pid

    def ask(self) -> Trial:
        self._program.pass_stderr_on()
        answer = self._exchange({"do": "ask", "number": self._asked})
        if "exhausted" in answer:
            raise Exhausted(brief_line(str(answer["exhausted"])))
        config = answer.get("config")
        if not isinstance(config, dict):
            raise RunError(
                f"program {self._program.name!r} answered {_shown_line(answer)} to ask: "
                "return a config, or exhausted"
            )
        known = {
            name: _as_in_space(self._space[name], value)
            for name, value in config.items()
            if any(param.name == name for param in self._space)
        }
        trial = Trial(self._asked, self._space.check({**config, **known}), answer.get("rows"))
        self._asked += 1
        return trial

    def tell(self, trial: Trial, result: Result) -> None:
        is_ok = result.value < float("inf")
        self._exchange(
            {
                "do": "tell",
                "number": trial.number,
                "config": trial.config,
                "rows": trial.rows,
                "status": result.status if is_ok or result.status != "ok" else "failed",
                "loss": result.loss if is_ok else None,
                "fit_seconds": result.fit_seconds,
                "validate_seconds": result.validate_seconds,
                "error": result.error,
            }
        )

    def _exchange(
        self, message: Mapping[str, Any], refusal: type[CfoBenchError] = RunError
    ) -> dict[str, Any]:
        """The program's answer. If it answers with an error, a `refusal` quotes it."""
        label = program_label(PREFIX + self._program.name)
        answer = self._program.exchange(
            message,
            self._seconds,
            f"Raise the limit with --option {label}.answer_timeout_seconds={10 * self._seconds:g}",
        )
        if "error" in answer:
            raise refusal(f"the program reports: {brief_line(str(answer['error']))}")
        return answer

    def _round_trip_seconds(self) -> float:
        """The time of an exchange that needs no computation by the program."""
        began = monotonic()
        seconds: list[float] = []
        while len(seconds) < _ROUND_TRIPS and monotonic() - began < _ROUND_TRIPS_SECONDS:
            since = monotonic()
            self._exchange(_HELLO)
            seconds.append(monotonic() - since)
        return median(seconds)


def method_of(command: str) -> type[ProgramMethod]:
    """The method class for a command. The program is started once per process, to answer hello."""
    return _method_of(command, os.getcwd())


@lru_cache(maxsize=128)
def _method_of(command: str, folder: str) -> type[ProgramMethod]:
    words = existing_program(PREFIX + command)
    program = Program(words, folder)
    try:
        hello = _hello_of(program)
    except RunError as error:
        raise UserError(str(error)) from None
    finally:
        program.close()
    options, most_parallel = hello.get("options", {}), hello.get("parallel", 1)
    common = {
        **({"parallel": (int, 1)} if most_parallel > 1 else {}),
        "answer_timeout_seconds": (float, ANSWER_SECONDS),
    }
    for name in options:
        if name in (*common, "self", "space", "start", "seed", "parallel") or not name.isidentifier():
            raise UserError(
                f"program {program.name!r} has an option {name!r}, a name that can't be used: rename it"
            )
    typed = {**{name: (_type_of(default), default) for name, default in options.items()}, **common}

    def __init__(self: ProgramMethod, *args: Any, **given: Any) -> None:
        ProgramMethod.__init__(self, *args, **given)

    positional = {"self": Parameter.empty, "space": Parameter.empty, "start": Parameter.empty, "seed": 0}
    signature = Signature(
        [
            *(
                Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)
                for name, default in positional.items()
            ),
            *(
                Parameter(name, Parameter.KEYWORD_ONLY, default=default)
                for name, (_, default) in typed.items()
            ),
        ]
    )
    # The registry reads the options from the constructor.
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__annotations__ = {name: kind for name, (kind, _) in typed.items()}
    return type(
        "ProgramMethod",
        (ProgramMethod,),
        {
            "__init__": __init__,
            "words": words,
            "folder": folder,
            "replays": hello.get("replays", True),
            "knows_budget": "budget_seconds" in options,
            "version": hello.get("version"),
            "most_parallel": most_parallel,
            "signature": signature,
        },
    )


def _hello_of(program: Program) -> dict[str, Any]:
    """The checked answer of a program to `hello`."""
    hello = program.exchange(_HELLO, HELLO_SECONDS, "It has to answer before it loads what takes long.")
    if "error" in hello:
        raise UserError(f"program {program.name!r} reports: {brief_line(str(hello['error']))}")
    if hello.get("protocol") != PROTOCOL:
        raise UserError(
            f"program {program.name!r} answered {_shown_line(hello)} to hello: it has to speak "
            f"protocol {PROTOCOL} (see docs/protocol.md)"
        )
    for key, kind in _HELLO_KEYS.items():
        if key in hello and type(hello[key]) is not kind:
            raise UserError(
                f"program {program.name!r} has {key} = {_shown_line(hello[key])} in its hello: "
                "see docs/protocol.md"
            )
    if hello.get("parallel", 1) < 1:
        raise UserError(
            f"program {program.name!r} has parallel = {hello['parallel']} in its hello: give 1 or more"
        )
    return hello


def _type_of(default: object) -> Any:
    """The type of an option, from its default; null and objects accept anything."""
    return type(default) if type(default) in (bool, int, float, str, list) else Any


def _as_in_space(param: Param, value: Any) -> Any:
    """The number of the space that a value equals: some languages write 3.0 for 3, or 2 for 2.0."""
    if type(value) is float and value.is_integer() and isinstance(param, Int):
        return int(value)
    if isinstance(param, Categorical) and type(value) in (int, float):
        numbers = (choice for choice in param.choices if type(choice) in (int, float))
        return next((choice for choice in numbers if choice == value), value)
    return value


def _shown_line(value: object) -> str:
    return brief_line(repr(value), 200)


# --- the process and its pipes ---------------------------------------------------------------------
# There are no threads here, because processes may be forked from the process of a method. The program's
# stderr is read while waiting for its answer, and passed on to the stderr of this process.

# Seconds that a program may take to exit after its stdin is closed, and seconds between two checks.
_FAREWELL_SECONDS, _LOOK_SECONDS = 0.5, 0.002
# The longest single wait. A pause of the machine counts as at most one such wait.
_TICK_SECONDS = 1.0
# A signal that ended the program may have been sent to all processes of a job: wait for its effect on this
# process.
_STOPPING_SECONDS = 1.0
# The longest line, the part of stderr that is kept, and the part of the output that an error quotes.
_LONGEST_LINE, _KEPT_BYTES, _SHOWN_CHARACTERS = 16 * 2**20, 65536, 200
_MOST_AT_ONCE = 65536
# The size of the pipe for what a program writes to stderr between two exchanges.
_STDERR_PIPE_BYTES = 2**20


class Program:
    """A running program; it ends with this object."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self.name = shlex.join(words)
        # A Python program must not buffer its output, or order sets differently in every process.
        environment = {"PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", **os.environ}
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the command, which then ends its runs
            )
        except OSError as error:
            raise UserError(f"program {self.name!r} can't be started: {error.strerror}") from None
        assert process.stdin and process.stdout and process.stderr
        self._process, self.pid = process, process.pid
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
        self._output = bytearray()  # of stdout, not parsed yet
        self._stderr_tail = b""
        self._not_passed_on: bytes | None = b""  # of stderr; None: it is passed on immediately
        self._end = weakref.finalize(self, _end, process, os.getpid())

    def exchange(self, message: Mapping[str, Any], limit_seconds: float, remedy: str) -> dict[str, Any]:
        """The program's answer to a message. `remedy` is for the error of a program that takes too long."""
        self._refuse_unasked_lines()
        to_send = memoryview(orjson.dumps(message) + b"\n")
        waited, since = 0.0, monotonic()
        while True:
            if to_send:
                to_send = to_send[self._write(to_send) :]
                self._poll.register(self._stdin, select.POLLOUT) if to_send else self._stop_watching_stdin()
            if self._listen(min(limit_seconds - waited, _TICK_SECONDS)):
                end = self._output.find(b"\n", -_MOST_AT_ONCE)  # earlier pieces had no line break
                if end >= 0:
                    line = bytes(self._output[:end])
                    del self._output[: end + 1]
                    self._stop_watching_stdin()
                    return self._parsed(line)
                if len(self._output) > _LONGEST_LINE:
                    raise self._failed(
                        f"printed {_shown(self._output)} and continues: end each answer with a line break",
                        kill=True,
                    )
            now = monotonic()
            waited, since = waited + min(now - since, _TICK_SECONDS), now
            if waited >= limit_seconds:
                output = f", but printed {_shown(self._output)} without a line break" if self._output else ""
                raise self._failed(
                    f"has not answered {_shown(orjson.dumps(message))} within {limit_seconds:g} s{output}: "
                    f"does it flush its stdout? {remedy}",
                    kill=True,
                )

    def pass_stderr_on(self) -> None:
        """Forward the program's stderr, including earlier output, to the stderr of this process."""
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
        except BrokenPipeError:  # the program exited or closed its stdin: its stdout will reveal which
            return len(data)

    def _stop_watching_stdin(self) -> None:
        with suppress(KeyError):
            self._poll.unregister(self._stdin)

    def _listen(self, seconds: float) -> bool:
        """Wait until the program accepts input or has written something; true if it wrote to stdout."""
        has_output = False
        for pipe, _ in self._poll.poll(max(seconds, 0.0) * 1000):
            if pipe == self._stderr:
                self._read_stderr()
            elif pipe == self._stdout:
                piece = os.read(pipe, _MOST_AT_ONCE)
                if not piece:
                    raise self._ended()
                self._output += piece
                has_output = True
        return has_output

    def _read_stderr(self) -> bool:
        try:
            piece = os.read(self._stderr, _MOST_AT_ONCE)
        except BlockingIOError:
            return False
        if not piece:
            with suppress(KeyError):
                self._poll.unregister(self._stderr)
            return False
        self._stderr_tail = (self._stderr_tail + piece)[-_KEPT_BYTES:]
        if self._not_passed_on is None:
            _write_to_stderr(piece)
        else:
            self._not_passed_on = (self._not_passed_on + piece)[-_KEPT_BYTES:]
        return True

    def _refuse_unasked_lines(self) -> None:
        if not self._end.alive:
            raise RunError(f"program {self.name!r} was ended before")
        if not self._output:
            self._listen(0.0)
        if self._output:
            raise self._failed(
                f"printed {_shown(self._output)} without being asked: it has to answer each line with one "
                "line, and to print everything else to stderr"
            )

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            answer = orjson.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failed(
                f"printed {_shown(line)} in place of a JSON object: it has to answer each line with one, "
                "and to print everything else to stderr"
            )
        return answer

    def _ended(self) -> RunError:
        """The error of a program that closed its stdout: it has exited, is exiting, or runs on."""
        try:
            code = self._process.wait(_FAREWELL_SECONDS)
        except subprocess.TimeoutExpired:
            return self._failed("closed its stdout and runs on: it has to keep it open")
        if -code in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            sleep(_STOPPING_SECONDS)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        output = f" after it printed {_shown(self._output)}" if self._output else ""
        return self._failed(f"{how}{output}: it has to run until its stdin is closed")

    def _failed(self, text: str, kill: bool = False) -> RunError:
        """End the program. The error quotes the last line that it wrote to stderr."""
        self.pass_stderr_on()
        for _ in range(_STDERR_PIPE_BYTES // _MOST_AT_ONCE):  # bounded: it may write faster than we read
            if not self._read_stderr():
                break
        lines = self._stderr_tail.decode(errors="replace").strip().splitlines()
        last = f" (the last line on its stderr: {brief_line(lines[-1], _SHOWN_CHARACTERS)})" if lines else ""
        if kill:
            self._process.kill()
        self.close()
        return RunError(f"program {self.name!r} {text}{last}")


def _shown(output: bytes | bytearray) -> str:
    return repr(brief_line(output[: 10 * _SHOWN_CHARACTERS].decode(errors="replace"), _SHOWN_CHARACTERS))


def _write_to_stderr(data: bytes) -> None:
    with suppress(OSError):  # this process may have no stderr
        while data:
            data = data[os.write(2, data) :]


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Close the program's stdin, wait a moment, and kill it with all processes that it has started."""
    if os.getpid() != owner:  # a fork of the process that started the program
        return
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    give_up_at = monotonic() + _FAREWELL_SECONDS
    # It stays a zombie until it is waited for, so no other process group can get its number.
    while process.returncode is None and _is_running(process.pid) and monotonic() < give_up_at:
        sleep(_LOOK_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stderr.close()


def _is_running(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
