"""What the settings decide in other files: the two JSON Schemas, and the table of keys in docs/suites.md.

`make schemas` writes the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cfo_bench.kinds import Schema
from cfo_bench.records import RunSpec
from cfo_bench.settings import Settings, settings_of
from cfo_bench.suite.model import Suite


def suite_schema() -> Schema:
    """The JSON Schema of a suite file."""
    settings = settings_of(Suite)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A suite of cfo-bench",
        "description": "Every (learner, task, method, fold, seed) of a suite becomes one run: see "
        "docs/suites.md.",
        "type": "object",
        "additionalProperties": False,
        "properties": {one.key: one.schema() for one in settings},
        "$defs": dict(pair for one in settings for pair in one.kind.definitions()),
    }


def trace_schema(before: Mapping[str, Any]) -> Schema:
    """The JSON Schema of a trace's lines: `before`, with the settings of a run as they are now.

    A new setting is not required, since older traces don't have it. Keys of older versions stay.
    """
    run = before["$defs"]["run"]
    spec = run["properties"]["spec"]
    settings = {one.name: one for one in settings_of(Settings)}
    properties = {
        one.name: settings[one.name].trace_schema(may_be_null=one.default is None)
        if one.name in settings
        else spec["properties"][one.name]
        for one in fields(RunSpec)
    }
    old = {key: value for key, value in spec["properties"].items() if value.get("deprecated")}
    spec = {**spec, "properties": {**properties, **old}}
    run = {**run, "properties": {**run["properties"], "spec": spec}}
    return {**before, "$defs": {**before["$defs"], "run": run}}


def table_of_keys() -> str:
    """Every key of a suite file with its default, in Markdown."""
    rows = ["| key | default | |", "| --- | --- | --- |"]
    for one in settings_of(Suite):
        default = one.default_in_words()
        if default and " " not in default:
            default = f"`{default}`"
        rows.append(f"| `{one.key}` | {default} | {one.in_file or one.help} |".replace("|  |", "| |"))
    return "".join(f"{row}\n" for row in rows)
