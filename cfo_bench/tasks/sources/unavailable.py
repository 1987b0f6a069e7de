"""The error when a source lacks the data or can't be reached: why, and whether to retry."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

TIMEOUT_SECONDS = 60.0


class Unavailable(Exception):
    """The text follows the source's name in a message; `again` means that a retry may help."""

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


@dataclass
class Seen:
    """The status of the last answer."""

    status: int = 200


@contextmanager
def patient() -> Iterator[Seen]:
    """Limits every wait for the network to TIMEOUT_SECONDS: the packages would wait for ever."""
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
