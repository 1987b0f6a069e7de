"""A hash of our own source code, for caches: what other code has made may differ from what ours makes."""

from __future__ import annotations

import hashlib
from pathlib import Path


def code_hash(*places: Path) -> str:
    """The SHA-256 of the files given and of every Python file in the folders given."""
    found = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(path.read_bytes())
    return found.hexdigest()
