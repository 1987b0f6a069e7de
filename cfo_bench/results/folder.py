"""A results folder: the files of its runs, and whether a process is executing one of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cfo_bench.errors import UserError
from cfo_bench.files.locks import is_locked

# The trace of a run. Every file with this suffix below a results folder is one.
TRACE_SUFFIX = ".jsonl"
# The live page, which a run shares with its supervisor; exists only while the run is running, or if it was
# killed.
PAGE_SUFFIX = ".live"
# The output of the run's process; kept only if the process died, or the run ended with an error.
LOG_SUFFIX = ".log"
# A trace that was cut off and could not be resumed, kept beside the trace of the new start.
INTERRUPTED_SUFFIX = ".interrupted"
# A trace that was replaced by `--force`, kept beside the new one.
REPLACED_SUFFIX = ".replaced"

# The learner, task, method, fold and seed of a run.
Names = tuple[str, str, str, int, int]


def page_path(trace_path: Path) -> Path:
    return trace_path.with_suffix(PAGE_SUFFIX)


def log_path(trace_path: Path) -> Path:
    return trace_path.with_suffix(LOG_SUFFIX)


def kept_path(trace_path: Path, suffix: str, number: int = 1) -> Path:
    """The path of the `number`-th trace that is kept because it could not be resumed, or was replaced."""
    nth = f"-{number}" if number > 1 else ""
    return trace_path.with_name(f"{trace_path.stem}{nth}{suffix}")


def stamp(path: str | Path) -> tuple[int, int]:
    """The size of a file and its modification time in nanoseconds, which change when the file changes."""
    facts = os.stat(path)
    return facts.st_size, facts.st_mtime_ns


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The content of a results folder. Every command lists it with this class, so that all commands use the
    same runs.
    """

    results: Path
    runs: dict[str, set[str]]  # the suffixes of each run's trace and page, by the run's id
    unreadable: list[str]  # a message for each folder or file with a trace's suffix that can't be read

    @property
    def traces(self) -> list[Path]:
        """Every trace, in the order of the run ids."""
        return [
            self.results / f"{run_id}{TRACE_SUFFIX}"
            for run_id, suffixes in sorted(self.runs.items())
            if TRACE_SUFFIX in suffixes
        ]


def run_files(results: Path) -> RunFiles:
    """The runs that have a trace or a page in the folder; a run's id is their path without the suffix.

    A folder that is a link is not followed. A file with the suffix of a trace that is not a regular file is
    never opened.
    """
    if not _is_folder(results):
        raise UserError(f"no folder {str(results)!r}: give the --results folder of cfo-bench run")
    files = RunFiles(results, {}, [])
    _list(str(results), "", files)
    return files


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # an impossible file name
        return False


def _list(folder: str, prefix: str, files: RunFiles) -> None:
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        files.unreadable.append(f"can't read the folder {folder}: {error.strerror}; restore its permissions")
        return
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            _list(entry.path, f"{prefix}{entry.name}/", files)
            continue
        stem, suffix = os.path.splitext(entry.name)
        if suffix not in (TRACE_SUFFIX, PAGE_SUFFIX):
            continue
        if entry.is_file(follow_symlinks=False):
            files.runs.setdefault(f"{prefix}{stem}", set()).add(suffix)
        elif suffix == TRACE_SUFFIX:
            kind = "a link" if entry.is_symlink() else "no regular file"
            files.unreadable.append(f"{entry.path} can't be read as a trace, as it is {kind}: move it away")


def is_held(trace_path: Path) -> bool:
    """Whether a process is executing this run: it has locked the page beside the trace, or writes the
    trace.
    """
    return is_locked(page_path(trace_path)) or is_locked(trace_path)


def check_no_links(results: Path, run_ids: Iterable[str]) -> None:
    """A UserError if a folder of one of these runs is a link: no command follows it.

    Links in the path of `results` itself are the choice of the user.
    """
    folders = {folder for run_id in run_ids for folder in PurePosixPath(run_id).parents}
    for folder in sorted(folders):
        if folder.parts and os.path.islink(results / folder):
            raise UserError(
                f"{results / folder} is a link, and links below a results folder are not followed: "
                "replace it by a folder, or use another --results"
            )


def copies_in_words(runs: Iterable[tuple[Names, str]]) -> list[str]:
    """A line for each run with several traces, such as a copy under another name."""
    places: dict[Names, list[str]] = {}
    for names, path in runs:
        places.setdefault(names, []).append(path)
    return [
        f"{learner} {task} {method} fold {fold} seed {seed} exists "
        f"{'twice' if len(paths) == 2 else f'{len(paths)} times'}, in {' and '.join(sorted(paths)[:2])}: "
        "move one away; a report counts the run once if all are the same, and otherwise not at all"
        for (learner, task, method, fold, seed), paths in sorted(places.items())
        if len(paths) > 1
    ]
