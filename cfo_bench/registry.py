"""Names of methods and learners, and their classes. A list of names imports no class.

An installed package adds a row by an entry point. `path/to/file.py:Class` names a class without a row. A
family is a row for many names: `optuna:GPSampler` is the class that the function of the family `optuna`
returns for `GPSampler`. `exec:COMMAND` is also a family: a method that is a program. `estimator:REFERENCE` is
a learner whose estimator is `package.module.Name` or `path/to/file.py:name`. The options of a class are its
constructor's keyword-only parameters; a constructor that takes `**options` and passes them on also has those
of the class it extends.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cfo_bench.errors import (
    MissingPackageError,
    OptionError,
    UnknownNameError,
    UserError,
    describe,
    did_you_mean,
    install_command,
)

# The families whose names are local folders. These are imported only for a run.
LOCAL_FAMILIES = frozenset({"optunahub"})
# The family of learners whose names refer to an estimator. It is imported only for a run or a model.
ESTIMATOR = "estimator"
# The group of rows from installed packages, if a registry has groups.
PLUG_INS = "plug-ins"


@dataclass(frozen=True, slots=True)
class Row:
    """One name of a registry."""

    target: str  # "module:Class"
    summary: str
    extra: str | None = None  # the extra of cfo-bench that installs the packages it needs
    needs: tuple[str, ...] = ()  # the packages that the module imports
    learner: str | None = None  # of a reference method: its learner
    group: str = ""  # in the listing
    source: str = ""  # a link, or the paper
    takes: str = "NAME"  # of a family: the part after the colon, in words
    takes_all: bool = False  # of a family: anything may follow its colon, such as a command line
    members: str = ""  # of a family: "module:function", which lists the names that may follow its colon

    @property
    def missing(self) -> str | None:
        """The first needed package that is not installed."""
        return next((name for name in self.needs if importlib.util.find_spec(name) is None), None)

    @property
    def remedy(self) -> str:
        """The command that installs the missing packages; an extra may be several, as in `baselines,dnn`."""
        return install_command(self.extra) if self.extra else f"pip install {self.missing}"


@dataclass(frozen=True, slots=True)
class DescribedOption:
    """An option with its default, the accepted values in words, and its description (may be "")."""

    name: str
    default: Any
    takes: str
    does: str


@dataclass
class Registry:
    """The registry of one kind (method, learner): its built-in rows, its families and the rows of
    plug-ins.
    """

    kind: str
    group: str
    builtin: Mapping[str, Row]
    families: Mapping[str, Row] = field(default_factory=dict)  # the target of each is "module:function"
    # The answers to other names that people type: the corresponding name, or that none exists.
    other_names: Mapping[str, str] = field(default_factory=dict)
    _plugins: dict[str, Row] | None = field(default=None, init=False)

    def rows(self) -> dict[str, Row]:
        if self._plugins is None:
            import importlib.metadata  # here, because it takes longer than the rest of `--help`

            self._plugins = {
                point.name: Row(
                    point.value,
                    f"from {point.dist.name if point.dist else 'a plug-in'}",
                    group=PLUG_INS if any(row.group for row in self.builtin.values()) else "",
                )
                for point in importlib.metadata.entry_points(group=self.group)
            }
        return {**self._plugins, **self.builtin}

    def split_options(self, word: str) -> tuple[str, str]:
        """`cfo:delta_init=1,scale=ln` as the name and the text of its options; "" without options.

        The options begin after the first colon that `key=` follows; in a name with a path, after the path.
        A name of a family with `takes_all` has no options, because they would be part of the name.
        """
        family = self._family(word)
        if word in self.rows() or (family is not None and family.takes_all):
            return word, ""
        start = word.rindex(".py:") + 4 if is_python_file(word) else 0
        colon = re.compile(r":(?=[A-Za-z_]\w*=)").search(word, start)
        return (word, "") if colon is None else (word[: colon.start()], word[colon.end() :])

    def listed(self) -> dict[str, Row]:
        """All rows by name, with each family under a name such as `optuna:NAME`."""
        return {**self.rows(), **{f"{name}:{row.takes}": row for name, row in self.families.items()}}

    def matching(self, word: str) -> dict[str, Row]:
        """The rows with a word in their name, group, summary or packages, or in another name for them. If
        there are none: the members of families with the word in their name. If there are none either: the
        matches of the last parts of a word such as `optuna.samplers.TPESampler`.
        """
        wanted = folded(word)
        meant = {
            name
            for other, answer in self.other_names.items()
            if wanted in other
            for name in re.findall(r"'([\w:-]+)'", answer)
        }
        matches = {
            name: row
            for name, row in self.listed().items()
            if name in meant or wanted in folded(" ".join([name, row.group, row.summary, *row.needs]))
        }
        matches = matches or {
            f"{family}:{member}": row
            for family, row in self.families.items()
            if row.members and row.missing is None
            for member in _attribute(row.members, f"{self.kind} {family!r}")()
            if wanted in folded(member)
        }
        last_parts = word.partition(".")[2]
        return matches or (self.matching(last_parts) if last_parts else {})

    def row(self, name: str) -> Row:
        if (family := self._family(name)) is not None:
            return family
        if is_in_file(name):
            return Row(name, "from a local file")
        rows = self.rows()
        if name not in rows:
            if (known := self.other_names.get(folded(name))) is not None:
                raise UserError(f"unknown {self.kind} {name!r}: {known} (cfo-bench {self.kind}s lists all)")
            raise UnknownNameError(self.kind, name, self.listed())
        return rows[name]

    def check_users_code(self, name: str) -> None:
        """A UserError if the local file or program does not exist. It is not run."""
        self.row(name)
        if is_program(name):
            existing_program(name)
        elif family_of(name) != ESTIMATOR:
            existing_file(name)
        elif is_python_file(reference_of(name)):
            existing_file(reference_of(name))

    def load(self, name: str) -> type[Any]:
        """The class of a name; the error for a missing extra contains the command that installs it."""
        row = self.row(name)
        if row.missing is not None:
            raise MissingPackageError(f"{self.kind} {name!r}", row.missing, row.remedy)
        cls = _attribute(row.target, f"{self.kind} {name!r}")
        if self._family(name) is not None and callable(cls):
            cls = cls(name.partition(":")[2])
        if not isinstance(cls, type):
            module_name, _, attribute = row.target.rpartition(":")
            described = (
                ", or give an estimator with its space as FILE.yaml (see docs/learners.md)"
                if self.kind == "learner"
                else ""
            )
            raise UserError(f"{module_name} has no class {attribute!r}: name one that it has{described}")
        return cls

    def _family(self, name: str) -> Row | None:
        """The family of a name. `optuna:x/mine.py:Mine` is a class in a local file and has no family."""
        return None if is_python_file(name) else self.families.get(family_of(name))

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The defaults of the class, replaced by the given options. Each must be an option of the class, with
        a value of its type.
        """
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

    def described_options(self, name: str) -> list[DescribedOption]:
        cls = self.load(name)
        types, does = parameter_types(cls), documented_parameters(cls)
        return [
            DescribedOption(key, value, in_words(types.get(key, Any)), does.get(key, ""))
            for key, value in default_options(cls).items()
        ]


