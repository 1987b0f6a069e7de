"""The best configuration found for each task and learner; as a script, or trained on all rows of a file.

What `cfo-bench best` does, from Python:

    best = best_configurations("results", tasks=["adult"], learners=["xgboost"])[0]
    best.config, best.validation_score
    Path("train.py").write_text(python_script(best))
    fit_best(best, "my.csv", "model.ubj", target="class")
    load_model("model.ubj").predict(frame)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec

from cfo_bench import machine
from cfo_bench.clock import utc_now
from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.metrics import METRICS
from cfo_bench.models import ModelRecipe, kind_of, script
from cfo_bench.models.recipe import on_all_rows, train
from cfo_bench.models.saving import SavedModel as SavedModel
from cfo_bench.models.saving import check_suffix, save
from cfo_bench.models.saving import load_model as load_model
from cfo_bench.records import Problem
from cfo_bench.registry import label
from cfo_bench.report.reading.load import Selection, load
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import LARGEST_LOSS, NOT_COMPARED, Run
from cfo_bench.results.schema import Header, to_mapping
from cfo_bench.space import Config
from cfo_bench.tasks import file_ref
from cfo_bench.tasks.loading import load_data_set

if TYPE_CHECKING:
    from cfo_bench.tasks.data_set import DataSet


@dataclass(frozen=True, slots=True)
class BestConfiguration:
    """The best configuration for a task and a learner: that of one run, on one fold.

    Attributes
    ----------
    task, learner, method : str
        The names of the run that found it.
    fold, seed : int
        The fold and the seed of that run.
    config : dict
        The value of each hyperparameter.
    fixed : Mapping
        Settings that affect the model and are not searched; empty if they are not known.
    metric : str
        The metric of the scores.
    validation_score : float
        The score by which the configuration was selected.
    test_score : float or None
        The score on rows that no method has seen; None without `--validation holdout`.
    mean_score : float
        The mean score of the method's best configurations over folds.
    is_mean_of_test : bool
        Whether `mean_score` is a mean of test scores: every run has one.
    folds : int
        The number of folds in that mean.
    problem : str
        The problem type of the task.
    target : str or None
        The column to predict.
    dropped_columns : sequence of str
        Columns that were left out.
    learner_options : Mapping
        Options of the learner.
    trace : str
        The path of the run's trace.
    header : Mapping
        The first line of the trace.
    """

    task: str
    learner: str
    method: str
    fold: int
    seed: int
    config: Config
    fixed: Mapping[str, Any]
    metric: str
    validation_score: float
    test_score: float | None
    mean_score: float
    is_mean_of_test: bool
    folds: int
    problem: str
    target: str | None
    dropped_columns: Sequence[str]
    learner_options: Mapping[str, Any]
    trace: str
    run_header: Header = field(repr=False)

    @property
    def header(self) -> Mapping[str, Any]:
        return to_mapping(self.run_header)

    @property
    def recipe(self) -> ModelRecipe:
        """What the model is made from."""
        return ModelRecipe(self.learner, self.config, Problem(self.problem), self.seed, self.learner_options)

    @property
    def scores_in_words(self) -> str:
        """The scores, each with its kind and the name of the metric."""
        name = self.metric
        validation = f"validation {name} {self.validation_score:.4f} on fold {self.fold} (selected by it)"
        return validation if self.test_score is None else f"test {name} {self.test_score:.4f}, {validation}"

    @property
    def mean_in_words(self) -> str:
        """The mean score over folds, with its kind and the name of the metric."""
        kind = "test" if self.is_mean_of_test else "validation"
        of = f"{self.method}'s best of each fold"
        return f"{kind} {self.metric} {self.mean_score:.4f}, mean over {self.folds} folds of {of}"


def best_configurations(
    results: str | Path | Sequence[str | Path] = "results",
    *,
    tasks: Sequence[str] = (),
    learners: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> list[BestConfiguration]:
    """Find the best configuration for each task and learner.

    Runs on different folds are made comparable by the mean loss of all methods on their fold. With one
    method, the lowest loss decides. Trials on part of the rows count only if a run has no others.

    Parameters
    ----------
    results : str, Path or sequence of these, default="results"
        One results folder, or several.
    tasks, learners, methods : sequence of str, default=()
        Only these; empty: all.

    Returns
    -------
    list of BestConfiguration
        Sorted by task, and for each task from the best learner to the worst.

    Raises
    ------
    UserError
        A folder has no traces, or no run has a result yet.
    UnknownNameError
        No run has a name that was given.
    """
    folders = [Path(results)] if isinstance(results, str | Path) else [Path(folder) for folder in results]
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in load(folders, Selection(learners, tasks)).runs:
        if run.method not in NOT_COMPARED and _incumbents(run).losses:
            groups.setdefault((run.task, label(run.learner)), []).append(run)
    if not groups:
        raise UserError(f"no run in {' '.join(map(str, folders))} has a result yet: see cfo-bench status")
    available = {run.method for runs in groups.values() for run in runs}
    for method in methods:
        if method not in available:
            raise UnknownNameError("method", method, available)
    best = [
        _best(runs, candidates)
        for runs in groups.values()
        if (candidates := [run for run in runs if not methods or run.method in methods])
    ]
    return sorted(best, key=lambda best: (best.task, METRICS[best.metric].to_loss(best.mean_score)))


def python_script(best: BestConfiguration) -> str:
    """Write a Python script that trains the model with the plain library, and predicts with it.

    Parameters
    ----------
    best : BestConfiguration
        One of `best_configurations`.

    Returns
    -------
    str
        The text of the script.

    Raises
    ------
    UserError
        The learner trains nothing, or comes from a plug-in.
    """
    build = best.run_header.cfo_bench
    version = build.version if build else ""
    return script(
        best.recipe,
        best.target or "y",
        best.dropped_columns,
        [
            f"{best.learner} for {best.task}, as cfo-bench {version} found it with {best.method}.",
            "",
            f"Score: {best.scores_in_words}.",
            f"Trace: {best.trace}",
        ],
    )


@dataclass(frozen=True, slots=True)
class FittedModel:
    """A model that was trained on all rows and saved.

    Attributes
    ----------
    files : list of Path
        The model, and the JSON file beside it.
    rows : int
        The number of rows that it was trained on.
    same_data : bool
        Whether the data is that of the search.
    """

    files: list[Path]
    rows: int
    same_data: bool


def fit_best(
    best: BestConfiguration,
    data: str | Path,
    out: str | Path,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    drop_missing_target: bool = False,
    threads: int | None = None,
) -> FittedModel:
    """Train the model on all rows of a file and save it, with its provenance in a JSON file beside it.

    Parameters
    ----------
    best : BestConfiguration
        One of `best_configurations`.
    data : str or Path
        The file with the rows.
    out : str or Path
        The file for the model; its suffix is that of the library's own format.
    target : str or None, default=None
        The column to predict; None: that of the search.
    drop : sequence of str, default=()
        Columns to leave out; empty: those of the search.
    drop_missing_target : bool, default=False
        Whether to leave out rows without a target.
    threads : int or None, default=None
        The number of threads; None: the number of cores.

    Returns
    -------
    FittedModel
        The files, and whether the data is that of the search.

    Raises
    ------
    UserError
        The suffix is not one of the learner's, the target is not known, or the file can't be read.
    """
    out, recipe = Path(out), best.recipe
    check_suffix(recipe, out)
    column = target or best.target
    if column is None:
        raise UserError(f"--fit {data} needs --target: the name of the column to predict")
    ref = file_ref(Path(data), column, recipe.problem, drop or best.dropped_columns, drop_missing_target)
    table, _ = load_data_set(ref)
    model = train(recipe, on_all_rows(table), threads or machine.cores())
    sha256 = table.sha256()
    files = save(out, recipe, model, table, _provenance(best, table, str(ref.path), sha256))
    return FittedModel(files, len(table.y), sha256 == best.run_header.data.sha256)


def _provenance(best: BestConfiguration, table: DataSet, path: str, sha256: str) -> dict[str, Any]:
    header = best.run_header
    return {
        "trained_on": {"file": path, "sha256": sha256, "rows": len(table.y), "utc": utc_now()},
        "found": {
            "trace": best.trace,
            "task": best.task,
            "method": best.method,
            "fold": best.fold,
            "seed": best.seed,
            "metric": best.metric,
            "validation_score": best.validation_score,
            "test_score": best.test_score,
            "data_sha256": header.data.sha256,
            "command": header.command,
            "cfo_bench": msgspec.to_builtins(header.cfo_bench),
        },
        "trained_with": machine.provenance(),
    }


def _incumbents(run: Run) -> Incumbents:
    """Those of trials on all rows; of a run without such trials, all."""
    full = run.digest.full_incumbents
    return full if full.losses else run.digest.incumbents


def _final_loss(run: Run) -> float:
    return min(max(_incumbents(run).losses[-1], -LARGEST_LOSS), LARGEST_LOSS)


def _best(runs: Sequence[Run], candidates: Sequence[Run]) -> BestConfiguration:
    """The best of the `candidates`, which are some of the `runs` of one task and learner."""
    losses: dict[tuple[int, int], list[float]] = {}
    for run in runs:
        losses.setdefault((run.fold, run.seed), []).append(_final_loss(run))

    def badness(run: Run) -> tuple[float, float]:
        return _final_loss(run) - fmean(losses[run.fold, run.seed]), _final_loss(run)

    chosen = min(candidates, key=badness)
    header, incumbents = chosen.header, _incumbents(chosen)
    metric = METRICS[header.metric]
    same_method = [run for run in runs if run.method == chosen.method]
    test_scores = [
        score
        for run in same_method
        for score in _incumbents(run).tested.test_scores[-1:]
        if score is not None
    ]
    is_tested = len(test_scores) == len(same_method)
    scores = test_scores if is_tested else [metric.to_score(_final_loss(run)) for run in same_method]
    return BestConfiguration(
        task=chosen.task,
        learner=label(chosen.learner),
        method=chosen.method,
        fold=chosen.fold,
        seed=chosen.seed,
        config=incumbents.best_config,
        fixed=_fixed(chosen, incumbents.best_config),
        metric=header.metric,
        validation_score=metric.to_score(incumbents.losses[-1]),
        test_score=incumbents.test_scores[-1],
        mean_score=fmean(scores),
        is_mean_of_test=is_tested,
        folds=len({run.fold for run in same_method}),
        problem=str(header.problem),
        target=header.data.target,
        dropped_columns=tuple(header.data.dropped_columns or ()),
        learner_options=chosen.spec.learner_options,
        trace=str(chosen.path),
        run_header=header,
    )


def _fixed(run: Run, config: Config) -> dict[str, Any]:
    """The fixed settings of a learner of cfo-bench; empty for any other."""
    recipe = ModelRecipe(run.learner, config, run.header.problem, run.seed, run.spec.learner_options)
    try:
        return kind_of(run.learner).fixed(recipe)
    except UserError:
        return {}
