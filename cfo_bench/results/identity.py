"""When two headers are of the very same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from cfo_bench.records import RunSpec


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What tells the runs of two headers apart: what it is called, and either's value in words.

    What an older version did not know has its default, a header without `data` any data. The memory
    that a run may take is no part of what it is.
    """
    there, here = ({**_SPEC_DEFAULTS, **_flat(header.get("spec", {}))} for header in (old, new))
    found = [
        (key, repr(there.get(key)), repr(here.get(key)))
        for key in {**there, **here}
        if key != "memory_mb" and there.get(key) != here.get(key)
    ]
    if not found and "data" in old and "data" in new:
        old_data, new_data = old["data"], new["data"]
        if old_data["sha256"] != new_data["sha256"]:
            found.append(("data", f"{old_data['sha256'][:12]}…", f"{new_data['sha256'][:12]}…"))
        elif old_data.get("folds") != new_data.get("folds"):
            found.append(("folds", repr(old_data.get("folds")), repr(new_data.get("folds"))))
    return found


_SPEC_DEFAULTS = {one.name: one.default for one in fields(RunSpec) if one.default is not MISSING}


def _flat(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with its options laid out beside the rest."""
    options = {
        f"option {key}": value
        for name in ("options", "learner_options")
        for key, value in spec.get(name, {}).items()
    }
    return {**{key: value for key, value in spec.items() if not isinstance(value, dict)}, **options}
