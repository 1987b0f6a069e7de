"""Prepared arrays on disk: a file is parsed and encoded once, and runs side by side share the memory.

An entry is one file. Its name is a hash of everything that decides its content: the bytes of the data, the
fold, this package's code and the packages that read the data. An entry can therefore never be out of date.
It is written under another name and then renamed, by one process; others that want it wait. It ends in a
checksum, and a damaged entry is made again. If the folder can't be written, the arrays stay in memory.

The folder is `folds` in $CFO_BENCH_CACHE, by default in `cfo-bench` in the user's cache folder (XDG). It is
kept below $CFO_BENCH_CACHE_GB (10) by removing the entries that were not used for longest; 0 is no cache.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import numpy as np

from cfo_bench.errors import NoLocksError
from cfo_bench.files.cache import FOLDER as FOLDER
from cfo_bench.files.cache import LIMIT as LIMIT
from cfo_bench.files.cache import cache_folder, code_hash, limit_bytes
from cfo_bench.files.locks import has_name, open_locked
from cfo_bench.metrics import Array
from cfo_bench.records import DataRef, Fold, Problem, TaskFacts
from cfo_bench.tasks.store import sha256

# --- cache -----------------------------------------------------------------------------------------


# A smaller file is read so quickly that it needs no entry.
SMALL_BYTES = 2**16
LENGTH_BYTES, ALIGNMENT, CHECKSUM_BYTES = 8, 64, 4
OF_NOTHING = zlib.crc32(b"cfo-bench")  # not 0: then a file of zeros would have the right checksum
ARRAYS = ("train_x", "train_y", "valid_x", "valid_y", "test_x", "test_y")
READ_WITH = ("numpy", "pandas", "pyarrow", "scikit-learn", "liac-arff")


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The `key` of an entry, and the file that it is made from.

    `state` is the file's identity, size and time when its bytes were hashed into the key.
    """

    key: str
    path: Path
    state: tuple[int, ...]

    def holds(self) -> bool:
        """Whether the file is still the same as when it was hashed."""
        try:
            return _state(self.path) == self.state
        except (OSError, ValueError):
            return False


@dataclass(frozen=True, slots=True, eq=False)
class CacheEntry:
    """What a file of the cache holds: values that JSON can hold, and arrays."""

    values: dict[str, Any]
    arrays: dict[str, Array]


def cache_key(ref: DataRef, **choice: Any) -> CacheKey | None:
    """The key for this data and `choice` of fold; None for a small file or one that can't be read."""
    if ref.path is None:
        return None
    path = Path(ref.path)
    try:
        state = _state(path)
        if not path.is_file() or path.stat().st_size < SMALL_BYTES:
            return None
        content = sha256(path)
    except (OSError, ValueError):  # whoever reads the data will say what is wrong
        return None
    about = [path.name, ref.task, ref.source, ref.target, ref.problem, ref.drop, ref.drop_missing_target]
    parts = [content, *about, choice, *made_with()]
    return CacheKey(hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest(), path, state)


def facts(wanted: CacheKey | None, build: Callable[[], TaskFacts]) -> TaskFacts:
    """The facts from the cache, or built now and kept."""
    return _facts_of(_fetch(wanted, lambda: CacheEntry({"facts": asdict(build())}, {})))


def fold(wanted: CacheKey | None, build: Callable[[], tuple[Fold, TaskFacts]]) -> tuple[Fold, TaskFacts]:
    """The fold from the cache, mapped into memory, or built now and kept.

    A process may write to the arrays: only that process sees the change.
    """
    entry = _fetch(wanted, lambda: _entry_of(*build()))
    kept = entry.values["fold"]
    return (
        Fold(
            problem=Problem(kept["problem"]),
            metric=kept["metric"],
            n_classes=kept["n_classes"],
            categorical=tuple(kept["categorical"]),
            constant_loss=kept["constant_loss"],
            train_x=entry.arrays["train_x"],
            train_y=entry.arrays["train_y"],
            valid_x=entry.arrays["valid_x"],
            valid_y=entry.arrays["valid_y"],
            test_x=entry.arrays.get("test_x"),
            test_y=entry.arrays.get("test_y"),
        ),
        _facts_of(entry),
    )


