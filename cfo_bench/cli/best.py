"""`cfo-bench best`: print the best configuration, as a table or a script, or train its model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfo_bench.terminal.command_options import chosen_runs
from cfo_bench.terminal.printing import one_line, print_text, show_json, text_table

if TYPE_CHECKING:
    from cfo_bench.models.best import BestConfiguration


@click.command(short_help="Print the best configuration, or train its model.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@chosen_runs
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--python",
    "as_python",
    is_flag=True,
    help="Print a script that trains the model with the learner's library, without cfo-bench.",
)
@click.option(
    "--fit",
    "data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Train the model on all rows of this .csv, .parquet or .arff file, and save it.",
)
@click.option(
    "--target", metavar="COLUMN", help="The column of --fit to predict.  [default: as in the search]"
)
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="A column to leave out.  [default: as in the search]"
)
@click.option(
    "--drop-missing-target",
    is_flag=True,
    help="Leave out rows of --fit whose target is missing.  [default: if the search did]",
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads of --fit.  [default: all cores]")
@click.option(
    "--trust-learner",
    is_flag=True,
    help="Import the estimator that RESULTS name, which runs its code: only if you trust their author.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write with --fit or --python.",
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

    In a folder of `cfo-bench compare`, the learner and method that it recommended come first, and --fit and
    --python use them. Select others with --learner or --method, as in `--learner random-forest`.

    A model is saved in its library's own format: .ubj or .json (xgboost), .txt (lightgbm), .cbm (catboost),
    .pt (dnn: a state dict). scikit-learn's own format is pickle, which runs code when it is loaded. Therefore
    random-forest and knn are saved as arrays (.npz), and other estimators by skops (.skops). A second file,
    such as model.ubj.json, contains columns, classes and provenance; `load_model` reads both files.
    """
    from cfo_bench.files.writing import write_whole
    from cfo_bench.models.best import best_configurations, fit_best, python_script

    if as_json + as_python + (data is not None) > 1:
        raise click.UsageError("--json, --python and --fit exclude each other: choose one")
    if data is not None and out is None:
        raise click.UsageError("--fit needs -o: the file of the model, such as model.ubj")
    if data is None and (out is not None) > as_python:
        raise click.UsageError(f"-o {out} is for --fit or --python: give one of them")
    for name in ("target", "drop", "drop_missing_target", "threads"):
        if data is None and fitting[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} is for --fit FILE: give that too")
    configurations = best_configurations(
        results or (Path("results"),), tasks=tasks, learners=learners, methods=methods
    )
    if as_json:
        show_json(list(map(_as_json, configurations)))
    elif as_python:
        chosen = _single(configurations)
        text = python_script(chosen, trust_learner=fitting["trust_learner"])
        if out is None:
            print_text(text, nl=False, err=False)
        else:
            write_whole(out, text.encode())
            names = one_line(f"{chosen.learner} with {chosen.method}")
            print_text(f"{out}: trains {names}'s configuration", err=False)
    elif data is not None and out is not None:
        chosen = _single(configurations)
        model = fit_best(chosen, data, out, **fitting)
        trusted = f", trusted={model.trusted}" if model.trusted else ""
        same = "the data of the search" if model.same_data else "other data than the search's"
        names = one_line(f"{chosen.learner} with {chosen.method}")
        print_text(
            f"{out}: {names}'s configuration, trained on all {model.rows} rows "
            f"of {data} ({same})\n{model.files[1]}: its columns, classes and provenance\n"
            f'in Python: from cfo_bench import load_model; load_model("{out}"{trusted}).predict(frame)',
            err=False,
        )
    else:
        print_text("\n\n".join(map(_block, configurations)), err=False)


def _single(configurations: Sequence[BestConfiguration]) -> BestConfiguration:
    """The configuration of the best learner of the only task."""
    names = list(dict.fromkeys(configuration.task for configuration in configurations))
    if len(names) > 1:
        raise click.UsageError(f"there are {len(names)} tasks ({', '.join(names[:5])}): name one with --task")
    best, *others = configurations
    if best.verdict is not None:
        print_text(
            one_line(
                f"{best.learner} with {best.method}'s configuration, as cfo-bench compare recommended "
                f"(--learner or --method selects another): {best.verdict}"
            )
        )
    elif others:
        learners = ", ".join(configuration.learner for configuration in others)
        better = f"{best.learner} is better than the other learners ({learners}): choose with --learner"
        print_text(one_line(better))
    return best


def _as_json(configuration: BestConfiguration) -> dict[str, Any]:
    from dataclasses import fields

    left_out = {"run_header", *(() if configuration.verdict else ("verdict",))}
    names = [field.name for field in fields(configuration) if field.name not in left_out]
    return {name: getattr(configuration, name) for name in names}


def _block(configuration: BestConfiguration) -> str:
    """A configuration with one hyperparameter per line."""
    rows = [
        [name, _value(value) if name in configuration.active else f"{_value(value)} (inactive)"]
        for name, value in configuration.config.items()
    ]
    fixed = ", ".join(f"{name} {_value(value)}" for name, value in configuration.fixed.items())
    lines = [
        f"{configuration.task}: {configuration.learner}, found by {configuration.method}",
        *([f"  compare: {configuration.verdict}"] if configuration.verdict else []),
        f"  score  {configuration.scores_in_words}",
        f"         {configuration.mean_in_words}",
        *(f"  {line}" for line in text_table(("hyperparameter", "value"), rows).splitlines() if rows),
        *([f"  fixed: {fixed}"] if fixed else []),
    ]
    return "\n".join(map(one_line, lines))


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
