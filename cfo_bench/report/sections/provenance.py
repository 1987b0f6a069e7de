"""Where the runs come from, and which are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from cfo_bench.registry import label
from cfo_bench.report.contents import CellValue, Section, Table, plural
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import MethodScores, Run, incumbents
from cfo_bench.report.reading.digest import Digest
from cfo_bench.report.reading.imported import is_imported, lacks, origin
from cfo_bench.results.compared import NOT_COMPARED

# A row of a table, by the names of the columns.
Facts = dict[str, CellValue]
NOT_RUN = "not finished, or not run"
NO_RESULT = "no result: counted as the constant predictor or the worst other method, whichever is worse"
NO_MEAN = "no result on any fold that is compared: the method ranks last there"
LEFT_OUT = "left out of the comparison: the method has too few of the task's runs"
NOT_SHARED = "left out of the means: not every method has this fold"


def section(results: LearnerResults) -> Section:
    digests = sorted(results.digests, key=lambda run: run.path)
    # Machine and versions of an imported run are not known.
    measured = [run for run in digests if not is_imported(run)] or digests
    machines = _counted(measured, _machine)
    versions = _counted(measured, _versions)
    warnings = []
    if len(versions) > 1:
        different = [
            name for name in versions[0] if name != "runs" and len({row.get(name) for row in versions}) > 1
        ]
        warnings.append(f"the runs are from {len(versions)} sets of versions: {', '.join(different)} differ")
    return Section(
        name="provenance",
        title="Where the runs come from",
        intro="Every trace has this in its first line, with the command that runs it again.",
        tables=(
            _table("machines", "Machines", "One row for each kind of machine, with its runs.", machines),
            _table("versions", "Versions", "One row for each set of versions, with its runs.", versions),
            _table(
                "settings",
                "Settings",
                "One row for each method and its settings.",
                _counted(digests, _settings),
            ),
            _table(
                "data",
                "Data",
                "One row for each task; the hash is of the data as it was read.",
                _counted(digests, _data),
            ),
        ),
        warnings=tuple(warnings),
    )


def _machine(run: Digest) -> Facts:
    machine = run.header.get("machine", {})
    return {
        "node": machine.get("node"),
        "cpu": machine.get("cpu"),
        "cores": machine.get("cores"),
        "memory_mb": machine.get("memory_mb"),
        "os": machine.get("os"),
    }


def _versions(run: Digest) -> Facts:
    ours = run.header.get("cfo_bench", {})
    commit = ours.get("commit")
    return {
        "cfo-bench": ours.get("version"),
        "commit": commit[:10] if commit else None,
        "python": run.header.get("python"),
        **dict(sorted(run.header.get("packages", {}).items())),
    }


def _settings(run: Digest) -> Facts:
    spec = run.header["spec"]
    return {
        "method": run.method,
        "variant_of": label(spec["method"]) if spec.get("variant") else None,
        "budget_seconds": run.budget_seconds,
        "max_trials": spec.get("max_trials"),
        "parallel": spec.get("parallel", 1),
        "threads": spec.get("threads", 1),
        "memory_mb": spec.get("memory_mb"),
        "clock": spec.get("clock"),
        "charge_method": spec.get("charge_method"),
        "validation": spec.get("validation"),
        "seed": run.seed,
        "options": _in_words(spec.get("options", {})),
        "learner_options": _in_words(spec.get("learner_options", {})),
        **({"origin": origin(run)} if is_imported(run) else {}),
    }


def _data(run: Digest) -> Facts:
    data = run.header["data"]
    return {
        "task": run.task,
        "problem": run.problem,
        "metric": run.metric,
        "rows": data.get("rows"),
        "features": data.get("features"),
        "classes": data.get("classes"),
        "source": data.get("source"),
        "folds": data.get("folds"),
        "sha256": "not known: imported" if lacks(run, "data") else data.get("sha256"),
        "recording": data.get("recording"),
    }


def _in_words(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={orjson.dumps(value).decode()}" for key, value in options.items())


def _counted(
    digests: Sequence[Digest], of: Callable[[Digest], dict[str, CellValue]]
) -> list[dict[str, CellValue]]:
    """Each different record once, in the order found, with the number of its runs."""
    counts: Counter[tuple[tuple[str, CellValue], ...]] = Counter(tuple(of(run).items()) for run in digests)
    return [{**dict(items), "runs": n} for items, n in counts.items()]


def _table(name: str, title: str, note: str, rows: Sequence[Mapping[str, CellValue]]) -> Table:
    # One machine may lack a package that another has, so the columns are those of all rows.
    columns = [column for column in dict.fromkeys(key for row in rows for key in row) if column != "runs"]
    columns.append("runs")
    return Table(name, title, note, tuple(columns), [[row.get(column) for column in columns] for row in rows])


def missing_section(results: LearnerResults) -> Section:
    """The missing runs: every method should have every (fold, seed) that any method has on the task."""
    rows: list[list[CellValue]] = []
    for task in results.scores:
        runs = {
            (run.method, run.fold, run.seed): run
            for run in results.by_task[task.task]
            if run.method not in NOT_COMPARED
        }
        known = sorted({(fold, seed) for _, fold, seed in runs})
        shared = set(task.shared)
        for method in results.methods:
            for fold, seed in known:
                run = runs.get((method, fold, seed))
                what = NOT_RUN if run is None else _verdict(results, run, task.methods[method], shared)
                if what:
                    detail = None if run is None else run.error or _why(results, run)
                    rows.append([task.task, method, fold, seed, what, detail])
    table = Table(
        "missing",
        "What is missing",
        "One row for each run that another method has on the task and this one has not, and for each run "
        "that is not in the means, or has no result.",
        ("task", "method", "fold", "seed", "what", "detail"),
        rows,
    )
    counts = Counter(str(row[4]) for row in rows)
    return Section(
        "missing",
        "What is missing",
        "All runs that are missing or left out." if rows else "Every method has every fold of every task.",
        tables=(table, _trials(results)),
        warnings=tuple(f"{plural(n, 'run')}: {what}" for what, n in sorted(counts.items())),
    )


def _verdict(results: LearnerResults, run: Digest, scores: MethodScores, shared: set[Run]) -> str:
    """Why a run is not in the means, or has no result; empty if it is in the means."""
    if not scores.is_compared:
        return LEFT_OUT
    if (run.fold, run.seed) not in shared:
        return NOT_SHARED
    if results.steps(run).seconds:
        return ""
    return NO_MEAN if scores.has_failed else NO_RESULT


def _why(results: LearnerResults, run: Digest) -> str | None:
    """Why a run has no result; None if it has one."""
    if results.steps(run).seconds:
        return None
    if incumbents(run, results.full_rows_only).seconds:
        return "no incumbent has a test score"
    return ", ".join(f"{n} {status}" for status, n in run.statuses.items()) or "no trial ended"


def _trials(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        runs = [run for run in results.digests if run.method == method]
        counts = Counter[str]()
        for run in runs:
            counts.update(run.statuses)
        rows.append(
            [method, len(runs), *(counts[status] for status in ("ok", "timeout", "memory", "failed"))]
        )
    return Table(
        "trials",
        "How the trials ended",
        "One row for each method: its runs, and the number of their trials that succeeded (ok), were cut off "
        "at a deadline (timeout), ran out of memory, or failed. When the budget is spent, the running trial "
        "is cut off: most runs end with one timeout.",
        ("method", "runs", "ok", "timeout", "memory", "failed"),
        rows,
    )
