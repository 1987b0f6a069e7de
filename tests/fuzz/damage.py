"""Damage to what cfo-bench writes itself: traces, live pages, the report's cache, plans.

Each function takes the whole thing as it should be and a generator of random numbers, and gives back what
was done to it, in words, and the damaged bytes.
"""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from cfo_bench.run.page import MAGIC, SLOT_BYTES, Layout
from tests.fuzz import odd

Damaged = tuple[str, bytes]
Row = dict[str, Any]


# --- JSON ---------------------------------------------------------------------------------------


def dumps(row: Any) -> bytes:
    """JSON with `odd.Raw` text as it is; lone surrogates stay escapes, as JSON allows."""
    raws: list[str] = []

    def marked(value: Any) -> Any:
        if isinstance(value, odd.Raw):
            raws.append(str(value))
            return f"\0raw{len(raws) - 1}\0"
        if isinstance(value, dict):
            return {key: marked(one) for key, one in value.items()}
        if isinstance(value, list):
            return [marked(one) for one in value]
        return value

    text = json.dumps(marked(row), separators=(",", ":"), ensure_ascii=_has_surrogates(row))
    for index, raw in enumerate(raws):
        text = text.replace(f'"\\u0000raw{index}\\u0000"', raw)
    return text.encode()


def _has_surrogates(row: Any) -> bool:
    try:
        repr(row).encode()
        json.dumps(row, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return True
    return False


def places(row: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a row, those of inner mappings and lists too."""
    found: list[tuple[Any, ...]] = [path] if path else []
    inner = row.items() if isinstance(row, dict) else enumerate(row) if isinstance(row, list) else ()
    for key, one in inner:
        found += places(one, (*path, key))
    return found


def mistyped(row: Row, rng: random.Random) -> tuple[str, Row]:
    """Another value in one place, or a key less."""
    changed = deepcopy(row)
    path = rng.choice(places(changed))
    holder: Any = changed
    for key in path[:-1]:
        holder = holder[key]
    where = ".".join(map(str, path))
    if rng.random() < 0.15 and isinstance(holder, dict):
        del holder[path[-1]]
        return f"no {where}", changed
    value = odd.value(rng)
    holder[path[-1]] = value
    return f"{where} is {repr(value)[:40]}", changed


# --- traces -------------------------------------------------------------------------------------


def trace(whole: bytes, rng: random.Random) -> Damaged:
    """A trace with one thing wrong; seldom with two, or with nothing wrong at all."""
    choice = rng.random()
    if choice < 0.03:
        return "nothing wrong", whole
    what, data = rng.choices(*_TRACE_DAMAGE)[0](whole, rng)
    if choice > 0.9:
        more, data = rng.choices(*_BYTES_DAMAGE)[0](data, rng)
        what = f"{what}; {more}"
    return what, data


def _mistyped_line(whole: bytes, rng: random.Random) -> Damaged:
    lines = whole.splitlines()
    # The header has most keys, and as often as not it is the header.
    at = 0 if rng.random() < 0.5 else rng.randrange(len(lines))
    what, row = mistyped(json.loads(lines[at]), rng)
    lines[at] = dumps(row)
    return f"line {at + 1}: {what}", _joined(lines)


def _lines_moved(whole: bytes, rng: random.Random) -> Damaged:
    lines = whole.splitlines()
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines) + 1)
    kind = rng.choice(
        ["doubled", "missing", "moved", "reversed", "header again", "only the header", "two ends"]
    )
    if kind == "doubled":
        lines.insert(to, lines[at])
    elif kind == "missing":
        del lines[at]
    elif kind == "moved":
        line = lines.pop(at)
        lines.insert(to, line)
    elif kind == "reversed":
        lines[1:-1] = lines[-2:0:-1]
    elif kind == "header again":
        lines.insert(max(to, 1), lines[0])
    elif kind == "only the header":
        del lines[1:]
    else:
        lines.append(lines[-1])
    return f"lines: {kind} ({at + 1}, {to + 1})", _joined(lines)


def _line_added(whole: bytes, rng: random.Random) -> Damaged:
    lines = whole.splitlines()
    kind, line = rng.choice(
        [
            ("unknown kind", b'{"kind":"prophecy"}'),
            ("kind of another type", b'{"kind":["trial"]}'),
            ("no kind", b"{}"),
            ("blank line", b""),
            ("spaces", b"   "),
            ("a list", b"[1,2]"),
            ("a number", b"17"),
            ("null", b"null"),
            ("resume", b'{"kind":"resume","elapsed":0.1,"trials":1,"utc":"","why":"","node":"n"}'),
            ("resume without keys", b'{"kind":"resume"}'),
            ("resume with odd keys", b'{"kind":"resume","elapsed":"x","trials":[],"node":{}}'),
            ("end without keys", b'{"kind":"end"}'),
            ("interrupted", b'{"kind":"end","reason":"interrupted","elapsed":0.1,"trials":1}'),
            ("words", b"these are my notes"),
            ("zeros", b"\0" * 64),
        ]
    )
    at = rng.randrange(len(lines) + 1)
    lines.insert(at, line)
    return f"line {at + 1} added: {kind}", _joined(lines)


def _numbers_wrong(whole: bytes, rng: random.Random) -> Damaged:
    """Values of the right type that contradict each other."""
    rows = [json.loads(line) for line in whole.splitlines()]
    at = rng.randrange(1, len(rows))
    row = rows[at]
    kind = rng.choice(["number", "times", "status", "loss", "trials", "schema", "spec"])
    if kind == "number":
        row["number"] = rng.choice([row.get("number", 0) + 1, 0, -1, 10**6])
    elif kind == "times":
        row["started"], row["ended"] = 5.0, rng.choice([4.0, -1.0, 1e300])
    elif kind == "status":
        row["status"] = rng.choice(["failed", "timeout", "OK", "memory"])
    elif kind == "loss":
        row["loss"] = rng.choice([None, 1e300, -1e300])
    elif kind == "trials":
        rows[-1]["trials"] = rng.choice([0, 99, -1])
    elif kind == "schema":
        rows[0]["schema"] = rng.choice([0, 3, 99, 1.0, True])
    else:
        spec = rows[0]["spec"]
        spec[rng.choice(list(spec))] = rng.choice([7, 0.25, "other", {}])
    return f"line {at + 1}: contradicting {kind}", _joined(list(map(dumps, rows)))


def _key_twice(whole: bytes, rng: random.Random) -> Damaged:
    lines = whole.splitlines()
    at = rng.randrange(len(lines))
    key = rng.choice(list(json.loads(lines[at])))
    again = dumps({key: odd.value(rng)})[1:-1]
    lines[at] = lines[at][:-1] + b"," + again + b"}"
    return f"line {at + 1}: {key} twice", _joined(lines)


def _huge(whole: bytes, rng: random.Random) -> Damaged:
    lines = whole.splitlines()
    at = rng.randrange(len(lines))
    size = rng.choice([70_000, 300_000, 2_000_000])
    kind = rng.choice(["text", "one word", "nesting", "list", "junk"])
    if kind in ("text", "one word"):
        row = json.loads(lines[at])
        row["error"] = ("x" if kind == "one word" else "fold-1_seed-2 of it ") * (size // 10)
        lines[at] = dumps(row)
    elif kind == "nesting":
        lines[at] = b'{"kind":"trial","config":' + b"[" * (size // 10)
    elif kind == "list":
        lines[at] = lines[at][:-1] + b',"more":[' + b"0," * (size // 10) + b"0]}"
    else:
        lines[at] = b"{" * (size // 10)
    return f"line {at + 1}: huge {kind}", _joined(lines)


def _in_other_bytes(whole: bytes, rng: random.Random) -> Damaged:
    kind = rng.choice(["CRLF", "BOM", "UTF-16", "empty", "one line end", "no line end", "Latin-1", "gzip"])
    if kind == "CRLF":
        return kind, whole.replace(b"\n", b"\r\n")
    if kind == "BOM":
        return kind, b"\xef\xbb\xbf" + whole
    if kind == "UTF-16":
        return kind, whole.decode().encode("utf-16")
    if kind == "empty":
        return kind, b""
    if kind == "one line end":
        return kind, b"\n"
    if kind == "no line end":
        return kind, whole.replace(b"\n", b" ")
    if kind == "Latin-1":
        return kind, whole.replace(b"ok", b"caf\xe9")
    return kind, b"\x1f\x8b\x08" + whole


def torn(whole: bytes, rng: random.Random) -> Damaged:
    cut = rng.randrange(len(whole)) if whole else 0
    zeros = b"\0" * rng.choice([0, 0, 1, 4096])
    return f"torn at {cut}, {len(zeros)} zeros", whole[:cut] + zeros


def flipped(whole: bytes, rng: random.Random) -> Damaged:
    data = bytearray(whole)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return "bytes changed", bytes(data)


def spliced(whole: bytes, rng: random.Random) -> Damaged:
    at, to = sorted(rng.randrange(len(whole) + 1) for _ in range(2))
    put = rng.choice(
        [b"", b"\n", b"\n\n", b"\0\0\0\0", b"\xff\xfe", b"{", b"}", b'"', b"\\ud800", rng.randbytes(30)]
    )
    to = to if rng.random() < 0.2 else at
    return f"{len(put)} bytes put at {at} for {to - at}", whole[:at] + put + whole[to:]


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


_Change = Callable[[bytes, random.Random], Damaged]
_Weighted = tuple[list[_Change], list[int]]
_BYTES: list[_Change] = [torn, flipped, spliced]
_BYTES_DAMAGE: _Weighted = (_BYTES, [1, 1, 1])
_TRACE_DAMAGE: _Weighted = (
    [_mistyped_line, _lines_moved, _line_added, _numbers_wrong, _key_twice, _huge, _in_other_bytes, *_BYTES],
    [50, 12, 12, 8, 4, 1, 3, 4, 3, 3],
)


# --- live pages ---------------------------------------------------------------------------------

# Where the numbers of a page are: of its head, and the lengths of its slots and of the lines that wait.
_SLOT_AT = [Layout.slots.offset, Layout.slots.offset + SLOT_BYTES]
_NUMBERS_AT = [*range(0, Layout.result.offset + 8, 8), *_SLOT_AT, Layout.waiting.offset]


def whole_page(running: bytes, waiting: bytes, turn: int = 1) -> bytes:
    """A page as a killed run leaves it, with the lines of running trials and of those that wait."""
    page = Layout(magic=MAGIC, turn=turn, zero=math.nan, best_loss=math.nan)
    for part, lines in ((page.slots[turn % 2], running), (page.waiting, waiting)):
        part.length = len(lines)
        part.text[: len(lines)] = lines
    return bytes(page)


def page(trials: Sequence[bytes], rng: random.Random) -> Damaged:
    """A page that has some of the run's next `trials` on it, whole or damaged."""
    waiting, running = list(trials[:-1]), list(trials[-1:])
    what = "whole"
    if rng.random() < 0.7:
        some = rng.choice([waiting, running]) or running
        at = rng.randrange(len(some))
        what, row = mistyped(json.loads(some[at]), rng)
        some[at] = dumps(row)
    if rng.random() < 0.1:
        some = rng.choice([waiting, running])
        some.append(rng.choice([b"[]", b"{}", b"17", b"null", b'{"number":[]}', b"{", *trials]))
        what = f"{what}; one more row"
    data = whole_page(_joined(running), _joined(waiting), rng.choice([0, 1, 2, -1, 2**62]))
    if rng.random() < 0.25:
        head = bytearray(data)
        at = rng.choice(_NUMBERS_AT)
        number = rng.choice([0, 1, -1, 2**63 - 1, -(2**63), SLOT_BYTES, SLOT_BYTES - 8, 64 * 1024 - 8, 5])
        struct.pack_into("<q", head, at, number)
        return f"{what}; {number} at {at}", bytes(head)
    if rng.random() < 0.2:
        more, data = rng.choices(*_BYTES_DAMAGE)[0](data, rng)
        return f"{what}; {more}", data
    return what, data


# --- the report's cache, plans --------------------------------------------------------------------


def manifest(whole: bytes, names: Sequence[str], rng: random.Random) -> Damaged:
    """The list of a report's files, with files in it that the report did not make."""
    row = json.loads(whole)
    if rng.random() < 0.6:
        files = [rng.choice(names) for _ in range(rng.randrange(1, 4))]
        row["files"] = {**row["files"], **{name: rng.choice(["", "x", None, 7]) for name in files}}
        return f"names {files}"[:200], dumps(row)
    if rng.random() < 0.3:
        row["files"] = odd.value(rng)
        return f"files is {repr(row['files'])[:40]}", dumps(row)
    return json_or_bytes(row, rng)


def plan(whole: bytes, rng: random.Random) -> Damaged:
    lines = whole.splitlines()
    if rng.random() < 0.8:
        at = rng.randrange(len(lines))
        what, row = mistyped(json.loads(lines[at]), rng)
        lines[at] = dumps(row)
        return f"line {at + 1}: {what}", _joined(lines)
    return rng.choices(*_BYTES_DAMAGE)[0](whole, rng)


def json_or_bytes(row: Row, rng: random.Random) -> Damaged:
    if rng.random() < 0.6:
        what, row = mistyped(row, rng)
        return what, dumps(row)
    return rng.choices(*_BYTES_DAMAGE)[0](dumps(row), rng)
