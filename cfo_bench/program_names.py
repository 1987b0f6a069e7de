"""Methods that are programs of their own, `exec:venv/bin/python mine.py`: their names, and nothing that runs.

The command is split into words as a shell would, by quotes and spaces, and no shell takes part.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from cfo_bench.errors import UserError

PREFIX = "exec:"

# How the file ends that a program such as python, Rscript or julia is given to run.
_SCRIPTS = frozenset({".jar", ".jl", ".js", ".lua", ".mjs", ".php", ".pl", ".py", ".r", ".rb", ".sh", ".ts"})


def is_program(name: str) -> bool:
    return name.startswith(PREFIX)


def words_of(name: str) -> list[str]:
    """The words of the command; a UserError where there is none, or a quote is not closed."""
    command = name.removeprefix(PREFIX)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"method {name!r} can't be split into words ({error}): mend its quotes") from None
    if not words:
        raise UserError(f"method {name!r} names no program: write one, as in exec:'venv/bin/python mine.py'")
    return words


def existing_program(name: str) -> list[str]:
    """The words of the command; a UserError if there is no such program. It is not started."""
    words = words_of(name)
    if shutil.which(words[0]) is None:
        raise UserError(
            f"method {name!r}: no program {words[0]!r}: give the path of one that can be executed, "
            "or a name that is on the PATH"
        )
    return words


def program_label(name: str) -> str:
    """What the program is called in tables and folders: `mine` for `exec:venv/bin/python mine.py --fast`.

    It is the name of the script, or of the module after `-m`, or of the program itself.
    """
    try:
        words = words_of(name)
    except UserError:  # in somebody's trace: a reader has to call it something
        return name
    paths = [Path(word) for word in words]
    script = next((path.stem for path in paths if path.suffix.lower() in _SCRIPTS), "")
    module = words[words.index("-m") + 1 :][:1] if "-m" in words else []
    return script or (module[0].rpartition(".")[2] if module else "") or paths[0].name or name


def beside(folder: Path, name: str) -> str:
    """The name with the paths that are relative to `folder` made relative to where we are.

    A path is a word that names something in the folder. The first word has to have a slash for that: else it
    is looked for on the PATH.
    """
    words = words_of(name)
    moved = [
        str(folder / word) if (folder / word).exists() and (at > 0 or "/" in word) else word
        for at, word in enumerate(words)
    ]
    return name if folder == Path() or moved == words else PREFIX + shlex.join(moved)
