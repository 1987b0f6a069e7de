"""Copies the tables and figures that docs/evidence.md quotes from the reports of the study.

    cfo-bench report study/real -o study/report-real       (and so on)
    python -m scripts.docs.evidence real=study/report-real tables=study/report-tables

Writes docs/evidence/NAME/ anew. A report with several learners, or none, is refused.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evidence"
FIGURES = ("ranks-over-time", "critical-difference", "regret", "targets-reached", "speed-ups")
TABLES = (
    *("overview", "scores", "mean-ranks", "ranks-over-time", "against-baseline", "pairs", "tests"),
    *("optimality", "paper-agreement", "paper-cells", "speed-ups", "speed-ups-by-task", "trials"),
    *("time-shares", "settings", "data", "machines", "versions", "budget-kept"),
)


def collect(name: str, report: Path) -> None:
    learners = [tables.parent for tables in sorted(report.glob("*/tables"))]
    if len(learners) != 1:
        sys.exit(f"{report}: it has {len(learners)} learners; give a report of one")
    out = DOCS / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wanted = [learners[0] / "tables" / f"{table}.csv" for table in TABLES]
    wanted += [learners[0] / "figures" / f"{figure}.png" for figure in FIGURES]
    existing = [path for path in wanted if path.is_file()]
    for path in existing:
        shutil.copyfile(path, out / path.name)
    print(f"{out.relative_to(DOCS.parents[1])}: {len(existing)} of {len(wanted)} files")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        name, _, report = argument.partition("=")
        collect(name, Path(report))
