"""The folder of a report: which of its files are up to date, and which are left from an earlier report."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import orjson

from cfo_bench.code_hash import code_hash
from cfo_bench.errors import UserError
from cfo_bench.report.contents import Table
from cfo_bench.report.rendering import layout
from cfo_bench.safe_writing import linked_folder, read_regular, refuse_linked_folders, write_whole

# What to do about a folder of the report that is a link.
NO_LINK = "remove it, or choose another -o"


class Folder:
    """The report's folder. Files of an earlier report that this one does not make are removed at the end.

    `.cache/manifest.json` lists the files with the fingerprints of figures and tables. It may come from
    somebody else, so it is believed only where it names files that a report makes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: dict[PurePosixPath, str] = {}
        self._manifest = path / layout.CACHE / "manifest.json"
        self._code = _code()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"can't write {path}: {error.strerror}; choose another -o") from None
        self._before = self._read_manifest()

    def write(self, file: PurePosixPath, text: str) -> None:
        write_whole(self.place(file), text.encode("utf-8"))
        self.written[file] = ""

    def write_tables(self, tables: Mapping[PurePosixPath, tuple[Table, Callable[[Table], str]]]) -> None:
        """Writes those that have changed, or whose file has: to write all takes seconds."""
        marks = {
            file: self._before.get(str(file), "") if self._has_table(file, table) else ""
            for file, (table, _) in tables.items()
        }
        new = [file for file, mark in marks.items() if not mark]
        self.forget(self.path / file for file in new)
        for file in new:
            table, to_text = tables[file]
            text = to_text(table)
            self.write(file, text)
            marks[file] = _table_mark(table, text.encode("utf-8"))
        self.written |= marks

    def _has_table(self, file: PurePosixPath, table: Table) -> bool:
        before = self._before.get(str(file))
        if not before:
            return False
        try:
            return before == _table_mark(table, read_regular(self.path / file))
        except OSError:
            return False

    def has(self, file: PurePosixPath, fingerprint: str) -> bool:
        place = self.path / file
        return self._before.get(str(file)) == fingerprint and place.is_file() and not place.is_symlink()

    def place(self, file: PurePosixPath) -> Path:
        place = self.path / file
        refuse_linked_folders(self.path, place, NO_LINK)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def forget(self, places: Iterable[Path]) -> None:
        """Marks files as unknown before they are drawn again, in case the drawing is interrupted."""
        for place in places:
            self._before[place.relative_to(self.path).as_posix()] = ""
        self._write_manifest(self._before)

    def close(self) -> None:
        for old in self._before:
            if PurePosixPath(old) not in self.written:
                place = self.path / old
                with suppress(OSError):  # gone already, or a folder has its name
                    if linked_folder(self.path, place) is None:
                        place.unlink()
        self._write_manifest({str(file): mark for file, mark in self.written.items()})

    def _write_manifest(self, files: Mapping[str, str]) -> None:
        content = orjson.dumps({"code": self._code, "files": files})
        write_whole(self.place(layout.CACHE / "manifest.json"), content)

    def _read_manifest(self) -> dict[str, str]:
        try:
            content = orjson.loads(read_regular(self._manifest))
            files = {name: str(mark) for name, mark in content["files"].items() if layout.is_of_report(name)}
            # Other code may draw the same numbers differently.
            return files if content["code"] == self._code else dict.fromkeys(files, "")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _table_mark(table: Table, content: bytes) -> str:
    """Changes when the table does, or its file."""
    return f"{table.fingerprint} {zlib.crc32(content):08x}"


def _code() -> str:
    """The version of the code that draws figures and writes tables."""
    return f"{version('matplotlib')} {code_hash(Path(__file__).parent)}"
