"""`cfo-bench best`: the best configuration found, as a table, a script, or a model in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfo_bench.terminal import options

if TYPE_CHECKING:
    from cfo_bench.models.best import BestConfiguration


@click.command(short_help="The best configuration: as a table, Python, or a model.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="NAME",
    help="Only this task.",
    shell_complete=options.task_names,
)
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="NAME",
    help="Only this learner.",
    shell_complete=options.learner_names,
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Only what this method found.",
    shell_complete=options.method_names,
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--python", "as_python", is_flag=True, help="Print a script that trains the model with the plain library."
)
@click.option(
    "--fit",
    "data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Train the model on all rows of this .csv, .parquet or .arff file, and save it.",
)
@click.option("--target", metavar="COLUMN", help="The column of --fit to predict.  [default: as searched]")
@click.option("--drop", multiple=True, metavar="COLUMN", help="A column left out.  [default: as searched]")
@click.option("--drop-missing-target", is_flag=True, help="Leave out rows of --fit whose target is missing.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of --fit.  [default: all cores]")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Where --fit or --python writes."
)
def best(
    results: tuple[Path, ...],
    tasks: Sequence[str],
    learners: Sequence[str],
    methods: Sequence[str],
    as_json: bool,
    as_python: bool,
    data: Path | None,
    out: Path | None,
    **fitting: Any,
) -> None:
    """Show the best configuration in RESULTS for each task and learner, with all its hyperparameters.

    \b
    cfo-bench best results                             # or --json
    cfo-bench best results --task adult --python       # a script
    cfo-bench best results --fit my.csv -o model.ubj   # trained on all rows

    A model is saved in its library's own format: .ubj or .json (xgboost), .txt (lightgbm), .pt (dnn: a state
    dict). scikit-learn has none but pickle, which runs code when it is loaded: forests and neighbours become
    arrays in .npz. Beside it, FILE.json has columns, classes and provenance; `load_model` reads both.
    """
    from cfo_bench.files.writing import write_whole
    from cfo_bench.models.best import best_configurations, fit_best, python_script
    from cfo_bench.terminal.tables import say, show_json

    if as_json + as_python + (data is not None) > 1:
        raise click.UsageError("--json, --python and --fit are three answers: choose one")
    if data is not None and out is None:
        raise click.UsageError("--fit needs -o: the file of the model, such as model.ubj")
    if data is None and (out is not None) > as_python:
        raise click.UsageError(f"-o {out} is for --fit or --python: give one of them")
    for name in ("target", "drop", "drop_missing_target", "threads"):
        if data is None and fitting[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} is for --fit FILE: give that too")
    found = best_configurations(
        results or (Path("results"),), tasks=tasks, learners=learners, methods=methods
    )
    if as_json:
        show_json([_as_json(one) for one in found])
    elif as_python:
        text = python_script(_one(found))
        if out is None:
            click.echo(text, nl=False)
        else:
            write_whole(out, text.encode())
            say(f"{out}: trains {_one(found).learner} with {_one(found).method}'s configuration", err=False)
    elif data is not None and out is not None:
        chosen = _one(found)
        model = fit_best(chosen, data, out, **fitting)
        same = "the data of the search" if model.same_data else "other data than the search's"
        say(
            f"{out}: {chosen.learner} with {chosen.method}'s configuration, trained on all {model.rows} rows "
            f"of {data} ({same})\n{model.files[1]}: its columns, classes and provenance\n"
            f'in Python: from cfo_bench import load_model; load_model("{out}").predict(frame)',
            err=False,
        )
    else:
        say("\n\n".join(map(_block, found)), err=False)


def _one(found: Sequence[BestConfiguration]) -> BestConfiguration:
    """The best learner of the one task that there is."""
    from cfo_bench.terminal.tables import say

    names = list(dict.fromkeys(one.task for one in found))
    if len(names) > 1:
        raise click.UsageError(f"there are {len(names)} tasks ({', '.join(names[:5])}): name one with --task")
    if len(found) > 1:
        others = ", ".join(one.learner for one in found[1:])
        say(f"{found[0].learner} is the best of the learners here ({others}): another one with --learner")
    return found[0]


def _as_json(one: BestConfiguration) -> dict[str, Any]:
    from dataclasses import asdict

    return {key: value for key, value in asdict(one).items() if key != "run_header"}


def _block(one: BestConfiguration) -> str:
    """One configuration, a hyperparameter a line."""
    from cfo_bench.terminal.tables import text_table

    rows = [[name, _value(value)] for name, value in one.config.items()]
    fixed = ", ".join(f"{name} {_value(value)}" for name, value in one.fixed.items())
    return "\n".join(
        [
            f"{one.task}: {one.learner}, found by {one.method}",
            f"  score  {one.scores_in_words}",
            f"         {one.mean_in_words}",
            *(f"  {line}" for line in text_table(("hyperparameter", "value"), rows).splitlines()),
            *([f"  fixed: {fixed}"] if fixed else []),
        ]
    )


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
