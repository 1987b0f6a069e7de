"""Local copies of PMLB's files, named as its package names them: `adult/adult.tsv.gz`."""

from __future__ import annotations

import os
from pathlib import Path

ENVIRONMENT = "CFO_BENCH_PMLB"


def folder() -> Path:
    """$CFO_BENCH_PMLB, such as the `datasets` of a clone of PMLB; by default `pmlb` in the user's caches."""
    given = os.environ.get(ENVIRONMENT)
    return Path(given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "pmlb").expanduser()


def cached(name: str) -> Path | None:
    path = folder().resolve() / name / f"{name}.tsv.gz"
    return path if path.is_file() else None
