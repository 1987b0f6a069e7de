"""Which tasks there are, by name, without loading any of them.

A name is looked up in this order: the user's folder, the user's tables, the paper's table, the bundled sets,
the synthetic sets, recordings, plug-ins. All of them are searched for the exact name first, then for one that
differs only in capitals and `-`/`_`. If the folder has a task of a table, under any of its names, the
folder's data is taken. `openml:3`, `openml-data:31` and `pmlb:adult` name their source, so no other is tried.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cfo_bench.errors import DataError, UnknownNameError, UserError, at_place, did_you_mean
from cfo_bench.files import yaml_file
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks.sources import built_in, plugins
from cfo_bench.tasks.sources.folder import FolderRow, read_index
from cfo_bench.tasks.sources.origins import SUITE, Origin, parse_origin
from cfo_bench.values import Marked

# --- task tables -----------------------------------------------------------------------------------
# Tables of tasks in YAML: the paper's, which comes with the package, and a user's own.
#
# An error names the file, the line, and the nearest right word.


# A task with this many rows is large; about half of the paper's tasks are.
LARGE_ROWS = 30_000


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """One task of a table: a file (`path`), or `origins` in the order to try them in."""

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
    table: Path | None  # None: the paper's

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@cache
def paper() -> tuple[TaskEntry, ...]:
    """The paper's 47 tasks, tagged `paper`, by problem and by size."""
    text = resources.files("cfo_bench.tasks").joinpath("paper.yaml").read_text(encoding="utf-8")
    return tuple(_entries_of_table(yaml_file.parse(text, "paper.yaml"), None))


def read_table(path: Path) -> tuple[TaskEntry, ...]:
    """A user's table."""
    return tuple(_entries_of_table(yaml_file.read(path), path.resolve()))


def _entries_of_table(root: Marked, table: Path | None) -> Iterable[TaskEntry]:
    """The entries of a YAML list, which may stand under the key `tasks`."""
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
        raise DataError(f"{item.place}: {item.shown()} is no task: write name: … and where it is from")
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
    """The path of a file with the user's home in place of `~`."""
    found = os.path.expanduser(file)
    if found.startswith("~"):
        raise DataError(f"{file!r} begins with the home of a user that this machine has not: write its path")
    return found


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
    wrong = not isinstance(value, list) or next((problem for one in value if (problem := _name(one))), None)
    return ("write a list of names" if wrong is True else wrong) or None


def _number(value: Any) -> str | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return None if ok else "write a whole number above 0"


