"""The available tasks, by name, without loading any of them.

A name is looked up in this order: the user's folder, the user's tables, the paper's table, the bundled sets,
the synthetic sets, recordings, plug-ins. All of them are searched for the exact name first, then for a name
that differs only in capitals and `-`/`_`. If the folder contains a task of a table, under any of its names,
the folder's data is used. `openml:3`, `openml-data:31` and `pmlb:adult` name their source, so no other source
is tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from cfo_bench.errors import DataError, UnknownNameError, UserError
from cfo_bench.records import DataRef, Problem
from cfo_bench.registry import folded
from cfo_bench.tasks.sources import built_in, plugin_tasks
from cfo_bench.tasks.sources.data_folder import FolderRow, read_index
from cfo_bench.tasks.sources.origins import SUITE, Origin, parse_origin
from cfo_bench.tasks.task_tables import TaskEntry, paper, read_table, tags_of

ENVIRONMENT = "CFO_BENCH_DATA"
TABLES_ENVIRONMENT = "CFO_BENCH_TASKS"
OFFLINE_ENVIRONMENT = "CFO_BENCH_OFFLINE"
ANALYTIC = "no data: for the analytic learners"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One line of `cfo-bench tasks`. A value that is unknown until the data is loaded is None.

    `here` is the copy of the data on this machine.
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
    """The reference to the data of the task `name`."""
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
    """The references to the data of all tasks that a name stands for, such as `openml-suite:271`."""
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
        known = {*rows, *built_in.SETS, *built_in.ROWS, *recordings, *plugin_tasks.names(), *named}
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
        plugin_tasks.names(),
    ]
    for find in (_exactly, _loosely):
        for source in sources:
            task = find(name, source)
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
            return DataRef(task, f"plug-in {plugin_tasks.names()[task]}")
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
    """The task of an origin, under its name in a table if it has one, so that its results have a single
    name.
    """
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
    split: str | None = None,
    weight: str | None = None,
) -> DataRef:
    """One file as a task, with the stem of the file as its name."""
    path = Path(os.path.expanduser(path))
    if not path.name.isprintable():
        raise DataError(
            f"{str(path)!r} is not a valid name for a task: rename the file, without special characters"
        )
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
        split=split,
        weight=weight,
    )


def listing(
    data_dir: Path | None = None, tables: Sequence[Path] = (), yahpo: Path | None = None
) -> list[TaskRow]:
    """Every task with a name, those of the folder first. Of several with the same name, only the first."""
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

    for row in folder.values():
        here = "folder" if os.path.exists(row.path) else None
        add(row.name, row.problem, (row.rows, row.features), "folder", here, row.note, _tags("folder", row))
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
    for name, data in built_in.SETS.items():
        sizes = (data.rows, data.features)
        add(name, data.problem, sizes, "bundled", "bundled", data.note, _tags("bundled", data))
    for name, n_rows in built_in.ROWS.items():
        add(name, Problem.REGRESSION, (n_rows, 0), "synthetic", "bundled", ANALYTIC, ("synthetic",))
    for name, ref in built_in.recorded_refs(yahpo).items():
        here, tags = built_in.where_here(ref), ("recorded", ref.source)
        sizes, metric = built_in.recorded_sizes(ref), built_in.recorded_metric(ref)
        add(name, ref.problem, sizes, ref.source, here, built_in.recording_note(ref), tags, metric=metric)
    for name, point in plugin_tasks.names().items():
        add(name, None, (None, None), f"plug-in {point}", "plug-in", None, ("plug-in",))
    first_of_name = {task.name: task for task in reversed(rows)}
    return [task for task in rows if first_of_name[task.name] is task]


def _tags(source: str, task: FolderRow | built_in.BundledSet) -> tuple[str, ...]:
    return (source, *tags_of(task.problem, task.rows))


def _entries(tables: Sequence[Path]) -> list[TaskEntry]:
    """The tasks of the user's tables, then those of the paper."""
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
    alike = [other for other in known if folded(other) == folded(name)]
    return alike[0] if len(alike) == 1 else None


# --- selection by a name, a pattern (`bng_*`) or a tag (`paper`) -----------------------------------


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
            selected = [row for row in rows if fnmatchcase(row.name.casefold(), word.casefold())]
            if not selected:
                raise UserError(f"no task matches {word!r}: see cfo-bench tasks") from None
        else:
            selected = [row for row in rows if word in row.tags]
            if not selected:
                raise UnknownNameError("task", word, {row.name for row in rows} | _known_tags(rows)) from None
    return [ref for row in selected for ref in resolve_all(row.name, data_dir, tables, offline, yahpo)]


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
    selected = [row for row in rows if set(tags) <= set(row.tags)]
    if not selected:
        raise UserError(f"no task has all the tags {', '.join(tags)}: see cfo-bench tasks --tag {tags[0]}")
    return [ref for row in selected for ref in resolve_all(row.name, data_dir, tables, offline, yahpo)]


def _known_tags(rows: Iterable[TaskRow]) -> set[str]:
    return {tag for row in rows for tag in row.tags}
