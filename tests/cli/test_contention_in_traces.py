"""How busy the machine was stands in the first and the last line of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest


@pytest.mark.parametrize(
    ("arguments", "is_known"),
    [
        ("--task wine --method rs --budget 60 --max-trials 2", True),
        # The supervisor writes the end of a run that is cut off.
        ("--task wine --method {plugins}/methods.py:NeverTells --budget 0.5", True),
        (
            "--task synthetic-1k --learner synthetic --clock virtual --method rs --budget 9 --max-trials 2",
            False,
        ),
    ],
)
def test_a_trace_ends_with_the_machine_s_figures_but_on_the_virtual_clock(
    program: Any, tmp_path: Path, arguments: str, is_known: bool
) -> None:
    plugins = Path(__file__).parents[1] / "plugins"

    program(f"run {arguments.format(plugins=plugins)} --folds 0 -q")

    (path,) = tmp_path.rglob("*.jsonl")
    header, *_, end = map(orjson.loads, path.read_bytes().splitlines())
    assert header["machine"].keys() >= {"node", "cpu", "cpus", "load", "load_5min", "steal_percent"}
    assert (end["load"] is not None, end["steal_percent"] is not None) == (is_known, is_known)
