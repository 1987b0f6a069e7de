"""Models of scikit-learn's estimators: the estimator written out in a script, a skops file.

skops reads a file without running code from it: a type that is not known to be safe is loaded only if the
user names it.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cfo_bench.errors import SpaceError, UserError, describe
from cfo_bench.learners import estimator, hist_gradient_boosting
from cfo_bench.learners import object_description as objects
from cfo_bench.learners.dense import Encoder
from cfo_bench.learners.estimator import FittedEstimator, predictions
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants, literal
from cfo_bench.models.script import dense_code
from cfo_bench.registry import (
    ESTIMATOR,
    LOCAL_MODULE,
    imported_module,
    is_python_file,
    label,
    reference_of,
)
from cfo_bench.space import Config, Space

_CODE = """
{imports}

{parameters}
SEED = {seed}
{dense}

Any, Features = object, str


{functions}

def make_model():
    model = {model}
    return with_seed_and_threads(model.set_params(**PARAMETERS), SEED, os.cpu_count())


FEATURES = features_of(make_model())  # "frame", "array", or "dense": an array without gaps
if FEATURES == "frame":
    TARGET_ENCODED = []  # the pipeline encodes texts


def features(frame, columns, y=None):
    return typed(frame, columns) if FEATURES == "frame" else encode(frame, columns, y)


def typed(frame, columns):
    data = {{}}
    for name, kind in columns.items():
        if kind is None:
            data[name] = pd.to_numeric(frame[name]).astype(np.float64).replace([np.inf, -np.inf], np.nan)
        elif kind == "date":
            data[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True).dt.tz_localize(None)
        else:
            texts = frame[name].astype(object).map(str, na_action="ignore")
            new = sorted(set(texts.dropna()) - set(kind))
            data[name] = texts.astype(pd.CategoricalDtype([*kind, *new]))
    return pd.DataFrame(data)


def train_model(x, y, is_category, n_classes, weight=None):
    columns = fit_columns(x, is_category) if FEATURES == "dense" else None
    if FEATURES == "dense":
        x = dense_matrix(x, columns)
    elif FEATURES == "array":
        x = without_empty_columns(x)
    return fitted(make_model(), x, y, weight), columns, n_classes


def predict_model(trained, x):
    model, columns, n_classes = trained
    return predictions(model, x if columns is None else dense_matrix(x, columns), n_classes)
