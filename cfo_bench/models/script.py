"""The Python script that trains a model with the plain library: no part of it is cfo-bench."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.models.common_code import COMMON, MAIN
from cfo_bench.models.recipe import ModelRecipe, kind_of


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
