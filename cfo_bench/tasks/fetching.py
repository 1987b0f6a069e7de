"""Fetches the data of OpenML and PMLB tasks into the store, unless it is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from cfo_bench.clock import sleep, utc_now
from cfo_bench.errors import DataError
from cfo_bench.records import DataRef
from cfo_bench.tasks import store
from cfo_bench.tasks.sources import pmlb_cache
from cfo_bench.tasks.sources.openml_cache import look_up, openml_home
from cfo_bench.tasks.sources.origins import Origin, as_origin
from cfo_bench.tasks.sources.unavailable import Unavailable
from cfo_bench.tasks.store import Fetched, Stored

T = TypeVar("T")

# Seconds to wait before the second and the third attempt, if the failure may be temporary.
RETRY_SECONDS: Sequence[float] = (2.0, 8.0)


def obtain(ref: DataRef, say: Callable[[str], None] = lambda text: None) -> Stored:
    """The task's folder in the store, fetched first if it isn't there. `say` gets a line for every retry."""
    stored = in_store(ref)
    if stored is not None:
        return stored
    looked = [f"the store {store.root()}"]
    for origin in map(as_origin, ref.origins):
        try:
            return _into_store(origin, ref.offline, say)
        except Unavailable as error:
            looked.append(f"{_where(origin, ref.offline)} ({error})")
    raise missing(f"task {ref.task!r}", looked, ref.table, ref.task)


def in_store(ref: DataRef) -> Stored | None:
    found = (store.find(as_origin(text)) for text in ref.origins)
    return next((stored for stored in found if stored is not None), None)


def suite_tasks(origin: Origin, offline: bool) -> list[int]:
    """The numbers of a suite's tasks. The store keeps them, since OpenML's client does not."""
    found = store.find_suite(origin)
    if found is not None:
        return found
    looked = [f"the store {store.root()}"]
    if not offline:
        from cfo_bench.tasks.sources import openml

        home = openml_home()
        try:
            with store.workplace(store.path_of(origin)) as work:
                tasks = _tries(lambda: openml.suite_tasks(int(origin.key), home, work), lambda text: None)
            if not tasks:
                raise DataError(f"OpenML suite {origin.key} has no tasks: take another")
            store.put_suite(origin, tasks)
            return tasks
        except Unavailable as error:
            looked.append(f"{home.host} ({error})")
    raise missing(f"suite {str(origin)!r}", looked, None, str(origin))


def missing(what: str, looked: Sequence[str], table: str | None, name: str) -> DataError:
    """The error if there is neither a copy of the data nor a network."""
    with_table = f" --tasks {table}" if table else ""
    return DataError(
        f"{what} is not on this machine: looked in {', '.join(looked)}; run "
        f"`cfo-bench prepare --task {name}{with_table}` where there is a network, "
        f"and copy the folder of its store to {store.root()}"
    )


def where_here(ref: DataRef) -> str | None:
    """Which copy of the data this machine has, found without reading it; None if it has none."""
    for origin in map(as_origin, ref.origins):
        if (store.path_of(origin) / store.ABOUT).is_file():
            return "prepared"
    for origin in map(as_origin, ref.origins):
        if origin.kind == "pmlb":
            if pmlb_cache.cached(origin.key):
                return "PMLB cache"
        elif not look_up(openml_home(), origin).missing:
            return "OpenML cache"
    return None


def _where(origin: Origin, offline: bool) -> str:
    if origin.kind == "pmlb":
        here, there = f"PMLB's cache {pmlb_cache.folder()}", "PMLB on GitHub"
    else:
        home = openml_home()
        here, there = f"the OpenML cache {home.root}", home.host
    return here if offline else f"{here} and {there}"


def _into_store(origin: Origin, offline: bool, say: Callable[[str], None]) -> Stored:
    with store.workplace(store.path_of(origin)) as work:
        if (stored := store.find(origin)) is not None:  # another process made it while we waited
            return stored
        return store.put(origin, _tries(lambda: _fetch(origin, offline, work), say), work, utc_now())


def _fetch(origin: Origin, offline: bool, work: Path) -> Fetched:
    scratch = work / "scratch"
    if origin.kind == "pmlb":
        from cfo_bench.tasks.sources import pmlb

        return pmlb.fetch(origin, scratch, offline)
    from cfo_bench.tasks.sources import openml

    return openml.fetch(origin, openml_home(), scratch, offline)


def _tries(attempt: Callable[[], T], say: Callable[[str], None]) -> T:
    for seconds in RETRY_SECONDS:
        try:
            return attempt()
        except Unavailable as error:
            if not error.again:
                raise
            say(f"{error}: trying again in {seconds:g} s")
            sleep(seconds)
    return attempt()
