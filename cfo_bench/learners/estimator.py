"""Any estimator of scikit-learn's kind as a learner: `fit`, `predict`, `get_params` and `set_params`.

A pipeline, and an estimator that contains one, receives frames of pandas, in which each column has its own
type. Any other estimator receives the encoded array. If it does not accept missing values (by its tags), it
receives a dense matrix, like `knn` and `dnn`.

`Estimator` is the learner of a user's estimator. It contains a description that can be written to a suite
file or a trace and sent to another process. The estimator is imported when the space is first needed.
`EstimatorObjective` trains and validates; learners of cfo-bench use it with their own estimators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Literal

import numpy as np

from cfo_bench.clock import Deadline
from cfo_bench.errors import UserError
from cfo_bench.learners import object_description as objects
from cfo_bench.learners.dense import DenseRows, dense_levels
from cfo_bench.learners.evaluation import (
    FitAndPredict,
    RowLevels,
    check_deadline,
    training_part,
    training_weight,
)
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, FoldFrames, Problem, Trial
from cfo_bench.registry import ESTIMATOR
from cfo_bench.space import Config, Space

# The input of an estimator: a frame of pandas, the encoded array, or a dense matrix.
Features = Literal["frame", "array", "dense"]


class Estimator:
    """Any estimator of scikit-learn's kind as a learner.

    Parameters
    ----------
    estimator : object, class, function or str
        An estimator such as a Pipeline, its class, a function that returns one, or a reference to a class or
        function: `package.module.Name` or `path/to/file.py:name`.
    space : Space
        The hyperparameters, under the names that `set_params` takes: `svc__C` is `C` of the step `svc`. A
        hyperparameter may be conditional (`when`); an inactive one is not passed to the estimator.
    start : mapping of str to value
        The configuration that every method starts from: one that trains quickly.
    cost_related : sequence of str, default=()
        The hyperparameters that decide how long a trial takes, at their low-cost values in `start`.
    fixed : mapping of str to value, optional
        Further parameters of the estimator.

    Raises
    ------
    UserError
        The estimator can't be described for another process, for instance because it contains a lambda; or
        `cost_related` or `fixed` does not fit the space.
    SpaceError
        `start` is not in the space.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from cfo_bench import Estimator, Float, Space, Suite
    >>> space = Space([Float("svc__C", 0.01, 100.0, log=True)])
    >>> learner = Estimator(make_pipeline(StandardScaler(), SVC()), space, {"svc__C": 1.0})
    >>> Suite(tasks=["iris"], learners=[learner], methods=["cfo"], budget_seconds=10).learners[0].name
    'estimator:sklearn.pipeline.Pipeline'
    """

    virtual = False
    # Training does not check the deadline; the supervisor ends a late trial.
    checks_deadline = False

    def __init__(
        self,
        estimator: Any,
        space: Space,
        start: Config,
        *,
        cost_related: Sequence[str] = (),
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        self.reference, parameters = _described(estimator)
        self.fixed: dict[str, Any] = {**parameters, **objects.described(dict(fixed or {}))}
        self._space, self._start, self.cost_related = space, space.check(start), tuple(cost_related)
        for name in self.cost_related:
            if name not in self._start:
                raise UserError(f"cost_related has {name!r}: choose from {', '.join(self._start)}")
        for name in self.fixed:
            if name in self._start:
                raise UserError(f"{name!r} is fixed and in the space: leave it out of one of them")

    @property
    def name(self) -> str:
        """The name of the learner in suites and traces."""
        return f"{ESTIMATOR}:{self.reference}"

    @property
    def options(self) -> dict[str, Any]:
        """The options of the learner in suites and traces."""
        return {
            "space": self._space.to_json(),
            "start": self._start,
            "cost_related": list(self.cost_related),
            "fixed": self.fixed or None,
        }

    @cached_property
    def model(self) -> Any:
        """The unfitted estimator. Imports it, and checks that it accepts the parameters of the start."""
        from sklearn.base import clone

        model = objects.build_object(self.reference, self.fixed)
        for needed in ("fit", "predict", "get_params", "set_params"):
            if not callable(getattr(model, needed, None)):
                raise UserError(
                    f"{self.reference} has no {needed}(): name an estimator of scikit-learn's kind"
                )
        objects.with_parameters(clone(model), self._space.active(self._start), self.reference)
        return model

    @property
    def problems(self) -> tuple[Problem, ...]:
        from sklearn.base import is_classifier, is_regressor

        try:
            if is_classifier(self.model):
                return (Problem.BINARY, Problem.MULTICLASS)
            if is_regressor(self.model):
                return (Problem.REGRESSION,)
        except AttributeError:  # it has no tags
            pass
        raise UserError(
            f"{self.reference} is neither a classifier nor a regressor by scikit-learn's tags: "
            "extend ClassifierMixin or RegressorMixin, and BaseEstimator"
        )

    @property
    def takes_weights(self) -> bool:
        return weight_name(self.model) is not None

    def space(self, n_rows: int) -> Space:
        _ = self.model  # a wrong reference or parameter is reported before the first run
        return self._space

    def start(self, space: Space) -> Config:
        return dict(self._start)

    def prepare(self, fold: Fold, threads: int, seed: int) -> EstimatorObjective:
        return EstimatorObjective(fold, threads, seed, self.model, self._space)


@cache
def named(reference: str) -> type[Estimator]:
    """The class of the learner `estimator:REFERENCE`, whose options describe the search."""
    if not objects.is_reference(reference):
        raise UserError(f"learner '{ESTIMATOR}:{reference}': {objects.REFERENCE_RULE}")

    class Named(Estimator):
        __doc__ = f"The estimator {reference}."

        def __init__(
            self,
            *,
            space: list[Any] | None = None,
            start: dict[str, Any] | None = None,
            cost_related: list[str] | None = None,
            fixed: dict[str, Any] | None = None,
        ) -> None:
            if not space:
                raise UserError(
                    f"estimator {reference} has no space: describe both in a file, and give "
                    "--learner FILE.yaml (see docs/learners.md)"
                )
            try:
                searched = Space.from_json(space)
            except (LookupError, TypeError, AttributeError):
                raise UserError(f"the trace has no valid search space of {reference}: {space!r}") from None
            super().__init__(reference, searched, start or {}, cost_related=cost_related or (), fixed=fixed)

    return Named


def _described(estimator: Any) -> tuple[str, dict[str, Any]]:
    """The reference and the parameters of an estimator."""
    if isinstance(estimator, str):
        if not objects.is_reference(estimator):
            raise UserError(f"estimator {estimator!r}: {objects.REFERENCE_RULE}")
        return estimator, {}
    description = objects.described(estimator)
    if not isinstance(description, dict) or not {objects.OBJECT, objects.IMPORT} & set(description):
        raise UserError(
            f"estimator {estimator!r}: give an estimator, its class, or a function that returns one"
        )
    reference = description.get(objects.OBJECT) or description[objects.IMPORT]
    return reference, description.get(objects.PARAMETERS, {})


# --- training and validation ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FittedEstimator:
    """A trained estimator, and how features are encoded for it."""

    model: Any
    features: Features
    n_classes: int  # 0 for regression
    rows: DenseRows | None  # None unless the features are dense

    def predict(self, x: Any) -> Array:
        """Predictions for metrics: scores of class 1, rows of probabilities, or numbers."""
        return predictions(self.model, x, self.n_classes)


class EstimatorObjective(FitAndPredict[FittedEstimator]):
    """Trains copies of an estimator on one fold.

    `model` is the unfitted estimator; it receives the values of a configuration that are active in `space`.
    """

    def __init__(self, fold: Fold, threads: int, seed: int, model: Any, space: Space) -> None:
        from sklearn.base import clone
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads)  # some estimators use all threads of OpenMP or BLAS
        super().__init__(fold)
        self._space, self._model = space, with_seed_and_threads(clone(model), seed, threads)
        self._features = features_of(self._model)
        self._frames = _frames_of(fold) if self._features == "frame" else None
        self._dense = dense_levels(fold, seed) if self._features == "dense" else None
        self._plain = RowLevels(fold, seed, self._part) if self._dense is None else None
        self._weight = RowLevels(fold, seed, partial(training_weight, fold))

    def _part(self, rows: Array | None) -> tuple[Any, Array]:
        """Features and targets of these training rows; of all training rows for None."""
        x, y = training_part(self._fold, rows)
        if self._frames is None:
            return without_empty_columns(x), y
        return (self._frames.train if rows is None else self._frames.train.iloc[rows]), y

    def _fit(self, trial: Trial, deadline: Deadline) -> FittedEstimator:
        from sklearn.base import clone

        check_deadline(deadline)
        rows = None if self._dense is None else self._dense.on(trial.rows)
        if rows is not None:
            x, y = rows.train_x, rows.train_y
        elif self._plain is not None:
            x, y = self._plain.on(trial.rows)
        model = clone(self._model).set_params(**self._space.active(trial.config))
        model = fitted(model, x, y, self._weight.on(trial.rows))
        return FittedEstimator(model, self._features, self._fold.n_classes, rows)

    def _predict(self, model: FittedEstimator, x: Any, deadline: Deadline) -> Array:
        check_deadline(deadline)
        return model.predict(x)

    def _valid_x(self, model: FittedEstimator) -> Any:
        if model.rows is not None:
            return model.rows.valid_x
        return super()._valid_x(model) if self._frames is None else self._frames.valid

    def _test_x(self, model: FittedEstimator) -> Any:
        if self._frames is not None:
            return self._frames.test
        x = super()._test_x(model)
        return x if model.rows is None else model.rows.encoder.transform(x)


def with_seed_and_threads(model: Any, seed: int, threads: int) -> Any:
    """The estimator with its `random_state` and `n_jobs`, and those of its parts, unless they are set."""
    parameters = model.get_params(deep=True)
    values: dict[str, int] = {}
    for path, value in parameters.items():
        owner, _, name = path.rpartition("__")
        # Without a number, scikit-learn has 1 thread, and other packages have all cores.
        is_single = threads == 1 and type(parameters.get(owner, model)).__module__.startswith("sklearn.")
        if value is None and name == "random_state":
            values[path] = seed
        elif value is None and name == "n_jobs" and not is_single:
            values[path] = threads
    return model.set_params(**values)


def _frames_of(fold: Fold) -> FoldFrames:
    if fold.frames is None:
        raise UserError(
            "a pipeline needs the columns of a table, and this task has none: choose another task"
        )
    return fold.frames()


# Copied into the script of `cfo-bench best --python`, like `with_seed_and_threads`: no imports of cfo_bench.


def without_empty_columns(x: Array) -> Array:
    """Zeros in the columns without any value, which scikit-learn's gradient boosting can't bin."""
    is_empty = np.isnan(x).all(axis=0)
    return np.where(is_empty, np.float32(0), x) if is_empty.any() else x


def features_of(model: Any) -> Features:
    """What an estimator is given, by scikit-learn's tags."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    parts = [model, *model.get_params(deep=True).values()]
    if any(isinstance(part, Pipeline | ColumnTransformer) for part in parts):
        return "frame"
    return "array" if get_tags(model).input_tags.allow_nan else "dense"


