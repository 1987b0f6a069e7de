"""The Python script that trains a model with the plain library: no part of it is cfo-bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cfo_bench.learners.dense import Category, Encoder, Number
from cfo_bench.models.recipe import ModelRecipe, kind_of

# --- dense facts -----------------------------------------------------------------------------------
# A fitted encoder of dense features as JSON, and back: what `knn` and `dnn` need besides their file.


def dense_facts_to_json(encoder: Encoder) -> list[dict[str, Any]]:
    return [
        {"source": one.source, "mean": one.mean, "deviation": one.deviation, "median": one.median}
        if isinstance(one, Number)
        else {"source": one.source, "width": one.width, "column_of": one.column_of.tolist()}
        for one in encoder.columns
    ]


def dense_facts_from_json(rows: list[Mapping[str, Any]]) -> Encoder:
    return Encoder(
        tuple(
            Category(row["source"], row["width"], np.array(row["column_of"], dtype=np.int64))
            if "column_of" in row
            else Number(row["source"], row["mean"], row["deviation"], row["median"])
            for row in rows
        )
    )


# --- common code -----------------------------------------------------------------------------------
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

DENSE = '''
def learn_dense(x, is_category):
    """How each feature becomes columns without gaps: numbers standardised, a column for each category."""
    most = max(2, min(64, 4096 // max(1, sum(is_category))))
    dense = []
    for at, category in enumerate(is_category):
        present = x[~np.isnan(x[:, at]), at].astype(np.float64)
        if not category:
            if len(present) and present.min() < present.max():
                dense.append((at, present.mean(), present.std(), np.median(present)))
            continue
        codes = present.astype(np.int64)
        counts = np.bincount(codes)
        frequent = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        if not len(codes) or (len(frequent) == 1 and len(codes) == len(x)):
            continue  # it never changes
        column_of = np.full(len(counts) + 1, -1)  # the last one is for missing and new categories
        if len(frequent) <= most:
            column_of[np.sort(frequent)] = np.arange(len(frequent))
        else:  # half of the columns for the most frequent, the others share the rest
            own, rest = most // 2, frequent[most // 2 :]
            column_of[frequent[:own]] = np.arange(own)
            column_of[rest] = own + (rest * 2654435761 % 2**32) * (most - own) // 2**32
        dense.append((at, column_of))
    return dense


def make_dense(x, dense):
    parts = []
    for at, *how in dense:
        column = x[:, at].astype(np.float64)
        if len(how) == 1:
            column_of = how[0]
            nowhere = len(column_of) - 1
            codes = np.minimum(np.where(np.isnan(column), nowhere, column).astype(np.int64), nowhere)
            parts.append(column_of[codes][:, None] == np.arange(column_of.max() + 1))
        else:
            mean, deviation, median = how
            filled = np.where(np.isnan(column), median, column)
            parts.append(np.clip((filled - mean) / deviation, -10, 10)[:, None])
    return np.hstack(parts or [np.zeros((len(x), 1))]).astype(np.float32)
'''


# --- script ----------------------------------------------------------------------------------------


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