# --- names ------------------------------------------------------------------------------------------


def label(name: str) -> str:
    """The name in tables and folders: `Mine` for `path/to/mine.py:Mine` and `estimator:package.Mine`, `mine`
    for `exec:python mine.py`.
    """
    if is_in_file(name):
        return name.rpartition(":")[2]
    if family_of(name) == ESTIMATOR:
        return re.split("[.:]", name)[-1]
    return program_label(name) if is_program(name) else name


def folded(name: str) -> str:
    """The name without differences that people overlook: capitals, `-`, `_` and spaces."""
    return name.casefold().replace("_", "-").replace(" ", "-")


def family_of(name: str) -> str:
    """The part before the first colon: `optuna` of `optuna:GPSampler`; "" without a colon."""
    before, colon, _ = name.partition(":")
    return before if colon else ""


def is_in_file(name: str) -> bool:
    """Whether a name is that of a class in a local file or folder: `path/to/mine.py:Mine`, or
    `optunahub:path/to/package:Mine`.
    """
    return is_python_file(name) or family_of(name) in LOCAL_FAMILIES


def is_python_file(name: str) -> bool:
    return ".py:" in name and family_of(name) not in {ESTIMATOR, *LOCAL_FAMILIES} and not is_program(name)


def reference_of(name: str) -> str:
    """The estimator that `estimator:REFERENCE` refers to."""
    return name.removeprefix(f"{ESTIMATOR}:")


