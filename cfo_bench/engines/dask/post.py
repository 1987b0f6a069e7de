"""The driver's answers to its attempts, carried by a few threads: a slow worker holds up no other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cfo_bench.engines.dask import remote, travelling
from cfo_bench.engines.dask.answers import Answer
from cfo_bench.engines.dask.crew import Enrolled

if TYPE_CHECKING:
    from distributed import Client

POSTMEN = 16


@dataclass(frozen=True, slots=True)
class Wake:
    """There may be something to do."""


@dataclass(frozen=True, slots=True)
class Over:
    """An attempt that Dask has nothing more to say of, or that could not be answered."""

    token: str
    why: str


Report = dict[str, Any]
News = Wake | Enrolled | Over | Report


class Post:
    """What comes of an errand, if anything does, is put among the news."""

    def __init__(self, news: queue.SimpleQueue[News]) -> None:
        self.news = news
        self._errands: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        for _ in range(POSTMEN):  # daemons: one whose worker hangs must not keep us from ending
            threading.Thread(target=self._carry, name="cfo-bench-post", daemon=True).start()

    def _carry(self) -> None:
        while (errand := self._errands.get()) is not None:
            errand()

    def enrol(self, client: Client, address: str, folder: str) -> None:
        def go() -> None:
            answer: dict[str, Any] | str | Exception
            try:
                answers = client.run(travelling.enrolment(), workers=[address], on_error="return")
                answer = answers[address]
            except Exception as error:
                answer = error
            self.news.put(Enrolled(address, folder, answer))

        self._errands.put(go)

    def answer(
        self, client: Client, worker: str, token: str, answers: Callable[[], Iterable[Answer]]
    ) -> None:
        """One after the other, as long as somebody is there to take them; who can't be answered is over."""

        def go() -> None:
            try:
                for answer in answers():
                    if not client.run(remote.deliver, token, answer, workers=[worker])[worker]:
                        return
            except Exception as error:
                why = str(error).partition("\n")[0]
                self.news.put(Over(token, f"worker {worker} can't be answered ({why})"))

        self._errands.put(go)

    def close(self) -> None:
        for _ in range(POSTMEN):
            self._errands.put(None)
