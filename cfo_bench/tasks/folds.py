"""The rows that train and those that validate: k folds by a seed, and checks that there are enough rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from cfo_bench.errors import DataError, TooManyFoldsError, UserError
from cfo_bench.metrics import Array
from cfo_bench.records import Problem
from cfo_bench.tasks.data_set import DataSet
from cfo_bench.values import MAX_SEED


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The row numbers of each part, ascending; `source` is where the folds come from."""

    train: Array
    valid: Array
    source: str
    test: Array | None = None


def by_seed(data: DataSet, fold: int, n_folds: int, seed: int) -> Split:
    """Shuffled k-fold: stratified by class, or plain for regression."""
    from sklearn.model_selection import KFold, StratifiedKFold

    check_choice(fold, n_folds, seed)
    check(data, n_folds)
    splitter = KFold if data.problem is Problem.REGRESSION else StratifiedKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed).split(np.empty((len(data.y), 0)), data.y)
    train, valid = next(islice(folds, fold, None))
    return Split(train, valid, f"{describe(data.problem, n_folds)} by seed {seed}")


def official(fold_of_row: Array, fold: int, source: str) -> Split:
    """A fold of the task's official splits; no seed changes it."""
    return Split(np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold), source)


def hold_out(data: DataSet, split: Split, share: float, seed: int) -> Split:
    """The fold's held-out part becomes the test part; a share of its training rows validates instead.

    The share is taken from each class. At least one row of a class stays in training.
    """
    if not 0 < share < 1:
        raise UserError(
            f"--holdout-share {share}: a part of the training rows is more than 0 and less than 1"
        )
    rng = np.random.default_rng(seed)
    groups = (
        np.zeros(len(split.train), dtype=int) if data.problem is Problem.REGRESSION else data.y[split.train]
    )
    is_valid = np.zeros(len(split.train), dtype=bool)
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        is_valid[members[: min(round(share * len(members)), len(members) - 1)]] = True
    if is_valid.sum() < 2:
        raise DataError(
            f"{data.where}: {share:g} of {len(is_valid)} training rows is less than 2 rows: take more"
        )
    return Split(split.train[~is_valid], split.train[is_valid], split.source, split.valid)


def describe(problem: Problem, n_folds: int) -> str:
    return f"{'plain' if problem is Problem.REGRESSION else 'stratified'} {n_folds}-fold"


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


def check(data: DataSet, n_folds: int) -> None:
    """Refuses data with too few rows for the folds, or too few rows of one class."""
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
