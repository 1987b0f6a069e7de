"""Any estimator of scikit-learn's kind as a learner: its features, its parameters and its predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cfo_bench import Categorical, Estimator, Float, Int, Space, Trial
from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.errors import UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.learners.dense import dense_levels
from cfo_bench.learners.evaluation import shuffled_order
from cfo_bench.learners.object_description import build, described
from cfo_bench.records import Fold, Problem, Status
from cfo_bench.tasks import file_ref
from cfo_bench.tasks.loading import load_fold
from tests.helpers.clocks import forever
from tests.helpers.folds import make_fold
from tests.helpers.losses import sklearn_loss

LEAVES = Space([Int("max_leaf_nodes", 2, 50, log=True)])


def loss_of(learner: Estimator, fold: Fold, trial: Trial, seed: int = 0) -> float | None:
    result = learner.prepare(fold, threads=1, seed=seed).evaluate(trial, forever())
    assert result.status is Status.OK, result.error
    return result.loss


# --- plain estimators -------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", Problem)
def test_an_estimator_that_accepts_missing_values_gets_the_encoded_array(problem: Problem) -> None:
    fold = make_fold(problem)
    tree = DecisionTreeRegressor if problem is Problem.REGRESSION else DecisionTreeClassifier

    loss = loss_of(Estimator(tree, LEAVES, {"max_leaf_nodes": 8}), fold, Trial(0, {"max_leaf_nodes": 9}), 5)

    expected = tree(max_leaf_nodes=9, random_state=5).fit(fold.train_x, fold.train_y)
    assert loss == pytest.approx(sklearn_loss(fold, expected, fold.valid_x))


@pytest.mark.parametrize("problem", Problem)
def test_an_estimator_that_refuses_missing_values_gets_dense_features(problem: Problem) -> None:
    fold = make_fold(problem)
    linear: Any = Ridge if problem is Problem.REGRESSION else LogisticRegression
    name = "alpha" if problem is Problem.REGRESSION else "C"

    loss = loss_of(
        Estimator(linear, Space([Float(name, 0.1, 9.0)]), {name: 1.0}), fold, Trial(0, {name: 2.0})
    )

    rows = dense_levels(fold, 0).on(None)
    expected = linear(**{name: 2.0}, random_state=0).fit(rows.train_x, rows.train_y)
    assert loss == pytest.approx(sklearn_loss(fold, expected, rows.valid_x))


def test_threads_for_an_estimator_whose_n_jobs_has_no_effect_are_no_warning() -> None:
    learner = Estimator(LogisticRegression, Space([Float("C", 0.1, 9.0)]), {"C": 1.0})
    objective = learner.prepare(make_fold(Problem.BINARY), threads=2, seed=0)

    result = objective.evaluate(Trial(0, {"C": 1.0}), forever())  # a warning would be an error here

    assert result.status is Status.OK, result.error


def test_a_regressor_takes_regression_and_a_classifier_the_two_other_problems() -> None:
    assert Estimator(DecisionTreeRegressor, LEAVES, {"max_leaf_nodes": 2}).problems == (Problem.REGRESSION,)
    classifier = Estimator(DecisionTreeClassifier, LEAVES, {"max_leaf_nodes": 2})
    assert classifier.problems == (Problem.BINARY, Problem.MULTICLASS)


@pytest.mark.parametrize("problem", [Problem.BINARY, Problem.MULTICLASS])
def test_decision_values_order_the_rows_as_probabilities_do(problem: Problem) -> None:
    fold = make_fold(problem)
    learner = Estimator(RidgeClassifier, Space([Float("alpha", 0.1, 9.0)]), {"alpha": 1.0})
    objective = learner.prepare(fold, threads=1, seed=0)
    fitted = objective.fitted({"alpha": 1.0})
    assert fitted.rows is not None

    shares = fitted.predict(fitted.rows.valid_x)
    values = fitted.model.decision_function(fitted.rows.valid_x)

    assert np.all((shares > 0) & (shares < 1))
    if problem is Problem.BINARY:
        assert np.array_equal(np.argsort(shares), np.argsort(values))
        assert np.array_equal(shares > 0.5, values > 0)
    else:
        assert np.allclose(shares.sum(axis=1), 1)
        assert np.array_equal(shares.argmax(axis=1), values.argmax(axis=1))


def test_a_class_that_the_rows_of_a_trial_lack_has_the_probability_0() -> None:
    fold = make_fold(Problem.MULTICLASS)
    learner = Estimator(DecisionTreeClassifier, LEAVES, {"max_leaf_nodes": 2})
    objective = learner.prepare(fold, threads=1, seed=0)

    result = objective.evaluate(Trial(0, {"max_leaf_nodes": 2}, rows=2), forever())

    assert len(np.unique(fold.train_y[shuffled_order(fold, 0)[:2]])) < fold.n_classes
    assert result.status is Status.OK and result.loss is not None and result.loss > 5


def test_a_passed_deadline_ends_a_trial_before_it_trains() -> None:
    learner = Estimator(DecisionTreeClassifier, LEAVES, {"max_leaf_nodes": 2})
    objective = learner.prepare(make_fold(Problem.BINARY), threads=1, seed=0)

    result = objective.evaluate(Trial(0, {"max_leaf_nodes": 2}), Deadline(VirtualClock(5.0), at=4.0))

    assert result.status is Status.TIMEOUT


# --- parameters -------------------------------------------------------------------------------------


class Remembers(ClassifierMixin, BaseEstimator):
    """Remembers the parameters of each copy that was trained."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def __init__(
        self, kind: str = "a", depth: int = -1, random_state: Any = None, n_jobs: Any = None
    ) -> None:
        self.kind, self.depth, self.random_state, self.n_jobs = kind, depth, random_state, n_jobs

    def fit(self, x: Any, y: Any) -> Remembers:
        Remembers.seen.append(self.get_params())
        self.classes_ = np.unique(y)
        return self

    def predict(self, x: Any) -> Any:
        return np.full(len(x), self.classes_[0])


