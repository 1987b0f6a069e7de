"""Processes that are forked from a server."""

from __future__ import annotations

import os

import pytest

from cfo_bench.machine.fork_server import fork_server
from cfo_bench.machine.processes import ForkServerContext

NAMES = ("CFO_BENCH_OLD", "CFO_BENCH_NEW")


def tell_environment(pipe: object) -> None:
    pipe.send([os.environ.get(name) for name in NAMES])  # type: ignore[attr-defined]


def told_by_a_process(context: ForkServerContext) -> list[str | None]:
    ours, theirs = context.Pipe()
    child = context.Process(target=tell_environment, args=(theirs,))
    child.start()
    assert ours.poll(60)
    told: list[str | None] = ours.recv()
    child.join()
    return told


def test_a_process_has_the_settings_of_when_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_OLD", "a")
    context = fork_server([])
    assert told_by_a_process(context) == ["a", None]

    monkeypatch.delenv("CFO_BENCH_OLD")
    monkeypatch.setenv("CFO_BENCH_NEW", "b")
    assert told_by_a_process(context) == [None, "b"]
