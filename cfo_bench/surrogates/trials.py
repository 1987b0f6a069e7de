"""The trials of results folders as arrays, by learner and task."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cfo_bench.errors import SpaceError, TraceError, UserError
from cfo_bench.files.writing import read_regular
from cfo_bench.metrics import METRICS, Array
from cfo_bench.recordings.surrogate import Encoding
from cfo_bench.records import TrialStatus
from cfo_bench.registry import label
from cfo_bench.results.comparability import comparable
from cfo_bench.results.folder import TRACE_SUFFIX, run_files
from cfo_bench.results.run import Run, run_of_text
from cfo_bench.results.schema import Header
from cfo_bench.results.trace import split_torn
from cfo_bench.space import Categorical, Space

# Settings that do not change a trial, in which runs that are fitted together may differ.
_IGNORED = ("budget_seconds", "parallel", "charge_method")


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """All trials of one learner on one task, in the order of their runs."""

    learner: str
    task: str
    header: Header  # of a representative run: folds differ by at most one row
    space: Space
    encoding: Encoding
    methods: Array  # the label of each trial's method
    folds: Array  # for each trial, the index of its fold in `fold_keys`
    fold_keys: Sequence[tuple[int, int]]  # (seed, fold)
    vectors: Array
    losses: Array  # NaN: no loss
    seconds: Array
    was_cut_off: Array
    failed: Array
    validate_share: float
    on_parts: bool  # some trials used a part of the rows

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def scored(self) -> int:
        """The number of trials that have a loss."""
        return int(np.isfinite(self.losses).sum())


@dataclass(slots=True)
class RecordedTrials:
    """The trials of results folders."""

    trials: list[Trials]
    traces: int
    traces_sha256: str
    skipped: list[str] = field(default_factory=list)  # one line for each kind of run that is not used


def read_trials(folders: Sequence[Path]) -> RecordedTrials:
    """The trials of every trace in the folders, of finished and of interrupted runs."""
    runs: dict[tuple[str, str], list[Run]] = {}
    digests: list[str] = []
    skipped: Counter[str] = Counter()
    for run_id, run, sha256 in _runs(folders):
        why = _useless(run)
        if why is not None:
            skipped[why] += 1
            continue
        runs.setdefault((label(run.learner), run.task), []).append(run)
        digests.append(f"{run_id} {sha256}")
    if not runs:
        names = ", ".join(map(str, folders))
        others = f"found only {' and '.join(_in_words(skipped))}; " if skipped else ""
        raise UserError(
            f"no trials in {names} that a surrogate can be fitted to: {others}give results of real training "
            "with cfo-bench run"
        )
    return RecordedTrials(
        trials=[_together(learner, task, alike) for (learner, task), alike in sorted(runs.items())],
        traces=len(digests),
        traces_sha256=hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest(),
        skipped=_in_words(skipped),
    )


def _in_words(skipped: Counter[str]) -> list[str]:
    """Reasons in words, the most frequent first."""
    return [f"runs {why} ({count})" for why, count in skipped.most_common()]


def _runs(folders: Sequence[Path]) -> Iterator[tuple[str, Run, str]]:
    """The id of each run, the run and the SHA-256 of its trace."""
    for folder in folders:
        files = run_files(folder)
        if files.unreadable:
            raise TraceError(files.unreadable[0])
        for path in files.traces:
            try:
                data = read_regular(path)
            except OSError as error:
                raise TraceError(f"can't read {path}: {error.strerror}") from None
            run = run_of_text(path, split_torn(data)[0], parse_trials=True)
            if run is not None:
                run_id = str(path.relative_to(folder)).removesuffix(TRACE_SUFFIX)
                yield run_id, run, hashlib.sha256(data).hexdigest()


def lookups(
    folders: Sequence[Path],
) -> dict[tuple[str, str, str], tuple[list[dict[str, Any]], list[int | None]]]:
    """The configurations and rows that runs on surrogates looked up, by learner, task and method."""
    looked_up: dict[tuple[str, str, str], tuple[list[dict[str, Any]], list[int | None]]] = {}
    for _, run, _ in _runs(folders):
        family, _, learner = run.learner.partition(":")
        if family == "surrogate":
            configs, rows = looked_up.setdefault((learner, run.task, label(run.spec.method)), ([], []))
            configs += [dict(trial.config) for trial in run.trials]
            rows += [trial.rows for trial in run.trials]
    return looked_up


def _useless(run: Run) -> str | None:
    """The reason why a run is not used; None if it is used."""
    if run.is_imported:
        return "that were imported, so that their data and machine are not known"
    if run.header.data.recording:
        return "of recordings, which are no training"
    if not run.header.space:
        return "without a search space: references, such as constant and tuned-rf"
    if not run.trials:
        return "without a trial"
    if run.header.metric not in METRICS:
        return f"of the metric {run.header.metric}: a surrogate has one of {', '.join(METRICS)}"
    return None


def _together(learner: str, task: str, runs: Sequence[Run]) -> Trials:
    _check_alike(learner, task, runs)
    # The number of training rows of most folds.
    train_rows = Counter(run.header.data.train_rows for run in runs).most_common()
    usual = max(train_rows, key=lambda pair: (pair[1], pair[0]))[0]
    header = next(run.header for run in runs if run.header.data.train_rows == usual)
    try:
        spaces = [Space.from_json(run.header.space or []) for run in runs]
        space = Space.from_json(header.space or [])
    except SpaceError as error:
        raise TraceError(f"learner {learner!r} on task {task!r}: a space can't be read ({error})") from None
    _check_spaces(learner, task, space, spaces)
    for run, run_space in zip(runs, spaces, strict=True):
        _check_configs(run, run_space)
    encoding = Encoding(space, usual)
    keys = sorted({(run.seed, run.fold) for run in runs})
    parts = [_columns(run, encoding, keys) for run in runs]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    validate, took = joined.pop("validate_seconds"), joined["seconds"]
    ended = ~joined["was_cut_off"] & np.isfinite(joined["losses"]) & (took > 0)
    return Trials(
        learner=learner,
        task=task,
        header=header,
        space=space,
        encoding=encoding,
        fold_keys=keys,
        validate_share=float(np.median(validate[ended] / took[ended])) if np.any(ended) else 0.0,
        on_parts=bool(np.any(joined["vectors"][:, -1] < 0)),
        **joined,
    )


def _check_alike(learner: str, task: str, runs: Sequence[Run]) -> None:
    """Refuses runs whose losses or seconds are not comparable."""
    for run in runs[1:]:
        # The options of a method do not matter either: only its trials are used.
        differences = [
            difference
            for difference in comparable(runs[0], run, _IGNORED)
            if not difference.name.startswith("options of ")
        ]
        if differences:
            first = differences[0]
            raise UserError(
                f"runs of learner {learner!r} on task {task!r} differ in {first.name} "
                f"({first.first} and {first.second}): fit them apart, from a folder each"
            )


def _check_spaces(learner: str, task: str, space: Space, others: Iterable[Space]) -> None:
    """Bounds may depend on the rows of a fold, and may therefore differ slightly; everything else must be
    equal.
    """
    params = {param.name: param for param in space}
    for other in others:
        other_params = {param.name: param for param in other}
        for name in params | other_params:
            first, second = params.get(name), other_params.get(name)
            if type(first) is not type(second) or (isinstance(first, Categorical) and first != second):
                raise UserError(
                    f"runs of learner {learner!r} on task {task!r} have different values of hyperparameter "
                    f"{name!r}: fit them apart, from a folder each"
                )


def _check_configs(run: Run, space: Space) -> None:
    for trial in run.trials:
        try:
            space.accept(trial.config)
        except SpaceError as error:
            raise TraceError(
                f"{run.path}: trial {trial.number} is not in its search space ({error}): move the file away"
            ) from None


def _columns(run: Run, encoding: Encoding, keys: Sequence[tuple[int, int]]) -> dict[str, Array]:
    """The trials of a run as arrays. A trial that was cut off has the seconds until then."""
    trials, train_rows = run.trials, run.header.data.train_rows
    fit = np.array([trial.fit_seconds for trial in trials])
    validate = np.array([trial.validate_seconds for trial in trials])
    rows = [None if trial.rows is None or trial.rows >= train_rows else trial.rows for trial in trials]
    return {
        "methods": np.array([label(run.spec.method)] * len(trials)),
        "folds": np.full(len(trials), keys.index((run.seed, run.fold))),
        "vectors": encoding.encode_all([dict(trial.config) for trial in trials], rows),
        "losses": np.array([np.nan if trial.loss is None else trial.loss for trial in trials]),
        "seconds": np.maximum(fit + validate, 1e-6),
        "was_cut_off": np.array([trial.status is TrialStatus.TIMEOUT for trial in trials]),
        "failed": np.array([trial.status in (TrialStatus.FAILED, TrialStatus.MEMORY) for trial in trials]),
        "validate_seconds": validate,
    }
