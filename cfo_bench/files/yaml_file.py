"""Reads a YAML file into values that know their line, for error messages. Nothing in it is executed.

A file may hold mappings, lists, text, numbers, true, false and null. Tags, anchors, aliases, deep nesting
and a key that occurs twice are refused, each with an error that names it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.files.writing import open_regular
from cfo_bench.values import Marked, YamlValue

MAX_BYTES = 2**20
MAX_DEPTH = 40


def read(path: Path) -> Marked:
    """The content of a file, one document; an empty file is null."""
    return parse(_text(path), str(path))


def parse(text: str, where: str) -> Marked:
    import yaml

    try:
        _refuse_what_is_not_data(text, where)
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{where}, line {line}: this is not YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UserError(
            f"{where}, line {line}: the character #x{ord(text[error.position]):02x} is not text: "
            "is this YAML?"
        ) from None
    if root is None:
        return Marked(None, where, 1, 1)
    return _marked(loader, root, where, root.start_mark.line + 1)


def _text(path: Path) -> str:
    try:
        with open_regular(os.path.expanduser(path)) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UserError(f"no file {str(path)!r}: give the path of a YAML file") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{str(path)!r} can't be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise UserError(f"{path} is larger than {MAX_BYTES // 1024} kB: is this the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}, line {line}: the byte 0x{data[error.start]:02x} is not UTF-8: is this a text file?"
        ) from None


def _refuse_what_is_not_data(text: str, where: str) -> None:
    """Reads the events only: with aliases or deep nesting, building the values might never end."""
    import yaml

    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        place = f"{where}, line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise UserError(f"{place}: anchors and aliases (& and *) are not read: write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise UserError(f"{place}: the tag {tag!r} is not read: write the plain value")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UserError(f"{place}: nested more than {MAX_DEPTH} deep: is this the right file?")


def _marked(loader: Any, node: Any, where: str, key_line: int) -> Marked:
    import yaml

    value: YamlValue
    if isinstance(node, yaml.MappingNode):
        value = _mapping(loader, node, where)
    elif isinstance(node, yaml.SequenceNode):
        value = [_marked(loader, item, where, item.start_mark.line + 1) for item in node.value]
    else:
        value = _scalar(loader, node)
    return Marked(value, where, node.start_mark.line + 1, key_line)


def _mapping(loader: Any, node: Any, where: str) -> dict[str, Marked]:
    import yaml

    items: dict[str, Marked] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = _scalar(loader, key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            raise UserError(f"{where}, line {line}: a key has to be text: put quotes around it")
        if key in items:
            raise UserError(
                f"{where}, line {line}: {key!r} is in line {items[key].key_line} already: leave one out"
            )
        items[key] = _marked(loader, value_node, where, line)
    return items


def _scalar(loader: Any, node: Any) -> str | int | float | bool | None:
    """A scalar as YAML reads it, except that dates stay text, and so does 24:00:00, which YAML reads in base
    60.
    """
    kind = node.tag.rpartition(":")[2]
    if kind not in ("null", "bool", "int", "float") or ":" in node.value:
        text: str = node.value
        return text
    try:
        value: int | float | bool | None = loader.construct_object(node)
    except ValueError:  # it only looks like a number, such as 0x_
        return str(node.value)
    return value
