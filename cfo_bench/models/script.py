"""The Python script that trains a model with the library alone, without cfo-bench."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

from cfo_bench.errors import brief_line
from cfo_bench.learners import dense
from cfo_bench.models.recipe import ModelRecipe, kind_of, literal
from cfo_bench.tasks.sources.files import csv_form

# The part of a script that is the same for every learner: it encodes columns as a run does.
COMMON = '''
ISO_DATE = r"\\d{4}-\\d\\d-\\d\\d([T ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:?\\d\\d)?)?"
LARGEST = float(np.finfo(np.float32).max)


def read(path):
    """A table. Empty cells and ? are missing."""
    if path.endswith((".parquet", ".pq")):
        return pd.read_parquet(path)
    return pd.read_csv(path, **csv_form(path), skipinitialspace=True, na_values=["?"], low_memory=False)


def order(label):
    """Labels that are numbers come first, by their value, then the others as text."""
    try:
        value = float(label)
    except ValueError:
        value = math.nan
    return (False, value, label) if math.isfinite(value) else (True, 0.0, label)


def learn_columns(frame):
    """What each feature holds: None for numbers, "date", the list of its categories, or their encoder."""
    columns = {}
    for name in frame.columns.drop([TARGET, *DROP]):
        values = frame[name].dropna()
        if name in TARGET_ENCODED:
            columns[name] = target_encoder()
        elif pd.api.types.is_numeric_dtype(values) or values.empty:
            columns[name] = None
        elif pd.api.types.is_datetime64_any_dtype(values) or values.astype(str).str.fullmatch(ISO_DATE).all():
            columns[name] = "date"
        else:
            columns[name] = sorted(values.astype(str).unique(), key=order)
    return columns


def target_encoder():
    """The mean of the target for each category; of rows to train on, it is computed from other rows."""
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.preprocessing import TargetEncoder

    folds = KFold if PROBLEM == "regression" else StratifiedKFold
    kind = "continuous" if PROBLEM == "regression" else PROBLEM
    return TargetEncoder(target_type=kind, cv=folds(5, shuffle=True, random_state=0))


def encode(frame, columns, y=None):
    """A float32 matrix. A category is its place in the list; a missing or new one is NaN.

    With `y`, the targets of the rows, encoders are fitted.
    """
    blocks = []
    for name, kind in columns.items():
        if hasattr(kind, "transform"):
            labels = ["" if pd.isna(cell) else str(cell) for cell in frame[name].astype(object)]
            cells = np.array(labels, dtype=object)[:, None]
            blocks.append(kind.transform(cells) if y is None else kind.fit_transform(cells, y))
            continue
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
        blocks.append(np.clip(values, -LARGEST, LARGEST)[:, None])
    return np.concatenate(blocks, axis=1).astype(np.float32)


def train(frame):
    """A model of all rows that have a target, and what it takes to predict for other rows."""
    frame = frame.dropna(subset=[TARGET])
    columns, classes = learn_columns(frame), []
    y = frame[TARGET].to_numpy()
    if PROBLEM != "regression":
        labels = frame[TARGET].convert_dtypes().astype(str)  # 1, where gaps make 1.0 of it
        classes = sorted(labels.unique(), key=order)
        y = labels.map({label: code for code, label in enumerate(classes)}).to_numpy()
    x = features(frame, columns, y)
    is_category = []
    for kind in columns.values():
        width = len(classes) if hasattr(kind, "transform") and PROBLEM == "multiclass" else 1
        is_category += [isinstance(kind, list)] * width
    options = {"weight": frame[WEIGHT].to_numpy(dtype=np.float64)} if WEIGHT else {}
    model = train_model(x, y, is_category, len(classes), **options)
    return {"model": model, "columns": columns, "classes": classes}


def predict(trained, frame):
    """Numbers; or probabilities: of the second of two classes, or of each of several."""
    return predict_model(trained["model"], features(frame, trained["columns"]))
'''

# Used unless the code of the learner defines `features`.
_FEATURES = """

def features(frame, columns, y=None):
    return encode(frame, columns, y)
"""

MAIN = """

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train on a file, and print predictions for another as CSV.")
    parser.add_argument("known", help="the rows to train on, with the target: .csv or .parquet")
    parser.add_argument("new", help="the rows to predict for")
    files = parser.parse_args()
    trained = train(read(files.known))
    predicted = pd.DataFrame(predict(trained, read(files.new)))
    if PROBLEM == "multiclass":
        predicted.columns = trained["classes"]
    else:
        predicted.columns = [f"probability of {trained['classes'][1]}" if trained["classes"] else TARGET]
    predicted.to_csv(sys.stdout, index=False)
"""


@dataclass(frozen=True, slots=True)
class ScriptColumns:
    """The columns of a file that are not ordinary features."""

    target: str
    drop: tuple[str, ...] = ()  # columns that are not features, including the weight
    weight: str | None = None
    target_encoded: tuple[str, ...] = ()


def script(recipe: ModelRecipe, columns: ScriptColumns, about: Sequence[str]) -> str:
    """The script; `about` contains lines for its docstring with the origin of the configuration.

    The recipe is checked. Names and texts may come from anybody: they become literals, or are escaped in the
    docstring.
    """
    code = kind_of(recipe.learner).code(recipe)
    lines = [line for line in code.splitlines() if line.startswith(("import ", "from "))]
    body = "\n".join(line for line in code.splitlines() if line not in lines).strip("\n")
    text = "\n".join(map(brief_line, about)).replace("\\", "\\\\").replace('"""', r"\"\"\"")
    packages = sorted(["import numpy as np", "import pandas as pd", *lines])
    imports = [*(f"import {name}" for name in ("argparse", "csv", "io", "math", "re", "sys")), "", *packages]
    return (
        f'"""{text}\n\n'
        "python this_file.py my.csv new.csv     trains on my.csv, and prints predictions for new.csv\n"
        'In Python: predict(train(frame), other_frame)\n"""\n\n'
        + "\n".join(imports)
        + f"\n\nTARGET = {literal(columns.target)}\nDROP = {literal(list(columns.drop))}\n"
        + f"WEIGHT = {literal(columns.weight)}\n"
        + f"TARGET_ENCODED = {literal(list(columns.target_encoded))}\n"
        + f"PROBLEM = {literal(recipe.problem.value)}\n"
        + f"{body}\n\n\n{inspect.getsource(csv_form)}\n{COMMON}"
        + ("" if "def features(" in body else _FEATURES)
        + MAIN
    )


def dense_code() -> str:
    """The encoding of dense features, from the source of the learners."""
    constants = {name: getattr(dense, name) for name in ("FURTHEST", "MOST_COLUMNS", "MOST_COLUMNS_IN_ALL")}
    lines = [f"{name} = {literal(value)}\n" for name, value in constants.items()]
    functions = [inspect.getsource(function) for function in (dense.fit_columns, dense.dense_matrix)]
    return "".join([*lines, "Array, FittedFeature = np.ndarray, dict\n"]) + "\n\n" + "\n\n".join(functions)
