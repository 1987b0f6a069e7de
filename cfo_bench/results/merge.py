"""Merging the results folders of several machines into one: all runs, or nothing if two contradict."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from cfo_bench.errors import NoLocksError, RunError, TraceError, UserError
from cfo_bench.files.writing import read_regular, refuse_linked_folders, write_whole
from cfo_bench.results.comparability import same_run, same_task
from cfo_bench.results.folder import (
    INTERRUPTED_SUFFIX,
    REPLACED_SUFFIX,
    TRACE_SUFFIX,
    copies_in_words,
    is_held,
    kept_path,
    page_path,
    run_files,
    stamp,
)
from cfo_bench.results.run import Run, read_verified_run
from cfo_bench.results.schema import TrialRecord, encode
from cfo_bench.results.status import PlannedRun, add_to_plan, read_plan
from cfo_bench.results.trace import split_torn

# The remedy if a folder in the results is a link.
_NO_LINK = "remove it, or merge into another folder"


class MergeConflict(RunError):
    """Nothing was written, because of the `conflicts`: one line for each."""

    def __init__(self, conflicts: Sequence[str]) -> None:
        super().__init__(
            f"{len(conflicts)} conflict{'s' * (len(conflicts) != 1)}, nothing was written: "
            "keep the copy that you trust in one of the folders, move the others away, and merge again"
        )
        self.conflicts = list(conflicts)


@dataclass(slots=True)
class Merged:
    """The result of a merge."""

    copied: Counter[str] = field(default_factory=Counter)  # number of runs by the folder they came from
    there_before: int = 0  # number of runs that the folder already had
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of a run in one folder."""

    folder: Path
    run: Run
    n_trials: int  # including those on the live page
    is_torn: bool  # its last line is incomplete
    waiting: bytes  # lines on the live page of a killed run, which belong to the trace
    stamp: tuple[int, int]  # when it was read: see folder.stamp

    @property
    def path(self) -> Path:
        return self.run.path

    def lines(self) -> bytes:
        """The complete lines of the trace, and the waiting ones."""
        return split_torn(read_regular(self.path))[0] + self.waiting


# Reads the trials with a result from a live page.
OnPage = Callable[[Path], Sequence[TrialRecord]]


def merge(folders: Sequence[Path], out: Path, on_page: OnPage, skip_running: bool = False) -> Merged:
    """Copies every run of the folders to `out`, which may be one of them, or have runs already.

    A run in several folders is taken from the folder with most of its trials, including those on its live
    page. The order of the folders does not matter. A run that a process is executing is a conflict, or is
    left out with `skip_running`.
    """
    sources = _sources(folders, out)
    listed = {folder: run_files(folder) for folder in sources}
    for folder, content in listed.items():
        if folder != out and not content.runs and not content.unreadable and not read_plan(folder):
            raise UserError(f"no traces in {str(folder)!r}: give folders that cfo-bench run has written to")
    merged = Merged()
    conflicts = [line for content in listed.values() for line in content.unreadable]
    files = {folder: content.runs for folder, content in listed.items()}
    chosen: dict[str, _Copy] = {}
    for run_id in sorted({run_id for runs in files.values() for run_id in runs}):
        try:
            held = [folder for folder in sources if is_held(folder / f"{run_id}{TRACE_SUFFIX}")]
            if held and not skip_running:
                raise RunError(
                    f"{run_id} is running in {held[0]}: wait for its end, or leave it out with --skip-running"
                )
            merged.notes += [f"{run_id} is running in {folder}: left out" for folder in held]
            if out in held:
                continue
            having = [folder for folder in sources if TRACE_SUFFIX in files[folder].get(run_id, ())]
            copies = [
                copy for folder in having if folder not in held and (copy := _read(folder, run_id, on_page))
            ]
            if copies:
                chosen[run_id] = _choose(run_id, copies)
        except (RunError, TraceError) as error:
            conflicts.append(str(error))
        except OSError as error:
            conflicts.append(f"{error.filename or run_id} can't be read: {error.strerror}")
    conflicts += _different_data(chosen.values())
    if conflicts:
        raise MergeConflict(conflicts)
    try:
        _write(chosen, sources, out, files.get(out, {}), merged)
    except OSError as error:
        raise RunError(
            f"can't write {error.filename or out}: {error.strerror}; the copies made so far are "
            "kept: free some space, then run the same command again"
        ) from None
    merged.warnings += _unlike(chosen.values())
    merged.warnings += copies_in_words((copy.run.names, str(copy.path)) for copy in chosen.values())
    return merged


