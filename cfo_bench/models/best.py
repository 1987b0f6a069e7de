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
from cfo_bench.report.reading.digest import Digest, Steps
from cfo_bench.report.reading.load import Selection, load
from cfo_bench.results.compared import NOT_COMPARED
from cfo_bench.results.trial_digest import tested
from cfo_bench.space import Config
from cfo_bench.tasks import file_ref
from cfo_bench.tasks.loading import load_data_set

if TYPE_CHECKING:
    from cfo_bench.tasks.data_set import DataSet


@dataclass(frozen=True, slots=True)
class BestConfiguration:
    """The best configuration for a task and a learner: that of one run, on one fold."""

    task: str
    learner: str
    method: str
    fold: int
    seed: int
    config: Config
    fixed: Mapping[str, Any]  # settings that decide the model and are not searched; empty: not known
    metric: str
    validation_score: float  # the configuration was selected by it
    test_score: float | None  # on rows that no method has seen; None without `--validation holdout`
    mean_score: float  # of the method's best configurations over folds
    is_mean_of_test: bool  # whether that is the mean of test scores: every run has one
    folds: int
    problem: str
    target: str | None
    dropped_columns: Sequence[str]
    learner_options: Mapping[str, Any]
    trace: str
    header: Mapping[str, Any] = field(repr=False)  # the first line of the trace

    @property
    def recipe(self) -> ModelRecipe:
        return ModelRecipe(self.learner, self.config, Problem(self.problem), self.seed, self.learner_options)

    @property
    def scores_in_words(self) -> str:
        """Which score is which, with the name of the metric."""
        name = self.metric
        found = f"validation {name} {self.validation_score:.4f} on fold {self.fold} (selected by it)"
        return found if self.test_score is None else f"test {name} {self.test_score:.4f}, {found}"

    @property
    def mean_in_words(self) -> str:
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
    """One for each task and learner, over all methods or these; the learners of a task from the best on.

    Runs on different folds are made comparable by the mean loss of all methods on their fold. With one
    method, the lowest loss decides. Trials on part of the rows count only where a run has no others.

    results   one results folder, or several
    tasks     only these; empty: all
    learners  only these; empty: all
    methods   only these; empty: all
    returns   the configurations with their scores
    """
    folders = [Path(results)] if isinstance(results, str | Path) else [Path(one) for one in results]
    found: dict[tuple[str, str], list[Digest]] = {}
    for one in load(folders, selection=Selection(learners, tasks)).digests:
        if one.method not in NOT_COMPARED and _steps(one).losses:
            found.setdefault((one.task, label(one.learner)), []).append(one)
    if not found:
        raise UserError(f"no run in {' '.join(map(str, folders))} has a result yet: see cfo-bench status")
    known = {one.method for runs in found.values() for one in runs}
    for method in methods:
        if method not in known:
            raise UnknownNameError("method", method, known)
    best = [
        _best(runs, wanted)
        for runs in found.values()
        if (wanted := [one for one in runs if not methods or one.method in methods])
    ]
    return sorted(best, key=lambda one: (one.task, METRICS[one.metric].to_loss(one.mean_score)))


def python_script(best: BestConfiguration) -> str:
    """A script that trains this model with the plain library, and predicts with it.

    best     one of `best_configurations`
    returns  the text of the script
    """
    version = best.header.get("cfo_bench", {}).get("version", "")
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
    """A model that was trained on all rows and saved."""

    files: list[Path]  # the model, and the JSON beside it
    rows: int
    same_data: bool  # as in the search


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
    """Trains the model on all rows of a file and saves it, with its provenance in a JSON file beside it.

    best                 one of `best_configurations`
    data                 the file with the rows
    out                  the file for the model; its suffix is that of the library's own format
    target               the column to predict; None: that of the search
    drop                 columns to leave out; empty: those of the search
    drop_missing_target  leave out rows without a target
    threads              None: as many as there are cores
    returns              the files, and whether the data is that of the search
    """
    out, recipe = Path(out), best.recipe
    check_suffix(recipe, out)
    chosen = target or best.target
    if chosen is None:
        raise UserError(f"--fit {data} needs --target: the name of the column to predict")
    ref = file_ref(Path(data), chosen, recipe.problem, drop or best.dropped_columns, drop_missing_target)
    table, _ = load_data_set(ref)
    model = train(recipe, on_all_rows(table), threads or machine.cores())
    sha256 = table.sha256()
    files = save(out, recipe, model, table, _provenance(best, table, str(ref.path), sha256))
    return FittedModel(files, len(table.y), sha256 == best.header["data"].get("sha256"))


def _provenance(best: BestConfiguration, table: DataSet, path: str, sha256: str) -> dict[str, Any]:
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
            "data_sha256": best.header["data"].get("sha256"),
            "command": best.header.get("command"),
            "cfo_bench": best.header.get("cfo_bench"),
        },
        "trained_with": machine.provenance(),
    }


def _steps(one: Digest) -> Steps:
    return one.full if one.full.losses else one.steps


def _best(runs: Sequence[Digest], wanted: Sequence[Digest]) -> BestConfiguration:
    """The best of those `wanted` among the runs of one task and learner."""
    on_fold: dict[tuple[int, int], list[float]] = {}
    for one in runs:
        on_fold.setdefault((one.fold, one.seed), []).append(_steps(one).losses[-1])

    def badness(one: Digest) -> tuple[float, float]:
        loss = _steps(one).losses[-1]
        return loss - fmean(on_fold[one.fold, one.seed]), loss

    chosen = min(wanted, key=badness)
    steps, header = _steps(chosen), chosen.header
    spec, data, metric = header["spec"], header["data"], METRICS[chosen.metric]
    own = [one for one in runs if one.method == chosen.method]
    tests = [score for one in own for score in tested(_steps(one)).test_scores[-1:] if score is not None]
    is_tested = len(tests) == len(own)
    scores = tests if is_tested else [metric.to_score(_steps(one).losses[-1]) for one in own]
    return BestConfiguration(
        task=chosen.task,
        learner=label(chosen.learner),
        method=chosen.method,
        fold=chosen.fold,
        seed=chosen.seed,
        config=steps.best_config,
        fixed=_fixed(chosen),
        metric=chosen.metric,
        validation_score=metric.to_score(steps.losses[-1]),
        test_score=steps.test_scores[-1],
        mean_score=fmean(scores),
        is_mean_of_test=is_tested,
        folds=len({one.fold for one in own}),
        problem=chosen.problem,
        target=data.get("target"),
        dropped_columns=tuple(data.get("dropped_columns", ())),
        learner_options=spec.get("learner_options", {}),
        trace=chosen.path,
        header=header,
    )


def _fixed(one: Digest) -> dict[str, Any]:
    spec = one.header["spec"]
    recipe = ModelRecipe(
        one.learner, _steps(one).best_config, Problem(one.problem), one.seed, spec.get("learner_options", {})
    )
    try:
        return kind_of(one.learner).fixed(recipe)
    except UserError:  # a learner of somebody else
        return {}
