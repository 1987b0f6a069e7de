"""Facts of tasks that were looked at before, recognised without reading their data again.

A small file for each task, `facts` beside the folder of the prepared arrays, says what the data looked like:
the file's identity, size and times, this package's code and the packages that read the data. If any of
these is another now, the facts are not known.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from cfo_bench.cache_folder import folder as cache_folder
from cfo_bench.records import DataRef, TaskFacts
from cfo_bench.tasks import cache

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


def recall(ref: DataRef, n_folds: int, about: object) -> TaskFacts | None:
    """The facts that were kept, if the data is still the same."""
    path, state = _path_of(ref, n_folds, about), state_of(ref)
    if path is None or state is None:
        return None
    try:
        kept_at, kept = path.stat().st_mtime_ns, json.loads(path.read_bytes())
        if kept["made_with"] != cache.made_with() or kept["state"] != state:
            return None
        if state and kept_at - max(state[2:]) < SETTLED_NS:
            return None
        return TaskFacts.from_json(kept["facts"])
    except (OSError, ValueError, TypeError, KeyError):  # not there, or damaged
        return None


def keep(ref: DataRef, n_folds: int, about: object, before: list[int] | None, facts: TaskFacts) -> None:
    """Keeps the facts, unless the data has changed since its state was `before`."""
    path = _path_of(ref, n_folds, about)
    if path is None or before is None or state_of(ref) != before:
        return
    content = {"state": before, "made_with": cache.made_with(), "facts": asdict(facts)}
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
