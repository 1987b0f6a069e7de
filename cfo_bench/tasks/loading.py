"""From a `DataRef` to what a run needs: the task's facts and a fold's arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench.errors import UserError
from cfo_bench.records import DataRef, Fold, TaskFacts

if TYPE_CHECKING:
    from cfo_bench.tasks.table import Table


def inspect(ref: DataRef, n_folds: int) -> TaskFacts:
    """Load the data and check that it can be a task with that many folds."""
    from cfo_bench.tasks import folds, synthetic

    if ref.source == "synthetic":
        folds.check_number(n_folds, synthetic.ROWS[ref.task])
        return synthetic.facts(ref.task)
    table = _table(ref)
    folds.check(table, n_folds)
    return _facts(ref, table, folds.describe(table.problem, n_folds))


def load_fold(
    ref: DataRef, fold: int, n_folds: int, seed: int, holdout_share: float | None = None
) -> tuple[Fold, TaskFacts]:
    """Fold number `fold` of the `n_folds` that the seed makes, as arrays, with the task's facts.

    With a `holdout_share`, that share of the training rows validates and the held-out part tests.
    """
    from cfo_bench.tasks import folds, synthetic
    from cfo_bench.tasks.arrays import encode

    folds.check_choice(fold, n_folds, seed)
    if ref.source == "synthetic":
        folds.check_number(n_folds, synthetic.ROWS[ref.task])
        if holdout_share is not None:
            raise UserError(f"task {ref.task!r} has no rows to hold out: leave --validation at fold")
        return synthetic.load(ref.task, n_folds), synthetic.facts(ref.task)
    table = _table(ref)
    split = folds.by_seed(table, fold, n_folds, seed)
    if holdout_share is not None:
        split = folds.hold_out(table, split, holdout_share, seed)
    return encode(table, split), _facts(ref, table, split.source)


def _table(ref: DataRef) -> Table:
    if ref.source == "bundled":
        from cfo_bench.tasks import bundled

        return bundled.load(ref.task)
    from cfo_bench.tasks.files import read_columns
    from cfo_bench.tasks.table import Table

    assert ref.path is not None and ref.target is not None  # a file's ref has both
    return Table.of(read_columns(Path(ref.path)), ref.target, ref.problem, where=ref.path)


def _facts(ref: DataRef, table: Table, folds_source: str) -> TaskFacts:
    from cfo_bench.metrics import METRIC_OF

    return TaskFacts(
        name=ref.task,
        problem=table.problem,
        metric=METRIC_OF[table.problem],
        n_rows=len(table.y),
        n_features=len(table.features),
        n_classes=len(table.classes),
        source=ref.source if ref.path is None else f"{ref.source}: {Path(ref.path).name}",
        sha256=table.sha256(),
        folds_source=folds_source,
    )
