"""When two headers are of the very same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from cfo_bench.errors import TraceError
from cfo_bench.records import RunSpec
from cfo_bench.results.trace import SCHEMA_VERSION


def spec_header(spec: RunSpec) -> dict[str, Any]:
    """The part of a header that is known before the data is loaded."""
    return {"kind": "run", "schema": SCHEMA_VERSION, "spec": asdict(spec)}


def check_same_run(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Only the very run that a trace is of may resume it; `old` is the trace's header."""
    differing = [f"{what} {there} there, {here} here" for what, there, here in differences(old, new)]
    if differing:
        raise TraceError(
            f"{path} is of another run ({'; '.join(differing)}): "
            "use another --results, or --force to run it again"
        )


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What differs between the runs of two headers: its name, the old value and the new one, as text.

    A setting that an older version did not know has its default. A header without `data` fits any
    data. Runs that differ in what `_NOT_IDENTITY` names are the same run.
    """
    there, here = ({**_SPEC_DEFAULTS, **_flat(header.get("spec", {}))} for header in (old, new))
    found = [
        (key, repr(there.get(key)), repr(here.get(key)))
        for key in {**there, **here}
        if key not in _NOT_IDENTITY and there.get(key) != here.get(key)
    ]
    if not found and "data" in old and "data" in new:
        old_data, new_data = old["data"], new["data"]
        if old_data["sha256"] != new_data["sha256"]:
            found.append(("data", f"{old_data['sha256'][:12]}…", f"{new_data['sha256'][:12]}…"))
        elif old_data.get("folds") != new_data.get("folds"):
            found.append(("folds", repr(old_data.get("folds")), repr(new_data.get("folds"))))
    return found


# Settings that don't change what a run finds.
_NOT_IDENTITY = ("memory_mb", "prepare_timeout_seconds")
_SPEC_DEFAULTS = {one.name: one.default for one in fields(RunSpec) if one.default is not MISSING}


def _flat(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec in one level: each option of the method and the learner is a key of its own."""
    options = {
        f"option {key}": value
        for name in ("options", "learner_options")
        for key, value in spec.get(name, {}).items()
    }
    return {**{key: value for key, value in spec.items() if not isinstance(value, dict)}, **options}
