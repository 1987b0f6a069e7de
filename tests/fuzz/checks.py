"""One command in this process, and what must hold of it whatever it was given."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.cli.main import main

# 0: done, 1: a run could not go on, 2: a mistake of the user.
EXIT_CODES = (0, 1, 2)

# What moves a terminal's cursor or colours, or changes the order of letters; line ends and tabs are allowed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Answer:
    """What a command said, and how it ended; `crash` is the exception that no user should see."""

    words: Sequence[str]
    exit_code: int
    out: str
    err: str
    crash: BaseException | None = None

    @property
    def command(self) -> str:
        return self.words[0]


@dataclass(frozen=True)
class Failure:
    """`signature` is the same for failures with one cause; `detail` is of this one."""

    signature: str
    detail: str


def call(words: Sequence[str]) -> Answer:
    """The command as the program's own `main` runs it, with the streams that a UTF-8 terminal has."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    before, sys.argv = sys.argv, ["cfo-bench", *words]
    code: object = 0
    crash: BaseException | None = None
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException as error:
        crash, code = error, -1
    finally:
        sys.argv = before
    return Answer(words, code if isinstance(code, int) else -1, _text(out), _text(err), crash)


def call_program(words: Sequence[str]) -> Answer:
    """The command in a process of its own, as `compare` needs it: its time began with its process."""
    line = [sys.executable, "-m", "cfo_bench", *words]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True)
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    return Answer(words, done.returncode, out, err)


def _text(stream: io.TextIOWrapper) -> str:
    if stream.closed:
        return ""
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", "surrogateescape")


def failures_of(answer: Answer) -> Iterator[Failure]:
    """A stack trace, an exit code that no page of the docs has, a control character on the terminal."""
    if answer.crash is not None:
        where = _where(answer.crash)
        yield Failure(
            f"{answer.command}: stack trace, {type(answer.crash).__name__} in {where}",
            " ".join(str(answer.crash).split())[:200],
        )
        return
    if answer.exit_code not in EXIT_CODES:
        yield Failure(f"{answer.command}: exit code {answer.exit_code}", answer.err[-200:])
    if "Traceback (most recent" in answer.err:
        yield Failure(f"{answer.command}: stack trace on stderr", answer.err[-300:])
    if answer.exit_code and not answer.err.strip():
        yield Failure(f"{answer.command}: exit code {answer.exit_code} without a word", "")
    for name, text in (("stdout", answer.out), ("stderr", answer.err)):
        found = _CONTROL.search(text)
        if found:
            around = text[max(found.start() - 60, 0) : found.end() + 20]
            yield Failure(f"{answer.command}: control character on {name}", repr(around))


def _where(crash: BaseException) -> str:
    """The innermost function of ours that an exception came through."""
    frames = [
        f"{Path(frame.filename).relative_to(_PACKAGE.parent)}:{frame.name}"
        for frame in traceback.extract_tb(crash.__traceback__)
        if Path(frame.filename).is_relative_to(_PACKAGE)
    ]
    return frames[-1] if frames else "nowhere of ours"


_PACKAGE = Path(sys.modules["cfo_bench"].__file__ or "").resolve().parent


Snapshot = dict[str, tuple[int, ...]]


def snapshot(root: Path, but: Iterable[Path] = ()) -> Snapshot:
    """Every file and folder below `root`, with type, size, time and place on disk; no link is followed."""
    left_out = {os.fspath(path) for path in but}
    found: Snapshot = {}
    folders = [os.fspath(root)]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.path in left_out:
                continue
            stat = entry.stat(follow_symlinks=False)
            is_folder = entry.is_dir(follow_symlinks=False)
            # A folder's time changes with what is in it, and that is compared by itself.
            moment = 0 if is_folder else stat.st_mtime_ns
            found[entry.path] = (stat.st_mode, 0 if is_folder else stat.st_size, moment, stat.st_ino)
            if is_folder:
                folders.append(entry.path)
    return found


@contextmanager
def untouched(root: Path, but: Sequence[Path], command: str, failures: list[Failure]) -> Iterator[None]:
    """Nothing below `root` is changed meanwhile but the folders that the command was told to write to."""
    before = snapshot(root, but)
    yield
    after = snapshot(root, but)
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            how = "made" if path not in before else "deleted" if path not in after else "changed"
            where = os.path.relpath(path, root).split(os.sep)[0]
            failures.append(Failure(f"{command}: {how} a file outside of its folders ({where})", path))
