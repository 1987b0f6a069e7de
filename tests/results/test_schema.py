"""The JSON Schema of a trace: derived from the structs, and true of real traces."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from cfo_bench.records import RunSpec
from cfo_bench.results.run import read_run
from cfo_bench.results.schema import SCHEMA_VERSION, decode_header, encode, trace_schema
from tests.helpers.traces import header_of

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = trace_schema()
DEFINITIONS = SCHEMA["$defs"]
NAMES = {"run": "Header", "trial": "TrialRecord", "resume": "ResumeRecord", "end": "EndRecord"}
VALIDATOR = Draft202012Validator(SCHEMA)

# Two trials on the virtual clock: a trace in no time.
TINY = ["--task", "synthetic-1k", "--learner", "synthetic", "--clock", "virtual", "--method", "rs"]
TINY += ["--budget", "9", "--max-trials", "2", "--folds", "0"]


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "cfo_bench", "run", *arguments, "--results", "traces", "-q"],
        cwd=folder,
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def lines(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.rglob("*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The definition that a schema refers to, alone or as an alternative to null."""
    for part in (schema, *schema.get("anyOf", ())):
        if "$ref" in part:
            definition: dict[str, Any] = DEFINITIONS[part["$ref"].rpartition("/")[2]]
            return definition
    return schema


def unnamed(line: Any, schema: dict[str, Any], where: str = "") -> list[str]:
    """The keys of a line, at any depth, that the schema does not name."""
    properties = resolved(schema).get("properties")
    if not isinstance(line, dict) or properties is None:
        return []
    missing = [f"{where}{key}" for key in line if key not in properties]
    for key, value in line.items():
        missing += unnamed(value, properties.get(key, {}), f"{where}{key}.")
    return missing


def assert_all_valid(found: Sequence[dict[str, Any]]) -> None:
    for line in found:
        errors = list(VALIDATOR.descend(line, DEFINITIONS[NAMES[line["kind"]]]))
        assert not errors, f"{line['kind']}: {errors[0].json_path} {errors[0].message}"
        assert VALIDATOR.is_valid(line)
        assert not unnamed(line, DEFINITIONS[NAMES[line["kind"]]])


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_key_of_the_schema_is_described() -> None:
    undescribed = [
        f"{name}.{key}"
        for name, schema in DEFINITIONS.items()
        for key, value in schema.get("properties", {}).items()
        if "description" not in value and key != "kind"
    ]

    assert undescribed == []


def test_every_line_of_a_real_trace_is_valid(tmp_path: Path) -> None:
    holdout = ["--validation", "holdout", "--trial-timeout", "0.01"]
    run(tmp_path, "--task", "diabetes", "--method", "rs", "--budget", "1", "--folds", "0", *holdout)

    found = lines(tmp_path)

    assert [found[0]["kind"], found[1]["kind"], found[-1]["kind"]] == ["run", "trial", "end"]
    assert "timeout" in {line["status"] for line in found if line["kind"] == "trial"}
    assert_all_valid(found)


def test_several_workers_and_the_virtual_clock_are_valid(tmp_path: Path) -> None:
    virtual = ["--learner", "synthetic-5d", "--clock", "virtual", "--parallel", "3", "--max-trials", "30"]
    run(tmp_path, "--task", "synthetic-1k", "--method", "cfo", "--budget", "9999", "--folds", "0", *virtual)

    found = lines(tmp_path)

    assert {line["thread"] for line in found if line["kind"] == "trial"} == {0, 1, 2}
    assert_all_valid(found)


@pytest.mark.parametrize(("version", "rule"), [(1, "with_floats"), (2, "alg3")])
def test_the_paper_rule_of_version_1_is_with_floats_now(version: int, rule: str) -> None:
    header = header_of(RunSpec("synthetic", "synthetic-1k", "cfo", 0, 0, options={"delta_lower": "alg3"}))
    text = encode(msgspec.structs.replace(header, schema=version))

    read = decode_header(text)

    assert (read.schema, read.spec.options) == (SCHEMA_VERSION, {"delta_lower": rule})
    assert decode_header(encode(read)) == read


@pytest.mark.slow
def test_an_interrupted_run_and_its_resumption_are_valid(tmp_path: Path) -> None:
    arguments = ["--task", "wine", "--method", "rs", "--budget", "60", "--max-trials", "40", "--folds", "0"]
    command = [sys.executable, "-m", "cfo_bench", "run", *arguments, "--results", "traces", "-q"]
    first = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    while not any(b'"trial"' in path.read_bytes() for path in tmp_path.rglob("*.jsonl")):
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    assert first.wait() == 130

    run(tmp_path, *arguments)

    found = lines(tmp_path)
    kinds = [line["kind"] for line in found if line["kind"] != "trial"]
    assert kinds == ["run", "end", "resume", "end"]
    assert_all_valid(found)


@pytest.mark.parametrize(
    "change",
    [
        {"status": "lost"},
        {"loss": None},
        {"status": "timeout"},
        {"started": -1.0},
        {"number": 1.5},
        {"config": [1, 2]},
    ],
)
def test_a_wrong_trial_is_refused(change: dict[str, Any]) -> None:
    good = {
        "kind": "trial", "number": 0, "config": {"x": 1}, "rows": None, "thread": 0, "status": "ok",
        "loss": 0.5, "score": 0.5, "started": 0.0, "ended": 1.0, "ask_seconds": 0.0, "fit_seconds": 1.0,
        "validate_seconds": 0.0, "tell_seconds": 0.0, "peak_memory_mb": None, "error": None,
    }  # fmt: skip

    assert VALIDATOR.is_valid(good)
    assert not VALIDATOR.is_valid({**good, **change})


def test_keys_of_a_newer_version_are_valid_and_ignored(tmp_path: Path) -> None:
    run(tmp_path, *TINY)
    (path,) = tmp_path.rglob("*.jsonl")
    before = read_run(path, parse_trials=True)
    newer = [{**line, "added_later": {"deep": 1}} for line in lines(tmp_path)]
    path.write_text("".join(json.dumps(line) + "\n" for line in newer), encoding="utf-8")

    after = read_run(path, parse_trials=True)

    assert all(VALIDATOR.is_valid(line) for line in newer)
    assert before is not None and after is not None
    assert (after.trials, after.end) == (before.trials, before.end)


def test_a_finished_trace_from_before_an_option_existed_is_still_done(tmp_path: Path) -> None:
    run(tmp_path, *TINY)
    (path,) = tmp_path.rglob("*.jsonl")
    header, *rest = lines(tmp_path)
    del header["spec"]["validation"], header["spec"]["holdout_share"]
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *rest]), encoding="utf-8")
    before = path.read_bytes()

    run(tmp_path, *TINY)

    assert path.read_bytes() == before


def test_the_document_shows_every_key_of_a_trial() -> None:
    text = (ROOT / "docs" / "trace.md").read_text(encoding="utf-8")
    example = text.partition("```jsonc")[2].partition("```")[0]

    shown = re.findall(r'"(\w+)":', re.sub(r'"config": \{.*?\}', '"config": 0', example))

    assert shown == list(DEFINITIONS["TrialRecord"]["properties"])
