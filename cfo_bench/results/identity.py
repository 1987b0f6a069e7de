"""When two headers are of the very same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from cfo_bench.errors import TraceError
from cfo_bench.records import RunSpec, TaskFacts
from cfo_bench.results.trace import SCHEMA_VERSION


def spec_header(spec: RunSpec, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The part of a header that is known before the run starts; `data` is of `data_identity`."""
    return {"kind": "run", "schema": SCHEMA_VERSION, "spec": asdict(spec), **({"data": data} if data else {})}


def data_identity(facts: TaskFacts) -> dict[str, Any]:
    """The part of a header's `data` that has to be the same for two runs to be the same."""
    return {
        "sha256": facts.sha256,
        "target": facts.target,
        "problem": str(facts.problem),
        "dropped_columns": list(facts.dropped),
        "dropped_rows": facts.dropped_rows,
    }


def check_same_run(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Only the very run that a trace is of may resume it; `old` is the trace's header.

    How long a run may go on does not make it another one: see `limits`.
    """
    found = differences(old, new, _LIMITS)
    if found:
        raise of_another_run(path, found)


def of_another_run(path: Path, found: Sequence[tuple[str, str, str]], more: str = "") -> TraceError:
    """The error for a trace whose run differs in what was `found`; `more` is said behind it."""
    differing = "; ".join(f"{what} {there} there, {here} here" for what, there, here in found)
    return TraceError(
        f"{path} belongs to another run ({differing}){more}: use another --results, or --force to run it "
        "again"
    )


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], allowed: Sequence[str] = ()
) -> list[tuple[str, str, str]]:
    """What differs between the runs of two headers: its name, the old value and the new one, as text.

    A setting that an older version did not know has its default. What one of the headers does
    not say of its data is the same. Runs that differ in what `_NOT_IDENTITY` names, or in what is `allowed`,
    are the same run.
    """
    there, here = ({**_SPEC_DEFAULTS, **_flat(header.get("spec", {}))} for header in (old, new))
    found = [
        (key, repr(there.get(key)), repr(here.get(key)))
        for key in {**there, **here}
        if key not in (*_NOT_IDENTITY, *allowed) and there.get(key) != here.get(key)
    ]
    origins = _origin(old), _origin(new)
    if origins[0] != origins[1]:
        found.append(("origin", *origins))
    if found:
        return found
    old_data, new_data = old.get("data", {}), new.get("data", {})
    return data_differences(old_data, new_data) or _differing(old_data, new_data, "folds")


def _origin(header: Mapping[str, Any]) -> str:
    imported = header.get("imported")
    return "a run" if imported is None else f"imported {imported['sha256'][:12]}…"


def data_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The same for the `data` of two headers. What one of them does not say is the same.

    The hash differs with the target, the problem and what was dropped, and is named only where these are the
    same.
    """
    found = _differing(old, new, "target", "problem", "dropped_columns", "dropped_rows")
    if not found and _differing(old, new, "sha256"):
        found = [("data", f"{str(old['sha256'])[:12]}…", f"{str(new['sha256'])[:12]}…")]
    return found


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], *keys: str) -> list[tuple[str, str, str]]:
    return [
        (key, repr(old[key]), repr(new[key]))
        for key in keys
        if key in old and key in new and old[key] != new[key]
    ]


# Settings that say how long a run goes on.
_LIMITS = ("budget_seconds", "max_trials")
# Settings that don't change what a run finds. Where a surrogate's file is does not matter: its hash is
# compared as that of the data.
_NOT_IDENTITY = (
    "memory_mb",
    "prepare_timeout_seconds",
    "option answer_timeout_seconds",
    "option surrogate_file",
)
_SPEC_DEFAULTS = {one.name: one.default for one in fields(RunSpec) if one.default is not MISSING}


def _flat(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec in one level: each option of the method and the learner is a key of its own."""
    options = {
        f"option {key}": value
        for name in ("options", "learner_options")
        for key, value in spec.get(name, {}).items()
    }
    return {**{key: value for key, value in spec.items() if not isinstance(value, dict)}, **options}
