"""The id of a run: its name in `--list`, and the path of its trace without the suffix."""

from __future__ import annotations

from urllib.parse import quote

from cfo_bench.records import RunKey
from cfo_bench.registry import label


def run_id(run: RunKey) -> str:
    """<learner>/<task>/<method>/fold-<f>_seed-<s>"""
    folders = [_folder(label(name)) for name in (run.learner, run.task, run.method)]
    return "/".join([*folders, f"fold-{run.fold}_seed-{run.seed}"])


def _folder(name: str) -> str:
    """A name as the name of a folder: never empty, `.`, `..` or a path; two names never become one."""
    quoted = quote(name, safe=" @+,=~")
    return quoted.replace(".", "%2E") or "%" if not quoted.strip(".") else quoted
