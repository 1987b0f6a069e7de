"""Text for a terminal: names and errors come from files, and must not move the cursor or change colours."""

from __future__ import annotations

import re

import click

# Control characters but line ends and tabs, half characters, and those that change the direction of writing.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """The text with every unsafe character as an escape, such as `\\x1b`; line ends and tabs stay."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """The same in one line."""
    return shown(text).replace("\n", "\\n")


def say(text: str, err: bool = True) -> None:
    """A line, or several, on stderr or stdout."""
    click.echo(shown(text), err=err)
