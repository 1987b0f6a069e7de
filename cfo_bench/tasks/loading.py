"""Loads the facts of a task and the arrays of a fold from a `DataRef`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from cfo_bench.errors import UserError
from cfo_bench.records import DataRef, Fold, FoldFrames, TaskFacts

if TYPE_CHECKING:
    from cfo_bench.tasks.data_set import DataSet
    from cfo_bench.tasks.folds import Split
    from cfo_bench.tasks.store import Stored


def inspect(ref: DataRef, n_folds: int) -> TaskFacts:
    """The facts of a task. Loads the data, fetching it if needed, and checks that it allows `n_folds`."""
    from cfo_bench.tasks import folds, prepared
    from cfo_bench.tasks.sources import built_in

    if ref.source == "synthetic":
        folds.check_number(n_folds, built_in.ROWS[ref.task])
        return built_in.synthetic_facts(ref.task)
    located, stored = _located(ref)

    def look() -> TaskFacts:
        data = _data_set(located, stored)
        if _are_official(stored, n_folds):
            return _facts(located, data, _official_source(stored), stored)
        folds.check(data, n_folds)
        return _facts(located, data, folds.describe(data, n_folds), stored)

    about = _about(stored)
    before = prepared.state_key(located, n_folds, about)
    facts = prepared.prepared_facts(prepared.content_key(located, n_folds=n_folds, about=about), look)
    prepared.keep_facts(before, facts)
    return facts


def facts_if_known(ref: DataRef, n_folds: int) -> TaskFacts | None:
    """The facts of a task that was inspected before, if its data has not changed. No data is read."""
    from cfo_bench.tasks import prepared
    from cfo_bench.tasks.sources import built_in

    if ref.source == "synthetic":
        return built_in.synthetic_facts(ref.task)
    if ref.recorded_folds:
        return None  # its learner knows them
    if ref.origins and not is_stored(ref):
        return None
    located, stored = _located(ref)
    return prepared.known_facts(prepared.state_key(located, n_folds, _about(stored)))


def load_fold(
    ref: DataRef, fold: int, n_folds: int, seed: int, holdout_share: float | None = None
) -> tuple[Fold, TaskFacts]:
    """Fold number `fold` of `n_folds` as arrays, with the task's facts.

    If the task has exactly `n_folds` official folds they are used, otherwise the seed makes the folds. With a
    `holdout_share`, that share of the training rows validates, and the held-out part is for testing.
    """
    from cfo_bench.tasks import folds, prepared
    from cfo_bench.tasks.data_set import encode
    from cfo_bench.tasks.sources import built_in

    folds.check_choice(fold, n_folds, seed)
    if ref.source == "synthetic":
        folds.check_number(n_folds, built_in.ROWS[ref.task])
        if holdout_share is not None:
            raise UserError(f"task {ref.task!r} has no rows to hold out: leave --validation at fold")
        return built_in.load_synthetic(ref.task, n_folds), built_in.synthetic_facts(ref.task)
    located, stored = _located(ref)

    def read() -> tuple[DataSet, Split]:
        data = _data_set(located, stored)
        if _are_official(stored, n_folds):
            split = folds.official(stored.fold_of_row(), fold, _official_source(stored))
        else:
            split = folds.split_rows(data, fold, n_folds, seed)
        if holdout_share is not None:
            split = folds.hold_out(data, split, holdout_share, seed)
        return data, split

    def prepare() -> tuple[Fold, TaskFacts]:
        data, split = read()
        return encode(data, split), _facts(located, data, split.source, stored)

    def frames() -> FoldFrames:
        from cfo_bench.tasks.typed_frames import fold_frames

        return fold_frames(*read())

    choice = {"fold": fold, "n_folds": n_folds, "seed": seed, "holdout_share": holdout_share}
    key = prepared.content_key(located, **choice, about=_about(stored))
    prepared_fold, facts = prepared.prepared_fold(key, prepare)
    return replace(prepared_fold, frames=frames), facts


def load_data_set(ref: DataRef) -> tuple[DataSet, Stored | None]:
    """All the data of a task, and its folder in the store if it comes from there."""
    located, stored = _located(ref)
    return _data_set(located, stored), stored


def official_folds(ref: DataRef) -> int | None:
    """The number of official folds of a task in the store, of recorded folds, or of folds in a user's column;
    None if the task has none.
    """
    if ref.recorded_folds or ref.own_folds:
        return ref.recorded_folds or ref.own_folds
    from cfo_bench.tasks.fetching import in_store

    stored = in_store(ref)
    return stored.n_folds if stored else None


def count_own_folds(ref: DataRef) -> DataRef:
    """The ref with the number of folds that the split column of its file defines."""
    from cfo_bench.tasks import folds

    data, _ = load_data_set(ref)
    return replace(ref, own_folds=folds.own_folds(data) or 0)


def is_stored(ref: DataRef) -> bool:
    from cfo_bench.tasks.fetching import in_store

    return in_store(ref) is not None


def _located(ref: DataRef) -> tuple[DataRef, Stored | None]:
    """The ref with the path of its file and, for data with an origin, the folder of the store that contains
    it.
    """
    if ref.recorded_folds:
        from cfo_bench.tasks.sources.built_in import no_rows

        raise no_rows(ref)
    if not ref.origins:
        return ref, None
    from cfo_bench.tasks.fetching import obtain
    from cfo_bench.tasks.store import TABLE

    stored = obtain(ref)
    target = ref.target or stored.about["target"]
    known = stored.problem if target == stored.about["target"] else None
    # An OpenML task states its problem; the problem in a table may be wrong.
    states_problem = stored.about["origin"].startswith("openml:")
    problem = (known or ref.problem) if states_problem else (ref.problem or known)
    if target is None:
        raise UserError(
            f"task {ref.task!r}: {stored.about['source']} names no target: name it in a table of your own, "
            "with openml_data and target (see --tasks)"
        )
    return replace(ref, path=str(stored.folder / TABLE), target=target, problem=problem), stored


def _are_official(stored: Stored | None, n_folds: int) -> TypeGuard[Stored]:
    return stored is not None and stored.n_folds == n_folds


def _official_source(stored: Stored) -> str:
    return f"{stored.about['source'].partition(' (')[0]}, official splits"


def _about(stored: Stored | None) -> list[object] | None:
    """Everything that determines the facts and the folds besides the bytes of the data."""
    return [stored.about[key] for key in ("source", "obtained", "files")] if stored else None


def _data_set(ref: DataRef, stored: Stored | None) -> DataSet:
    if ref.source == "bundled":
        from cfo_bench.tasks.sources import built_in

        return built_in.load_bundled(ref.task)
    if ref.source.startswith("plug-in "):
        from cfo_bench.tasks.sources import plugin_tasks

        return plugin_tasks.load(ref)
    from cfo_bench.tasks.columns import has_many_labels, with_target, without_columns
    from cfo_bench.tasks.data_set import DataSet
    from cfo_bench.tasks.sources.files import read_columns

    assert ref.path is not None and ref.target is not None  # true of every ref to a file
    if stored is not None:
        return DataSet.of(stored.columns(), ref.target, ref.problem, where=f"task {ref.task!r}")
    columns, n_dropped = without_columns(read_columns(Path(ref.path)), ref.drop, ref.target, ref.path), 0
    if ref.drop_missing_target:
        columns, n_dropped = with_target(columns, ref.target, ref.path)
    data = DataSet.of(columns, ref.target, ref.problem, ref.path, ref.split, ref.weight)
    encoded = tuple(column.name for column in data.features if has_many_labels(column))
    return replace(data, dropped_rows=n_dropped, target_encoded=encoded if ref.source == "file" else ())


def _facts(ref: DataRef, data: DataSet, folds_source: str, stored: Stored | None) -> TaskFacts:
    from cfo_bench.metrics import METRIC_OF
    from cfo_bench.tasks.columns import remarks
    from cfo_bench.tasks.sources.files import assumptions

    if stored is not None:
        source = f"{stored.about['source']}, prepared from {stored.about['obtained']}"
    else:
        source = ref.source if ref.path is None else f"{ref.source}: {Path(ref.path).name}"
    return TaskFacts(
        name=ref.task,
        problem=data.problem,
        metric=METRIC_OF[data.problem],
        n_rows=len(data.y),
        n_features=len(data.features),
        n_classes=len(data.classes),
        source=source,
        sha256=data.sha256(),
        folds_source=folds_source,
        target=data.target,
        dropped=ref.drop,
        dropped_rows=data.dropped_rows,
        remarks=(*assumptions(Path(ref.path)), *remarks(data.features))
        if ref.source == "file" and ref.path is not None
        else (),
        split=ref.split,
        weight=ref.weight,
        target_encoded=data.target_encoded,
    )
