"""Surrogates of results folders: fitted, checked and written, as `cfo-bench surrogate fit` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench import __version__
from cfo_bench.errors import UserError, at_place

if TYPE_CHECKING:
    from cfo_bench.recordings.surrogate_file import SurrogateFile
    from cfo_bench.surrogates.quality import Quality


@dataclass(frozen=True, slots=True)
class TaskFit:
    """The surrogate of a learner on a task, and its quality."""

    learner: str
    task: str
    trials: int
    folds: int
    quality: Quality


@dataclass(frozen=True, slots=True)
class SurrogateFit:
    """The fitted surrogates, and their file.

    Attributes
    ----------
    path : Path
        The file.
    sha256 : str
        SHA-256 of the file.
    traces : int
        The number of traces that were read.
    traces_sha256 : str
        SHA-256 of their contents.
    fits : sequence of TaskFit
        The surrogate of each learner and task with its quality.
    skipped : sequence of str
        Kinds of runs that were not used, each with the reason.
    """

    path: Path
    sha256: str
    traces: int
    traces_sha256: str
    fits: Sequence[TaskFit]
    skipped: Sequence[str]


class PoorSurrogateError(UserError):
    """No file was written: a surrogate is below the required quality. `fits` has the quality of each."""

    def __init__(self, message: str, fits: Sequence[TaskFit]) -> None:
        super().__init__(message)
        self.fits = fits


def fit_surrogate(
    results: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    force: bool = False,
    on_fit: Callable[[TaskFit], None] = lambda fit: None,
) -> SurrogateFit:
    """Fit surrogates to the traces of results folders, one for each learner and task.

    Parameters
    ----------
    results : str, Path or sequence of these
        One results folder, or several.
    out : str or Path
        The file to write, for `cfo-bench run --surrogate` and `Suite(surrogate=…)`.
    force : bool, default=False
        Whether to write surrogates of poor quality, too.
    on_fit : callable, optional
        Called with each surrogate as soon as its quality is known.

    Returns
    -------
    SurrogateFit
        The surrogates with their quality, and the file.

    Raises
    ------
    PoorSurrogateError
        A surrogate is below the quality that docs/simulation.md states. Nothing was written.
    UserError
        The folders have too few trials, or runs that can't be fitted together.
    """
    from cfo_bench.recordings.surrogate_file import SurrogateFile, write
    from cfo_bench.surrogates.boosting import fit_models
    from cfo_bench.surrogates.fitting import FEWEST_TRIALS, fit, thinned
    from cfo_bench.surrogates.quality import LEAST_LOSS_RANK, LEAST_SECONDS_RANK, quality_of
    from cfo_bench.surrogates.trials import read_trials

    recorded = read_trials([Path(results)] if isinstance(results, str | Path) else list(map(Path, results)))
    for trials in recorded.trials:
        if trials.scored < FEWEST_TRIALS:
            raise UserError(
                f"learner {trials.learner!r} on task {trials.task!r} has {trials.scored} trials with a loss, "
                f"and a surrogate needs {FEWEST_TRIALS}: run more, or move its traces away"
            )
    fits, surrogates = [], []
    for trials in recorded.trials:
        models = fit_models(trials, thinned(trials))
        quality = quality_of(trials, models)
        task_fit = TaskFit(trials.learner, trials.task, len(trials), len(trials.fold_keys), quality)
        on_fit(task_fit)
        fits.append(task_fit)
        if force or all(task_fit.quality.is_enough for task_fit in fits):
            surrogates.append(fit(trials, models, quality.to_json()))
    poor = [task_fit for task_fit in fits if not task_fit.quality.is_enough]
    if poor and not force:
        names = ", ".join(f"{bad.learner} on {bad.task} ({bad.quality.in_words()})" for bad in poor)
        raise PoorSurrogateError(
            f"{len(poor)} of {len(fits)} surrogates do not predict a left-out method well enough, and no "
            f"file was written: {names}; required are rank correlations of {LEAST_LOSS_RANK} for losses and "
            f"{LEAST_SECONDS_RANK} for seconds: record more trials, move these traces away, or give --force",
            fits,
        )
    content = SurrogateFile(surrogates, recorded.traces, recorded.traces_sha256, __version__)
    path = Path(out)
    sha256 = write(path, content)
    return SurrogateFit(path, sha256, recorded.traces, recorded.traces_sha256, fits, recorded.skipped)


def surrogates_in(file: str | Path) -> SurrogateFile:
    """The content of a file that `fit_surrogate` wrote."""
    from cfo_bench.recordings.surrogate_file import read

    return read(file)


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """The share of the look-ups of a method's runs that were far from every recorded configuration."""

    learner: str
    task: str
    method: str
    trials: int
    far: float  # the share of far look-ups


def extrapolation(file: SurrogateFile, results: Sequence[str | Path]) -> list[Extrapolation]:
    """The share of far look-ups of each method with runs on the surrogates of a file."""
    import numpy as np

    from cfo_bench.surrogates.trials import lookups

    extrapolations = []
    for (learner, task, method), (configs, rows) in sorted(lookups(list(map(Path, results))).items()):
        surrogate = file.of(learner, task)
        with at_place(f"a run of {method} on {task}"):
            for config in configs:
                surrogate.space.accept(config)
        vectors = surrogate.encoding.encode_all(configs, rows)
        sample = vectors[np.random.default_rng(0).permutation(len(vectors))[:2000]]
        far = float(np.mean(surrogate.cover.are_far(sample)))
        extrapolations.append(Extrapolation(learner, task, method, len(vectors), far))
    return extrapolations
