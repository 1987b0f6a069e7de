"""A results folder: the files that its runs leave, and whether somebody is at one of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from cfo_bench.errors import UserError

# A run's trace, and the page of memory that its supervisor holds while it is at it.
TRACE, PAGE = ".jsonl", ".live"


def run_files(results: Path) -> dict[str, set[str]]:
    """The suffixes of the files of each run, by its id: where they lie in the folder, without the suffix."""
    if not results.is_dir():
        raise UserError(f"no folder {str(results)!r}: give the --results folder of cfo-bench run")
    try:
        return dict(_run_files(str(results), ""))
    except OSError as error:
        raise UserError(
            f"can't read {error.filename}: {error.strerror}; give a folder that you may read"
        ) from None


def _run_files(folder: str, prefix: str) -> Iterator[tuple[str, set[str]]]:
    found: dict[str, set[str]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _run_files(entry.path, f"{prefix}{entry.name}/")
                continue
            stem, suffix = os.path.splitext(entry.name)
            if suffix in (TRACE, PAGE):
                found.setdefault(f"{prefix}{stem}", set()).add(suffix)
    yield from found.items()


def is_held(trace_path: Path) -> bool:
    """Whether somebody is at this run: holds the page beside its trace, or writes the trace."""
    return any(_is_locked(path) for path in (trace_path.with_suffix(PAGE), trace_path))


def _is_locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(fd)
    return False
