"""The page of all keys of a trace, from its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cfo_bench.results.schema import trace_schema
from scripts.docs import markdown

Schema = Mapping[str, Any]

INTRO = (
    "Every key of every line of a trace, from the JSON Schema that `cfo-bench schema trace` prints. "
    "[Trace](../trace.md) explains how the lines work together. A key marked *optional* may be missing, for "
    "example in traces of older versions."
)
TITLES = {
    "Header": "The header, kind `run`",
    "TrialRecord": "A trial, kind `trial`",
    "ResumeRecord": "A resumption, kind `resume`",
    "EndRecord": "The end, kind `end`",
}


def page() -> str:
    definitions = trace_schema()["$defs"]
    sections = (_section(title, definitions[name], definitions) for name, title in TITLES.items())
    return markdown.page("Trace keys", INTRO, sections)


def _section(title: str, schema: Schema, definitions: Schema) -> str:
    table = markdown.table(["key", "value", "meaning"], _rows(schema, definitions))
    return f"## {title}\n\n{schema['description']}\n\n{table}"


def _rows(schema: Schema, definitions: Schema, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """A row for each key, and below it those of the mappings in it."""
    for name, key in schema["properties"].items():
        notes = "" if name in schema.get("required", ()) else " *Optional.*"
        if key.get("deprecated"):
            notes += " *Only in traces of older versions.*"
        values, mapping = _values(key, definitions)
        yield markdown.code(prefix + name), values, (key.get("description", "") + notes).strip()
        if mapping is not None:
            yield from _rows(mapping, definitions, f"{prefix}{name}{'[]' * ('items' in key)}.")


def _values(schema: Schema, definitions: Schema) -> tuple[str, Schema | None]:
    """The values of a key in words, and the mapping among them, if its keys are known."""
    if "$ref" in schema:
        return _values(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if choices := schema.get("anyOf"):
        words, mappings = zip(*(_values(choice, definitions) for choice in choices), strict=True)
        return " or ".join(dict.fromkeys(words)), next(filter(None, mappings), None)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(markdown.code(json.dumps(value)) for value in values), None
    types = schema.get("type", "anything")
    words = " or ".join([types] if isinstance(types, str) else types)
    if schema.get("minimum", 0) > 0:
        words += f", from {schema['minimum']} on"
    if "items" in schema:
        return words, _values(schema["items"], definitions)[1]
    return words, schema if "properties" in schema else None
