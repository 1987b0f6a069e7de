"""The best configuration found for each task and learner; as a script, or trained on all rows of a file.

The same as `cfo-bench best`, from Python:

    best = best_configurations("results", tasks=["adult"], learners=["xgboost"])[0]
    best.config, best.validation_score
    Path("train.py").write_text(python_script(best))
    fit_best(best, "my.csv", "model.ubj", target="class")
    load_model("model.ubj").predict(frame)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec

from cfo_bench import machine
from cfo_bench.clock import utc_now
from cfo_bench.errors import UserError
from cfo_bench.models import ModelRecipe, ScriptColumns, kind_of, script
from cfo_bench.models.estimator_model import EstimatorModel
from cfo_bench.models.recipe import checked, checked_options, on_all_rows, train
from cfo_bench.models.saving import SavedModel as SavedModel
from cfo_bench.models.saving import check_suffix, save
from cfo_bench.models.saving import load_model as load_model
from cfo_bench.records import Problem
from cfo_bench.registry import ESTIMATOR, family_of, label, reference_of
from cfo_bench.report.contents import plural
from cfo_bench.report.reading.load import Selection, is_among, load, refuse_unknown
from cfo_bench.results.comparison_record import ComparisonVerdict, read_record
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import FOREST, FOREST_LEARNER, LARGEST_LOSS, NOT_COMPARED, Run
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
        Whether `mean_score` is a mean of test scores, which requires one from every run.
    folds : int
        The number of folds in that mean; the same fold with another seed counts again.
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
    verdict : str or None
        The verdict of `cfo-bench compare` in the results folder, if it named this learner and method.
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
    verdict: str | None = None

    @property
    def header(self) -> Mapping[str, Any]:
        return to_mapping(self.run_header)

    @property
    def split(self) -> str | None:
        """How a column made the folds, such as `time:day`; the column is not a feature."""
        return self.run_header.data.split

    @property
    def weight(self) -> str | None:
        """The column with the weights of rows."""
        return self.run_header.data.weight

    @property
    def recipe(self) -> ModelRecipe:
        """The definition of the model; a UserError if the learner does not take the configuration."""
        learner = FOREST if self.method == FOREST else self.run_header.spec.learner
        return checked(
            ModelRecipe(learner, self.config, Problem(self.problem), self.seed, self.learner_options)
        )

    @property
    def active(self) -> Config:
        """The hyperparameters that have an effect: without those whose conditions do not hold."""
        space = self.run_header.search_space
        if space is None or {param.name for param in space} != set(self.config):
            return self.config
        return space.active(self.config)

    @property
    def scores_in_words(self) -> str:
        """The scores, each with its kind and the name of the metric."""
        name = self.run_header.metric_facts
        validation = f"validation {name} {self.validation_score:.4f} on fold {self.fold} (selected by it)"
        return validation if self.test_score is None else f"test {name} {self.test_score:.4f}, {validation}"

    @property
    def mean_in_words(self) -> str:
        """The mean score over folds, with its kind and the name of the metric."""
        kind = "test" if self.is_mean_of_test else "validation"
        mean = f"{kind} {self.run_header.metric_facts} {self.mean_score:.4f}"
        return f"{mean}, mean over {plural(self.folds, 'fold')} of {self.method}'s best of each fold"


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

    In a folder of `cfo-bench compare`, its verdict decides, unless learners or methods are given: the learner
    and method that it names come first. The reference forest, `random-forest` by `tuned-rf`, is only
    considered if it is given or named.

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
    verdict = None if learners or methods else _verdict(folders)
    wants_forest = FOREST in methods or FOREST_LEARNER in learners or (verdict and verdict.method == FOREST)
    excluded = {*NOT_COMPARED} - ({FOREST} if wants_forest else set())
    runs = [
        run
        for run in load(folders, Selection(tasks=tasks)).runs
        if run.method not in excluded and _incumbents(run).losses
    ]
    if not runs:
        raise UserError(f"no run in {' '.join(map(str, folders))} has a result yet: see cfo-bench status")
    for kind, names, available in (
        ("learner in these results", learners, set(map(_learner, runs))),
        ("method", methods, {run.method for run in runs}),
    ):
        refuse_unknown(kind, names, available)
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if not learners or is_among(_learner(run), learners):
            groups.setdefault((run.task, label(_learner(run))), []).append(run)
    best = []
    for group in groups.values():
        if candidates := [run for run in group if not methods or run.method in methods]:
            named = [run for run in candidates if verdict and _is_named(run, verdict)]
            sentence = verdict.sentence if verdict and named else None
            best.append(_best(group, named or candidates, sentence))
    return sorted(
        best,
        key=lambda best: (
            best.task,
            best.verdict is None,
            best.run_header.metric_facts.to_loss(best.mean_score),
        ),
    )


def _verdict(folders: Sequence[Path]) -> ComparisonVerdict | None:
    """The verdict of `cfo-bench compare` in the folder; None for several folders."""
    record = read_record(folders[0]) if len(folders) == 1 else None
    return None if record is None else record.verdict


def _is_named(run: Run, verdict: ComparisonVerdict) -> bool:
    return (run.task, _learner(run), run.method) == (verdict.task, verdict.learner, verdict.method)


def _learner(run: Run) -> str:
    """The learner that a run tunes; the reference forest is a separate learner."""
    return FOREST_LEARNER if run.method == FOREST else run.learner


def python_script(best: BestConfiguration, *, trust_learner: bool = False) -> str:
    """Write a Python script that trains the model and predicts with it, without cfo-bench.

    Parameters
    ----------
    best : BestConfiguration
        One of `best_configurations`.
    trust_learner : bool, default=False
        Whether to write the estimator that the results name into the script. It is code: set this only for
        results of your own, or of somebody whom you trust.

    Returns
    -------
    str
        The text of the script.

    Raises
    ------
    UserError
        The learner trains nothing, comes from a plug-in, or is an estimator that is not trusted.
    """
    _check_trust(best.run_header.spec.learner, trust_learner)
    build = best.run_header.cfo_bench
    version = build.version if build else ""
    no_features = [best.split.partition(":")[2]] if best.split else []
    no_features += [best.weight] if best.weight else []
    columns = ScriptColumns(
        target=best.target or "y",
        drop=tuple(dict.fromkeys([*best.dropped_columns, *no_features])),
        weight=best.weight,
        target_encoded=best.run_header.data.target_encoded,
    )
    return script(
        best.recipe,
        columns,
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
    trusted : list of str
        The value of `trusted` that `load_model` needs.
    """

    files: list[Path]
    rows: int
    same_data: bool
    trusted: list[str]


