"""Suites in YAML files: finding and reading them. A mistake is reported with its line.

This checks the form of a file: its keys, and the types and units of its values. Whether a method, a task
or an option exists is checked later, so every name keeps the place where it was written.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from cfo_bench.errors import UnknownNameError, UserError, at_place
from cfo_bench.files import yaml_file
from cfo_bench.registry import placed
from cfo_bench.settings import settings_of
from cfo_bench.suite.choices import Choice, Tasks
from cfo_bench.suite.model import Suite
from cfo_bench.tasks import DATA_FORMATS
from cfo_bench.values import Schema, Several


def find(name: str) -> Path:
    """The file that a user means: a path, or the name of a suite that comes with the package."""
    path = Path(os.path.expanduser(name))
    if path.suffix.lower() in DATA_FORMATS:
        raise UserError(
            f"{name!r} is a data file, not a suite: give it as --data {shlex.quote(name)} --target COLUMN"
        )
    if os.path.exists(path):
        return path
    known = shipped()
    if path.parent in (Path(), Path("configs")) and path.suffix in ("", ".yaml") and path.stem in known:
        return known[path.stem]
    if path.suffix or path.parent != Path():
        raise UserError(
            f"no file {name!r}: give the path of a suite, or the name of an included one: {', '.join(known)}"
        )
    raise UnknownNameError("suite", name, known)


def shipped() -> dict[str, Path]:
    """The suites of the package. In a checkout, they are in a folder beside the package."""
    package = Path(str(resources.files("cfo_bench")))
    installed = package / "configs"
    folder = installed if installed.is_dir() else package.parent / "configs"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"), key=lambda path: path.stem)}


def read(path: Path) -> Suite:
    """The suite in a file, whose relative paths are relative to the file."""
    root = yaml_file.read(path)
    if root.value is None:
        raise UserError(f"{path} is empty: a suite has at least tasks, methods and a budget")
    if not isinstance(root.value, Mapping):
        raise UserError(f"{root.place}: a suite is a mapping with keys such as tasks, methods and budget")
    known = {setting.key: setting for setting in settings_of(Suite)}
    given: dict[str, Any] = {}
    places: dict[str, str] = {}
    for key, marked in root.value.items():
        with at_place(marked.key_place):
            if key not in known:
                raise UnknownNameError("key", key, known)
        name = known[key].name
        given[name], places[name] = known[key].kind.read(key, marked), marked.place
    return _relative_to(path.parent, Suite(**given, places=places))


def read_tasks(path: Path) -> Suite:
    """A suite of which only the tasks are used. The file may also be a list of tasks."""
    root = yaml_file.read(path)
    return read(path) if root.items() is None else Suite(tasks=Several(Tasks()).read("tasks", root))


def _relative_to(folder: Path, suite: Suite) -> Suite:
    """The suite with the paths that are relative to `folder` made relative to the current folder."""

    def moved(choice: Choice) -> Choice:
        with at_place(choice.place):
            return replace(choice, name=placed(choice.name, folder))

    scheduler = suite.cluster.scheduler
    if scheduler is not None and "://" not in scheduler:
        scheduler = str(folder / os.path.expanduser(scheduler))
    return replace(
        suite,
        learners=tuple(map(moved, suite.learners)),
        methods=tuple(map(moved, suite.methods)),
        cluster=replace(suite.cluster, scheduler=scheduler),
        metric=placed(suite.metric, folder) if suite.metric else None,
        results=folder / suite.results if "results" in suite.places else suite.results,
        data_file=folder / suite.data_file if suite.data_file else None,
        data_dir=folder / suite.data_dir if suite.data_dir else None,
        task_tables=tuple(folder / table for table in suite.task_tables),
        yahpo=folder / suite.yahpo if suite.yahpo else None,
        surrogate=folder / suite.surrogate if suite.surrogate else None,
    )


# --- derived from the settings; `make schemas` writes the files -------------------------------------


def suite_schema() -> Schema:
    """The JSON Schema of a suite file."""
    settings = settings_of(Suite)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A suite of cfo-bench",
        "description": "Every (learner, task, method, fold, seed) of a suite becomes one run: see "
        "docs/suites.md.",
        "type": "object",
        "additionalProperties": False,
        "properties": {setting.key: setting.schema() for setting in settings},
        "$defs": dict(pair for setting in settings for pair in setting.kind.definitions()),
    }


def table_of_keys() -> str:
    """Every key of a suite file with its default, in Markdown."""
    rows = ["| key | default | |", "| --- | --- | --- |"]
    for setting in settings_of(Suite):
        default = setting.default_in_words()
        if default and " " not in default:
            default = f"`{default}`"
        text = setting.in_file or setting.help
        rows.append(f"| `{setting.key}` | {default} | {text} |".replace("|  |", "| |"))
    return "".join(f"{row}\n" for row in rows)