def _text_value(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "write some text"


def _texts(value: Any) -> str | None:
    ok = isinstance(value, list) and all(isinstance(one, str) for one in value)
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


# --- catalogue -------------------------------------------------------------------------------------


ENVIRONMENT = "CFO_BENCH_DATA"
TABLES_ENVIRONMENT = "CFO_BENCH_TASKS"
OFFLINE_ENVIRONMENT = "CFO_BENCH_OFFLINE"
ANALYTIC = "no data: for the analytic learners"
DATA_SUFFIXES = (".csv", ".parquet", ".pq", ".arff")  # of the files that can be read


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One line of `cfo-bench tasks`; None is what isn't known without loading the data.

    `here` says which copy of the data is on this machine.
    """

    name: str
    problem: Problem | None
    metric: str | None
    rows: int | None
    features: int | None
    source: str
    here: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    note: str | None


def resolve(
    name: str,
    data_dir: Path | None = None,
    tables: Sequence[Path] = (),
    offline: bool = False,
    yahpo: Path | None = None,
) -> DataRef:
    """Where the data of the task `name` is found."""
    refs = resolve_all(name, data_dir, tables, offline, yahpo)
    if len(refs) > 1:
        raise UserError(f"{name!r} is {len(refs)} tasks: name one, such as {refs[0].task!r}")
    return refs[0]


def resolve_all(
    name: str,
    data_dir: Path | None = None,
    tables: Sequence[Path] = (),
    offline: bool = False,
    yahpo: Path | None = None,
) -> list[DataRef]:
    """The same for a name that may stand for several tasks: `openml-suite:271`."""
    offline = offline or os.environ.get(OFFLINE_ENVIRONMENT, "0") not in ("", "0")
    rows = {row.name: row for row in _folder_rows(data_dir)}
    entries = _entries(tables)
    recordings = built_in.recorded_refs(yahpo)
    ref = _named(name, rows, entries, recordings, offline)
    if ref is not None:
        return [ref]
    built_in.check_copy(name, yahpo)
    origin = parse_origin(name)
    if origin is None:
        named = {entry.name for entry in entries}
        known = {*rows, *built_in.SETS, *built_in.ROWS, *recordings, *plugins.names(), *named}
        raise UnknownNameError("task", name, known)
    if origin.kind != SUITE:
        return [_from_origin(origin, entries, offline)]
    from cfo_bench.tasks.fetching import suite_tasks

    members = [Origin("openml", str(number)) for number in suite_tasks(origin, offline)]
    return [_from_origin(member, entries, offline) for member in members]


def _named(
    name: str,
    rows: Mapping[str, FolderRow],
    entries: Sequence[TaskEntry],
    recordings: Mapping[str, DataRef],
    offline: bool,
) -> DataRef | None:
    entry_of: dict[str, TaskEntry] = {}
    for entry in entries:
        for alias in entry.names:
            entry_of.setdefault(alias, entry)
    sources: list[Mapping[str, object]] = [
        rows,
        entry_of,
        built_in.SETS,
        built_in.ROWS,
        recordings,
        plugins.names(),
    ]
    for found in (_exactly, _loosely):
        for source in sources:
            task = found(name, source)
            if task is None:
                continue
            if source is entry_of:
                return _from_entry(entry_of[task], rows, offline)
            if source is rows:
                return _from_folder(rows[task])
            if source is built_in.SETS:
                return DataRef(task, "bundled", problem=built_in.SETS[task].problem)
            if source is built_in.ROWS:
                return DataRef(task, "synthetic", problem=Problem.REGRESSION)
            if source is recordings:
                return recordings[task]
            return DataRef(task, f"plug-in {plugins.names()[task]}")
    return None


def _from_folder(row: FolderRow) -> DataRef:
    return DataRef(row.name, "folder", str(row.path), row.target, row.problem, str(row.folder))


def _from_entry(entry: TaskEntry, rows: Mapping[str, FolderRow], offline: bool) -> DataRef:
    in_folder = next((task for alias in entry.names if (task := _loosely(alias, rows))), None)
    if in_folder is not None:
        return _from_folder(rows[in_folder])
    return DataRef(
        task=entry.name,
        source=_source(entry),
        path=None if entry.path is None else str(entry.path),
        target=entry.target,
        problem=entry.problem,
        origins=tuple(str(origin) for origin in entry.origins),
        table=None if entry.table is None else str(entry.table),
        offline=offline,
    )


def _from_origin(origin: Origin, entries: Sequence[TaskEntry], offline: bool) -> DataRef:
    """Under the name that a table has for it, so that its results never stand under two names."""
    for entry in entries:
        if entry.origins[:1] == (origin,):
            return _from_entry(entry, {}, offline)
    source = "pmlb" if origin.kind == "pmlb" else "openml"
    return DataRef(origin.task_name, source, origins=(str(origin),), offline=offline)


def _source(entry: TaskEntry) -> str:
    if entry.path is not None:
        return "table"
    return "pmlb" if entry.origins[0].kind == "pmlb" else "openml"


def file_ref(
    path: Path,
    target: str | None,
    problem: Problem | None = None,
    drop: Sequence[str] = (),
    drop_missing_target: bool = False,
) -> DataRef:
    """One file as a task, called by the file's stem."""
    path = Path(os.path.expanduser(path))
    if not path.name.isprintable():
        raise DataError(f"{str(path)!r} is no name for a task: rename the file, without special characters")
    if not path.stem.strip("."):
        raise DataError(f"no file {str(path)!r}: give the path of a .csv, .parquet or .arff file")
    return DataRef(
        path.stem,
        "file",
        str(path.resolve()),
        target,
        problem,
        drop=tuple(dict.fromkeys(drop)),
        drop_missing_target=drop_missing_target,
    )


def listing(
    data_dir: Path | None = None, tables: Sequence[Path] = (), yahpo: Path | None = None
) -> list[TaskRow]:
    """Every task that has a name, the folder's first. Of several with the same name, only the first."""
    from cfo_bench.metrics import METRIC_OF
    from cfo_bench.tasks.fetching import where_here

    folder = {row.name: row for row in _folder_rows(data_dir)}
    rows = []

    def add(
        name: str,
        problem: Problem | None,
        sizes: tuple[int | None, int | None],
        source: str,
        here: str | None,
        note: str | None,
        tags: tuple[str, ...] = (),
        aliases: tuple[str, ...] = (),
        metric: str | None = None,
    ) -> None:
        metric = metric or (METRIC_OF[problem] if problem else None)
        rows.append(TaskRow(name, problem, metric, *sizes, source, here, tags, aliases, note))

    for one in folder.values():
        here = "folder" if os.path.exists(one.path) else None
        add(one.name, one.problem, (one.rows, one.features), "folder", here, one.note, _tags("folder", one))
    for entry in _entries(tables):
        ref = _from_entry(entry, folder, offline=True)
        if ref.source == "folder":
            here = "folder"
        elif ref.path is not None:
            here = "file" if os.path.exists(ref.path) else None
        else:
            here = where_here(ref)
        source = ref.origins[0] if ref.origins else f"{ref.source}: {Path(ref.path or '').name}"
        sizes = (entry.rows, entry.features)
        add(entry.name, entry.problem, sizes, source, here, entry.note, entry.tags, entry.aliases)
    for name, one_set in built_in.SETS.items():
        sizes = (one_set.rows, one_set.features)
        add(name, one_set.problem, sizes, "bundled", "bundled", one_set.note, _tags("bundled", one_set))
    for name, n_rows in built_in.ROWS.items():
        add(name, Problem.REGRESSION, (n_rows, 0), "synthetic", "bundled", ANALYTIC, ("synthetic",))
    for name, ref in built_in.recorded_refs(yahpo).items():
        here, tags = built_in.where_here(ref), ("recorded", ref.source)
        sizes, metric = built_in.recorded_sizes(ref), built_in.recorded_metric(ref)
        add(name, ref.problem, sizes, ref.source, here, built_in.recording_note(ref), tags, metric=metric)
    for name, point in plugins.names().items():
        add(name, None, (None, None), f"plug-in {point}", "plug-in", None, ("plug-in",))
    first_of_name = {row.name: row for row in reversed(rows)}
    return [row for row in rows if first_of_name[row.name] is row]


def _tags(source: str, task: FolderRow | built_in.BundledSet) -> tuple[str, ...]:
    return (source, *tags_of(task.problem, task.rows))


def _entries(tables: Sequence[Path]) -> list[TaskEntry]:
    """The tasks of the user's tables, and then the paper's."""
    named = os.environ.get(TABLES_ENVIRONMENT, "")
    paths = list(tables) or [Path(path) for path in named.split(os.pathsep) if path]
    return [*(entry for path in paths for entry in read_table(path)), *paper()]


def _folder_rows(data_dir: Path | None) -> list[FolderRow]:
    if data_dir is not None:
        return read_index(data_dir, "--data-dir")
    from_environment = os.environ.get(ENVIRONMENT)
    return read_index(Path(from_environment), ENVIRONMENT) if from_environment else []


def _exactly(name: str, known: Iterable[str]) -> str | None:
    return name if name in known else None


def _loosely(name: str, known: Iterable[str]) -> str | None:
    """The name that differs only in capitals and `-`/`_`; None if there are several."""
    alike = [one for one in known if _folded(one) == _folded(name)]
    return alike[0] if len(alike) == 1 else None


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")


# --- selection -------------------------------------------------------------------------------------
# The tasks that one word of the command line names: a name, a pattern (`bng_*`) or a tag (`paper`).


def select(
    word: str,
    data_dir: Path | None = None,
    tables: Sequence[Path] = (),
    offline: bool = False,
    yahpo: Path | None = None,
) -> list[DataRef]:
    """The task of that name; if there is none, the tasks that match the pattern or have the tag."""
    try:
        return resolve_all(word, data_dir, tables, offline, yahpo)
    except UnknownNameError:
        rows = listing(data_dir, tables, yahpo)
        if set("*?[") & set(word):
            found = [row for row in rows if fnmatchcase(row.name.casefold(), word.casefold())]
            if not found:
                raise UserError(f"no task has a name like {word!r}: see cfo-bench tasks") from None
        else:
            found = [row for row in rows if word in row.tags]
            if not found:
                raise UnknownNameError("task", word, {row.name for row in rows} | _known_tags(rows)) from None
    return [ref for row in found for ref in resolve_all(row.name, data_dir, tables, offline, yahpo)]


def tagged(
    tags: Sequence[str],
    data_dir: Path | None = None,
    tables: Sequence[Path] = (),
    offline: bool = False,
    yahpo: Path | None = None,
) -> list[DataRef]:
    """The tasks that have all of the tags."""
    rows = listing(data_dir, tables, yahpo)
    for tag in tags:
        if tag not in _known_tags(rows):
            raise UnknownNameError("tag", tag, _known_tags(rows))
    found = [row for row in rows if set(tags) <= set(row.tags)]
    if not found:
        raise UserError(f"no task has all the tags {', '.join(tags)}: see cfo-bench tasks --tag {tags[0]}")
    return [ref for row in found for ref in resolve_all(row.name, data_dir, tables, offline, yahpo)]


def _known_tags(rows: Iterable[TaskRow]) -> set[str]:
    return {tag for row in rows for tag in row.tags}