def fit_best(
    best: BestConfiguration,
    data: str | Path,
    out: str | Path,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    drop_missing_target: bool = False,
    threads: int | None = None,
    trust_learner: bool = False,
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
        Whether to leave out rows without a target. They are always left out if the search did so.
    threads : int or None, default=None
        The number of threads; None: the number of cores.
    trust_learner : bool, default=False
        Whether to import the estimator that the results name. It is code: set this only for results of your
        own, or of somebody whom you trust.

    Returns
    -------
    FittedModel
        The files, and whether the data is that of the search.

    Raises
    ------
    UserError
        The suffix is not one of the learner's, the target is not known, the file can't be read, or the
        learner is an estimator that is not trusted.
    """
    out, recipe = Path(out), best.recipe
    check_suffix(recipe, out)
    _check_trust(recipe.learner, trust_learner)
    column = target or best.target
    if column is None:
        raise UserError(f"--fit {data} needs --target: the name of the column to predict")
    ref = file_ref(
        Path(data),
        column,
        recipe.problem,
        drop or best.dropped_columns,
        drop_missing_target or bool(best.run_header.data.dropped_rows),
        best.split,
        best.weight,
    )
    table, _ = load_data_set(ref)
    table = replace(table, target_encoded=best.run_header.data.target_encoded)  # as in the search
    model = train(recipe, on_all_rows(table), threads or machine.cores())
    sha256 = table.sha256()
    files = save(out, recipe, model, table, _provenance(best, table, str(ref.path), sha256))
    kind: object = kind_of(recipe.learner)
    trusted = kind.to_trust(files[0].read_bytes(), recipe) if isinstance(kind, EstimatorModel) else []
    return FittedModel(files, len(table.y), sha256 == best.run_header.data.sha256, trusted)


def _check_trust(learner: str, trust_learner: bool) -> None:
    """A UserError if the results name an estimator as the learner, and the caller does not trust them."""
    if family_of(learner) == ESTIMATOR and not trust_learner:
        raise UserError(
            f"the results name {reference_of(learner)} as the estimator, which is code: if the results are "
            "yours, give --trust-learner (in Python, trust_learner=True)"
        )


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
    """The incumbents among trials on all rows; all incumbents if a run has no such trials."""
    full = run.digest.full_incumbents
    return full if full.losses else run.digest.incumbents


def _final_loss(run: Run) -> float:
    return min(max(_incumbents(run).losses[-1], -LARGEST_LOSS), LARGEST_LOSS)


def _best(runs: Sequence[Run], candidates: Sequence[Run], verdict: str | None) -> BestConfiguration:
    """The best of the `candidates`, a subset of the `runs` of one task and learner."""
    losses: dict[tuple[int, int], list[float]] = {}
    for run in runs:
        losses.setdefault((run.fold, run.seed), []).append(_final_loss(run))

    def badness(run: Run) -> tuple[float, float]:
        return _final_loss(run) - fmean(losses[run.fold, run.seed]), _final_loss(run)

    chosen = min(candidates, key=badness)
    header, incumbents = chosen.header, _incumbents(chosen)
    metric = header.metric_facts
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
        learner=label(_learner(chosen)),
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
        folds=len(same_method),
        problem=str(header.problem),
        target=header.data.target,
        dropped_columns=tuple(header.data.dropped_columns or ()),
        learner_options=_options(chosen),
        trace=str(chosen.path),
        run_header=header,
        verdict=verdict,
    )


def _options(run: Run) -> Mapping[str, Any]:
    """The options of the model; for the reference forest, those of its method."""
    return run.spec.options if run.method == FOREST else run.spec.learner_options


def _fixed(run: Run, config: Config) -> dict[str, Any]:
    """The fixed settings of a built-in learner; empty for any other."""
    learner = FOREST if run.method == FOREST else run.learner
    try:
        kind = kind_of(learner)
        options = checked_options(learner, _options(run))
        return kind.fixed(ModelRecipe(learner, config, run.header.problem, run.seed, options))
    except UserError:
        return {}