def code_file(name: str) -> str | None:
    """The local file with the code that a name points to: `mine.py` of `mine.py:Mine`, of
    `estimator:mine.py:make` and of `exec:python mine.py`; None if it points to none.
    """
    if is_program(name):
        return _script_of(name)
    reference = reference_of(name)
    return reference.rpartition(":")[0] if is_python_file(reference) else None


def is_users_code(name: str) -> bool:
    """Whether loading it runs code to which the name itself points: a class in a local file, an estimator, or
    a program.

    Commands that only read results must not load it.
    """
    return is_in_file(name) or is_program(name) or family_of(name) == ESTIMATOR


def placed(name: str, folder: Path) -> str:
    """The name with the paths that are relative to `folder` made relative to the current folder."""
    if is_program(name):
        return _program_in(folder, name)
    if family_of(name) in LOCAL_FAMILIES:
        family, _, place = name.partition(":")
        return f"{family}:{folder / place}"
    if family_of(name) == ESTIMATOR:
        return f"{ESTIMATOR}:{placed(reference_of(name), folder)}"
    return str(folder / name) if is_python_file(name) else name


def existing_file(name: str) -> Path:
    """The local file or folder of the name; a UserError if it is missing. It is not imported."""
    path = name.rpartition(":")[0]
    if not is_python_file(name):
        return existing_folder(path.partition(":")[2], family_of(name))
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"no file {path!r}: give the path of a Python file and a class, as in mine.py:Mine")
    return file


def existing_folder(path: str, family: str) -> Path:
    """The folder of `optunahub:FOLDER:Class`; a UserError if it is missing."""
    folder = Path(path).resolve()
    if not path or not folder.is_dir():
        raise UserError(f"no folder {path!r}: give {family}:FOLDER:CLASS, a package's folder and a class")
    return folder


# The prefix of the names of modules from local files.
LOCAL_MODULE = "cfo_bench_local_"


def imported_module(name: str, what: str) -> Any:
    """The module with this name, or that of a `.py` file; an error begins with `what`."""
    try:
        return (
            module_of_file(existing_file(f"{name}:"))
            if name.endswith(".py")
            else importlib.import_module(name)
        )
    except UserError:
        raise
    except Exception as error:  # the module of a plug-in may raise anything
        raise UserError(f"{what} can't be imported: correct {name} ({describe(error)})") from error


def _attribute(target: str, what: str) -> Any:
    """The object of a target "module:name"; None if the module has no such name."""
    module_name, _, name = target.rpartition(":")
    return getattr(imported_module(module_name, what), name, None)


def module_of_file(file: Path) -> Any:
    name = f"{LOCAL_MODULE}{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# --- programs: exec:venv/bin/python mine.py ---------------------------------------------------------


PREFIX = "exec:"

# The endings of the files that a program such as python, Rscript or julia runs.
_SCRIPTS = frozenset({".jar", ".jl", ".js", ".lua", ".mjs", ".php", ".pl", ".py", ".r", ".rb", ".sh", ".ts"})


def is_program(name: str) -> bool:
    return name.startswith(PREFIX)


def words_of(name: str) -> list[str]:
    """The words of the command, split at quotes and spaces as in a shell, but without a shell.

    UserError if there are no words, or a quote is not closed.
    """
    command = name.removeprefix(PREFIX)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"method {name!r} can't be split into words ({error}): correct its quotes") from None
    if not words:
        raise UserError(f"method {name!r} names no program: write one, as in exec:'venv/bin/python mine.py'")
    return words


def existing_program(name: str) -> list[str]:
    """The words of the command; a UserError if the program does not exist. It is not started."""
    words = words_of(name)
    if shutil.which(words[0]) is None:
        raise UserError(
            f"method {name!r}: no program {words[0]!r}: give the path of one that can be executed, "
            "or a name that is on the PATH"
        )
    return words