def _entry_of(made: Fold, about: TaskFacts) -> CacheEntry:
    values = {
        "problem": made.problem,
        "metric": made.metric,
        "n_classes": made.n_classes,
        "categorical": made.categorical,
        "constant_loss": made.constant_loss,
    }
    arrays = {name: array for name in ARRAYS if (array := getattr(made, name)) is not None}
    return CacheEntry({"fold": values, "facts": asdict(about)}, arrays)


def _facts_of(entry: CacheEntry) -> TaskFacts:
    return TaskFacts.from_json(entry.values["facts"])


# --- entries and their folder -----------------------------------------------------------------


def _fetch(wanted: CacheKey | None, build: Callable[[], CacheEntry]) -> CacheEntry:
    entries, limit = cache_folder("folds"), limit_bytes()
    if wanted is None or entries is None:
        return build()
    path = entries / f"{wanted.key}.fold"
    found = _read(path)
    if found is not None:
        return found
    part_path = path.with_suffix(".part")
    with _sole_writer(part_path) as part:
        found = _read(path) if part else None  # somebody made it while we waited
        if found is not None:
            return found
        built = build()
        if part and wanted.holds() and _size(built) <= limit:
            with suppress(OSError):  # most likely a full disk
                _write(part, built)
                part_path.replace(path)
                _make_room(entries, limit, keep=path)
                return _read(path, verify=False) or built
        return built


