"""The tasks that one word of the command line names: a name, a pattern (`bng_*`) or a tag (`paper`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.records import DataRef
from cfo_bench.tasks.catalogue import TaskRow, listing, resolve_all


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
                raise UnknownNameError("task", word, {row.name for row in rows} | _tags(rows)) from None
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
        if tag not in _tags(rows):
            raise UnknownNameError("tag", tag, _tags(rows))
    found = [row for row in rows if set(tags) <= set(row.tags)]
    if not found:
        raise UserError(f"no task has all the tags {', '.join(tags)}: see cfo-bench tasks --tag {tags[0]}")
    return [ref for row in found for ref in resolve_all(row.name, data_dir, tables, offline, yahpo)]


def _tags(rows: Iterable[TaskRow]) -> set[str]:
    return {tag for row in rows for tag in row.tags}
