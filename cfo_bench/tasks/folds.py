"""The rows that train and those that validate: k folds by a seed or by a column, and checks of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from cfo_bench.errors import DataError, TooManyFoldsError, UserError
from cfo_bench.metrics import Array
from cfo_bench.records import Problem
from cfo_bench.tasks.data_set import DataSet, SplitColumn
from cfo_bench.values import MAX_SEED, SplitKind


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The row numbers of each part, ascending; `source` is where the folds come from."""

    train: Array
    valid: Array
    source: str
    test: Array | None = None


def split_rows(data: DataSet, fold: int, n_folds: int, seed: int) -> Split:
    """A fold, made by the split column of the data or else by the seed."""
    check_choice(fold, n_folds, seed)
    check(data, n_folds, seed)
    train, valid = next(islice(_parts(data, n_folds, seed), fold, None))
    is_drawn = data.split is None or data.split.kind is SplitKind.GROUP
    return Split(train, valid, describe(data, n_folds) + (f" by seed {seed}" if is_drawn else ""))


def _parts(data: DataSet, n_folds: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """The rows that train and those that validate, fold by fold.

    Without a split column: shuffled k-fold, stratified by class, or plain for regression.
    """
    from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

    rows = np.empty((len(data.y), 0))
    match data.split:
        case SplitColumn(kind=SplitKind.GROUP):
            yield from _grouped(data, np.arange(len(data.y)), n_folds, seed)
        case SplitColumn(kind=SplitKind.TIME, column=column):
            yield from _forward(column.values, n_folds)
        case SplitColumn(column=column):
            numbers = np.unique(column.values, return_inverse=True)[1]
            yield from PredefinedSplit(numbers).split()
        case None:
            splitter = KFold if data.problem is Problem.REGRESSION else StratifiedKFold
            yield from splitter(n_folds, shuffle=True, random_state=seed).split(rows, data.y)


def _grouped(data: DataSet, rows: Array, n_folds: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """k folds of these rows. All rows of a group are in the same fold."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    assert data.split is not None
    splitter = GroupKFold if data.problem is Problem.REGRESSION else StratifiedGroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A class that is missing in a fold is refused by `check`.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        parts = list(folds.split(rows, data.y[rows], data.split.column.values[rows]))
    for train, valid in parts:
        yield rows[train], rows[valid]


def _forward(times: Array, n_folds: int) -> Iterator[tuple[Array, Array]]:
    """Each fold validates on the next part of the rows in order of time, and trains on all earlier rows.

    Rows with the same time as the first validation row do not train.
    """
    from sklearn.model_selection import TimeSeriesSplit

    order = np.argsort(times, kind="stable")
    for _, later in TimeSeriesSplit(n_folds).split(order):
        valid = np.sort(order[later])
        yield np.flatnonzero(times < times[valid].min()), valid


def official(fold_of_row: Array, fold: int, source: str) -> Split:
    """A fold of the task's official splits; no seed changes it."""
    return Split(np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold), source)


def hold_out(data: DataSet, split: Split, share: float, seed: int) -> Split:
    """The fold's held-out part becomes the test part; a share of its training rows validates instead.

    The share is drawn from each class, and at least one row of each class stays in training. With a split by
    time, the latest rows validate; with a split by groups, the groups of the first of k folds do.
    """
    if not 0 < share < 1:
        raise UserError(f"--holdout-share {share}: give a share of the training rows, above 0 and below 1")
    match data.split:
        case SplitColumn(kind=SplitKind.GROUP, column=column):
            n_groups = len(np.unique(column.values[split.train]))
            n_folds = max(2, min(round(1 / share), n_groups))
            if n_groups < 2:
                raise DataError(
                    f"{data.where}: the training rows of a fold are of one group: take more folds"
                )
            train, valid = next(_grouped(data, split.train, n_folds, seed))
        case SplitColumn(kind=SplitKind.TIME, column=column):
            times = column.values
            latest = split.train[np.argsort(times[split.train], kind="stable")]
            begin = times[latest[-max(round(share * len(latest)), 1)]]
            train, valid = (
                split.train[is_in] for is_in in (times[split.train] < begin, times[split.train] >= begin)
            )
        case _:
            is_valid = _drawn(data, split.train, share, seed)
            train, valid = split.train[~is_valid], split.train[is_valid]
    if len(valid) < 2:
        raise DataError(
            f"{data.where}: {share:g} of {len(split.train)} training rows is less than 2 rows: take more"
        )
    if data.split is not None or data.weight is not None:
        remedy = "take another --holdout-share, or --validation fold"
        _check_part(data, train, "train on", remedy)
        _check_part(data, valid, "validate on", remedy)
    return Split(train, valid, split.source, split.valid)


def _drawn(data: DataSet, rows: Array, share: float, seed: int) -> Array:
    """A mask of the rows in the share, which is drawn from each class."""
    rng = np.random.default_rng(seed)
    groups = np.zeros(len(rows), dtype=int) if data.problem is Problem.REGRESSION else data.y[rows]
    is_drawn = np.zeros(len(rows), dtype=bool)
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        is_drawn[members[: min(round(share * len(members)), len(members) - 1)]] = True
    return is_drawn


def describe(data: DataSet, n_folds: int) -> str:
    """The folds in words, without the seed."""
    match data.split:
        case SplitColumn(kind=SplitKind.GROUP, column=column):
            return f"{n_folds} folds of whole groups of {column.name!r}"
        case SplitColumn(kind=SplitKind.TIME, column=column):
            return f"{n_folds} folds forward in time, by {column.name!r}"
        case SplitColumn(column=column):
            return f"{n_folds} folds of column {column.name!r}"
        case _:
            return f"{'plain' if data.problem is Problem.REGRESSION else 'stratified'} {n_folds}-fold"


def check_choice(fold: int, n_folds: int, seed: int) -> None:
    if not 0 <= fold < n_folds:
        raise UserError(f"no fold {fold} among {n_folds} folds: choose from 0 to {n_folds - 1}")
    if not 0 <= seed <= MAX_SEED:
        raise UserError(f"the seed is {seed}: choose from 0 to {MAX_SEED}")


def check_number(n_folds: int, n_rows: int) -> None:
    """Refuses folds of fewer than two rows, on which r2 and AUC are undefined."""
    if n_folds < 2:
        raise UserError(f"{n_folds} folds: take 2 or more with --n-folds")
    if n_rows < 2 * n_folds:
        at_most = n_rows // 2
        remedy = f"take at most {at_most} with --n-folds" if at_most >= 2 else "bring 4 rows or more"
        raise TooManyFoldsError(f"{n_rows} rows are too few for {n_folds} folds of 2 rows or more: {remedy}")


def check_official(data: DataSet, fold_of_row: Array) -> None:
    """Refuses official folds on which a loss can't be measured."""
    for fold in range(int(fold_of_row.max()) + 1):
        held_out = data.y[fold_of_row == fold]
        one_sided = data.problem is Problem.BINARY and len(np.unique(held_out)) < 2
        if len(held_out) < 2 or one_sided:
            lack = "one class only" if one_sided else f"{len(held_out)} rows"
            raise DataError(
                f"{data.where}: fold {fold} of its official splits holds out {lack}: take another task"
            )


def own_folds(data: DataSet) -> int | None:
    """The number of folds that a column of the data defines; None if no column does."""
    match data.split:
        case SplitColumn(kind=SplitKind.COLUMN, column=column):
            return len(np.unique(column.values))
        case _:
            return None


def check(data: DataSet, n_folds: int, seed: int = 0) -> None:
    """Refuses data with too few rows for the folds, or too few rows of one class."""
    if (n_own := own_folds(data)) not in (None, n_folds):
        raise DataError(
            f"{data.where}: the column of --split has {n_own} values, each of which is a fold, and not "
            f"{n_folds}: leave --n-folds out, or name another column"
        )
    if n_own is None:
        _check_size(data, n_folds)
    if data.split is None and data.weight is None:
        return
    if data.split is not None and data.split.kind is SplitKind.GROUP:
        n_groups = len(np.unique(data.split.column.values))
        if n_groups < n_folds:
            fewer = f"take at most {n_groups} with --n-folds" if n_groups > 1 else "name another column"
            raise TooManyFoldsError(
                f"{data.where}: column {data.split.column.name!r} of --split has {n_groups} groups, fewer "
                f"than the {n_folds} folds: {fewer}"
            )
    fewer = "take fewer with --n-folds, or" if n_own is None else "give"
    for fold, (train, valid) in enumerate(_parts(data, n_folds, seed)):
        remedy = f"fold {fold} of {describe(data, n_folds)}; {fewer} another --split or --weight"
        _check_part(data, train, "train on", remedy)
        _check_part(data, valid, "validate on", remedy)


def _check_size(data: DataSet, n_folds: int) -> None:
    """Refuses a number of folds that is too large for the rows or for those of one class."""
    if data.problem is not Problem.REGRESSION:
        rows_of = np.bincount(data.y, minlength=len(data.classes))
        rarest = int(np.argmin(rows_of))
        n_rows = int(rows_of[rarest])
        if n_rows < n_folds:
            fewer = f"take at most {n_rows} folds with --n-folds, or " if n_rows >= 2 else ""
            raise TooManyFoldsError(
                f"{data.where}: class {data.classes[rarest]!r} of target {data.target!r} has {n_rows} "
                f"row{'s' * (n_rows != 1)}, fewer than the {n_folds} folds: {fewer}drop its rows"
            )
    try:
        check_number(n_folds, len(data.y))
    except TooManyFoldsError as error:
        raise TooManyFoldsError(f"{data.where}: {error}") from None


def _check_part(data: DataSet, rows: Array, use: str, remedy: str) -> None:
    """Refuses a part with fewer than two rows, with a missing class, or with weights that are all 0."""
    if len(rows) < 2:
        raise TooManyFoldsError(f"{data.where}: {len(rows)} rows to {use}: {remedy}")
    weight = np.ones(len(rows)) if data.weight is None else data.weight.values[rows]
    if data.problem is Problem.REGRESSION:
        if not weight.any():
            raise TooManyFoldsError(f"{data.where}: no row with a weight above 0 to {use}: {remedy}")
        return
    weight_of = np.bincount(data.y[rows], weight, len(data.classes))
    if not weight_of.all():
        absent = data.classes[int(np.argmin(weight_of))]
        kind = "" if data.weight is None else " with a weight above 0"
        raise TooManyFoldsError(
            f"{data.where}: no row of class {absent!r} of target {data.target!r}{kind} to {use}: {remedy}"
        )
