"""Odd values and odd names: what somebody who wants to break a reader would write."""

from __future__ import annotations

import random
from typing import Any


class Raw(str):
    """Text that stands in JSON as it is, where `json.dumps` would not write it."""


LONG_NAME = "n" * 300

# Beside the wrong type: the edges of numbers, text that leaves a folder, starts an option or moves a cursor.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31, 2**63, -(2**63) - 1, 2**64, 0.5, -0.0, 1e308, -1e308, 5e-324, "",
    " ", "x", "0", "1.5", "nan", "null", "ok", "trial", LONG_NAME, "x" * 20_000, "\x00",
    "\x1b[2J\x1b]0;pwned\x07", "\u202etxt.exe", "\x9b31m", "a\nb", "a\r\nb", "=1+1",
    "../../outside/precious.txt", "/etc/hostname", "..", ".", "/", "-rf", "--force", "~nosuchuser",
    "%2e%2e", "名前", "x.py:Evil", "e\u0301", "\ufeff", "a/b/c", "COM1", [], {}, [None], [[]], [1, 2, 3],
    {"a": 1}, {"": {}}, [{"kind": "trial"}], {"node": []}, list(range(100)), Raw("NaN"), Raw("Infinity"),
    Raw("-Infinity"), Raw("1e999"), Raw("-1e999"), Raw("1" * 400), Raw("01"), Raw('"\\ud800"'),
    Raw('"\\udfff\\ud800"'), Raw("[" * 200 + "]" * 200), Raw("[" * 500 + "]" * 500),
    Raw("[" * 5000 + "]" * 5000),
    Raw('{"a":' * 300 + "1" + "}" * 300), Raw('{"a":1,"a":2}'), Raw("1.0000000000000000000000000000001"),
    Raw("tru"), Raw(""), Raw("'x'"), Raw("1,2"),
)  # fmt: skip


def value(rng: random.Random) -> Any:
    return rng.choice(VALUES)


# Names of one file or folder, as the bytes that the file system takes.
NAMES: tuple[bytes, ...] = (
    b"-rf", b"--json", b"-o", b" ", b"  x  ", b"a b", b"a\nb", b"a\tb", b"\x1b[2J", b"\x07bell",
    b"\xff\xfe", b"caf\xe9", b"\xc3(", b"\xed\xa0\x80", b"'\"", b"$(touch outside)", b"`id`", b";id", b"*",
    b"?", b"[a]", b"{a,b}", b"~", b"~root", b"~nosuchuser", b"%", b"%00", b"%2e%2e", b"%2F", b"%s%n",
    b"...", b".hidden", b"a.", b"a" * 255, "é".encode() * 127, "名".encode() * 85,
    b"<script>alert(1)</script>", b"&amp;", b"=1+1", b"@x", b"+x", b"NUL", b"report", b"runs.plan",
    b".cache", b"fold-0_seed-0", b"fold-_seed-", b"fold-x_seed-y", b"fold-99999999999999999999_seed-0",
    b"\xe2\x80\xaegpj.exe", b"{}", b"{0}", b"\\", b"C:\\x",
)  # fmt: skip


def name(rng: random.Random) -> bytes:
    """One of the names, or some bytes that are allowed in one."""
    if rng.random() < 0.7:
        return rng.choice(NAMES)
    found = bytes(rng.randrange(1, 256) for _ in range(rng.randrange(1, 40))).replace(b"/", b"_")
    return found if found.strip(b".") else b"dots"
