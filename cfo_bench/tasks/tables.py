"""Tables of tasks in YAML: the paper's, which comes with the package, and a user's own.

A wrong entry is told with its file and line, and the nearest right word.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cfo_bench.errors import DataError
from cfo_bench.records import Problem
from cfo_bench.tasks.origins import Origin, parse_origin

# From how many rows on a task is large: about half of the paper's with known rows are.
LARGE_ROWS = 30_000


@dataclass(frozen=True, slots=True)
class Entry:
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
def paper() -> tuple[Entry, ...]:
    """The paper's 47 tasks, tagged `paper`, by problem and by size."""
    text = resources.files("cfo_bench.tasks").joinpath("paper.yaml").read_text(encoding="utf-8")
    return tuple(_entries(text, "paper.yaml", None))


def read_table(path: Path) -> tuple[Entry, ...]:
    """A user's table."""
    return tuple(_entries(_text(path), str(path), path.resolve()))


def read_names(path: Path) -> list[str]:
    """The names in a file that lists tasks: a YAML list, or one under `tasks`."""
    root, construct = _parsed(_text(path), str(path))
    names = []
    for node in _items(root, str(path)):
        name = construct(node)
        if not isinstance(name, str | int):
            raise DataError(f"{_at(path, node)}: {name!r} is no task's name: write a list of names")
        names.append(str(name))
    return names


def _entries(text: str, where: str, table: Path | None) -> Iterable[Entry]:
    root, construct = _parsed(text, where)
    line_of: dict[str, int] = {}
    for node in _items(root, where):
        entry = _entry(node, construct, where, table)
        for name in entry.names:
            if name in line_of:
                raise DataError(
                    f"{_at(where, node)}: {name!r} is the name in line {line_of[name]} already: rename one"
                )
            line_of[name] = node.start_mark.line + 1
        yield entry


def _entry(node: Any, construct: Callable[[Any], Any], where: str, table: Path | None) -> Entry:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise DataError(
            f"{_at(where, node)}: {construct(node)!r} is no task: write name: … and where it is from"
        )
    given: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = construct(key_node)
        if key not in CHECKS:
            raise DataError(f"{_at(where, key_node)}: unknown key {key!r}{_near(str(key), CHECKS)}")
        if key in given:
            raise DataError(f"{_at(where, key_node)}: {key!r} is there twice: leave one out")
        value = construct(value_node)
        problem = CHECKS[key](value)
        if problem:
            raise DataError(f"{_at(where, value_node)}: {key} is {value!r}: {problem}")
        given[key] = value
    sources = [key for key in SOURCES if key in given]
    wrong = _wrong_together(given, sources)
    if wrong:
        raise DataError(f"{_at(where, node)}: {wrong}")
    origins = [Origin(SOURCES[key], str(given[key])) for key in sources if key != "file"]
    file = given.get("file")
    problem = Problem(given["problem"]) if "problem" in given else None
    rows = given.get("rows")
    return Entry(
        name=str(given["name"]),
        aliases=tuple(str(alias) for alias in given.get("aliases", ())),
        origins=tuple(origins),
        path=(table or Path()).parent / Path(file).expanduser() if file else None,
        target=given.get("target"),
        problem=problem,
        rows=rows,
        features=given.get("features"),
        tags=tuple(given["tags"]) if "tags" in given else _own_tags(problem, rows, table),
        note=given.get("note"),
        table=table,
    )


def _own_tags(problem: Problem | None, rows: int | None, table: Path | None) -> tuple[str, ...]:
    tags = ["paper"] if table is None else []
    if problem is not None:
        tags.append("regression" if problem is Problem.REGRESSION else "classification")
    if rows is not None:
        tags.append("large" if rows >= LARGE_ROWS else "small")
    return tuple(tags)


def _wrong_together(given: Mapping[str, Any], sources: Sequence[str]) -> str | None:
    if "name" not in given:
        return "a task without a name: add name: …"
    name = given["name"]
    if not sources:
        return f"task {name!r} comes from nowhere: add one of {', '.join(SOURCES)}"
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
    # The name becomes a folder of the results, and `openml:` is where a name says its source.
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
    return f"choose from {', '.join(known)}{_near(str(value), known, choose=False)}"


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


def _near(word: str, known: Iterable[str], choose: bool = True) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{hint}: choose from {', '.join(known)}" if choose else hint


def _text(path: Path) -> str:
    try:
        return path.expanduser().read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"no file {str(path)!r}: give the path of a YAML file of tasks") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} can't be read: {error}") from None


def _parsed(text: str, where: str) -> tuple[Any, Callable[[Any], Any]]:
    """The document as nodes, which know their lines, and what makes a value of a node."""
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DataError(f"{where}, line {line}: this is no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise DataError(f"{where} is no YAML: {' '.join(str(error).split())}") from None

    def construct(node: Any) -> Any:
        try:
            return loader.construct_object(node, deep=True)
        except yaml.YAMLError as error:
            reason = getattr(error, "problem", None) or error
            raise DataError(f"{_at(where, node)}: {reason}") from None

    return root, construct


def _items(root: Any, where: str) -> list[Any]:
    """The items of the list, which may stand under `tasks`."""
    import yaml

    if isinstance(root, yaml.MappingNode):
        root = next((value for key, value in root.value if key.value == "tasks"), None)
    if not isinstance(root, yaml.SequenceNode) or not root.value:
        raise DataError(f"{where} lists no tasks: write a YAML list, or one under tasks:")
    items: list[Any] = root.value
    return items


def _at(where: str | Path, node: Any) -> str:
    return f"{where}, line {node.start_mark.line + 1}"