def program_label(name: str) -> str:
    """The name of the program in tables and folders: `mine` for `exec:venv/bin/python mine.py --fast`.

    It is the name of the script, or of the module after `-m`, or of the program itself.
    """
    if (script := _script_of(name)) is not None:
        return Path(script).stem
    try:
        words = words_of(name)
    except UserError:  # a trace may have any name
        return name
    module = words[words.index("-m") + 1 :][:1] if "-m" in words else []
    return (module[0].rpartition(".")[2] if module else "") or Path(words[0]).name or name


def _script_of(name: str) -> str | None:
    """The first word of the command with the suffix of a script."""
    try:
        return next((word for word in words_of(name) if Path(word).suffix.lower() in _SCRIPTS), None)
    except UserError:  # a trace may have any name
        return None


def _program_in(folder: Path, name: str) -> str:
    """The name with the paths that are relative to `folder` made relative to the current folder.

    A path is a word that names a file in the folder. The first word is a path only if it contains a slash;
    otherwise it is a program on the PATH.
    """
    words = words_of(name)
    moved = [
        str(folder / word) if (folder / word).exists() and (at > 0 or "/" in word) else word
        for at, word in enumerate(words)
    ]
    return name if folder == Path() or moved == words else PREFIX + shlex.join(moved)


# --- the options of a class -------------------------------------------------------------------------


_PARAMETER = re.compile(r"(?P<name>[a-z_][a-z0-9_]*) {2,}(?P<text>\S.*)")

_WORDS: dict[Any, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "text",
    NoneType: "null",
    list: "a list",
    dict: "a mapping",
    Any: "anything",
}


def default_options(cls: type[Any]) -> dict[str, Any]:
    """Every option of a class with its default."""
    return {
        parameter.name: parameter.default
        for constructor in constructors(cls)
        for parameter in inspect.signature(constructor).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty
    }


def parameter_types(cls: type[Any]) -> dict[str, Any]:
    """The annotations of a constructor; none if one of them names a type that only type checkers import."""
    types: dict[str, Any] = {}
    try:
        for constructor in constructors(cls):
            types |= get_type_hints(constructor)
    except NameError:
        return {}
    return types


def constructors(cls: type[Any]) -> list[Callable[..., None]]:
    """The constructors that take the options of a class: its own, after that of its base class if it passes
    `**options` on.
    """
    functions: list[Callable[..., None]] = []
    for base in cls.__mro__:
        if "__init__" in vars(base):
            functions.insert(0, vars(base)["__init__"])
            parameters = inspect.signature(functions[0]).parameters.values()
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                break
    return functions


def documented_parameters(cls: type[Any]) -> dict[str, str]:
    """The descriptions of the parameters in the docstrings of a class and of those that it extends."""
    descriptions: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        descriptions |= _described_in(vars(base).get("__doc__"))
    return descriptions


def _described_in(docstring: str | None) -> dict[str, str]:
    """The parameters that a docstring describes: in a numpydoc section, or each on a line of its own with the
    name, two spaces or more, and the description. Lines that are indented further continue it.
    """
    descriptions: dict[str, str] = {}
    section, name = "", ""
    lines = inspect.cleandoc(docstring or "").splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=False):  # an empty docstring has no line
        if below and set(below) == {"-"}:
            section, name = line, ""
        elif section == "Parameters" and line and not line.startswith((" ", "-")):
            name = line.partition(" :")[0].lstrip("*")
            descriptions[name] = ""
        elif not section and (start := _PARAMETER.match(line)):
            name = start["name"]
            descriptions[name] = start["text"]
        elif name and (line.startswith("  ") or (section and not line)):
            descriptions[name] = f"{descriptions[name]} {line.strip()}".strip()
        else:
            name = ""
    return descriptions


def fits(value: object, hint: Any) -> bool:
    """Whether a value fits a type. A whole number is a number, and true is neither.

    A type that can't be checked, such as a Protocol, fits anything.
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if hint is float or hint is int:
        return isinstance(value, int | hint) and not isinstance(value, bool)
    kind = origin or hint
    try:
        return not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # Any, a Protocol: these can't be checked
        return True


def in_words(hint: Any) -> str:
    """A type in words: `float | None` is "a number or null"."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(in_words(part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(str(choice) for choice in get_args(hint))
    return _WORDS.get(get_origin(hint) or hint, getattr(hint, "__name__", str(hint)))
