"""Folds and facts of tasks in the cache, so that a file is parsed and encoded once.

A prepared fold is recognised by the SHA-256 of the file's content. The facts alone are also recognised by the
file's state (inode, size and times), so that the file need not be read. Both depend on the code and the
packages that read the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from cfo_bench.clock import unix_now
from cfo_bench.files.cache import CacheEntry, cached, code_hash, file_state, recall
from cfo_bench.records import DataRef, Fold, Problem, TaskFacts
from cfo_bench.tasks.store import sha256

# A smaller file is read so quickly that it needs no entry.
SMALL_BYTES = 2**16
# A file that is changed twice in a short time may have the same size and times. Therefore its state is not
# relied on for this many seconds after a change.
SETTLED_SECONDS = 2.0

PARTS = ("train", "valid", "test")
ARRAYS = tuple(f"{part}_{kind}" for part in PARTS for kind in ("x", "y", "weight"))
READ_WITH = ("numpy", "pandas", "pyarrow", "scikit-learn", "liac-arff")


@dataclass(frozen=True, slots=True)
class FileKey:
    """The key of an entry, its source file, and the state of that file when it was hashed."""

    key: list[Any]
    path: Path
    state: list[int]

    def holds(self) -> bool:
        """Whether the file is still the same as when it was hashed."""
        return _state_of(self.path) == self.state


def content_key(ref: DataRef, **choice: Any) -> FileKey | None:
    """The key for this data and `choice` of fold; None for a file that is small or cannot be read."""
    if ref.path is None:
        return None
    path = Path(ref.path)
    state = _state_of(path)
    try:
        if state is None or not path.is_file() or path.stat().st_size < SMALL_BYTES:
            return None
        key = [sha256(path), path.name, *_about(ref), choice, *_made_with()]
    except OSError:  # reported when the data is read
        return None
    return FileKey(key, path, state)


def prepared_fold(
    wanted: FileKey | None, build: Callable[[], tuple[Fold, TaskFacts]]
) -> tuple[Fold, TaskFacts]:
    """The fold, mapped from the cache, or built and stored in the cache."""
    if wanted is None:
        return build()
    entry = cached("folds", wanted.key, lambda: _to_entry(*build()), wanted.holds)
    fold = {**entry.facts["fold"], **entry.arrays}
    fold |= {"problem": Problem(fold["problem"]), "categorical": tuple(fold["categorical"])}
    return Fold(**fold), TaskFacts.from_json(entry.facts["task"])


def _to_entry(fold: Fold, facts: TaskFacts) -> CacheEntry:
    arrays = {name: array for name in ARRAYS if (array := getattr(fold, name)) is not None}
    rest = ("problem", "metric", "n_classes", "categorical", "constant_loss")
    return CacheEntry(arrays, {"fold": {name: getattr(fold, name) for name in rest}, "task": asdict(facts)})


# --- facts --------------------------------------------------------------------------------------------


def prepared_facts(wanted: FileKey | None, build: Callable[[], TaskFacts]) -> TaskFacts:
    """The facts from the cache, or built and stored in the cache."""
    if wanted is None:
        return build()
    entry = cached("folds", wanted.key, lambda: CacheEntry({}, asdict(build())), wanted.holds)
    return TaskFacts.from_json(entry.facts)


def state_key(ref: DataRef, n_folds: int, about: object) -> FileKey | None:
    """A key for facts that is made without reading the data; None if the data has no file, or none yet.

    Data that comes with a package changes only with the version of the package.
    """
    path = Path(ref.path or "")
    state = [] if ref.source == "bundled" else _state_of(path) if ref.path else None
    if state is None:
        return None
    return FileKey([state, ref.path, *_about(ref), n_folds, about, *_made_with()], path, state)


def known_facts(wanted: FileKey | None) -> TaskFacts | None:
    """The stored facts, if the data is still the same."""
    entry = recall("facts", wanted.key) if wanted else None
    return TaskFacts.from_json(entry.facts) if entry else None


def keep_facts(wanted: FileKey | None, facts: TaskFacts) -> None:
    """Stores the facts, unless the data has changed since, or shortly before."""
    if wanted is None:
        return
    if wanted.state:
        changed_at = max(wanted.state[-2:]) / 1e9
        if not wanted.holds() or unix_now() - changed_at < SETTLED_SECONDS:
            return
    cached("facts", wanted.key, lambda: CacheEntry({}, asdict(facts)))


# --- parts of the keys --------------------------------------------------------------------------------


def _about(ref: DataRef) -> list[Any]:
    of_columns = [ref.drop, ref.drop_missing_target, ref.split, ref.weight]
    return [ref.task, ref.source, ref.target, ref.problem, *of_columns]


def _state_of(path: Path) -> list[int] | None:
    try:
        return file_state(path)
    except (OSError, ValueError):  # reported when the data is read
        return None


def _made_with() -> list[str]:
    return [_code(), *_packages()]


@cache
def _code() -> str:
    """The hash of the code that turns data into facts and arrays."""
    here = Path(__file__).parent
    return code_hash(here, here.parent / "metrics.py", here.parent / "records.py")


@cache
def _packages() -> list[str]:
    return [f"{name} {metadata.version(name)}" for name in READ_WITH]