def weight_name(model: Any) -> str | None:
    """The parameter of `fit` for the weights of rows; of a pipeline, that of its last step. None: none."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        name = weight_name(last)
        return None if name is None else f"{step}__{name}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def fitted(model: Any, x: Any, y: Array, weight: Array | None = None) -> Any:
    """The estimator, trained. Its jobs are threads: a process could not import a class of a local file."""
    import warnings

    from joblib import parallel_config

    options = {} if weight is None else {str(weight_name(model)): weight}
    with parallel_config(backend="threading"), warnings.catch_warnings():
        # scikit-learn 1.8 deprecates the parameter where it does nothing.
        warnings.filterwarnings("ignore", "'n_jobs' has no effect", FutureWarning)
        model.fit(x, y, **options)
    return model


def predictions(model: Any, x: Any, n_classes: int) -> Array:
    """Numbers; or the probability of the second of two classes, or of each of several.

    An estimator without probabilities has decision values, which are mapped to (0, 1) in their order for two
    classes, and by the softmax for several; or else the predicted class has the probability 1.
    """
    from joblib import parallel_config

    with parallel_config(backend="threading"):
        if not n_classes:
            return np.asarray(model.predict(x), dtype=np.float64).reshape(len(x))
        shares: Array = np.zeros((len(x), n_classes))
        if hasattr(model, "predict_proba"):
            # A class that the training rows lack has a share of 0.
            shares[:, model.classes_] = model.predict_proba(x)
        elif hasattr(model, "decision_function"):
            values = np.asarray(model.decision_function(x), dtype=np.float64)
            if values.ndim == 1:
                second = 0.5 + 0.5 * values / (1 + np.abs(values))
                shares[:, model.classes_] = np.column_stack([1 - second, second])
            else:
                powers = np.exp(values - values.max(axis=1, keepdims=True))
                shares[:, model.classes_] = powers / powers.sum(axis=1, keepdims=True)
        else:
            shares[np.arange(len(x)), np.asarray(model.predict(x)).reshape(len(x)).astype(int)] = 1.0
        return shares[:, 1] if n_classes == 2 else shares
