"""The tables and figures of docs/evidence.md, from the archives of the studies. Nothing is run.

    python -m scripts.docs.evidence                        all studies that have an archive
    python -m scripts.docs.evidence dnn                    one of them
    python -m scripts.docs.evidence paper-yahpo=results    from a results folder whose archive is too large

docs/evidence/STUDY/runs.parquet is what `cfo-bench export RESULTS --to archive` wrote. The files beside it
are written anew. Printed are numbers that the page has in its text: in how many cells a method stands to CFO
as in the paper's table, and where CFO does not reach the best score.
"""

from __future__ import annotations

import csv
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cfo_bench import import_trials, write_report

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evidence"
ARCHIVE = "runs.parquet"
FIGURES = ("ranks-over-time", "critical-difference", "regret", "targets-reached", "speed-ups", "neighbours-*")
TABLES = (
    *("overview", "scores", "mean-ranks", "ranks-over-time", "against-baseline", "pairs", "tests"),
    *("optimality", "paper-agreement", "paper-cells", "speed-ups", "speed-ups-by-task", "trials"),
    *("time-shares", "settings", "data", "machines", "versions", "budget-kept", "neighbours"),
)
PAPERS_METHODS = ("rs", "bohb", "gpei", "gpeips", "smac", "cfo-0", "cfo")


@dataclass(frozen=True, slots=True)
class Study:
    """A report of the page: the archives that it is made of, and the budget at which they are read."""

    archives: tuple[str, ...]
    budget: str | None = None


STUDIES = {
    "xgboost": Study(("xgboost",)),
    "xgboost-early": Study(("xgboost", "xgboost-early"), "12s"),
    "xgboost-hour": Study(("xgboost-hour",)),
    "dnn": Study(("dnn",)),
    "knn": Study(("knn",)),
    "tables": Study(("tables",)),
    "paper-yahpo": Study(("paper-yahpo",)),
}


def rebuild(name: str, docs: Path = DOCS, results: Path | None = None) -> None:
    """Writes the tables and figures of a study beside its archive, or those of the traces in `results`."""
    study, out = STUDIES[name], docs / name
    with TemporaryDirectory() as folder:
        folders = [results] if results else [Path(folder) / archive for archive in study.archives]
        if results is None:
            for archive, restored in zip(study.archives, folders, strict=True):
                import_trials(docs / archive / ARCHIVE, restored)
        report = Path(folder) / "report"
        write_report(folders, report, budget=study.budget, formats=["csv", "png"])
        [learner] = [tables.parent for tables in report.glob("*/tables")]
        for old in (*out.glob("*.csv"), *out.glob("*.png")):
            old.unlink()
        wanted = [learner / "tables" / f"{table}.csv" for table in TABLES]
        wanted += [path for figure in FIGURES for path in sorted(learner.glob(f"figures/{figure}.png"))]
        for path in wanted:
            if path.is_file():
                shutil.copyfile(path, out / path.name)


def summary(folder: Path) -> list[str]:
    """The lines that are printed about a study, from its tables."""
    return [*_as_in_the_paper(folder / "paper-agreement.csv"), *_not_won(folder)]


def _as_in_the_paper(path: Path) -> list[str]:
    rows = [(row["comparison"], int(row["same_order"]), int(row["cells"])) for row in _rows(path)]
    against_cfo = [row for row in rows if row[0].endswith(" against cfo")]
    if not against_cfo:
        return []
    same, cells = (sum(row[at] for row in against_cfo) for at in (1, 2))
    rows = [*against_cfo, ("all against cfo", same, cells), *(row for row in rows if row not in against_cfo)]
    return [
        "same order as in the paper's table:",
        *(f"  {name}: {same} of {cells} ({same / cells:.0%})" for name, same, cells in rows if cells),
    ]


def _not_won(folder: Path) -> list[str]:
    """The tasks on which cfo has not the best score of all methods, with the best ones."""
    scores_of = {row["task"]: row for row in _rows(folder / "scores.csv")}
    metrics = {row["task"]: row["metric"] for row in _rows(folder / "data.csv")}
    lines = []
    for cells in _rows(folder / "optimality.csv"):
        task = cells.pop("task")
        scores, metric = scores_of[task], metrics[task]
        if not cells["cfo"].startswith("-"):
            continue
        order = sorted(
            (method for method in cells if scores[method]),
            key=lambda method: float(scores[method].split()[0]) * (1 if metric == "log_loss" else -1),
        )
        papers = [method for method in order if method in PAPERS_METHODS]
        named = [f"{method} {scores[method]}" for method in dict.fromkeys((order[0], papers[0], "cfo"))]
        lines.append(f"  {task} ({metric}): {', '.join(named)} ({cells['cfo']})")
    return [f"cfo does not reach the best score on {len(lines)} tasks:", *lines] if lines else []


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main(arguments: list[str]) -> None:
    for argument in arguments or STUDIES:
        name, _, results = argument.partition("=")
        missing = [archive for archive in STUDIES[name].archives if not (DOCS / archive / ARCHIVE).is_file()]
        if missing and not results:
            print(f"{name}: no archive of {' and '.join(missing)}")
            continue
        rebuild(name, results=Path(results) if results else None)
        print(name, *summary(DOCS / name), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
