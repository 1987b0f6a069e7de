"""A method in a program of its own: it speaks JSON lines on stdin and stdout, as docs/protocol.md says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from inspect import Parameter, Signature
from statistics import median
from typing import Any

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError, Exhausted, OptionError, RunError, UserError, brief_line
from cfo_bench.optimizers.option_checks import check_count, check_number
from cfo_bench.optimizers.program_pipe import Program
from cfo_bench.program_names import PREFIX, existing_program, program_label
from cfo_bench.records import Result, Trial
from cfo_bench.space import Categorical, Int, Param, Space

PROTOCOL = 1
# How long a program may take to start and say hello, and to give any other answer.
HELLO_SECONDS, ANSWER_SECONDS = 60.0, 600.0
# The bare round trip is the median of so many, taken within so many seconds.
_ROUND_TRIPS, _ROUND_TRIPS_SECONDS = 50, 0.5

_HELLO = {"do": "hello", "protocol": PROTOCOL}
# What the hello of a program may say, and the type of each.
_HELLO_KEYS: dict[str, type] = {
    "protocol": int,
    "options": dict,
    "parallel": int,
    "replays": bool,
    "version": str,
}


class ProgramMethod:
    """A method in a program of its own.

    answer_timeout_seconds  how long the program may take for an answer
    parallel                trials at once
    """

    words: list[str]  # of the command
    folder: str  # in which the program is started
    replays: bool
    most_parallel: int
    options: Mapping[str, Any]  # of the program, each with its default
    signature: Signature

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int = 0, **options: Any) -> None:
        given = self.signature.bind(
            self, space, start, seed, **options
        )  # a TypeError, as for any other class
        given.apply_defaults()
        options = {key: given.arguments[key] for key in list(self.signature.parameters)[4:]}
        self._seconds = options.pop("answer_timeout_seconds")
        check_number("answer_timeout_seconds", self._seconds, 0.001)
        parallel = options.pop("parallel", 1)
        check_count("parallel", parallel)
        if parallel > self.most_parallel:
            raise OptionError(
                f"parallel {parallel!r}: the program takes {self.most_parallel} trials at once at the most"
            )
        self._space, self._asked = space, 0
        begin = {"space": space.to_json(), "start": space.check(start), "seed": seed, "options": options}
        self._program = Program(self.words, self.folder)
        try:
            hello = _said_hello(self._program)
            self.program_facts = {  # for the header of a trace
                "command": self._program.name,
                "version": hello.get("version"),
                "round_trip_seconds": self._round_trip_seconds(),
            }
            self._exchange({"do": "begin", **begin, "parallel": parallel}, OptionError)
        except CfoBenchError:
            self._program.close()  # the traceback would keep it
            raise

    def ask(self) -> Trial:
        self._program.pass_stderr_on()
        answer = self._exchange({"do": "ask", "number": self._asked})
        if "exhausted" in answer:
            raise Exhausted(brief_line(str(answer["exhausted"])))
        config = answer.get("config")
        if not isinstance(config, dict):
            raise RunError(
                f"program {self._program.name!r} answered {_shown(answer)} when it was asked: give a config, "
                "or say exhausted"
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
        """What the program answers; a `refusal` with its own words if it says that something is wrong."""
        label = program_label(PREFIX + self._program.name)
        answer = self._program.exchange(
            message,
            self._seconds,
            f"Give it longer by --option {label}.answer_timeout_seconds={10 * self._seconds:g}",
        )
        if "error" in answer:
            raise refusal(f"the program says: {brief_line(str(answer['error']))}")
        return answer

    def _round_trip_seconds(self) -> float:
        """What it takes to ask the program a question and hear its answer, if the answer takes no time."""
        began = monotonic()
        seconds: list[float] = []
        while len(seconds) < _ROUND_TRIPS and monotonic() - began < _ROUND_TRIPS_SECONDS:
            since = monotonic()
            self._exchange(_HELLO)
            seconds.append(monotonic() - since)
        return median(seconds)


def method_of(command: str) -> type[ProgramMethod]:
    """The class of a command's methods. The program is started to say hello, once in a process."""
    return _method_of(command, os.getcwd())


@lru_cache(maxsize=128)
def _method_of(command: str, folder: str) -> type[ProgramMethod]:
    words = existing_program(PREFIX + command)
    program = Program(words, folder)
    try:
        hello = _said_hello(program)
    except RunError as error:
        raise UserError(str(error)) from None
    finally:
        program.close()
    options, most_parallel = hello.get("options", {}), hello.get("parallel", 1)
    own = {
        **({"parallel": (int, 1)} if most_parallel > 1 else {}),
        "answer_timeout_seconds": (float, ANSWER_SECONDS),
    }
    for name in options:
        if name in own or name in ("self", "space", "start", "seed", "parallel") or not name.isidentifier():
            raise UserError(
                f"program {program.name!r} has an option {name!r}, a name that can't be used: rename it"
            )
    typed = {**{name: (_type_of(default), default) for name, default in options.items()}, **own}

    def __init__(self: ProgramMethod, *args: Any, **given: Any) -> None:
        ProgramMethod.__init__(self, *args, **given)

    positional = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for name, default in (
            ("self", Parameter.empty),
            ("space", Parameter.empty),
            ("start", Parameter.empty),
            ("seed", 0),
        )
    ]
    signature = Signature(
        [
            *positional,
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=one[1]) for name, one in typed.items()),
        ]
    )
    # The command line reads the options off the constructor.
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__annotations__ = {name: one[0] for name, one in typed.items()}
    return type(
        "ProgramMethod",
        (ProgramMethod,),
        {
            "__init__": __init__,
            "__doc__": ProgramMethod.__doc__,
            "words": words,
            "folder": folder,
            "replays": hello.get("replays", True),
            "most_parallel": most_parallel,
            "options": options,
            "signature": signature,
        },
    )


def _said_hello(program: Program) -> dict[str, Any]:
    hello = program.exchange(_HELLO, HELLO_SECONDS, "It has to answer before it loads what takes long.")
    if hello.get("protocol") != PROTOCOL:
        raise UserError(
            f"program {program.name!r} answered {_shown(hello)} to hello: it has to speak "
            f"protocol {PROTOCOL} (see docs/protocol.md)"
        )
    for key, kind in _HELLO_KEYS.items():
        if key in hello and type(hello[key]) is not kind:
            raise UserError(
                f"program {program.name!r} says in its hello {key} = {_shown(hello[key])}: "
                "see docs/protocol.md"
            )
    if hello.get("parallel", 1) < 1:
        raise UserError(
            f"program {program.name!r} says hello with parallel = {hello['parallel']}: give 1 or more"
        )
    return hello


def _type_of(default: object) -> Any:
    """What an option takes, by its default; one that is null or an object takes anything."""
    return type(default) if type(default) in (bool, int, float, str, list) else Any


def _as_in_space(param: Param, value: Any) -> Any:
    """Some languages write 3.0 for 3, or 2 for 2.0: such a number is the one of the space that it equals."""
    if type(value) is float and value.is_integer() and isinstance(param, Int):
        return int(value)
    if isinstance(param, Categorical) and type(value) in (int, float):
        numbers = (choice for choice in param.choices if type(choice) in (int, float))
        return next((choice for choice in numbers if choice == value), value)
    return value


def _shown(value: object) -> str:
    return brief_line(repr(value), 200)