def _sources(folders: Sequence[Path], out: Path) -> list[Path]:
    """Each folder once, including `out` if it exists, whose runs are treated like those of the others."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{str(out)!r} is a file: give a folder, new or with results, to merge into")
    by_path: dict[Path, Path] = {}
    for folder in [*([out] if out.is_dir() else []), *folders]:
        by_path.setdefault(folder.resolve(), folder)
    for path in [*by_path, out.resolve()]:
        for other in by_path:
            if path != other and path.is_relative_to(other):
                raise UserError(f"{str(path)!r} is inside {str(other)!r}: give only one of them")
    return list(by_path.values())


def _read(folder: Path, run_id: str, on_page: OnPage) -> _Copy | None:
    """The copy, with every line and its digest checked; None for a run without a header, which never
    started.
    """
    path = folder / f"{run_id}{TRACE_SUFFIX}"
    stamp_before = stamp(path)
    run = read_verified_run(path)
    if run is None:
        return None
    is_torn = not read_regular(path).endswith(b"\n")
    waiting: list[TrialRecord] = []
    # On the virtual clock, a resumed run evaluates these trials again, with the same results.
    if not run.is_finished and run.spec.clock == "wall":
        waiting = run.that_may_follow(on_page(page_path(path)))
    return _Copy(
        folder,
        run.without_trials(),
        run.n_trials + len(waiting),
        is_torn,
        b"".join(map(encode, waiting)),
        stamp_before,
    )


def _choose(run_id: str, copies: Sequence[_Copy]) -> _Copy:
    """The copy that contains everything in the other copies; RunError if there is none."""
    if len(copies) == 1:
        return copies[0]
    lines = [copy.lines() for copy in copies]
    best = [
        at
        for at, copy in enumerate(copies)
        if all(_covers(copy, lines[at], other, lines[i]) for i, other in enumerate(copies))
    ]
    if not best:
        raise RunError(f"{run_id} {_what_differs(copies, lines)}")
    # Of several equally good copies, always the same one, whatever the order of the folders.
    return copies[min(best, key=lambda at: lines[at])]


def _covers(copy: _Copy, its_lines: bytes, other: _Copy, other_lines: bytes) -> bool:
    """Whether this copy contains everything in the other copy."""
    if its_lines.startswith(other_lines):  # the other is equal or older
        return True
    if same_run(other.run.header, copy.run.header):
        return False
    (its_header, _, its_rest), (other_header, _, other_rest) = (
        part.partition(b"\n") for part in (its_lines, other_lines)
    )
    # The same run was resumed in two places and finished in one. Or it was started twice with the same trials
    # so far, which is always the case on the virtual clock.
    is_finished_here = its_header == other_header and copy.run.is_finished and not other.run.is_finished
    return is_finished_here or its_rest.startswith(other_rest)


def _what_differs(copies: Sequence[_Copy], lines: Sequence[bytes]) -> str:
    first, first_lines = copies[0], lines[0]
    for other, other_lines in zip(copies[1:], lines[1:], strict=True):
        if _covers(first, first_lines, other, other_lines) or _covers(other, other_lines, first, first_lines):
            continue
        listed = [
            f"{difference.name} {difference.first} and {difference.second}"
            for difference in same_run(first.run.header, other.run.header)
        ]
        if not listed:
            a, b = first_lines.splitlines()[1:], other_lines.splitlines()[1:]
            same = next(
                (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
            )
            listed = [f"{_state(first)} and {_state(other)}, the same for {same} lines after the header"]
        return f"is not the same run in {first.folder} and {other.folder}: {'; '.join(listed)}"
    return f"is not the same run in {', '.join(str(copy.folder) for copy in copies)}"


def _state(copy: _Copy) -> str:
    return f"{copy.n_trials} trials, {'finished' if copy.run.is_finished else 'unfinished'}"


def _different_data(copies: Iterable[_Copy]) -> list[str]:
    """A line for each task whose data differs between the copies, so that its runs cannot be compared."""
    tasks: dict[tuple[str, int], dict[tuple[tuple[str, str], ...], Counter[str]]] = {}
    for copy in copies:
        if copy.run.is_imported:  # its source may not contain the facts; the report states what it assumes
            continue
        versions = tasks.setdefault((copy.run.names[1], copy.run.seed), {})
        versions.setdefault(same_task(copy.run.header), Counter())[str(copy.folder)] += 1
    lines = []
    for (task, seed), versions in sorted(tasks.items()):
        values: dict[str, set[str]] = {}
        for name, value in chain.from_iterable(versions):
            values.setdefault(name, set()).add(value)
        if any(len(different) > 1 for different in values.values()):
            sides = " and ".join(
                f"{', '.join(f'{name} {value}' for name, value in facts)} in {', '.join(sorted(folders))} "
                f"({folders.total()} runs)"
                for facts, folders in versions.items()
            )
            lines.append(f"task {task!r} with seed {seed} is not the same everywhere: {sides}")
    return lines


def _unlike(copies: Iterable[_Copy]) -> list[str]:
    """Differences between the runs that do not prevent a comparison, but should be reported."""
    cpus: dict[str, Counter[str]] = {}
    versions: dict[str, Counter[str]] = {}
    for copy in copies:
        header = copy.run.header
        cpu = header.machine.cpu if header.machine else None
        version = header.cfo_bench.version if header.cfo_bench else None
        cpus.setdefault(str(cpu), Counter())[str(copy.folder)] += 1
        versions.setdefault(str(version), Counter())[str(copy.folder)] += 1
    lines = []
    if len(cpus) > 1:
        lines.append(f"seconds on one processor are not seconds on another: {_sides(cpus)}")
    if len(versions) > 1:
        lines.append(f"the runs are from several versions of cfo-bench: {_sides(versions)}")
    return lines


def _sides(folders: dict[str, Counter[str]]) -> str:
    return "; ".join(
        f"{what} ({runs.total()} runs in {', '.join(sorted(runs))})" for what, runs in folders.items()
    )


def _write(
    chosen: dict[str, _Copy], sources: Sequence[Path], out: Path, before: Container[str], merged: Merged
) -> None:
    """Copies the chosen runs to `out`; `before` contains the runs that `out` had when it was read."""
    for run_id in chosen:
        refuse_linked_folders(out, out / run_id, _NO_LINK)
    out.mkdir(parents=True, exist_ok=True)
    with suppress(NoLocksError):  # the plan is not needed to read the runs
        add_to_plan(out, _plans(sources))
    for run_id, copy in chosen.items():
        target = out / f"{run_id}{TRACE_SUFFIX}"
        is_target = copy.path == target
        if copy.is_torn:
            merged.notes.append(f"{run_id}: an incomplete last line in {copy.folder} was removed in {out}")
        elif is_target:
            merged.there_before += 1
            continue
        lines = copy.lines()
        has_changed = stamp(copy.path) != copy.stamp or is_held(target)
        if has_changed or (run_id not in before and target.exists()):
            raise RunError(f"{run_id} was resumed meanwhile: run the same command again")
        if target.is_file() and read_regular(target) == lines:
            merged.there_before += 1
            continue
        _put(target, lines)
        merged.copied[str(copy.folder)] += 1
        page_path(target).unlink(missing_ok=True)  # its content is in the trace now
    for suffix in (INTERRUPTED_SUFFIX, REPLACED_SUFFIX):
        _keep_others(sources, out, suffix)


def _plans(sources: Sequence[Path]) -> list[PlannedRun]:
    """Each run of all plans once; if plans differ, that with the largest budget."""
    planned: dict[str, PlannedRun] = {}
    for run in [run for folder in sources for run in read_plan(folder)]:
        known = planned.setdefault(run.id, run)
        if (run.budget_seconds, run.error or "") > (known.budget_seconds, known.error or ""):
            planned[run.id] = run
    return [planned[run_id] for run_id in sorted(planned)]


def _keep_others(sources: Sequence[Path], out: Path, suffix: str) -> None:
    """Copies all interrupted or replaced traces; different traces with the same name are numbered."""
    contents: dict[Path, set[bytes]] = {}
    for folder in sources:
        for name in _regular_files(folder, suffix):
            contents.setdefault(name, set()).add(read_regular(folder / name))
    for name, different in contents.items():
        refuse_linked_folders(out, out / name, _NO_LINK)
        taken = 0
        for content in sorted(different):
            target = out / name
            while target.exists() and (not target.is_file() or read_regular(target) != content):
                taken += 1
                target = kept_path(out / name, suffix, taken + 1)
            if not target.exists():
                _put(target, content)


def _regular_files(folder: Path, suffix: str) -> Iterator[Path]:
    """The files below a folder with this suffix, by their paths inside it; no link is followed."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if name.endswith(suffix) and stat.S_ISREG(path.lstat().st_mode):
                yield path.relative_to(folder)


def _put(path: Path, content: bytes) -> None:
    """Writes a file atomically, and syncs it to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content, sync=True)
