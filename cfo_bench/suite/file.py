"""Suites in YAML: found, read, and every mistake told with its line.

What is checked here is the form: keys, types, units. Whether a method, a task or an option exists is
asked later, by who knows them; so every name keeps the place where it was written.
`schema/suite.schema.json` says the same to editors, and a test keeps the two together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeGuard

from cfo_bench import yaml_file
from cfo_bench.errors import UnknownNameError, UserError, told_at
from cfo_bench.suite import quantities
from cfo_bench.suite.model import (
    CLOCKS,
    CLUSTER_KINDS,
    ENGINES,
    FOLDS,
    FOLDS_RULE,
    VALIDATIONS,
    Choice,
    Cluster,
    Pick,
    Suite,
)
from cfo_bench.yaml_file import Marked

MOST_SEED = 2**32 - 1
MOST_FOLD = 10**9
TEXT = r"^[^\x00-\x1f]*[^\s\x00-\x1f][^\x00-\x1f]*$"

Read = Callable[[str, Marked], Any]


def find(name: str) -> Path:
    """The file that a user means: a path, or the name of a suite that comes with the package."""
    path = Path(os.path.expanduser(name))
    if os.path.exists(path):
        return path
    known = shipped()
    if path.parent in (Path(), Path("configs")) and path.suffix in ("", ".yaml") and path.stem in known:
        return known[path.stem]
    if path.suffix or path.parent != Path():
        raise UserError(f"no file {name!r}: give the path of a suite, or one of our own: {', '.join(known)}")
    raise UnknownNameError("suite", name, known)


def shipped() -> dict[str, Path]:
    """The suites that come with the package, or lie beside it in a checkout."""
    package = Path(str(resources.files("cfo_bench")))
    folder = next(
        (one for one in (package / "configs", package.parent / "configs") if one.is_dir()),
        package / "configs",
    )
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def read(path: Path) -> Suite:
    """The suite of a file, as far as its form goes; relative paths are relative to it."""
    root = yaml_file.read(path)
    if root.value is None:
        raise UserError(f"{path} is empty: a suite has at least tasks, methods and a budget")
    if not isinstance(root.value, Mapping):
        raise UserError(f"{root.place}: a suite is a mapping with keys such as tasks, methods and budget")
    given: dict[str, Any] = {}
    places: dict[str, str] = {}
    for key, marked in root.value.items():
        with told_at(marked.key_place):
            if key not in KEYS:
                raise UnknownNameError("key", key, KEYS)
        name, reader = KEYS[key]
        given[name], places[name] = reader(key, marked), marked.place
    if "cluster" in given and "engine" not in given:
        given["engine"] = "dask"
    return _beside(path.parent, Suite(**given, places=places))


def read_tasks(path: Path) -> Suite:
    """A suite, of which only the tasks matter; here a bare list of them will do."""
    root = yaml_file.read(path)
    if isinstance(root.value, Sequence) and not isinstance(root.value, str):
        return Suite(tasks=KEYS["tasks"][1]("tasks", root))
    return read(path)


def _beside(folder: Path, suite: Suite) -> Suite:
    """With its paths relative to where we are, not to the file."""

    def moved(choice: Choice) -> Choice:
        return replace(choice, name=str(folder / choice.name)) if ".py:" in choice.name else choice

    scheduler = suite.cluster.scheduler
    if scheduler is not None and "://" not in scheduler:
        scheduler = str(folder / os.path.expanduser(scheduler))
    return replace(
        suite,
        learners=tuple(map(moved, suite.learners)),
        methods=tuple(map(moved, suite.methods)),
        cluster=replace(suite.cluster, scheduler=scheduler),
        results=folder / suite.results if "results" in suite.places else suite.results,
        data_dir=folder / suite.data_dir if suite.data_dir else None,
        task_tables=tuple(folder / table for table in suite.task_tables),
    )


# --- one value each: the key that it is of, and what stands there --------------------------------


def _one_of(known: Sequence[str]) -> Read:
    def read(key: str, marked: Marked) -> str:
        if not isinstance(marked.value, str):
            raise marked.wrong(key, f"choose from {', '.join(known)}")
        with told_at(marked.place):
            if marked.value not in known:
                raise UnknownNameError(key, marked.value, known)
        return marked.value

    return read


def _count(key: str, marked: Marked) -> int:
    number = quantities.whole_number(marked.value)
    if number is None or number < 1:
        raise marked.wrong(key, "write a whole number from 1 on")
    return number


def _up_to(most: int) -> Read:
    def read(key: str, marked: Marked) -> int:
        number = None if isinstance(marked.value, str) else quantities.whole_number(marked.value)
        if number is None or not 0 <= number <= most:
            raise marked.wrong(key, f"write a whole number from 0 to {most}")
        return number

    return read


def _share(key: str, marked: Marked) -> float:
    is_text = isinstance(marked.value, str) and not re.fullmatch(quantities.SHARE, marked.value)
    number = None if is_text else quantities.plain_number(marked.value)
    if number is None or not 0 < number < 1:
        raise marked.wrong(key, "write a number between 0 and 1")
    return number


def _seconds(key: str, marked: Marked) -> float:
    number = quantities.seconds(marked.value)
    if number is None:
        raise marked.wrong(key, quantities.DURATION_RULE)
    return number


def _megabytes(key: str, marked: Marked) -> int:
    number = quantities.megabytes(marked.value)
    if number is None:
        raise marked.wrong(key, quantities.MEMORY_RULE)
    return number


def _folds(key: str, marked: Marked) -> str:
    """As on the command line, or as a list of numbers."""
    if isinstance(marked.value, str):
        if not re.fullmatch(FOLDS, marked.value):
            raise marked.wrong(key, f"write {FOLDS_RULE}, or a list of numbers")
        return marked.value
    return ",".join(map(str, _several(_up_to(MOST_FOLD))(key, marked)))


def _is_text(value: object) -> TypeGuard[str]:
    """Something that can be the name of a thing or of a file: neither NUL nor half a character in it."""
    return isinstance(value, str) and re.fullmatch(TEXT, value) is not None and value.isprintable()


def _text(key: str, marked: Marked) -> str:
    if not _is_text(marked.value):
        raise marked.wrong(key, "write some text; put quotes around a number")
    return marked.value


def _path(key: str, marked: Marked) -> Path:
    return Path(os.path.expanduser(_text(key, marked)))


def _several(one: Read) -> Read:
    """A list, or a single one without the brackets."""

    def read(key: str, marked: Marked) -> tuple[Any, ...]:
        if not isinstance(marked.value, Sequence) or isinstance(marked.value, str):
            return (one(key, marked),)
        if not marked.value:
            raise UserError(
                f"{marked.place}: {key} is an empty list: write at least one, or leave the key out"
            )
        return tuple(one(key, item) for item in marked.value)

    return read


# --- methods, learners, tasks, the cluster -------------------------------------------------------


def _choice(key: str, marked: Marked) -> Choice:
    """`cfo`, or `cfo: {delta_init: 1}`."""
    if _is_text(marked.value):
        return Choice(marked.value, places={"": marked.place})
    rule = "write a name, or one name with its options, as in cfo: {scale: ln}"
    if not isinstance(marked.value, Mapping) or len(marked.value) != 1:
        raise marked.wrong(f"one of the {key}", rule)
    [(name, options)] = marked.value.items()
    if not _is_text(name):
        raise marked.wrong(f"one of the {key}", rule)
    given = {key: as_option(value) for key, value in _mapping(f"the options of {name}", options).items()}
    own = options.value if isinstance(options.value, Mapping) else {}
    return Choice(name, given, {"": marked.place, **{key: one.key_place for key, one in own.items()}})


def _mapping(what: str, marked: Marked) -> dict[str, Any]:
    if marked.value is None:
        return {}
    if not isinstance(marked.value, Mapping):
        raise marked.wrong(what, "write them as key: value")
    return {key: one.plain() for key, one in marked.value.items()}


def as_option(value: Any) -> Any:
    """An option's value: 1e-3 is text to YAML, and a number to everybody else."""
    is_number = isinstance(value, str) and re.fullmatch(f"[+-]?{quantities.NUMBER}", value)
    return float(value) if is_number and "e" in value.lower() else value


