"""Brings a task's data into this machine's store: fetched from OpenML or PMLB, or sent by another machine.

The files of a task are sent to a machine that lacks them, unless it sees the same file on a shared disk or
has the task in its own store. Sent files go into the store: a folder of the store under the same name, a
plain file into `files/`, under its checksum. One process at a time writes there, and the folder is created
atomically.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from cfo_bench.clock import sleep, utc_now
from cfo_bench.errors import DataError
from cfo_bench.records import DataRef
from cfo_bench.tasks import store
from cfo_bench.tasks.sources import caches
from cfo_bench.tasks.sources.caches import look_up, openml_home
from cfo_bench.tasks.sources.origins import Origin, Unavailable, as_origin
from cfo_bench.tasks.store import Fetched, Stored

T = TypeVar("T")

# Seconds to wait before the second and the third attempt, if the failure may be temporary.
RETRY_SECONDS: Sequence[float] = (2.0, 8.0)


def obtain(ref: DataRef, say: Callable[[str], None] = lambda text: None) -> Stored:
    """The task's folder in the store, fetched first if it is missing. `say` gets a line for every retry."""
    stored = in_store(ref)
    if stored is not None:
        return stored
    searched = [f"the store {store.root()}"]
    for origin in map(as_origin, ref.origins):
        try:
            return _into_store(origin, ref.offline, say)
        except Unavailable as error:
            searched.append(f"{_where(origin, ref.offline)} ({error})")
    raise missing(f"task {ref.task!r}", searched, ref.table, ref.task)


def in_store(ref: DataRef) -> Stored | None:
    folders = (store.find(as_origin(text)) for text in ref.origins)
    return next((stored for stored in folders if stored is not None), None)


def suite_tasks(origin: Origin, offline: bool) -> list[int]:
    """The numbers of the tasks of an OpenML suite. The store keeps them, because OpenML's client does not."""
    known = store.find_suite(origin)
    if known is not None:
        return known
    searched = [f"the store {store.root()}"]
    if not offline:
        from cfo_bench.tasks.sources import openml

        home = openml_home()
        try:
            with store.workplace(store.path_of(origin)) as work:
                tasks = _tries(lambda: openml.suite_tasks(int(origin.key), home, work), lambda text: None)
            if not tasks:
                raise DataError(f"OpenML suite {origin.key} has no tasks: choose another")
            store.put_suite(origin, tasks)
            return tasks
        except Unavailable as error:
            searched.append(f"{home.host} ({error})")
    raise missing(f"suite {str(origin)!r}", searched, None, str(origin))


def missing(what: str, searched: Sequence[str], table: str | None, name: str) -> DataError:
    """The error if there is neither a copy of the data nor a network."""
    with_table = f" --tasks {table}" if table else ""
    return DataError(
        f"{what} is not on this machine: looked in {', '.join(searched)}; run "
        f"`cfo-bench prepare --task {name}{with_table}` on a machine with a network, "
        f"and copy the folder of its store to {store.root()}"
    )


def where_here(ref: DataRef) -> str | None:
    """The copy of the data on this machine, in words, without reading it; None if there is none."""
    for origin in map(as_origin, ref.origins):
        if (store.path_of(origin) / store.ABOUT).is_file():
            return "prepared"
    for origin in map(as_origin, ref.origins):
        if origin.kind == "pmlb":
            if caches.cached_pmlb(origin.key):
                return "PMLB cache"
        elif not look_up(openml_home(), origin).missing:
            return "OpenML cache"
    return None


def _where(origin: Origin, offline: bool) -> str:
    if origin.kind == "pmlb":
        cache, server = f"PMLB's cache {caches.pmlb_folder()}", "PMLB on GitHub"
    else:
        home = openml_home()
        cache, server = f"the OpenML cache {home.root}", home.host
    return cache if offline else f"{cache} and {server}"


def _into_store(origin: Origin, offline: bool, say: Callable[[str], None]) -> Stored:
    with store.workplace(store.path_of(origin)) as work:
        if (stored := store.find(origin)) is not None:  # another process fetched it while this one waited
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


# --- sending to another machine --------------------------------------------------------------------


PIECE_BYTES = 2**24


@dataclass(frozen=True, slots=True)
class Item:
    """A file on the machine that sends it."""

    path: Path
    size: int
    mtime_ns: int
    sha256: str

    def pieces(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece

    def is_at(self, path: Path) -> bool:
        """Whether this machine has the same file at `path`, because the disk is shared."""
        try:
            status = path.stat()
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == (self.size, self.mtime_ns)


@dataclass(frozen=True, slots=True)
class Parcel:
    """The files to send to a machine that lacks a task's data; `origin` is set for a folder of the store."""

    items: tuple[Item, ...]
    origin: str | None = None

    @property
    def folder(self) -> Path:
        """The folder for the files on this machine."""
        if self.origin is not None:
            return store.path_of(as_origin(self.origin))
        return store.root() / "files" / self.items[0].sha256


def pack(ref: DataRef) -> Parcel | None:
    """The files of a task on this machine; None if every machine has the data, or can fetch it by itself."""
    if ref.origins:
        stored = in_store(ref)
        if stored is None:
            return None
        return Parcel(tuple(map(_item, sorted(stored.folder.iterdir()))), stored.about["origin"])
    if ref.path is None or ref.source == "yahpo":  # each machine has its own copy of YAHPO's data
        return None
    return Parcel((_item(Path(ref.path).resolve()),))


def at_hand(ref: DataRef, parcel: Parcel | None) -> DataRef | None:
    """The ref with which this machine can load the data; None if the files have to be sent first."""
    if parcel is None:
        return ref
    if parcel.origin is not None:
        return ref if in_store(ref) else None
    [item] = parcel.items
    kept = parcel.folder / item.path.name
    path = item.path if item.is_at(item.path) else kept if kept.is_file() else None
    return None if path is None else replace(ref, path=str(path))


def unpack(
    ref: DataRef,
    parcel: Parcel,
    receive: Callable[[Item], Iterable[bytes]],
    pause: Callable[[], None],
) -> DataRef:
    """Writes the received files, unless another process just did, and returns the ref that loads them."""
    with store.workplace(parcel.folder, pause) as work:
        if (local := at_hand(ref, parcel)) is not None:
            return local
        new = work / "new"
        with store.writing():
            new.mkdir()
        for item in parcel.items:
            _write(item, receive(item), new / item.path.name)
        with store.writing():
            new.rename(parcel.folder)
    return at_hand(ref, parcel) or ref


def _write(item: Item, pieces: Iterable[bytes], path: Path) -> None:
    checksum = hashlib.sha256()
    with store.writing(), path.open("wb") as file:
        for piece in pieces:
            checksum.update(piece)
            file.write(piece)
    if checksum.hexdigest() != item.sha256:
        raise DataError(
            f"{item.path} was changed while it was sent to this machine: run the same command again"
        )


def _item(path: Path) -> Item:
    try:
        status = path.stat()
        size, mtime_ns = status.st_size, status.st_mtime_ns
        return Item(path, size, mtime_ns, _sha256(path, size, mtime_ns))
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror}") from None


@lru_cache(maxsize=1000)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    """The SHA-256 of a file, computed once for many runs as long as the file does not change."""
    return store.sha256(path)
