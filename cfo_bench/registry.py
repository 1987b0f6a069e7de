"""Names of methods and learners, and the classes behind them: a list of names imports no class.

An installed package adds a row by an entry point. `path/to/file.py:Class` names a class without a row.
The options of a class are its constructor's keyword-only parameters; a constructor that takes `**options`
and passes them on also has those of the class it extends.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.annotations import constructors, fits, in_words, parameter_types
from cfo_bench.errors import (
    MissingPackageError,
    OptionError,
    UnknownNameError,
    UserError,
    describe,
    did_you_mean,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One name of a registry."""

    target: str  # "module:Class"
    summary: str
    extra: str | None = None  # the extra of cfo-bench that installs the packages it needs
    needs: tuple[str, ...] = ()  # the packages that the module imports
    learner: str | None = None  # of a reference method: the learner that it is run with

    @property
    def missing(self) -> str | None:
        """The first package that is needed and not installed."""
        return next((name for name in self.needs if importlib.util.find_spec(name) is None), None)

    @property
    def remedy(self) -> str:
        """The command that installs what is missing."""
        return f"pip install 'cfo-bench[{self.extra}]'" if self.extra else f"pip install {self.missing}"


@dataclass
class Registry:
    """One kind of thing (method, learner): its built-in rows and the plug-ins' rows."""

    kind: str
    group: str
    builtin: Mapping[str, Row]
    _plugins: dict[str, Row] | None = field(default=None, init=False)

    def rows(self) -> dict[str, Row]:
        if self._plugins is None:
            self._plugins = {
                point.name: Row(point.value, f"from {point.dist.name if point.dist else 'a plug-in'}")
                for point in importlib.metadata.entry_points(group=self.group)
            }
        return {**self._plugins, **self.builtin}

    def row(self, name: str) -> Row:
        if is_in_file(name):
            return Row(name, "from a local file")
        rows = self.rows()
        if name not in rows:
            raise UnknownNameError(self.kind, name, rows)
        return rows[name]

    def load(self, name: str) -> type[Any]:
        """The class behind a name; an absent extra is named with the command that installs it."""
        row = self.row(name)
        if row.missing is not None:
            raise MissingPackageError(f"{self.kind} {name!r}", row.missing, row.remedy)
        module_name, _, attribute = row.target.rpartition(":")
        try:
            module = (
                _module_of_file(existing_file(row.target))
                if module_name.endswith(".py")
                else importlib.import_module(module_name)
            )
        except UserError:
            raise
        except Exception as error:  # whatever somebody else's module does when it is imported
            raise UserError(
                f"{self.kind} {name!r} can't be imported: mend {module_name} ({describe(error)})"
            ) from error
        found = getattr(module, attribute, None)
        if not isinstance(found, type):
            raise UserError(f"{module_name} has no class {attribute!r}: name one that it has")
        return found

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The given options over the class's defaults; each must be one of them, with a value of its type."""
        cls = self.load(name)
        defaults, types = default_options(cls), parameter_types(cls)
        for key, value in given.items():
            if key not in defaults:
                known = ", ".join(sorted(defaults)) or "none"
                hint = did_you_mean(key, defaults)
                raise OptionError(
                    f"{self.kind} {name!r} has no option {key!r}{hint}: its options are {known}"
                )
            if key in types and not fits(value, types[key]):
                raise OptionError(
                    f"option {key} of {self.kind} {name!r} is {value!r}: give {in_words(types[key])}"
                )
        return {**defaults, **given}

    def described_options(self, name: str) -> list[tuple[str, Any, str]]:
        """Each option with its default and what it takes, in words."""
        cls = self.load(name)
        types = parameter_types(cls)
        return [(key, value, in_words(types.get(key, Any))) for key, value in default_options(cls).items()]


def default_options(cls: type[Any]) -> dict[str, Any]:
    """Every option of a class with its default."""
    return {
        parameter.name: parameter.default
        for constructor in constructors(cls)
        for parameter in inspect.signature(constructor).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty
    }


def label(name: str) -> str:
    """The name in tables and folders: `path/to/mine.py:Mine` is called `Mine` there."""
    return name.rpartition(":")[2] if is_in_file(name) else name


def is_in_file(name: str) -> bool:
    """Whether a name is that of a class in a local file: `path/to/mine.py:Mine`."""
    return ".py:" in name


def existing_file(name: str) -> Path:
    """The local file that such a name is of; a UserError if it is not there. It is not imported."""
    path = name.rpartition(":")[0]
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"no file {path!r}: give the path of a Python file and a class, as in mine.py:Mine")
    return file


def _module_of_file(file: Path) -> Any:
    name = f"cfo_bench_local_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