def trained_with(learner: Estimator, config: dict[str, Any]) -> dict[str, Any]:
    learner.prepare(make_fold(Problem.BINARY), threads=3, seed=7).evaluate(Trial(0, config), forever())
    return Remembers.seen[-1]


CONDITIONAL = Space([Categorical("kind", ["a", "b"]), Int("depth", 1, 9, when={"kind": "b"})])


@pytest.mark.parametrize(("kind", "depth"), [("a", -1), ("b", 5)])
def test_an_inactive_hyperparameter_is_not_passed_on(kind: str, depth: int) -> None:
    learner = Estimator(Remembers, CONDITIONAL, {"kind": "b", "depth": 1})
    assert trained_with(learner, {"kind": kind, "depth": 5})["depth"] == depth


def test_seed_and_threads_are_those_of_the_run_unless_they_are_fixed() -> None:
    config = {"kind": "a", "depth": 1}
    open_one = trained_with(Estimator(Remembers(), CONDITIONAL, config), config)
    fixed = trained_with(
        Estimator(Remembers(random_state=1), CONDITIONAL, config, fixed={"n_jobs": 2}), config
    )

    assert (open_one["random_state"], open_one["n_jobs"]) == (7, 3)
    assert (fixed["random_state"], fixed["n_jobs"]) == (1, 2)


def test_an_unknown_parameter_is_reported_with_the_nearest_one() -> None:
    learner = Estimator(
        "sklearn.tree.DecisionTreeClassifier", Space([Int("max_leaf_node", 2, 9)]), {"max_leaf_node": 2}
    )
    with pytest.raises(
        UserError, match=r"has no parameter 'max_leaf_node' \(did you mean 'max_leaf_nodes'\?\)"
    ):
        learner.space(100)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("sklearn.tree.DecisionTre", "sklearn.tree has no 'DecisionTre' .did you mean"),
        ("no_such_package.Model", "estimator 'no_such_package.Model' can't be imported"),
        ("missing.py:make", "no file 'missing.py'"),
        ("sklearn.metrics.accuracy_score", "sklearn.metrics.accuracy_score can't be built"),
        ("collections.OrderedDict", r"collections.OrderedDict has no fit\(\)"),
        ("sklearn.preprocessing.StandardScaler", "has no predict"),
    ],
)
def test_what_is_no_estimator_is_refused_in_one_line(reference: str, message: str) -> None:
    learner = Estimator(reference, Space([Int("depth", 1, 9)]), {"depth": 1})
    with pytest.raises(UserError, match=message) as caught:
        learner.space(100)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reference", ["forest", "os.system('x')", "a b.c", "x.py:", "../mine.py"])
def test_a_name_that_is_no_reference_is_refused_before_anything_is_imported(reference: str) -> None:
    with pytest.raises(UserError, match=r"write package.module.Name, or path/to/file.py:name"):
        Estimator(reference, LEAVES, {"max_leaf_nodes": 2})
    with pytest.raises(UserError, match=r"write package.module.Name, or path/to/file.py:name"):
        LEARNERS.load(f"estimator:{reference}")


def test_what_is_fixed_is_not_searched_and_costs_are() -> None:
    with pytest.raises(UserError, match="'max_leaf_nodes' is fixed and in the space"):
        Estimator(DecisionTreeClassifier(max_leaf_nodes=3), LEAVES, {"max_leaf_nodes": 2})
    with pytest.raises(UserError, match="cost_related has 'leaves': choose from max_leaf_nodes"):
        Estimator(DecisionTreeClassifier, LEAVES, {"max_leaf_nodes": 2}, cost_related=["leaves"])


