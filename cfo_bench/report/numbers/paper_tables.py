"""The paper's printed optimality tables, and whether ours put the methods in the same order.

The numbers of the tables ship with the package: `paper_xgboost.csv` (one hour, ten folds) and `paper_dnn.csv`
(two hours, five folds). A cell is behind another if its score ends further below the best, or if both reach
the best and it takes longer.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from importlib.resources import files

from cfo_bench.report.numbers.optimality_cells import Cell

# Seconds that the paper gave a run, by learner.
BUDGETS = {"xgboost": 3600.0, "dnn": 7200.0}

# Whose table is compared with what was recorded of another learner: the same kind of model, in a space and
# with a metric of its own.
_RECORDED = {"yahpo:rbv2_xgboost": "xgboost", "hpobench-mlp": "dnn"}

# Other names of the paper's tasks, in the form of `key`.
_ALIASES = {
    "amazon": "amazonemployee",
    "amazonemployeeaccess": "amazonemployee",
    "bank": "bankmarketing",
    "blood": "bloodtransfusion",
    "bloodtransfusionservicecenter": "bloodtransfusion",
    "jungle": "junglechess2pcs",
    "junglechess2pcsrawendgamecomplete": "junglechess2pcs",
    "kddcup09": "kddcup09appe",
    "kddcup09appetency": "kddcup09appe",
    "mfeat": "mfeatfactors",
    "numerai28": "numerai286",
    "2dplanes": "2dplane",
    **{short: f"bng{short}" for short in ("lowbwt", "pbc", "pharynx", "pwlinear")},
    "echomonth": "bngechomonths",
    "breast": "bngbreasttumor",
}


def in_the_paper(learner: str) -> str:
    """The learner of the paper that is to be compared with this one; itself if there is no other."""
    return _RECORDED.get(learner, learner.removeprefix("surrogate:"))


def printed(learner: str) -> dict[tuple[str, str], Cell]:
    """The paper's cells by the key of the task and the method; empty for a learner it did not tune."""
    if learner not in BUDGETS:
        return {}
    text = files("cfo_bench.report.numbers").joinpath(f"paper_{learner}.csv").read_text(encoding="utf-8")
    return {(key(row["task"]), row["method"]): _cell(row) for row in csv.DictReader(text.splitlines())}


def key(task: str) -> str:
    """The same text for all names of a task: without capitals, signs and PMLB's number."""
    bare = re.sub(r"[^a-z0-9]", "", re.sub(r"^\d+_", "", task.lower()))
    return _ALIASES.get(bare, bare)


def order(one: Cell, other: Cell) -> int:
    """1 if `one` is behind `other`, -1 if it is ahead, 0 if the cells don't differ."""
    mine, theirs = _place(one), _place(other)
    return (mine > theirs) - (mine < theirs)


def _place(cell: Cell) -> tuple[float, float]:
    """A sort key, rounded as the cells are printed."""
    if cell.outcome == "worse":
        return (round(cell.gap_percent or 0.0, 1), 0.0)
    return (0.0, round(cell.cost_ratio or 1.0, 1) + (cell.outcome == "slower") * 1e-6)


def _cell(row: Mapping[str, str]) -> Cell:
    score, seconds, gap, ratio = (
        float(row[name]) if row[name] else None for name in ("score", "seconds", "gap_percent", "cost_ratio")
    )
    if row["outcome"] == "best":
        gap, ratio = 0.0, 1.0
    return Cell(row["task"], row["method"], row["outcome"], score, seconds, ratio, gap)
