"""Where the runs come from: machines, versions, settings and data, and a warning where versions differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from cfo_bench.registry import label
from cfo_bench.report.contents import CellValue, Section, Table
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.imported import lacks, origin
from cfo_bench.results.run import Run
from cfo_bench.results.schema import Build, Machine

# What the traces say of one thing, by the names of the columns.
Facts = dict[str, CellValue]


def section(results: LearnerResults) -> Section:
    runs = sorted(results.runs, key=lambda one: one.path)
    # Those of an imported run are not known.
    measured = [one for one in runs if not one.is_imported] or runs
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
        intro="Every trace holds this in its first line, with the command that runs it again.",
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


def _machine(one: Run) -> Facts:
    machine = one.header.machine or Machine()
    return {
        "node": machine.node,
        "cpu": machine.cpu,
        "cores": machine.cores,
        "memory_mb": machine.memory_mb,
        "os": machine.os,
    }


def _versions(one: Run) -> Facts:
    ours = one.header.cfo_bench or Build()
    commit = ours.commit
    return {
        "cfo-bench": ours.version or None,
        "commit": commit[:10] if commit else None,
        "python": one.header.python,
        **dict(sorted((one.header.packages or {}).items())),
    }


def _settings(one: Run) -> Facts:
    spec = one.spec
    return {
        "method": one.method,
        "variant_of": label(spec.method) if spec.variant else None,
        "budget_seconds": one.budget_seconds,
        "max_trials": spec.max_trials,
        "parallel": spec.parallel,
        "threads": spec.threads,
        "memory_mb": spec.memory_mb,
        "clock": spec.clock,
        "charge_method": spec.charge_method,
        "validation": spec.validation,
        "seed": one.seed,
        "options": _in_words(spec.options),
        "learner_options": _in_words(spec.learner_options),
        **({"origin": origin(one.header.imported)} if one.header.imported else {}),
    }


def _data(one: Run) -> Facts:
    data = one.header.data
    return {
        "task": one.task,
        "problem": one.header.problem.value,
        "metric": one.header.metric,
        "rows": data.rows,
        "features": data.features,
        "classes": data.classes,
        "source": data.source,
        "folds": data.folds,
        "sha256": "not known: imported" if lacks(one, "data") else data.sha256,
        "recording": data.recording,
    }


def _in_words(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={orjson.dumps(value).decode()}" for key, value in options.items())


def _counted(runs: Sequence[Run], of: Callable[[Run], dict[str, CellValue]]) -> list[dict[str, CellValue]]:
    """Each different record once, in the order found, with the number of its runs."""
    counts: Counter[tuple[tuple[str, CellValue], ...]] = Counter(tuple(of(one).items()) for one in runs)
    return [{**dict(items), "runs": n} for items, n in counts.items()]


def _table(name: str, title: str, note: str, rows: Sequence[Mapping[str, CellValue]]) -> Table:
    # One machine may lack a package that another has, so the columns are those of all rows.
    columns = [column for column in dict.fromkeys(key for row in rows for key in row) if column != "runs"]
    columns.append("runs")
    return Table(name, title, note, tuple(columns), [[row.get(column) for column in columns] for row in rows])
