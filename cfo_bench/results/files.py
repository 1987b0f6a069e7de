"""The files that a run leaves in a results folder: what they are called, and whether one has changed."""

from __future__ import annotations

import os
from pathlib import Path

# The trace of a run. Every file with this suffix below a results folder is one.
TRACE_SUFFIX = ".jsonl"
# The live page, which a run shares with its supervisor; there only while the run is under way, or was killed.
PAGE_SUFFIX = ".live"
# What the run's process printed; kept only if the process died, or the run ended with an error.
LOG_SUFFIX = ".log"
# A trace that was cut off and could not be resumed, kept beside the trace of the new start.
INTERRUPTED_SUFFIX = ".interrupted"
# A trace that was replaced by `--force`, kept beside the new one.
REPLACED_SUFFIX = ".replaced"


def page_path(trace_path: Path) -> Path:
    return trace_path.with_suffix(PAGE_SUFFIX)


def log_path(trace_path: Path) -> Path:
    return trace_path.with_suffix(LOG_SUFFIX)


def kept_path(trace_path: Path, suffix: str, number: int = 1) -> Path:
    """Where the first, or a later, trace is kept that could not be resumed, or was replaced."""
    nth = f"-{number}" if number > 1 else ""
    return trace_path.with_name(f"{trace_path.stem}{nth}{suffix}")


def stamp(path: str | Path) -> tuple[int, int]:
    """The size of a file and when it was last written, in nanoseconds: it changes when the file does."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns
