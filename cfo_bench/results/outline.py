"""A finished trace without its trials: millions of them are passed over in seconds.

The end of a trace has the checksum of its trials, and that of their digest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from cfo_bench.results.line_types import BadLineError, LineRow, parsed
from cfo_bench.results.other_lines import (
    check_other,
    check_others,
    header_of,
    is_trial,
    split_lines,
    with_limits,
)


@dataclass(frozen=True, slots=True)
class Outline:
    """A finished trace without its trials: their checksum says that they are as they were written."""

    header: LineRow  # with the names that this version uses, and the limits of the last resume
    resumes: list[LineRow]
    end: LineRow  # its `digest` is None where the digest's own checksum is wrong
    text: bytes  # the whole trace, of which the trials were not parsed


def outline(path: object, whole: bytes) -> Outline | None:
    """A trace without its trials, which are not parsed: millions of them are passed over in seconds.

    None for a run that has not ended, and where the checksum can't tell that its trials are unchanged:
    `check` has to look at every line then.
    """
    first, last = whole.find(b"\n"), whole.rfind(b"\n", 0, -1)
    if not 0 <= first <= last:
        return None
    try:
        end = parsed(whole[last + 1 :])
        check_other(end, trials=end["trials"])
        crc32 = end.get("trials_crc32")
        if end["kind"] != "end" or crc32 is None:
            return None
        end = _without_damaged_digest(end)
        # Most runs were never resumed: all lines between the header and the end are trials.
        if zlib.crc32(memoryview(whole)[first + 1 : last]) == crc32:
            count = end["digest"]["trials"] if end["digest"] else whole.count(b"\n", first, last)
            if count != end["trials"]:
                return None
            resumes: list[LineRow] = []
        else:
            resumes = _resumes(split_lines(whole)[1:], crc32)
    except (BadLineError, KeyError):
        return None
    return Outline(with_limits(header_of(path, whole[:first]), resumes), resumes, end, whole)


def _without_damaged_digest(end: LineRow) -> LineRow:
    row = end.get("digest")
    is_whole = (
        row is not None
        and end.get("digest_crc32") == digest_crc32(row, end["trials_crc32"])
        and row.get("trials") == end["trials"]
    )
    return end if is_whole else {**end, "digest": None}


def digest_crc32(row: LineRow, trials_crc32: int) -> int:
    """The checksum of a digest. It goes on from that of the trials, and so binds the one to the other."""
    return zlib.crc32(orjson.dumps(row), trials_crc32)


def trials_crc32(whole: bytes) -> int:
    """The checksum of those lines that are trials."""
    return _crc32(split_lines(whole))


def _crc32(texts: Iterable[bytes]) -> int:
    return zlib.crc32(b"\n".join(text for text in texts if is_trial(text)))


def _resumes(texts: list[bytes], crc32: int) -> list[LineRow]:
    """The resumes among the lines after the header; BadLineError if the trials have another checksum."""
    if _crc32(texts) != crc32:
        raise BadLineError("trials have changed")
    rows = [(at, parsed(text)) for at, text in enumerate(texts) if not is_trial(text)]
    check_others(rows, len(texts))
    return [row for _, row in rows if row["kind"] == "resume"]
