"""The folder for what can be made again: $CFO_BENCH_CACHE, by default in the user's cache folder (XDG)."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from cfo_bench.errors import UserError

# --- cache folder ----------------------------------------------------------------------------------


FOLDER, LIMIT = "CFO_BENCH_CACHE", "CFO_BENCH_CACHE_GB"
DEFAULT_GB = 10.0


def cache_folder(name: str) -> Path | None:
    """A folder of the cache; None without a cache."""
    if limit_bytes() == 0:
        return None
    given = os.environ.get(FOLDER)
    if given:
        return Path(given).expanduser() / name
    try:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # the user has no home folder
        return None
    return Path(caches) / "cfo-bench" / name


def limit_bytes() -> int:
    """How large the cache may become; 0: there is none."""
    given = os.environ.get(LIMIT) or str(DEFAULT_GB)
    try:
        limit = round(float(given) * 1e9)
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise UserError(f"{LIMIT} is {given!r}: give a number of gigabytes, 0 for no cache")
    return limit


# --- code hash -------------------------------------------------------------------------------------
# A hash of our own source code, for caches: what other code has made may differ from what ours makes.


def code_hash(*places: Path) -> str:
    """The SHA-256 of the files given and of every Python file in the folders given."""
    found = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(path.read_bytes())
    return found.hexdigest()
