"""The origins of data that is not a file: `openml:3`, `openml-data:31`, `pmlb:adult`.

With a dash instead (`openml-3`) an origin can be a folder's name, and therefore a task's name.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cfo_bench.errors import UserError

FORM = re.compile(r"(openml-suite|openml-data|openml|pmlb)([:-])(.*)")
SUITE = "openml-suite"
WHAT = {
    "openml": "an OpenML task",
    "openml-data": "an OpenML data set",
    SUITE: "an OpenML suite",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """A data set of OpenML or PMLB. `key` is OpenML's number, or PMLB's name."""

    kind: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"

    @property
    def task_name(self) -> str:
        return f"{self.kind}-{self.key}"


def parse_origin(text: str) -> Origin | None:
    """The origin that a name refers to; None if the name is not an origin."""
    parts = FORM.fullmatch(text.strip())
    if parts is None:
        return None
    kind, mark, key = parts.groups()
    right = re.fullmatch(r"[\w.-]*\w[\w.-]*" if kind == "pmlb" else "[1-9][0-9]*", key)
    if right is None or key.startswith("."):
        if mark == "-":
            return None
        example = "a data set's name, such as pmlb:adult" if kind == "pmlb" else f"{WHAT[kind]}'s number"
        raise UserError(f"{text!r}: after {kind}: comes {example}")
    return Origin(kind, key)


def as_origin(text: str) -> Origin:
    """The origin from its text in a `DataRef`."""
    kind, _, key = text.partition(":")
    return Origin(kind, key)


# --- a source that lacks the data or can't be reached ----------------------------------------------


TIMEOUT_SECONDS = 60.0


class Unavailable(Exception):
    """A source cannot be used. The text follows the name of the source in a message; `again`: a retry may
    help.
    """

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


@dataclass
class Seen:
    """The status of the last HTTP response."""

    status: int = 200


@contextmanager
def patient() -> Iterator[Seen]:
    """Limits every wait for the network to TIMEOUT_SECONDS, because the packages have no limit."""
    import requests.sessions

    sessions: Any = requests.sessions
    plain: Any = sessions.HTTPAdapter
    seen, limit = Seen(), TIMEOUT_SECONDS

    class Patient(plain):  # type: ignore[misc]
        def send(self, request: Any, *args: Any, **options: Any) -> Any:
            answer = super().send(request, *args, **{**options, "timeout": options.get("timeout") or limit})
            seen.status = answer.status_code
            return answer

    before = socket.getdefaulttimeout()
    sessions.HTTPAdapter = Patient
    socket.setdefaulttimeout(limit)
    try:
        yield seen
    finally:
        sessions.HTTPAdapter = plain
        socket.setdefaulttimeout(before)
