"""The Python script that trains a model with the plain library: no part of it is cfo-bench."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from cfo_bench.learners import dense
from cfo_bench.models.recipe import ModelRecipe, kind_of

# The part of a script that is the same for every learner: columns become numbers as in a run.
COMMON = '''
ISO_DATE = r"\\d{4}-\\d\\d-\\d\\d([T ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:?\\d\\d)?)?"
LARGEST = float(np.finfo(np.float32).max)


def read(path):
    """A table. Empty cells and ? are missing."""
    if path.endswith((".parquet", ".pq")):
        return pd.read_parquet(path)
    return pd.read_csv(path, skipinitialspace=True, na_values=["?"], low_memory=False)


def order(label):
    """Labels that are numbers come first, by their value, then the others as text."""
    try:
        value = float(label)
    except ValueError:
        value = math.nan
    return (False, value, label) if math.isfinite(value) else (True, 0.0, label)


def learn_columns(frame):
    """What each feature holds: None for numbers, "date", or the list of its categories."""
    columns = {}
    for name in frame.columns.drop([TARGET, *DROP]):
        values = frame[name].dropna()
        if pd.api.types.is_numeric_dtype(values) or values.empty:
            columns[name] = None
        elif pd.api.types.is_datetime64_any_dtype(values) or values.astype(str).str.fullmatch(ISO_DATE).all():
            columns[name] = "date"
        else:
            columns[name] = sorted(values.astype(str).unique(), key=order)
    return columns


def encode(frame, columns):
    """A float32 matrix. A category is its place in the list; a missing or new one is NaN."""
    x = np.empty((len(frame), len(columns)), dtype=np.float32)
    for at, (name, kind) in enumerate(columns.items()):
        if kind is None:
            values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        elif kind == "date":
            days = pd.to_datetime(frame[name], format="ISO8601", utc=True) - pd.Timestamp(0, tz="UTC")
            values = (days / pd.Timedelta(days=1)).to_numpy()
        else:
            codes = {label: float(code) for code, label in enumerate(kind)}
            labels = (math.nan if pd.isna(cell) else str(cell) for cell in frame[name].astype(object))
            values = np.array([codes.get(label, math.nan) for label in labels])
        values = np.where(np.isinf(values), np.nan, values)
        x[:, at] = np.clip(values, -LARGEST, LARGEST)
    return x


def train(frame):
    """A model of all rows that have a target, and what it takes to predict for other rows."""
    frame = frame.dropna(subset=[TARGET])
    columns, classes = learn_columns(frame), []
    y = frame[TARGET].to_numpy()
    if PROBLEM != "regression":
        labels = frame[TARGET].astype(str)
        classes = sorted(labels.unique(), key=order)
        y = labels.map({label: code for code, label in enumerate(classes)}).to_numpy()
    is_category = [isinstance(kind, list) for kind in columns.values()]
    model = train_model(encode(frame, columns), y, is_category, len(classes))
    return {"model": model, "columns": columns, "classes": classes}


def predict(trained, frame):
    """Numbers; or probabilities: of the second of two classes, or of each of several."""
    return predict_model(trained["model"], encode(frame, trained["columns"]))
'''

MAIN = """

if __name__ == "__main__":
    trained = train(read(sys.argv[1]))
    if len(sys.argv) > 2:
        predicted = pd.DataFrame(predict(trained, read(sys.argv[2])))
        if PROBLEM == "multiclass":
            predicted.columns = trained["classes"]
        else:
            predicted.columns = [f"probability of {trained['classes'][1]}" if trained["classes"] else TARGET]
        predicted.to_csv(sys.stdout, index=False)
"""


def script(recipe: ModelRecipe, target: str, drop: Sequence[str], about: Sequence[str]) -> str:
    """The script; `about` are lines of its docstring, which say where the configuration is from."""
    code = kind_of(recipe.learner).code(recipe)
    lines = [line for line in code.splitlines() if line.startswith(("import ", "from "))]
    body = "\n".join(line for line in code.splitlines() if line not in lines).strip("\n")
    text = "\n".join(about).replace("\\", "\\\\").replace('"""', "'''")
    packages = sorted(["import numpy as np", "import pandas as pd", *lines])
    imports = ["import math", "import sys", "", *packages]
    return (
        f'"""{text}\n\n'
        "python this_file.py my.csv             trains on my.csv\n"
        'python this_file.py my.csv new.csv     the same, and prints predictions for new.csv\n"""\n\n'
        + "\n".join(imports)
        + f"\n\nTARGET = {_text(target)}\nDROP = [{', '.join(map(_text, drop))}]\n"
        + f"PROBLEM = {_text(recipe.problem.value)}\n"
        + f"{body}\n\n{COMMON}{MAIN}"
    )


def _text(value: str) -> str:
    """A string of Python, in double quotes where it needs no escapes."""
    return f'"{value}"' if value.isprintable() and not set(value) & set('"\\') else repr(value)


def dense_code() -> str:
    """The encoding of dense features, from the source of the learners."""
    constants = {name: getattr(dense, name) for name in ("FURTHEST", "MOST_COLUMNS", "MOST_COLUMNS_IN_ALL")}
    lines = [f"{name} = {value}\n" for name, value in constants.items()]
    functions = [inspect.getsource(function) for function in (dense.fit_columns, dense.dense_matrix)]
    return "".join([*lines, "Array, FittedFeature = np.ndarray, dict\n"]) + "\n\n" + "\n\n".join(functions)
