"""The font of a report's figures: matplotlib's own, without tables for ligatures, other scripts and formulas.

To embed a font in a PDF file, matplotlib parses all of its tables, for every figure again. With the whole
font that takes as long as to draw the figure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from cfo_bench.files.writing import write_whole

_FAMILY = "DejaVu Sans without layout tables"
_NOT_NEEDED = (b"GSUB", b"GPOS", b"GDEF", b"MATH", b"FFTM")

# A TrueType file: version, number of tables, and three numbers for a search; then for each table its tag,
# checksum, offset and length; then the tables, each from a multiple of four on.
_HEAD, _ROW = struct.Struct(">4sHHHH"), struct.Struct(">4sLLL")

_families: list[str] = []


def write_lean_font(path: Path) -> None:
    """Writes the font's file, and beside it that of its bold face."""
    found = find_spec("matplotlib")  # not imported: that takes this process a fifth of a second
    assert found is not None and found.origin is not None
    fonts = Path(found.origin).with_name("mpl-data") / "fonts" / "ttf"
    write_whole(path, without_tables((fonts / "DejaVuSans.ttf").read_bytes()))
    write_whole(_bold(path), without_tables((fonts / "DejaVuSans-Bold.ttf").read_bytes()))


def _bold(path: Path) -> Path:
    return path.with_stem(f"{path.stem}-bold")


def without_tables(font: bytes) -> bytes:
    version, count, *search = _HEAD.unpack_from(font)
    rows = [_ROW.unpack_from(font, _HEAD.size + at * _ROW.size) for at in range(count)]
    kept = [row for row in rows if row[0] not in _NOT_NEEDED]
    head, tables = _HEAD.pack(version, len(kept), *search), b""
    for tag, checksum, offset, length in kept:
        place = _HEAD.size + len(kept) * _ROW.size + len(tables)
        head += _ROW.pack(tag, checksum, place, length)
        tables += font[offset : offset + length].ljust(-(-length // 4) * 4, b"\0")
    return head + tables


@contextmanager
def lean_font(path: Path) -> Iterator[None]:
    """Figures that are saved meanwhile have the font that `write_lean_font` wrote to this path."""
    use_lean_font(path)
    try:
        yield
    finally:
        _families.clear()


def use_lean_font(path: Path) -> None:
    """From now on figures that this process saves have the font that is written to this path before."""
    from matplotlib.font_manager import FontEntry, fontManager

    # The font of an earlier report may not be there any more.
    others = [entry for entry in fontManager.ttflist if entry.name != _FAMILY]
    fontManager.ttflist = [
        *others,
        FontEntry(fname=str(path), name=_FAMILY),
        FontEntry(fname=str(_bold(path)), name=_FAMILY, weight="bold"),
    ]
    _families[:] = [_FAMILY]


def families() -> list[str]:
    """The families to choose a font from, the first that there is."""
    return [*_families, "DejaVu Sans"][:1]
