"""The page of all keys of a trace, from the JSON Schema that ships in the package."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from scripts.docs import markdown

Schema = Mapping[str, Any]

INTRO = (
    "Every key of every line of a trace, written from the JSON Schema that ships in the package "
    "(`cfo-bench schema trace` prints it). [Trace](../trace.md) explains how the lines work together. "
    "A key with *optional* may be missing, for instance in traces of older versions."
)
TITLES = {
    "run": "The header, kind `run`",
    "trial": "A trial, kind `trial`",
    "resume": "A resumption, kind `resume`",
    "end": "The end, kind `end`",
}


def page() -> str:
    file = resources.files("cfo_bench").joinpath("schema/trace.schema.json")
    kinds = json.loads(file.read_text(encoding="utf-8"))["$defs"]
    return markdown.page("Trace keys", INTRO, (_section(kind, kinds[kind]) for kind in TITLES))


def _section(kind: str, schema: Schema) -> str:
    table = markdown.table(["key", "value", "what it is"], _rows(schema))
    return f"## {TITLES[kind]}\n\n{schema['description']}\n\n{table}"


def _rows(schema: Schema, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, one in schema["properties"].items():
        notes = "" if name in required else " *Optional.*"
        if one.get("deprecated"):
            notes += " *Only in traces of older versions.*"
        yield markdown.code(prefix + name), _values(one), (one.get("description", "") + notes).strip()
        if "properties" in one:
            yield from _rows(one, f"{prefix}{name}.")
        items = one.get("items", {})
        if isinstance(items, Mapping) and "properties" in items:
            yield from _rows(items, f"{prefix}{name}[].")


def _values(schema: Schema) -> str:
    if "const" in schema:
        return markdown.code(json.dumps(schema["const"]))
    if "enum" in schema:
        return " or ".join(markdown.code(json.dumps(value)) for value in schema["enum"])
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return " or ".join(dict.fromkeys(_values(one) for one in choices))
    types = schema.get("type", "anything")
    words = " or ".join([types] if isinstance(types, str) else types)
    if "minimum" in schema and schema["minimum"] != 0:
        words += f", from {schema['minimum']} on"
    return words
