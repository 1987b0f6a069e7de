"""A results folder: which runs have files in it, and whether a process is working on one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cfo_bench.errors import UserError
from cfo_bench.locks import is_locked
from cfo_bench.results.files import PAGE_SUFFIX, TRACE_SUFFIX, page_path


def run_files(results: Path) -> dict[str, set[str]]:
    """The suffixes of each run's trace and page, by the run's id: their path without the suffix."""
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
            if suffix in (TRACE_SUFFIX, PAGE_SUFFIX):
                found.setdefault(f"{prefix}{stem}", set()).add(suffix)
    yield from found.items()


def is_held(trace_path: Path) -> bool:
    """Whether a process is working on this run: it holds the page beside the trace, or writes the trace."""
    return is_locked(page_path(trace_path)) or is_locked(trace_path)
