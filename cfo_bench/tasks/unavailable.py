"""A source that does not have the data, or can't be reached: why, and whether to ask again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TIMEOUT_SECONDS = 60.0


class Unavailable(Exception):
    """Its text is what follows the source's name in a message; `again`: another try may do."""

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


@contextmanager
def patient(seconds: float | None = None) -> Iterator[None]:
    """Nobody is waited for longer than that between two bytes: the packages we use would wait for ever."""
    import requests

    limit = seconds or TIMEOUT_SECONDS
    plain = requests.sessions.HTTPAdapter

    class Patient(plain):  # type: ignore[misc, valid-type]
        def send(self, request: Any, *args: Any, **options: Any) -> Any:
            return super().send(request, *args, **{**options, "timeout": options.get("timeout") or limit})

    before = socket.getdefaulttimeout()
    requests.sessions.HTTPAdapter = Patient  # type: ignore[misc, assignment]
    socket.setdefaulttimeout(limit)
    try:
        yield
    finally:
        requests.sessions.HTTPAdapter = plain  # type: ignore[misc]
        socket.setdefaulttimeout(before)
