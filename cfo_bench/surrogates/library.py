"""Surrogates from Python: what `cfo-bench surrogate fit` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench import __version__
from cfo_bench.errors import UserError

if TYPE_CHECKING:
    from cfo_bench.recordings.surrogate_file import SurrogateFile
    from cfo_bench.surrogates.quality import Quality


@dataclass(frozen=True, slots=True)
class TaskFit:
    """How good the surrogate of a learner on a task is."""

    learner: str
    task: str
    trials: int
    folds: int
    quality: Quality


@dataclass(frozen=True, slots=True)
class SurrogateFit:
    """What was fitted, and the file that it was written to."""

    path: Path  # the file
    sha256: str  # of the file
    traces: int  # how many traces were read
    traces_sha256: str  # of their contents
    fits: Sequence[TaskFit]  # how good each surrogate is
    skipped: Sequence[str]  # traces that nothing could be learned from, and why


class PoorSurrogateError(UserError):
    """Nothing was written, because a surrogate is below the stated quality; `fits` says how good each is."""

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
    """Fits surrogates to the traces of results folders, one for each learner and task.

    If one of them is below the quality that docs/simulation.md states, nothing is written, and a
    `PoorSurrogateError` says which.

    results  one results folder, or several
    out      the file to write, for `cfo-bench run --surrogate` and `Suite(surrogate=…)`
    force    write poor surrogates too
    on_fit   is called with each surrogate as soon as its quality is known
    returns  what was fitted, how good it is, and the file
    """
    from cfo_bench.recordings.surrogate_file import SurrogateFile, write
    from cfo_bench.surrogates.fitting import FEWEST_TRIALS, fit, thinned
    from cfo_bench.surrogates.models import fit_models
    from cfo_bench.surrogates.quality import LEAST_LOSS_RANK, LEAST_SECONDS_RANK, quality_of
    from cfo_bench.surrogates.trials import read_trials

    folders = [Path(one) for one in ([results] if isinstance(results, str | Path) else results)]
    found = read_trials(folders)
    for trials in found.trials:
        if trials.scored < FEWEST_TRIALS:
            raise UserError(
                f"learner {trials.learner!r} on task {trials.task!r} has {trials.scored} trials with a loss, "
                f"and a surrogate needs {FEWEST_TRIALS}: run more, or move its traces away"
            )
    fits, surrogates = [], []
    for trials in found.trials:
        models = fit_models(trials, thinned(trials))
        quality = quality_of(trials, models)
        one = TaskFit(trials.learner, trials.task, len(trials), len(trials.fold_keys), quality)
        on_fit(one)
        fits.append(one)
        if force or all(each.quality.is_enough for each in fits):
            surrogates.append(fit(trials, models, quality.to_json()))
    poor = [one for one in fits if not one.quality.is_enough]
    if poor and not force:
        names = ", ".join(f"{one.learner} on {one.task} ({one.quality.in_words()})" for one in poor)
        raise PoorSurrogateError(
            f"{len(poor)} of {len(fits)} surrogates predict a method that they have not seen too badly, and "
            f"nothing was written: {names}; asked for are {LEAST_LOSS_RANK} for losses and "
            f"{LEAST_SECONDS_RANK} for seconds: record more trials, move these traces away, or give --force",
            fits,
        )
    content = SurrogateFile(surrogates, found.traces, found.traces_sha256, __version__)
    path = Path(out)
    return SurrogateFit(path, write(path, content), found.traces, found.traces_sha256, fits, found.skipped)


def surrogates_in(file: str | Path) -> SurrogateFile:
    """What a file of `fit_surrogate` holds."""
    from cfo_bench.recordings.surrogate_file import read

    return read(file)


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """How many look-ups of a method's runs were far from every recorded configuration."""

    learner: str
    task: str
    method: str
    trials: int
    far: float  # their share


def extrapolation(file: SurrogateFile, results: Sequence[str | Path]) -> list[Extrapolation]:
    """The share of far look-ups of each method that was run on the surrogates of a file."""
    import numpy as np

    from cfo_bench.surrogates.trials import lookups

    found = []
    for (learner, task, method), (configs, rows) in sorted(lookups([Path(one) for one in results]).items()):
        one = file.of(learner, task)
        vectors = one.encoding.encode_all(configs, rows)
        chosen = np.random.default_rng(0).permutation(len(vectors))[:2000]
        far = float(np.mean(one.cover.are_far(vectors[chosen])))
        found.append(Extrapolation(learner, task, method, len(vectors), far))
    return found
