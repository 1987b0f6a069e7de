"""Every exception that cfo-bench raises on purpose.

CfoBenchError
├── UserError                the request was wrong: one line on stderr, exit code 2
│   ├── UnknownNameError     no method, learner or task has this name
│   ├── OptionError          an option is unknown, or its value is wrong
│   ├── SpaceError           a hyperparameter, or its value, breaks a rule of the search space
│   ├── DataError            the data can't be used as a task
│   │   └── TooManyFoldsError    it has too few rows, or too few of a class, for its folds
│   ├── MissingPackageError  a package is not installed
│   ├── NoLocksError         a folder is on a file system that can't lock files
│   └── TraceError           a trace can't be read, written or resumed
│       └── OtherRunError    it belongs to another run
├── RunError                 a run failed, or could not start: one line on stderr, exit code 1
├── Interrupted              Ctrl-C or SIGTERM ended the runs: exit code 130 or 143
└── Exhausted                a method has nothing new to ask for: its run ends, without an error
"""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class CfoBenchError(Exception):
    """The root of all. The text is one line that names the value, the rule and the remedy."""

    exit_code = 1


class UserError(CfoBenchError):
    """The user's request was wrong: one line on stderr, exit code 2."""

    exit_code = 2


class UnknownNameError(UserError):
    """A name is not known; the message names the most similar known one."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=5)
        hint = did_you_mean(name, names)
        listed = ", ".join(names if len(names) <= 100 else near or names[:5])
        others = f" or {len(names) - len(near or names[:5])} others" if len(names) > 100 else ""
        super().__init__(f"unknown {kind} {name!r}{hint}: choose from {listed}{others}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint with the most similar known word, for an error message; empty if none is similar."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


@contextmanager
def at_place(place: str) -> Iterator[None]:
    """Inside, the message of a UserError is prefixed with this place in a file; `""` means no file."""
    try:
        yield
    except UserError as error:
        if not place:
            raise
        raise UserError(f"{place}: {error}") from None


class OptionError(UserError):
    """A method, learner or engine does not have an option, or does not accept its value."""


class SpaceError(UserError):
    """A hyperparameter's bounds are wrong, or a value is outside them."""


class NoLocksError(UserError):
    """A folder is on a file system that can't lock files, so that two commands could write one file."""

    def __init__(self, folder: object, error: OSError) -> None:
        super().__init__(
            f"{folder} is on a file system without file locks (flock: {error.strerror}): choose a folder on "
            "a local disk, or have it mounted with locks (NFS: start its lock daemon; Lustre: -o flock)"
        )


class DataError(UserError):
    """The data can't be used as a task."""


class TooManyFoldsError(DataError):
    """The data has too few rows, or too few rows of one class, for the number of folds."""


class MissingPackageError(UserError):
    """A package is not installed; the message has the command that installs it."""

    def __init__(self, what: str, package: str, remedy: str) -> None:
        super().__init__(f"{what} needs the package {package!r}, which is not installed: {remedy}")


# The extra with a package that pip builds from source: netifaces, which hpbandster needs.
_BUILT_FROM_SOURCE = "baselines"


def install_command(extra: str) -> str:
    """The command that installs an extra. For a checkout that is not installed, it has the checkout's path.

    If pip would need a C compiler or Python's headers and they are missing, their Debian packages are named.
    """
    tools = missing_build_tools() if _BUILT_FROM_SOURCE in extra.split(",") else ""
    return f"pip install {_requirement(extra)}" + (f" (it also needs {tools})" if tools else "")


def missing_build_tools() -> str:
    """The missing packages that pip needs to build a C extension; "" if none is missing.

    `scripts/install.sh` calls it too, before anything is installed.
    """
    import sysconfig  # here, because only the commands for extras need it

    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) and Path(sysconfig.get_path("include"), "Python.h").is_file():
        return ""
    return "a C compiler and Python's headers; on Debian: apt install gcc python3-dev"


def _requirement(extra: str) -> str:
    import importlib.metadata  # here, because it takes longer than the rest of `--help`

    checkout = Path(__file__).resolve().parents[1]
    is_installed = any(importlib.metadata.distributions(name="cfo-bench"))
    if is_installed or not (checkout / "pyproject.toml").is_file():
        return f"'cfo-bench[{extra}]'"
    return shlex.quote(f"{checkout}[{extra}]")


class TraceError(UserError):
    """A trace can't be read, written or resumed."""


class OtherRunError(TraceError):
    """A trace belongs to another run; `finding` is the message without the remedy."""

    def __init__(self, finding: str) -> None:
        super().__init__(f"{finding}: use another --results, or --force to run it again")
        self.finding = finding


class RunError(CfoBenchError):
    """A run failed, or could not start: one line on stderr, exit code 1."""


class Interrupted(CfoBenchError):
    """Ctrl-C or SIGTERM ended the runs of a suite; the same call or command resumes them."""

    def __init__(self, signal_number: int) -> None:
        super().__init__("stopped: run the same command to resume")
        self.exit_code = 128 + signal_number


class Exhausted(CfoBenchError):
    """Raised by a method's `ask` when it has nothing new to try: the run ends without an error."""


def describe(error: BaseException) -> str:
    """An exception in one line, with its type unless it is an exception of cfo-bench."""
    try:
        text = str(error)
    except Exception:  # the exception of a plug-in may fail to describe itself
        text = ""
    if isinstance(error, CfoBenchError):
        return brief_line(text)
    return brief_line(f"{type(error).__name__}: {text}" if text.strip() else type(error).__name__)


def brief_line(text: str, most: int = 2000) -> str:
    """A text of any origin as one printable line, cut off after `most` characters."""
    line = " ".join(text[: 2 * most].split())
    cut = f"{line[:most]}…" if len(line) > most or len(text) > 2 * most else line
    return cut if cut.isprintable() else "".join(map(_escaped, cut))


def _escaped(character: str) -> str:
    """A control character or half of a surrogate pair as a Python escape."""
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
