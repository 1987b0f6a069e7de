"""The file of surrogates: an .npz of numpy, with the arrays of all models, and a JSON text beside them.

Nothing in it is code. It is a zip archive whose members are not compressed, so that no more comes out of it
than its size; every array is checked before it is used. The same traces give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

import numpy as np
import orjson

from cfo_bench.errors import UnknownNameError, UserError, brief_line
from cfo_bench.metrics import Array
from cfo_bench.recordings.surrogate import Surrogate
from cfo_bench.recordings.surrogate_parts import count, from_parts, to_arrays, to_row, words
from cfo_bench.safe_writing import open_regular, write_whole

FORMAT, VERSION = "cfo-bench surrogate", 1
# A file past these was not made by `surrogate fit`.
MOST_BYTES = 1 << 30
MOST_MEMBERS = 200_000
MOST_TEXT_BYTES = 64 << 20

_TEXT = "surrogate.json"
_DTYPES = ("<i4", "<f4", "<f8")


@dataclass(frozen=True, slots=True, eq=False)
class SurrogateFile:
    """The surrogates of a file, each of one learner on one task."""

    surrogates: Sequence[Surrogate]
    traces: int  # how many traces they were fitted to
    traces_sha256: str
    made_by: str  # the version of cfo-bench
    sha256: str = ""  # of the file; empty before it is written
    path: str = ""

    @property
    def learners(self) -> list[str]:
        return sorted({one.learner for one in self.surrogates})

    def tasks(self, learner: str) -> list[str]:
        return [one.task for one in self.surrogates if one.learner == learner]

    def of(self, learner: str, task: str) -> Surrogate:
        """The surrogate of a learner on a task; an UnknownNameError names those that there are."""
        if learner not in self.learners:
            raise UnknownNameError(f"learner of the surrogate {self.path}", learner, self.learners)
        for one in self.surrogates:
            if one.learner == learner and one.task == task:
                return one
        raise UnknownNameError(f"task of the surrogate {self.path}", task, self.tasks(learner))


# --- writing --------------------------------------------------------------------------------------


def write(path: Path, content: SurrogateFile) -> str:
    """Writes the file as a whole; returns its SHA-256."""
    data = to_bytes(content)
    try:
        write_whole(path, data, sync=True)
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}; choose another -o") from None
    return hashlib.sha256(data).hexdigest()


def to_bytes(content: SurrogateFile) -> bytes:
    text = {
        "format": FORMAT,
        "version": VERSION,
        "cfo_bench": content.made_by,
        "traces": content.traces,
        "traces_sha256": content.traces_sha256,
        "surrogates": [to_row(one) for one in content.surrogates],
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(_TEXT), orjson.dumps(text))
        for number, one in enumerate(content.surrogates):
            for name, array in to_arrays(one).items():
                member = io.BytesIO()
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
                archive.writestr(_member(f"{number}/{name}.npy"), member.getvalue())
    return out.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # no time of day: the same bytes again


# --- reading --------------------------------------------------------------------------------------


def read(path: str | Path) -> SurrogateFile:
    """The surrogates in a file; a UserError says in one line why it can't be used."""
    try:
        with open_regular(path) as file:
            facts = os.fstat(file.fileno())
            if facts.st_size > MOST_BYTES:
                _refuse(path, f"it has {facts.st_size} bytes, and {MOST_BYTES} are the most")
            return _read(os.path.realpath(path), (facts.st_mtime_ns, facts.st_size, facts.st_ino))
    except OSError as error:
        raise UserError(
            f"can't read {str(path)!r}: {error.strerror}; name a file of cfo-bench surrogate fit"
        ) from None


# One file serves many runs of a command, and each look at its tasks.
@lru_cache(maxsize=2)
def _read(path: str, _stamp: tuple[int, int, int]) -> SurrogateFile:
    with open_regular(path) as file:
        data = file.read(MOST_BYTES + 1)
    try:
        return from_bytes(data, path)
    except UserError:
        raise
    except (
        zipfile.BadZipFile,
        struct.error,
        NotImplementedError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        RuntimeError,
        EOFError,
        OSError,
        MemoryError,
    ) as error:
        _refuse(path, f"{type(error).__name__}: {error}")


def from_bytes(data: bytes, path: str = "the file") -> SurrogateFile:
    """The surrogates; what is not a surrogate file raises one of the errors that `read` turns into words."""
    members = _members(data, path)
    text = orjson.loads(members.pop(_TEXT))
    if text["format"] != FORMAT:
        _refuse(path, "it has another format")
    if text["version"] != VERSION:
        raise UserError(
            f"{path} has version {brief_line(repr(text['version']), 40)} of the format, and this cfo-bench "
            f"reads {VERSION}: fit it again, or use the version of cfo-bench that made it"
        )
    arrays: dict[str, dict[str, Array]] = {}
    for name, content in members.items():
        number, _, own = name.removesuffix(".npy").partition("/")
        arrays.setdefault(number, {})[own] = _array(content)
    return SurrogateFile(
        surrogates=[from_parts(row, arrays[str(i)]) for i, row in enumerate(text["surrogates"])],
        traces=count(text["traces"]),
        traces_sha256=words(text["traces_sha256"]),
        made_by=words(text["cfo_bench"]),
        sha256=hashlib.sha256(data).hexdigest(),
        path=path,
    )


def _refuse(path: object, why: str) -> NoReturn:
    raise UserError(
        f"{path} is no surrogate that can be used ({brief_line(why, 200)}): make one with "
        "cfo-bench surrogate fit"
    )


def _members(data: bytes, path: object) -> dict[str, bytes]:
    """The members of the archive. Together they are no larger than the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        if len(infos) > MOST_MEMBERS:
            _refuse(path, f"it has {len(infos)} parts, and {MOST_MEMBERS} are the most")
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            _refuse(path, "a part of it is compressed")
        if sum(info.file_size for info in infos) > len(data):
            _refuse(path, "its parts overlap")
        if archive.getinfo(_TEXT).file_size > MOST_TEXT_BYTES:
            _refuse(path, "its text is too long")
        return {info.filename: archive.read(info) for info in infos}


def _array(content: bytes) -> Array:
    """An array of numpy's format; its header may not promise more than there is."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array has another version of numpy's format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    rest = content[file.tell() :]
    if dtype.str not in _DTYPES or len(shape) > 2 or (fortran and len(shape) > 1):
        raise ValueError("an array has a type that no surrogate has")
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError("an array is not as long as it says")
    return np.frombuffer(rest, dtype=dtype).reshape(shape)
