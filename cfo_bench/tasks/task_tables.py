"""Tables of tasks in YAML: that of the paper, which is part of the package, and those of users.

An error names the file, the line, and the most similar valid word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cfo_bench.errors import DataError, UnknownNameError, at_place, did_you_mean
from cfo_bench.files import yaml_file
from cfo_bench.records import Problem
from cfo_bench.tasks.sources.origins import Origin, parse_origin
from cfo_bench.values import Marked

# A task with this many rows is large; about half of the paper's tasks are.
LARGE_ROWS = 30_000


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """One task of a table: a file (`path`), or `origins` in the order in which they are tried."""

    name: str
    aliases: tuple[str, ...]
    origins: tuple[Origin, ...]
    path: Path | None
    target: str | None
    problem: Problem | None
    rows: int | None
    features: int | None
    tags: tuple[str, ...]
    note: str | None
    table: Path | None  # None: the table of the paper

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@cache
def paper() -> tuple[TaskEntry, ...]:
    """The paper's 47 tasks, tagged `paper`, by problem and by size."""
    text = resources.files("cfo_bench.tasks").joinpath("paper.yaml").read_text(encoding="utf-8")
    return tuple(_entries_of_table(yaml_file.parse(text, "paper.yaml"), None))


def read_table(path: Path) -> tuple[TaskEntry, ...]:
    """The tasks of a user's table."""
    return tuple(_entries_of_table(yaml_file.read(path), path.resolve()))


def _entries_of_table(root: Marked, table: Path | None) -> Iterable[TaskEntry]:
    """The entries of a YAML list, which may be the value of the key `tasks`."""
    listed = root.value.get("tasks") if isinstance(root.value, Mapping) else root
    if listed is None or not isinstance(listed.value, list) or not listed.value:
        raise DataError(f"{root.where} lists no tasks: write a YAML list, or one under tasks:")
    line_of: dict[str, int] = {}
    for item in listed.value:
        entry = _entry(item, table)
        for name in entry.names:
            if name in line_of:
                raise DataError(
                    f"{item.place}: {name!r} is the name in line {line_of[name]} already: rename one"
                )
            line_of[name] = item.line
        yield entry


def _entry(item: Marked, table: Path | None) -> TaskEntry:
    if not isinstance(item.value, Mapping):
        raise DataError(f"{item.place}: {item.shown()} is not a task: write name: … and where it is from")
    given: dict[str, Any] = {}
    for key, marked in item.value.items():
        with at_place(marked.key_place):
            if key not in CHECKS:
                raise UnknownNameError("key", key, CHECKS)
        given[key] = marked.plain()
        problem = CHECKS[key](given[key])
        if problem:
            raise marked.wrong(key, problem)
    sources = [key for key in SOURCES if key in given]
    wrong = _wrong_together(given, sources)
    if wrong:
        raise DataError(f"{item.place}: {wrong}")
    origins = [Origin(SOURCES[key], str(given[key])) for key in sources if key != "file"]
    file = given.get("file")
    problem = Problem(given["problem"]) if "problem" in given else None
    rows = given.get("rows")
    return TaskEntry(
        name=str(given["name"]),
        aliases=tuple(str(alias) for alias in given.get("aliases", ())),
        origins=tuple(origins),
        path=(table or Path()).parent / _expanded(file) if file else None,
        target=given.get("target"),
        problem=problem,
        rows=rows,
        features=given.get("features"),
        tags=(*given.get("tags", ()), *(["paper"] if table is None else ()), *tags_of(problem, rows)),
        note=given.get("note"),
        table=table,
    )


def _expanded(file: str) -> str:
    """The path of a file with `~` replaced by the user's home."""
    expanded = os.path.expanduser(file)
    if expanded.startswith("~"):
        raise DataError(f"{file!r} begins with the home of a user who is not on this machine: write its path")
    return expanded


def tags_of(problem: Problem | None, rows: int | None) -> tuple[str, ...]:
    """The tags that follow from a task's problem and size."""
    tags = []
    if problem is Problem.REGRESSION:
        tags.append("regression")
    elif problem is not None:
        tags += ["classification", problem.value]
    if rows is not None:
        tags.append("large" if rows >= LARGE_ROWS else "small")
    return tuple(tags)


def _wrong_together(given: Mapping[str, Any], sources: Sequence[str]) -> str | None:
    if "name" not in given:
        return "a task without a name: add name: …"
    name = given["name"]
    if not sources:
        return f"task {name!r} has no source: add one of {', '.join(SOURCES)}"
    if "file" in sources and len(sources) > 1:
        return f"task {name!r} is from a file and from {sources[0]}: leave one out"
    if "openml_task" in sources and "openml_data" in sources:
        return f"task {name!r} has openml_task and openml_data: leave one out"
    if "file" in sources and "target" not in given:
        return f"task {name!r} is from a file and has no target: add target: … (the column to predict)"
    if "target" in given and not {"file", "openml_data"} & set(sources):
        return f"task {name!r} has a target, which {sources[0]} names itself: leave it out"
    return None


def _name(value: Any) -> str | None:
    if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
        return "write a name"
    # The name becomes a folder of the results; `openml:` at its start would mean a source.
    if str(value).startswith(".") or set("/\\:") & set(str(value)) or parse_origin(str(value)):
        return "leave out slashes, colons and a leading dot, and don't call it openml-… or pmlb-…"
    return None


def _names(value: Any) -> str | None:
    if not isinstance(value, list):
        return "write a list of names"
    return next((problem for name in value if (problem := _name(name))), None)


def _number(value: Any) -> str | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return None if ok else "write a whole number above 0"


def _text_value(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "write some text"


def _texts(value: Any) -> str | None:
    ok = isinstance(value, list) and all(isinstance(word, str) for word in value)
    return None if ok else "write a list of words"


def _problem(value: Any) -> str | None:
    known = [problem.value for problem in Problem]
    if value in known:
        return None
    return f"choose from {', '.join(known)}{did_you_mean(str(value), known)}"


CHECKS: dict[str, Callable[[Any], str | None]] = {
    "name": _name,
    "aliases": _names,
    "openml_task": _number,
    "openml_data": _number,
    "pmlb": _text_value,
    "file": _text_value,
    "target": _text_value,
    "problem": _problem,
    "rows": _number,
    "features": _number,
    "tags": _texts,
    "note": _text_value,
}
SOURCES = {"openml_task": "openml", "openml_data": "openml-data", "pmlb": "pmlb", "file": "file"}
