"""Where the runs come from, and which are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from cfo_bench.registry import label
from cfo_bench.report.contents import CellValue, Section, SectionContent, Table, plural
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import FoldSeed, MethodScores, all_incumbents
from cfo_bench.report.reading.imported import lacks, origin
from cfo_bench.results.run import NOT_COMPARED, Run
from cfo_bench.results.schema import Build, Machine

# A row of a table, by the names of the columns.
Facts = dict[str, CellValue]
NOT_RUN = "not finished, or not run"
NO_RESULT = "no result: counted as the constant predictor or the worst other method, whichever is worse"
NO_MEAN = "no result on any fold that is compared: the method ranks last there"
LEFT_OUT = "left out of the comparison: the method has too few of the task's runs"
NOT_SHARED = "left out of the means: not every method has this fold"


class ProvenanceSection(Section):
    name = "provenance"
    title = "Where the runs come from"
    least_methods = 0

    def build(self, results: LearnerResults) -> SectionContent:
        runs = sorted(results.runs, key=lambda run: str(run.path))
        # Machine and versions of an imported run are not known.
        measured = [run for run in runs if not run.is_imported] or runs
        machines = _counted(measured, _machine)
        versions = _counted(measured, _versions)
        warnings = []
        if len(versions) > 1:
            different = [
                name
                for name in versions[0]
                if name != "runs" and len({row.get(name) for row in versions}) > 1
            ]
            warnings.append(
                f"the runs are from {len(versions)} sets of versions: {', '.join(different)} differ"
            )
        return SectionContent(
            "Every trace has this in its first line, with the command that runs it again.",
            tables=(
                _table("machines", "Machines", "One row for each kind of machine, with its runs.", machines),
                _table("versions", "Versions", "One row for each set of versions, with its runs.", versions),
                _table(
                    "settings",
                    "Settings",
                    "One row for each method and its settings.",
                    _counted(runs, _settings),
                ),
                _table(
                    "data",
                    "Data",
                    "One row for each task; the hash is of the data as it was read.",
                    _counted(runs, _data),
                ),
            ),
            warnings=tuple(warnings),
        )


def _machine(run: Run) -> Facts:
    machine = run.header.machine or Machine()
    return {
        "node": machine.node,
        "cpu": machine.cpu,
        "cores": machine.cores,
        "memory_mb": machine.memory_mb,
        "os": machine.os,
    }


def _versions(run: Run) -> Facts:
    ours = run.header.cfo_bench or Build()
    commit = ours.commit
    return {
        "cfo-bench": ours.version or None,
        "commit": commit[:10] if commit else None,
        "python": run.header.python,
        **dict(sorted((run.header.packages or {}).items())),
    }


def _settings(run: Run) -> Facts:
    spec = run.spec
    return {
        "method": run.method,
        "variant_of": label(spec.method) if spec.variant else None,
        "budget_seconds": run.budget_seconds,
        "max_trials": spec.max_trials,
        "parallel": spec.parallel,
        "threads": spec.threads,
        "memory_mb": spec.memory_mb,
        "clock": spec.clock,
        "charge_method": spec.charge_method,
        "validation": spec.validation,
        "seed": run.seed,
        "options": _in_words(spec.options),
        "learner_options": _in_words(spec.learner_options),
        **({"origin": origin(run.header.imported)} if run.header.imported else {}),
    }


def _data(run: Run) -> Facts:
    data = run.header.data
    return {
        "task": run.task,
        "problem": run.header.problem.value,
        "metric": run.header.metric,
        "rows": data.rows,
        "features": data.features,
        "classes": data.classes,
        "source": data.source,
        "folds": data.folds,
        "sha256": "not known: imported" if lacks(run, "data") else data.sha256,
        "recording": data.recording,
    }


def _in_words(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={orjson.dumps(value).decode()}" for key, value in options.items())


def _counted(runs: Sequence[Run], of: Callable[[Run], dict[str, CellValue]]) -> list[dict[str, CellValue]]:
    """Each different record once, in the order found, with the number of its runs."""
    counts: Counter[tuple[tuple[str, CellValue], ...]] = Counter(tuple(of(run).items()) for run in runs)
    return [{**dict(items), "runs": n} for items, n in counts.items()]


def _table(name: str, title: str, note: str, rows: Sequence[Mapping[str, CellValue]]) -> Table:
    # One machine may lack a package that another has, so the columns are those of all rows.
    columns = [column for column in dict.fromkeys(key for row in rows for key in row) if column != "runs"]
    columns.append("runs")
    return Table(name, title, note, tuple(columns), [[row.get(column) for column in columns] for row in rows])


class MissingSection(Section):
    """The missing runs: every method should have every (fold, seed) that any method has on the task."""

    name = "missing"
    title = "What is missing"

    def build(self, results: LearnerResults) -> SectionContent:
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
            "One row for each run of a task that another method has but this one lacks, and for each run "
            "that is not in the means, or has no result.",
            ("task", "method", "fold", "seed", "what", "detail"),
            rows,
        )
        counts = Counter(str(row[4]) for row in rows)
        return SectionContent(
            "All runs that are missing or left out."
            if rows
            else "Every method has every fold of every task.",
            tables=(table, _trials(results)),
            warnings=tuple(f"{plural(n, 'run')}: {what}" for what, n in sorted(counts.items())),
        )


def _verdict(results: LearnerResults, run: Run, scores: MethodScores, shared: set[FoldSeed]) -> str:
    """Why a run is not in the means, or has no result; empty if it is in the means."""
    if not scores.is_compared:
        return LEFT_OUT
    if (run.fold, run.seed) not in shared:
        return NOT_SHARED
    if results.incumbents(run).seconds:
        return ""
    return NO_MEAN if scores.has_failed else NO_RESULT


def _why(results: LearnerResults, run: Run) -> str | None:
    """Why a run has no result; None if it has one."""
    if results.incumbents(run).seconds:
        return None
    if all_incumbents(run, results.full_rows_only).seconds:
        return "no incumbent has a test score"
    return ", ".join(f"{n} {status}" for status, n in run.digest.statuses.items()) or "no trial ended"


def _trials(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        runs = [run for run in results.runs if run.method == method]
        counts = Counter[str]()
        for run in runs:
            counts.update(run.digest.statuses)
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