# --- descriptions -----------------------------------------------------------------------------------


def columns() -> Any:
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )


def test_an_estimator_is_built_again_from_its_description() -> None:
    pipeline = make_pipeline(columns(), FunctionTransformer(np.abs), SVC(C=2, tol=1e-4))
    description = json.loads(json.dumps(described(pipeline)))

    again = build(description)

    assert described(again) == description
    assert again.get_params()["svc__C"] == 2 and again.get_params()["functiontransformer__func"] is np.abs


def test_a_description_has_public_paths_and_no_defaults() -> None:
    assert described(make_pipeline(StandardScaler(), SVC(gamma=0.5))) == {
        "estimator": "sklearn.pipeline.Pipeline",
        "fixed": {
            "steps": [
                {"tuple": ["standardscaler", {"estimator": "sklearn.preprocessing.StandardScaler"}]},
                {"tuple": ["svc", {"estimator": "sklearn.svm.SVC", "fixed": {"gamma": 0.5}}]},
            ]
        },
    }


def test_a_lambda_has_no_description() -> None:
    with pytest.raises(
        UserError, match="can't be imported in another process: define it in a module or script"
    ):
        Estimator(make_pipeline(FunctionTransformer(lambda x: x), SVC()), LEAVES, {"max_leaf_nodes": 2})


# --- pipelines --------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file with numbers, dates and texts, some missing, whose target depends on each."""
    rng = np.random.default_rng(3)
    n = 200
    colours = rng.choice(["red", "green", "blue"], n)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    size = rng.normal(size=n)
    y = (size + (colours == "red") + (days.month > 6) + 0.3 * rng.normal(size=n) > 1).astype(int)
    frame = pd.DataFrame({"size": size, "day": days.strftime("%Y-%m-%d"), "colour": colours, "y": y})
    frame.loc[::9, "size"] = np.nan
    frame.loc[::11, "colour"] = None
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


@pytest.mark.parametrize("holdout_share", [None, 0.25])
def test_a_pipeline_gets_each_column_with_its_own_type(table: Path, holdout_share: float | None) -> None:
    fold, _ = load_fold(file_ref(table, "y"), 0, 5, 0, holdout_share)
    assert fold.frames is not None
    frames = fold.frames()

    types = {name: str(kind) for name, kind in frames.train.dtypes.items()}
    assert (
        types["size"] == "float64" and types["colour"] == "category" and types["day"].startswith("datetime64")
    )
    assert [len(frames.train), len(frames.valid)] == [len(fold.train_y), len(fold.valid_y)]
    assert (frames.test is None) == (holdout_share is None)
    assert set(frames.valid["colour"].dropna()) <= {"red", "green", "blue"}
    whole = pd.read_csv(table).set_index("size")
    row = frames.valid.dropna().iloc[0]
    assert (
        str(row["day"].date()) == whole.loc[row["size"], "day"]
        and row["colour"] == whole.loc[row["size"], "colour"]
    )


def test_a_pipeline_tunes_steps_and_its_loss_is_that_of_scikit_learn(table: Path) -> None:
    fold, _ = load_fold(file_ref(table, "y"), 0, 5, 0)
    pipeline = Pipeline([("columns", columns()), ("svc", SVC())])
    learner = Estimator(pipeline, Space([Float("svc__C", 0.1, 9.0)]), {"svc__C": 1.0})

    loss = loss_of(learner, fold, Trial(0, {"svc__C": 2.0}, rows=100))

    assert fold.frames is not None
    rows, frames = shuffled_order(fold, 0)[:100], fold.frames()
    expected = pipeline.set_params(svc__C=2.0).fit(frames.train.iloc[rows], fold.train_y[rows])
    assert loss == pytest.approx(1 - auc_of(fold.valid_y, expected.decision_function(frames.valid)))


def auc_of(truth: Any, score: Any) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, score))


def test_a_pipeline_on_a_task_without_columns_is_refused() -> None:
    learner = Estimator(make_pipeline(SVR()), Space([Float("svr__C", 0.1, 9.0)]), {"svr__C": 1.0})
    with pytest.raises(UserError, match="a pipeline needs the columns of a table"):
        learner.prepare(make_fold(Problem.REGRESSION), 1, 0)


def test_the_class_behind_the_name_in_a_trace_is_the_same_learner() -> None:
    learner = Estimator(
        make_pipeline(StandardScaler(), SVC()), Space([Float("svc__C", 0.1, 9.0)]), {"svc__C": 1.0}
    )
    options = LEARNERS.options(learner.name, json.loads(json.dumps(learner.options)))

    again = LEARNERS.load(learner.name)(**options)

    assert (again.name, again.options) == (learner.name, learner.options)
