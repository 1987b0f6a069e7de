"""The options of `cfo-bench run` that say what to run.

Most of them are made from the settings of `Suite`: such an option is called like the field that it fills,
and is None or () where it is not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from cfo_bench.settings import Setting, settings_of
from cfo_bench.suite.model import BATCH_SYSTEMS, OF_OWN_DATA, Suite
from cfo_bench.values import Count, FilePath, Flag, Kind, OneOf, Parsed, Several, Share, UpTo

if TYPE_CHECKING:
    from cfo_bench.registry import Registry


# --- completion ------------------------------------------------------------------------------------
# What the shell offers when a user presses tab.


def method_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.optimizers import METHODS

    return _offer(_summaries(METHODS), incomplete)


def learner_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.learners import LEARNERS

    return _offer(_summaries(LEARNERS), incomplete)


def task_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.errors import UserError
    from cfo_bench.tasks import listing

    given = ctx.params.get("data_dir")
    try:
        rows = listing(Path(given) if given else None)
    except UserError:  # a wrong --data-dir: the command itself will say so
        return []
    return _offer({row.name: row.note or row.source for row in rows}, incomplete)


def suites(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Those that come with the package, and any file."""
    from cfo_bench.suite.file import shipped

    names = dict.fromkeys(shipped(), "comes with cfo-bench")
    return [*_offer(names, incomplete), CompletionItem(incomplete, type="file")]


def _summaries(registry: Registry) -> dict[str, str]:
    """Every name, and of a family what stands before the name of one of it, such as `optuna:`."""
    families = {f"{name}:": row for name, row in registry.families.items()}
    return {name: row.summary for name, row in {**registry.rows(), **families}.items()}


def _offer(known: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=text) for name, text in sorted(known.items()) if name.startswith(incomplete)
    ]


# --- run options -----------------------------------------------------------------------------------


Command = Callable[..., Any]

# The options of `run --help` in groups; one that is in none comes last.
GROUPS = {
    "What is compared": (
        "--task", "--method", "--name", "--option", "--learner", "--learner-option", "--folds", "--n-folds",
        "--seed", "--validation", "--holdout-share",
    ),
    "How long": (
        "--budget", "--max-trials", "--trial-timeout", "--prepare-timeout", "--clock", "--charge-method",
    ),
    "Data": (
        "--data", "--target", "--problem", "--drop", "--drop-missing-target", "--data-dir", "--tasks",
        "--yahpo", "--surrogate", "--offline",
    ),
    "This machine": ("--jobs", "--threads", "--parallel", "--memory", "--oversubscribe"),
    "A cluster": (
        "--engine", "--engine-option", "--cluster", "--workers", "--cluster-option", "--scheduler",
    ),
    "Runs and output": (
        "--results", "--force", "--only", "--shard", "--list", "--dry-run", "--json", "--quiet", "--help",
    ),
}  # fmt: skip


class GroupedCommand(click.Command):
    """A command whose `--help` shows the options in GROUPS."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        records = {one.opts[-1]: found for one in options if (found := one.get_help_record(ctx))}
        width = max(len(names) for names, _ in records.values())
        for title, names in {**GROUPS, "Other": tuple(records)}.items():
            rows = [records.pop(name) for name in names if name in records]
            if rows:
                with formatter.section(title):
                    # Descriptions start in the same column in every group.
                    formatter.write_dl([(names.ljust(width), text) for names, text in rows])


COMPLETIONS = {
    "tasks": task_names,
    "methods": method_names,
    "learners": learner_names,
}

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)


class AsInSuite(click.ParamType[Any]):
    """A value that is read as in a suite file."""

    def __init__(self, kind: Parsed) -> None:
        self.name, self._kind = kind.name or "text", kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = self._kind.parse(value)
        if found is None:
            self.fail(f"{value!r}: {self._kind.rule}", param, ctx)
        return found


def type_of(kind: Kind) -> click.ParamType[Any] | None:
    """The click type for a kind of value; None: any text, which is checked later."""
    match kind:
        case Several():
            return type_of(kind.item)
        case OneOf():
            return click.Choice(kind.known)
        case Count():
            return COUNT
        case UpTo():
            return click.IntRange(0, kind.most)
        case Share():
            return click.FloatRange(0, 1, min_open=True, max_open=True)
        case FilePath():
            return PATH
        case Flag():
            return None
        case Parsed():
            return AsInSuite(kind)
        case _:
            return None


def option_of(one: Setting) -> Callable[[Command], Command]:
    default = one.default_in_words()
    of_flag: dict[str, Any] = {"is_flag": True, "default": None} if isinstance(one.kind, Flag) else {}
    return click.option(
        *one.flags,
        one.name,
        type=type_of(one.kind),
        multiple=isinstance(one.kind, Several),
        **of_flag,
        metavar=one.kind.metavar,
        help=f"{one.help}  [default: {default}]" if default else one.help,
        shell_complete=COMPLETIONS.get(one.name),
    )


OPTIONS = (
    click.option(
        "--name",
        "variants",
        multiple=True,
        metavar="NAME",
        help="What a --method is called in folders, tables and figures; several in the order of the methods.",
    ),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the methods, or METHOD.KEY=VALUE for one of them (see `cfo-bench methods NAME`).",
    ),
    click.option(
        "--learner-option",
        "learner_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the learners, or LEARNER.KEY=VALUE for one (see `cfo-bench learners NAME`).",
    ),
)

CLUSTER = (
    click.option(
        "--cluster",
        "cluster_kind",
        type=click.Choice(["local", *BATCH_SYSTEMS]),
        metavar="KIND",
        help=f"Start Dask workers: local, or by a batch system: {', '.join(BATCH_SYSTEMS)}.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Join the Dask cluster at tcp://host:port, or of a scheduler file.",
    ),
    click.option(
        "--engine-option",
        "engine_option",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of an engine that a package brings.",
    ),
    click.option("--workers", type=COUNT, metavar="N", help="Dask workers to start."),
    click.option(
        "--cluster-option",
        "cluster_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the batch system, such as queue=long (see docs/cluster.md).",
    ),
)


def own_data(command: Command) -> Command:
    """Adds the options that say what a file of one's own is, above those that the command has."""
    for one in reversed(settings_of(Suite)):  # the option that is added last is listed first
        if one.name in OF_OWN_DATA:
            command = option_of(one)(command)
    return command


def what_to_run(command: Command) -> Command:
    """Adds the options to a GroupedCommand, which has an order of its own for them."""
    settings = (option_of(one) for one in settings_of(Suite) if one.flags)
    for option in (*settings, *OPTIONS, *CLUSTER):
        command = option(command)
    return command
