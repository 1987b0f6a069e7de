"""Safe reading and writing of files in folders that may come from other people.

A results folder or a report may contain links to files of the user. A file that is written as a whole
replaces a link with its name. A file to which lines are appended, and a folder below the one that the user
named, must not be a link: this is an error. No function waits for a pipe. Text for spreadsheets cannot become
a formula.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import zlib
from pathlib import Path
from typing import BinaryIO

from cfo_bench.errors import UserError


def open_file(path: str | Path, flags: int, mode: int = 0o666) -> int:
    """`os.open` of a file that must not be a link; if it is one, the OSError explains that."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link, and links are not followed", str(path)) from None
        raise


def write_whole(path: Path, content: bytes, *, sync: bool = False) -> None:
    """Writes a file atomically. A link with its name is replaced, and the target of the link is unchanged.

    With `sync`, the content is on the disk before the file gets its name.
    """
    # A name for each process and file, never too long.
    unfinished = path.with_name(f".{zlib.crc32(os.fsencode(path.name)):08x}-{os.getpid()}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        fd = open_file(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(fd, "wb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def open_regular(path: str | Path) -> BinaryIO:
    """Opens a file to read it; OSError for a pipe or a device, which may never end."""
    return _regular(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), path)


def read_regular(path: str | Path) -> bytes:
    """The content of a file; OSError for a link, a pipe or a device."""
    with _regular(open_file(path, os.O_RDONLY | os.O_NONBLOCK), path) as file:
        return file.read()


def _regular(fd: int, path: str | Path) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return open(fd, "rb")


def linked_folder(root: Path, path: Path) -> Path | None:
    """The first folder between `root` and `path`, both excluded, that is a link; None without one."""
    parents = [root / parent for parent in path.relative_to(root).parents if parent != Path()]
    return next((parent for parent in reversed(parents) if os.path.islink(parent)), None)


def refuse_linked_folders(root: Path, path: Path, remedy: str) -> None:
    """UserError if a folder below `root` on the way to `path` is a link: it may lead out of `root`."""
    link = linked_folder(root, path)
    if link is not None:
        raise UserError(f"{link} is a link, and links are not followed: {remedy}")


# --- text for spreadsheets -------------------------------------------------------------------------


# The beginning of a formula, in ASCII or full width: spreadsheets ignore spaces before it. A number, also in
# percent, is no formula.
_FORMULA = re.compile(r"\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|\t")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?( ?%)?", re.ASCII | re.IGNORECASE)


def no_formula(text: str) -> str:
    """Text with an apostrophe in front of it if a spreadsheet would read it as a formula; numbers are
    unchanged.

    A carriage return becomes a new line: Python's csv module does not quote it, and a row would end there.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_no_formula(text: str) -> str:
    """The text before `no_formula`, except for carriage returns and text that began with an apostrophe."""
    bare = text.removeprefix("'")
    return bare if bare != text and no_formula(bare) == text else text
