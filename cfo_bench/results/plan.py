"""The plan of a results folder: which runs were asked for. It shows which of them have not started."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, get_type_hints

import orjson

from cfo_bench.annotations import fits
from cfo_bench.errors import NoLocksError, UserError
from cfo_bench.locks import lock
from cfo_bench.records import RunSpec
from cfo_bench.registry import label
from cfo_bench.run_id import method_label, run_id
from cfo_bench.safe_writing import open_file, read_regular

# Without the suffix of a trace: every file that has it is taken for one.
FILE_NAME = "runs.plan"
# The most trials of a run in a plan by an older version, which did not write them down.
NOT_SAID = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """One run that was asked for."""

    id: str  # see trace.run_id
    learner: str
    task: str
    method: str
    fold: int
    seed: int
    budget_seconds: float
    clock: str
    max_trials: int | None = NOT_SAID
    error: str | None = None  # why it failed, if it failed before it had a trace


def record(results: Path, specs: Sequence[RunSpec]) -> None:
    """Adds runs to the plan, unless they are in it as they are; several commands may do so at once."""
    note(results, [_planned(spec) for spec in specs])


def record_failure(results: Path, spec: RunSpec, error: str) -> None:
    """Adds to the plan why a run failed before its first line. If it is asked for again, it waits again."""
    with suppress(OSError, NoLocksError), _locked(results) as file:
        _append(file, [_planned(spec, error)])


def note(results: Path, runs: Sequence[Planned]) -> None:
    """Adds runs to the plan; NoLocksError where the file system has no locks.

    A folder that can't be written to is no error here: the first run reports it.
    """
    if not runs:
        return
    with suppress(OSError), _locked(results) as file:
        file.seek(0)
        known = _parse(file.read())
        _append(file, [run for run in runs if known.get(run.id) != run])


def _planned(spec: RunSpec, error: str | None = None) -> Planned:
    return Planned(
        id=run_id(spec),
        learner=label(spec.learner),
        task=label(spec.task),
        method=method_label(spec),
        fold=spec.fold,
        seed=spec.seed,
        budget_seconds=float(spec.budget_seconds),
        clock=spec.clock,
        max_trials=spec.max_trials,
        error=error,
    )


@contextmanager
def _locked(results: Path) -> Iterator[BinaryIO]:
    results.mkdir(parents=True, exist_ok=True)
    path = results / FILE_NAME
    if path.is_symlink():
        raise UserError(f"{path} is a link, and links are not followed: remove it")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no regular file")  # a pipe would never end
    with open(open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT), "ab+") as file:
        lock(file.fileno(), path, patience_seconds=math.inf)
        yield file


def _append(file: BinaryIO, runs: Sequence[Planned]) -> None:
    # What a killed writer left of a line becomes a line of its own, which readers ignore.
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    torn = b"\n" if file.read() not in (b"", b"\n") else b""
    if runs:
        file.write(torn + b"".join(orjson.dumps(run, option=orjson.OPT_APPEND_NEWLINE) for run in runs))
        file.flush()
        os.fsync(file.fileno())


def read(results: Path) -> list[Planned]:
    """Every run that was asked for, each by its last line; empty where there is no plan."""
    try:
        return list(_parse(read_regular(results / FILE_NAME)).values())
    except OSError:
        return []


def _parse(data: bytes) -> dict[str, Planned]:
    found: dict[str, Planned] = {}
    for line in data.splitlines():
        with suppress(ValueError, KeyError, TypeError):  # a torn line, or not one of ours
            row = orjson.loads(line)
            run = Planned(**{name: row[name] for name in _TYPES if name in row})
            if all(fits(getattr(run, name), kind) for name, kind in _TYPES.items()):
                found[run.id] = run
    return found


_TYPES = get_type_hints(Planned)
