"""The id of a run: its name in `--list`, and the path of its trace without the suffix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from cfo_bench.records import RunKey
from cfo_bench.registry import label


def run_id(run: RunKey) -> str:
    """<learner>/<task>/<method>/fold-<f>_seed-<s>"""
    folders = map(_folder, (label(run.learner), label(run.task), method_label(run)))
    return "/".join([*folders, f"fold-{run.fold}_seed-{run.seed}"])


def method_label(run: RunKey | Mapping[str, Any]) -> str:
    """What a run's method is called in folders, tables and figures: as a variant, or by its own name.

    The run may also be given as the `spec` in the header of its trace.
    """
    if isinstance(run, RunKey):
        return run.variant or label(run.method)
    return run.get("variant") or label(run["method"])


def _folder(name: str) -> str:
    """A name as the name of a folder: never empty, `.`, `..` or a path; two names never become one."""
    quoted = quote(name, safe=" @+,=~")
    return quoted.replace(".", "%2E") or "%" if not quoted.strip(".") else quoted
