"""Sends a task's data to another machine: which files are sent, and where they go there.

If the other machine has the data, nothing is sent: it may see the same file on a shared disk, or have the
task in its own store. Otherwise the files go into its store: a folder of the store under the same name, a
plain file into `files/`, under its checksum. One process at a time writes there, and the folder appears all
at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from cfo_bench.errors import DataError
from cfo_bench.records import DataRef
from cfo_bench.tasks import store
from cfo_bench.tasks.fetching import in_store
from cfo_bench.tasks.sources.origins import as_origin

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
        """Whether this machine sees the same file at `path`: on a shared disk."""
        try:
            about = path.stat()
        except OSError:
            return False
        return (about.st_size, about.st_mtime_ns) == (self.size, self.mtime_ns)


@dataclass(frozen=True, slots=True)
class Parcel:
    """The files to send to a machine that lacks a task's data; `origin` is set for a folder of the store."""

    items: tuple[Item, ...]
    origin: str | None = None

    @property
    def folder(self) -> Path:
        """Where the files go on this machine."""
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
    """The ref by which this machine can load the data; None if the files have to be sent first."""
    if parcel is None:
        return ref
    if parcel.origin is not None:
        return ref if in_store(ref) else None
    [item] = parcel.items
    kept = parcel.folder / item.path.name
    found = item.path if item.is_at(item.path) else kept if kept.is_file() else None
    return None if found is None else replace(ref, path=str(found))


def unpack(
    ref: DataRef,
    parcel: Parcel,
    receive: Callable[[Item], Iterable[bytes]],
    pause: Callable[[], None],
) -> DataRef:
    """Writes the files that are received, unless another process just did; the ref to load them by."""
    with store.workplace(parcel.folder, pause) as work:
        if (found := at_hand(ref, parcel)) is not None:
            return found
        new = work / "new"
        with store.writing():
            new.mkdir()
        for item in parcel.items:
            _write(item, receive(item), new / item.path.name)
        with store.writing():
            new.rename(parcel.folder)
    return at_hand(ref, parcel) or ref


def _write(item: Item, pieces: Iterable[bytes], path: Path) -> None:
    found = hashlib.sha256()
    with store.writing(), path.open("wb") as file:
        for piece in pieces:
            found.update(piece)
            file.write(piece)
    if found.hexdigest() != item.sha256:
        raise DataError(
            f"{item.path} was changed while it was sent to this machine: run the same command again"
        )


def _item(path: Path) -> Item:
    try:
        about = path.stat()
        return Item(path, about.st_size, about.st_mtime_ns, _sha256(path, about.st_size, about.st_mtime_ns))
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror}") from None


@lru_cache(maxsize=1000)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    """Computed once for many runs on one file, as long as the file does not change."""
    return store.sha256(path)