"""
# The functions of the learner that are copied into the script.
_FUNCTIONS = (
    estimator.with_seed_and_threads,
    estimator.without_empty_columns,
    estimator.features_of,
    estimator.weight_name,
    estimator.fitted,
    estimator.predictions,
)


class EstimatorModel:
    suffixes = (".skops",)
    is_parsed_natively = False
    # Types that a file may contain besides those that skops knows to be safe: they contain only values.
    safe_types: tuple[str, ...] = ("numpy.dtype", "sklearn.compose._column_transformer.make_column_selector")

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        fixed = recipe.options.get("fixed")
        return dict(fixed) if isinstance(fixed, Mapping) else {}

    def code(self, recipe: ModelRecipe) -> str:
        imports: set[str] = set()
        return _CODE.format(
            model=_call(self.reference(recipe), self.fixed(recipe), imports, is_own=True),
            imports="\n".join(sorted({"import os", *imports})),
            parameters=constants("PARAMETERS", self.searched(recipe), {}),
            seed=literal(recipe.seed),
            dense=dense_code(),
            functions="\n\n".join(inspect.getsource(function) for function in _FUNCTIONS),
        )

    def reference(self, recipe: ModelRecipe) -> str:
        return reference_of(recipe.learner)

    def searched(self, recipe: ModelRecipe) -> Config:
        """The hyperparameters that are active in the configuration."""
        try:
            return Space.from_json(recipe.options["space"]).active(recipe.config)
        except (SpaceError, LookupError, TypeError, AttributeError):
            raise UserError(
                f"the results do not describe the space of {recipe.learner}: run it again"
            ) from None

    def content(self, model: FittedEstimator, suffix: str) -> bytes:
        import skops.io

        try:
            content: bytes = skops.io.dumps(model.model)
        except Exception as error:  # a type may forbid it
            raise UserError(
                f"{type(model.model).__name__} can't be saved by skops: {describe(error)}"
            ) from error
        return content

    def facts(self, model: FittedEstimator) -> dict[str, Any]:
        dense = {} if model.rows is None else {"dense": model.rows.encoder.columns}
        return {"features": model.features, **dense}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Any], Array]:
        model = self.loaded(content, recipe)
        facts, n_classes = about["model_facts"], len(about["classes"])
        encoder = Encoder(facts["dense"]) if "dense" in facts else None
        return lambda x: predictions(model, x if encoder is None else encoder.transform(x), n_classes)

    def loaded(self, content: bytes, recipe: ModelRecipe) -> Any:
        """The estimator in a file; a UserError names its types that are not trusted."""
        import skops.io

        types, others = self._types(content, recipe)
        if others:
            raise UserError(
                f"the file holds {', '.join(others)}: if you trust their code, give load_model(…, "
                f"trusted={[*recipe.trusted, *_names(others, recipe)]})"
            )
        for module, file in _local_modules(recipe).items():
            imported_module(file, module)
        try:
            return skops.io.loads(content, trusted=types)
        except Exception as error:
            raise UserError(f"the model can't be loaded: {describe(error)}") from error

    def to_trust(self, content: bytes, recipe: ModelRecipe) -> list[str]:
        """The argument `trusted` that `load_model` needs for a file."""
        return _names(self._types(content, recipe)[1], recipe)

    def _types(self, content: bytes, recipe: ModelRecipe) -> tuple[list[str], list[str]]:
        """The types in a file that skops does not know to be safe, and those that the user does not trust."""
        import skops.io

        trusted, modules = {*self.safe_types, *recipe.trusted}, _local_modules(recipe)
        try:
            types = skops.io.get_untrusted_types(data=content)
        except Exception as error:
            raise UserError(f"this is not a skops file ({describe(error)}): fit it again") from error
        return types, [
            name for name in types if name not in trusted and name.partition(".")[0] not in modules
        ]


class HistGradientBoostingModel(EstimatorModel):
    # An array of the nodes of a tree.
    safe_types = ("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",)

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        return hist_gradient_boosting.FIXED

    def reference(self, recipe: ModelRecipe) -> str:
        return hist_gradient_boosting.reference(recipe.problem)

    def searched(self, recipe: ModelRecipe) -> Config:
        return recipe.config


def _local_modules(recipe: ModelRecipe) -> dict[str, str]:
    """The trusted files, by their module names."""
    return {LOCAL_MODULE + Path(name).stem: name for name in recipe.trusted if name.endswith(".py")}


def _names(types: list[str], recipe: ModelRecipe) -> list[str]:
    """The names to trust for these types; types of a local file are trusted by the name of the file."""
    reference = reference_of(recipe.learner)
    file = reference.rpartition(":")[0] if is_python_file(reference) else ""
    local = f"{LOCAL_MODULE}{Path(file).stem}." if file else None
    return list(dict.fromkeys(file if local and name.startswith(local) else name for name in types))


# --- a description as Python --------------------------------------------------------------------------


def _expression(description: Any, imports: set[str]) -> str:
    """The expression that makes the described object; the modules that it needs are added to `imports`.

    The description may come from somebody else: only its literals and checked names become code.
    """
    if isinstance(description, list):
        return f"[{', '.join(_expression(item, imports) for item in description)}]"
    if not isinstance(description, Mapping):
        return literal(description)
    if objects.OBJECT in description:
        parameters = description.get(objects.PARAMETERS, {})
        return _call(
            description[objects.OBJECT], parameters if isinstance(parameters, Mapping) else {}, imports
        )
    if set(description) == {objects.IMPORT}:
        return _name(description[objects.IMPORT], imports)
    if set(description) == {objects.TUPLE}:
        items = description[objects.TUPLE]
        return f"tuple({_expression(items if isinstance(items, list) else [], imports)})"
    pairs = (f"{literal(key)}: {_expression(item, imports)}" for key, item in description.items())
    return f"{{{', '.join(pairs)}}}"


def _call(reference: Any, parameters: Mapping[str, Any], imports: set[str], is_own: bool = False) -> str:
    """A call as in `build_object`: a function gets no arguments, and parameters of parts are set afterwards.

    The user's estimator may be a function, whose name is in lower case; a part of it is always a class.
    """
    name = _name(reference, imports)
    is_function = is_own and label(f"{ESTIMATOR}:{reference}")[0].islower()
    values = {key: _expression(value, imports) for key, value in parameters.items()}
    first = {key: value for key, value in values.items() if not is_function and "__" not in key}
    rest = {key: value for key, value in values.items() if key not in first}
    made = f"{name}({_arguments(first)})"
    return f"{made}.set_params({_arguments(rest)})" if rest else made


def _arguments(values: Mapping[str, str]) -> str:
    if all(key.isidentifier() and not keyword.iskeyword(key) for key in values):
        return ", ".join(f"{key}={value}" for key, value in values.items())
    return "**{" + ", ".join(f"{literal(key)}: {value}" for key, value in values.items()) + "}"


def _name(reference: Any, imports: set[str]) -> str:
    if not isinstance(reference, str) or not objects.is_reference(reference):
        raise UserError(f"the results name {reference!r} as an estimator: {objects.REFERENCE_RULE}")
    if is_python_file(reference):
        imports.add("import runpy")
        file, _, name = reference.rpartition(":")
        return f"runpy.run_path({literal(file)})[{literal(name)}]"
    imports.add(f"import {reference.rpartition('.')[0]}")
    return reference