def _write(file: IO[bytes], entry: CacheEntry) -> None:
    """The header's length, the header in JSON, the arrays, each at a multiple of ALIGNMENT, the checksum."""
    checksum = OF_NOTHING

    def put(data: bytes | memoryview) -> None:
        nonlocal checksum
        checksum = zlib.crc32(data, checksum)
        file.write(data)

    shapes = {name: [array.dtype.str, array.shape] for name, array in entry.arrays.items()}
    header = json.dumps({"values": entry.values, "arrays": shapes}).encode()
    file.truncate(0)  # another process may have died while it wrote
    put(len(header).to_bytes(LENGTH_BYTES, "little"))
    put(header)
    for array in entry.arrays.values():
        put(b"\0" * (-file.tell() % ALIGNMENT))
        put(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    file.write(checksum.to_bytes(CHECKSUM_BYTES, "little"))
    file.flush()


def _read(path: Path, verify: bool = True) -> CacheEntry | None:
    """The entry, its arrays mapped copy-on-write, so that all readers share the memory; None if damaged."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):  # not there, or empty
        return None
    if verify:
        checksum = zlib.crc32(memoryview(mapped)[:-CHECKSUM_BYTES], OF_NOTHING)
        if checksum.to_bytes(CHECKSUM_BYTES, "little") != mapped[-CHECKSUM_BYTES:]:
            return None
        with suppress(OSError):
            os.utime(path)  # for `_make_room`: it was just used
    at = LENGTH_BYTES + int.from_bytes(mapped[:LENGTH_BYTES], "little")
    header = json.loads(mapped[LENGTH_BYTES:at])
    arrays = {}
    for name, (dtype, shape) in header["arrays"].items():
        at += -at % ALIGNMENT
        array = np.frombuffer(mapped, dtype, math.prod(shape), at).reshape(shape)
        arrays[name] = array
        at += array.nbytes
    return CacheEntry(header["values"], arrays)


@contextmanager
def _sole_writer(path: Path) -> Iterator[IO[bytes] | None]:
    """The file to write an entry to, held by this process alone; None where that can't be had."""
    file = _locked(path, math.inf)
    try:
        yield file
    finally:
        if file is not None:
            with suppress(OSError):  # it bears the entry's name now, unless it was not finished
                if has_name(file.fileno(), path):
                    path.unlink()
            file.close()


def _locked(path: Path, patience_seconds: float) -> IO[bytes] | None:
    try:
        fd = open_locked(path, patience_seconds)
    except (OSError, NoLocksError):
        return None
    return None if fd is None else open(fd, "r+b")


def _make_room(folder: Path, limit: int, keep: Path) -> None:
    """Removes the entries that were not used for longest. Processes that have one mapped keep it."""
    for left in folder.glob("*.part"):  # left by a process that died while it wrote
        with suppress(OSError):
            file = _locked(left, 0.0)
            if file is not None:
                left.unlink()
                file.close()
    entries = []
    for path in folder.glob("*.fold"):
        with suppress(FileNotFoundError):  # other processes remove entries too
            about = path.stat()
            entries.append((path == keep, about.st_mtime_ns, about.st_size, path))
    total = sum(size for _, _, size, _ in entries)
    for _, _, size, path in sorted(entries):
        if total <= limit or path == keep:
            return
        path.unlink(missing_ok=True)
        total -= size


def _size(entry: CacheEntry) -> int:
    return sum(array.nbytes for array in entry.arrays.values())


def _state(path: Path) -> tuple[int, ...]:
    about = path.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def made_with() -> list[str]:
    """The code that turns data into facts and arrays here, and the packages that it reads the data with."""
    return [_code(), *_packages()]


@cache
def _code() -> str:
    here = Path(__file__).parent
    return code_hash(here, here.parent / "metrics.py")


@cache
def _packages() -> list[str]:
    return [f"{name} {metadata.version(name)}" for name in READ_WITH]


# --- known facts -----------------------------------------------------------------------------------
# Facts of tasks that were looked at before, recognised without reading their data again.
#
# A small file for each task, `facts` beside the folder of the prepared arrays, says what the data looked
# like: the file's identity, size and times, this package's code and the packages that read the data. If any
# of these is another now, the facts are not known.


# A file that is changed twice at about the same time may have the same size and times. So what was kept
# so soon after a change does not count.
SETTLED_NS = 2 * 10**9


def state_of(ref: DataRef) -> list[int] | None:
    """What recognises the data's file; empty for data that comes with a package; None: it can't be told."""
    if ref.source == "bundled":
        return []
    if ref.path is None:
        return None
    try:
        about = Path(ref.path).stat()
    except (OSError, ValueError):  # whoever reads the data will say what is wrong
        return None
    return [about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns]


def recall_facts(ref: DataRef, n_folds: int, about: object) -> TaskFacts | None:
    """The facts that were kept, if the data is still the same."""
    path, state = _path_of(ref, n_folds, about), state_of(ref)
    if path is None or state is None:
        return None
    try:
        kept_at, kept = path.stat().st_mtime_ns, json.loads(path.read_bytes())
        if kept["made_with"] != made_with() or kept["state"] != state:
            return None
        if state and kept_at - max(state[2:]) < SETTLED_NS:
            return None
        return TaskFacts.from_json(kept["facts"])
    except (OSError, ValueError, TypeError, KeyError):  # not there, or damaged
        return None


def keep_facts(ref: DataRef, n_folds: int, about: object, before: list[int] | None, facts: TaskFacts) -> None:
    """Keeps the facts, unless the data has changed since its state was `before`."""
    path = _path_of(ref, n_folds, about)
    if path is None or before is None or state_of(ref) != before:
        return
    content = {"state": before, "made_with": made_with(), "facts": asdict(facts)}
    new = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):  # then the data is looked at once more
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(content), encoding="utf-8")
        new.replace(path)


def _path_of(ref: DataRef, n_folds: int, about: object) -> Path | None:
    """Where the facts are kept; None: nowhere."""
    folder = cache_folder("facts")
    if folder is None:
        return None
    parts = [ref.path, ref.task, ref.source, ref.target, ref.problem, n_folds, about]
    parts += [ref.drop, ref.drop_missing_target]
    return folder / f"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}.json"