def _pick(key: str, marked: Marked) -> Pick:
    """`iris`, `bng_*`, `paper`, `openml:3`, or `tags: [paper, binary]`."""
    value = marked.value
    if isinstance(value, Mapping):
        if list(value) != ["tags"]:
            raise marked.wrong(
                f"one of the {key}", "write a name, or tags: [paper, binary] for all that have both"
            )
        return Pick(tags=_several(_text)("tags", value["tags"]), place=marked.place)
    if not isinstance(value, str) and (number := quantities.whole_number(value)) is not None:
        value = str(number)
    if not _is_text(value):
        raise marked.wrong(f"one of the {key}", "write the name of a task, a pattern such as bng_*, or a tag")
    return Pick(value, place=marked.place)


def _cluster(key: str, marked: Marked) -> Cluster:
    if not isinstance(marked.value, Mapping):
        raise marked.wrong(key, f"write it as key: value, with {', '.join(CLUSTER_KEYS)}")
    given: dict[str, Any] = {}
    for name, one in marked.value.items():
        with told_at(one.key_place):
            if name not in CLUSTER_KEYS:
                raise UnknownNameError("key", f"{key}.{name}", [f"{key}.{known}" for known in CLUSTER_KEYS])
        given[name] = CLUSTER_KEYS[name](f"{key}.{name}", one)
    if "scheduler" in given and given.setdefault("kind", "join") != "join":
        raise marked.wrong(f"{key}.kind", "a scheduler is for kind: join; leave one of the two out")
    if given.get("kind") == "join" and "scheduler" not in given:
        raise marked.wrong(key, "kind: join needs a scheduler: its address, or the path of its file")
    return Cluster(**given)


CLUSTER_KEYS: Mapping[str, Read] = {
    "kind": _one_of(CLUSTER_KINDS),
    "scheduler": _text,
    "workers": _count,
    "options": _mapping,
}

# Every key of a suite: the field of `Suite` that it fills, and what reads its value.
KEYS: Mapping[str, tuple[str, Read]] = {
    "learners": ("learners", _several(_choice)),
    "tasks": ("tasks", _several(_pick)),
    "exclude": ("exclude", _several(_pick)),
    "methods": ("methods", _several(_choice)),
    "folds": ("folds", _folds),
    "n_folds": ("n_folds", _count),
    "seeds": ("seeds", _several(_up_to(MOST_SEED))),
    "budget": ("budget_seconds", _seconds),
    "max_trials": ("max_trials", _count),
    "trial_timeout": ("trial_timeout_seconds", _seconds),
    "threads": ("threads", _count),
    "parallel": ("parallel", _count),
    "memory": ("memory_mb", _megabytes),
    "validation": ("validation", _one_of(VALIDATIONS)),
    "holdout_share": ("holdout_share", _share),
    "clock": ("clock", _one_of(CLOCKS)),
    "engine": ("engine", _one_of(ENGINES)),
    "jobs": ("jobs", _count),
    "cluster": ("cluster", _cluster),
    "results": ("results", _path),
    "data_dir": ("data_dir", _path),
    "task_tables": ("task_tables", _several(_path)),
}
