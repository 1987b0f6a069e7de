"""A results folder: which runs have files in it, and whether a process is working on one of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.files.locks import is_locked
from cfo_bench.records import method_label
from cfo_bench.registry import label

# --- files -----------------------------------------------------------------------------------------
# The files that a run leaves in a results folder: what they are called, and whether one has changed.


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


# --- folder ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What a results folder holds. Every command lists it here, so that all of them see the same runs."""

    runs: dict[str, set[str]]  # the suffixes of each run's trace and page, by the run's id
    unreadable: list[str]  # a message for each folder, and each file called like a trace, that can't be read


def run_files(results: Path) -> RunFiles:
    """The runs that have a trace or a page in the folder; a run's id is their path without the suffix.

    A folder that is a link is not followed. What is called like a trace and is no regular file is
    never opened.
    """
    if not _is_folder(results):
        raise UserError(f"no folder {str(results)!r}: give the --results folder of cfo-bench run")
    found = RunFiles({}, [])
    _list(str(results), "", found)
    return found


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _list(folder: str, prefix: str, found: RunFiles) -> None:
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        found.unreadable.append(f"can't read the folder {folder}: {error.strerror}; give it back its rights")
        return
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            _list(entry.path, f"{prefix}{entry.name}/", found)
            continue
        stem, suffix = os.path.splitext(entry.name)
        if suffix not in (TRACE_SUFFIX, PAGE_SUFFIX):
            continue
        if entry.is_file(follow_symlinks=False):
            found.runs.setdefault(f"{prefix}{stem}", set()).add(suffix)
        elif suffix == TRACE_SUFFIX:
            kind = "a link" if entry.is_symlink() else "no regular file"
            found.unreadable.append(f"{entry.path} can't be read as a trace, as it is {kind}: move it away")


def is_held(trace_path: Path) -> bool:
    """Whether a process is working on this run: it holds the page beside the trace, or writes the trace."""
    return is_locked(page_path(trace_path)) or is_locked(trace_path)


def check_no_links(results: Path, run_ids: Iterable[str]) -> None:
    """A UserError where a folder of one of these runs is a link: no command follows it.

    What `results` itself is, or its parents are, is the user's own choice.
    """
    folders = {folder for run_id in run_ids for folder in PurePosixPath(run_id).parents}
    for folder in sorted(folders):
        if folder.parts and os.path.islink(results / folder):
            raise UserError(
                f"{results / folder} is a link, and links below a results folder are not followed: "
                "put a folder in its place, or use another --results"
            )


# --- doubles ---------------------------------------------------------------------------------------
# Runs of which a results folder has more than one trace, such as a copy under another name.


# The learner, task, method, fold and seed of a run.
Names = tuple[str, str, str, int, int]


def names_of(spec: Mapping[str, Any]) -> Names:
    """Of the spec in a header."""
    return label(spec["learner"]), label(spec["task"]), method_label(spec), spec["fold"], spec["seed"]


def doubled(runs: Iterable[tuple[Names, str]]) -> list[str]:
    """A line for each run that has several paths."""
    places: dict[Names, list[str]] = {}
    for names, path in runs:
        places.setdefault(names, []).append(path)
    return [
        f"{learner} {task} {method} fold {fold} seed {seed} is there "
        f"{'twice' if len(paths) == 2 else f'{len(paths)} times'}, in {' and '.join(sorted(paths)[:2])}: "
        "move one away; a report counts the run once if all are the same, and else not at all"
        for (learner, task, method, fold, seed), paths in sorted(places.items())
        if len(paths) > 1
    ]
