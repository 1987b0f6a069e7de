"""The options of the commands, and the suite that they describe.

Most options of `cfo-bench run` are made from the settings of `Suite`: such an option has the name of the
field that it sets, and is None or () if it is not given. `suite_of` replaces the keys of a file by the given
options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import click
from click.shell_completion import CompletionItem

from cfo_bench.errors import UserError
from cfo_bench.settings import Setting, settings_of
from cfo_bench.suite.choices import (
    Choice,
    Named,
    Pick,
    checked_name,
    method_of_word,
    parse_options,
    parse_values,
)
from cfo_bench.suite.model import BATCH_SYSTEMS, DEFAULTS, OF_OWN_DATA, Cluster, Suite
from cfo_bench.terminal.printing import one_line
from cfo_bench.values import Count, FilePath, Flag, Kind, OneOf, Parsed, Several, Share, UpTo, mark

if TYPE_CHECKING:
    from cfo_bench.registry import Registry

Command = Callable[..., Any]

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)

# The options of `run --help` in groups; an option in no group comes last.
GROUPS = {
    "What is compared": (
        "--task", "--method", "--name", "--option", "--learner", "--learner-option", "--folds", "--n-folds",
        "--seed", "--metric", "--validation", "--holdout-share",
    ),
    "How long": (
        "--budget", "--max-trials", "--trial-timeout", "--prepare-timeout", "--clock", "--charge-method",
    ),
    "Data": (
        "--data", "--target", "--problem", "--drop", "--drop-missing-target", "--split", "--weight",
        "--data-dir", "--tasks",
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

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters in the order of GROUPS, also for the documentation."""
        order = {name: at for at, name in enumerate(name for names in GROUPS.values() for name in names)}
        return sorted(super().get_params(ctx), key=lambda param: order.get(param.opts[-1], len(order)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {option.opts[-1]: record for option in options if (record := option.get_help_record(ctx))}
        width = max(len(names) for names, _ in records.values())
        for title, names in {**GROUPS, "Other": tuple(records)}.items():
            rows = [records.pop(name) for name in names if name in records]
            if rows:
                with formatter.section(title):
                    # Descriptions start in the same column in every group.
                    formatter.write_dl([(names.ljust(width), text) for names, text in rows])


# --- completion: what the shell offers when a user presses tab ------------------------------------


def method_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.optimizers import METHODS

    return _offer(_summaries(METHODS), incomplete)


def learner_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.learners import LEARNERS

    return _offer(_summaries(LEARNERS), incomplete)


def task_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.tasks import listing

    data_dir = ctx.params.get("data_dir")
    try:
        rows = listing(Path(data_dir) if data_dir else None)
    except UserError:  # a wrong --data-dir: the command itself reports it
        return []
    return _offer({row.name: row.note or row.source for row in rows}, incomplete)


def suite_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The suites that come with the package, and any file."""
    from cfo_bench.suite.file import shipped

    names = dict.fromkeys(shipped(), "comes with cfo-bench")
    return [*_offer(names, incomplete), CompletionItem(incomplete, type="file")]


def names_in_results(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The learners, tasks or methods that have traces in the results folders of the command."""
    from cfo_bench.results.folder import run_files

    place = ("learners", "tasks", "methods").index(str(param.name))
    # While an option lacks its value, click leaves the arguments of the command unread.
    folders = [*(ctx.params.get("results") or ()), *ctx.args] or ["results"]
    try:
        ids = [run_id for folder in folders for run_id in run_files(Path(folder)).runs]
    except UserError:  # no such folder: the command itself reports it
        return []
    return _offer({unquote(run_id.split("/")[place]): "" for run_id in ids}, incomplete)


def _summaries(registry: Registry) -> dict[str, str]:
    """Every name with its summary; a family by its prefix, such as `optuna:`."""
    families = {f"{name}:": row for name, row in registry.families.items()}
    return {name: row.summary for name, row in {**registry.rows(), **families}.items()}


# The shell writes an offered name into the command line without quotes, and the name may come from a foreign
# file: a name with other characters is not offered, since the shell might run it.
_NEEDS_NO_QUOTES = re.compile(r"[\w@%+=:,./-]+")


def _offer(known: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=one_line(text))
        for name, text in sorted(known.items())
        if name.startswith(incomplete) and _NEEDS_NO_QUOTES.fullmatch(name)
    ]


COMPLETIONS = {"tasks": task_names, "methods": method_names, "learners": learner_names}


# --- options that are made from settings ----------------------------------------------------------


class AsInSuite(click.ParamType[Any]):
    """A value that is read as in a suite file."""

    def __init__(self, kind: Parsed) -> None:
        self.name, self._kind = kind.name or "text", kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        parsed = self._kind.parse(value)
        if parsed is None:
            self.fail(f"{value!r}: {self._kind.rule}", param, ctx)
        return parsed


def _type_of(kind: Kind) -> click.ParamType[Any] | None:
    """The click type for a kind of value; None: any text, which is checked later."""
    match kind:
        case Several():
            return _type_of(kind.item)
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
        case Parsed() if not isinstance(kind, Flag):
            return AsInSuite(kind)
        case _:
            return None


def _option_of(setting: Setting) -> Callable[[Command], Command]:
    default = setting.default_in_words()
    of_flag: dict[str, Any] = {"is_flag": True, "default": None} if isinstance(setting.kind, Flag) else {}
    return click.option(
        *setting.flags,
        setting.name,
        type=_type_of(setting.kind),
        multiple=isinstance(setting.kind, Several),
        **of_flag,
        metavar=setting.kind.metavar,
        help=f"{setting.help}  [default: {default}]" if default else setting.help,
        shell_complete=COMPLETIONS.get(setting.name),
    )


def own_data(command: Command) -> Command:
    """Add the options that describe a user's own file, above the other options of the command."""
    options = [_option_of(setting) for setting in settings_of(Suite) if setting.name in OF_OWN_DATA]
    return _with(command, options)


def what_to_run(command: Command) -> Command:
    """Add all options of a suite to a GroupedCommand, which defines their order."""
    settings = [_option_of(setting) for setting in settings_of(Suite) if setting.flags]
    return _with(command, [*settings, *_NO_SETTINGS])


def _with(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):  # the option that is added last is listed first
        command = option(command)
    return command


# Options of `run` that are not settings of a suite.
_NO_SETTINGS = (
    click.option(
        "--name",
        "variants",
        multiple=True,
        metavar="NAME",
        help="The names of the methods in folders, tables and figures, in their order.",
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
        help="Join the Dask cluster of the scheduler at tcp://host:port, or of a scheduler file.",
    ),
    click.option(
        "--engine-option",
        "engine_option",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of an engine that a package provides.",
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


# --- options that several commands share ----------------------------------------------------------


def chosen_runs(command: Command) -> Command:
    """Add `--learner`, `--task` and `--method`, which select runs of results folders."""
    return _with(
        command,
        [
            click.option(
                f"--{name}",
                f"{name}s",
                multiple=True,
                metavar="NAME",
                shell_complete=names_in_results,
                help=f"Only this {name}; can be repeated.",
            )
            for name in ("learner", "task", "method")
        ],
    )


def task_places(command: Command) -> Command:
    """Add the options that name files and folders of tasks."""
    return _with(
        command,
        [
            click.option(
                "--data-dir",
                type=PATH,
                metavar="DIR",
                help="A folder of data sets with an index.csv.  [default: $CFO_BENCH_DATA]",
            ),
            click.option(
                "--tasks",
                "tables",
                type=PATH,
                multiple=True,
                metavar="FILE",
                help="A YAML table of your own tasks.  [default: $CFO_BENCH_TASKS]",
            ),
        ],
    )


# --- the suite that the options of `run` describe -------------------------------------------------


def suite_of(file: str | None, given: Mapping[str, Any]) -> Suite:
    """The suite of a file, or the defaults; options given on the command line replace its keys."""
    from cfo_bench.suite.file import find, read

    suite = read(find(file)) if file is not None else DEFAULTS
    names = [field.name for field in fields(Suite)]
    values: dict[str, Any] = {name: given[name] for name in names if given.get(name) not in (None, ())}
    if "methods" in values:
        methods = _with_options_of_file(map(method_of_word, values["methods"]), suite.methods)
        values["methods"] = _renamed(methods, given.get("variants") or ())
    elif given.get("variants"):
        raise UserError(f"--name {given['variants'][0]} names a --method: give that too")
    if "learners" in values:
        values["learners"] = _with_options_of_file(
            (Named("learner").read("learners", mark(word)) for word in values["learners"]), suite.learners
        )
    if "seeds" in values:
        values["seeds"] = tuple(dict.fromkeys(values["seeds"]))
    if "tasks" in values or "data_file" in values:
        values["tasks"] = tuple(Pick(word) for word in values.get("tasks", ()))
        values["exclude"] = ()
        if "data_file" not in values:  # the tasks also replace the data file of the suite file
            values |= {name: getattr(DEFAULTS, name) for name in OF_OWN_DATA if name not in values}
    places = {name: place for name, place in suite.places.items() if name not in values}
    suite = _on_engine(replace(suite, **values, places=places), given)
    for name, flag in (("methods", "--method"), ("budget_seconds", "--budget")):
        if not getattr(suite, name):
            remedy = f" (or {name.partition('_')[0]}: in {file})" if file is not None else ""
            raise click.UsageError(f"missing option '{flag}'{remedy}", click.get_current_context(silent=True))
    return suite


def _with_options_of_file(choices: Iterable[Choice], known: Sequence[Choice]) -> tuple[Choice, ...]:
    """The choices with their options from the file. A variant of the file is found by its name."""
    of_file = {choice.variant or choice.name: choice for choice in known}
    return tuple(choice if choice.options else of_file.get(choice.name, choice) for choice in choices)


def _renamed(methods: Sequence[Choice], names: Sequence[str]) -> tuple[Choice, ...]:
    """The methods with these names in order: one for each method, or one for each method with options."""
    with_options = [at for at, method in enumerate(methods) if method.options]
    places = range(len(methods)) if len(names) == len(methods) else with_options
    if names and len(names) != len(places):
        raise UserError(
            f"{len(names)} --name for {len(methods)} --method, {len(with_options)} of them with options: "
            "give as many names as methods, or as methods with options, in the same order"
        )
    name_at = dict(zip(places, map(checked_name, names), strict=False))
    return tuple(
        replace(method, variant=name_at.get(at, method.variant)) for at, method in enumerate(methods)
    )


_FOR_DASK = "is for a Dask cluster: leave it out, or give --engine dask"
# Options that only some engines have: the flag, the engine's option, and the error with another engine.
_OF_ENGINES = {
    "jobs": ("--jobs {}", "jobs", "counts runs side by side on this machine: on a cluster give --workers"),
    "oversubscribe": (
        "--oversubscribe",
        "oversubscribe",
        "is for this machine: a Dask worker never takes more than it has",
    ),
    "workers": (
        "--workers {}",
        "workers",
        "counts the workers of a cluster: give --jobs for runs side by side on this machine, --parallel for "
        "trials at once in a run, or --engine dask",
    ),
    "cluster_kind": ("--cluster {}", "kind", _FOR_DASK),
    "scheduler": ("--scheduler {}", "scheduler", _FOR_DASK),
    "cluster_options": ("--cluster-option", "options", _FOR_DASK),
}


def _on_engine(suite: Suite, given: Mapping[str, Any]) -> Suite:
    """The suite with the options of its engine; `--scheduler` and `--cluster` imply the engine `dask`."""
    from cfo_bench.engines import ENGINES

    kind, scheduler, workers = (given.get(name) for name in ("cluster_kind", "scheduler", "workers"))
    if given.get("engine") is None and (kind or scheduler):
        suite = replace(suite, engine="dask")
    for name, (flag, option, fault) in _OF_ENGINES.items():
        # The engine is loaded only if its options are needed, because it may be in a file that must not be
        # imported.
        if given.get(name) not in (None, ()) and option not in ENGINES.options(suite.engine, {}):
            raise UserError(f"{flag.format(given[name])} {fault}")
    cluster = suite.cluster
    if scheduler is not None:
        if kind is not None:
            raise UserError(f"--scheduler joins a cluster, --cluster {kind} starts one: leave one out")
        cluster = Cluster("join", scheduler)
    elif kind is not None and kind != cluster.kind:
        cluster = Cluster(kind)
    cluster = replace(
        cluster,
        workers=workers if workers is not None else cluster.workers,
        options={**cluster.options, **parse_values(given.get("cluster_options") or ())},
    )
    options = {**suite.engine_options, **parse_options(given.get("engine_option") or ())}
    if given.get("oversubscribe"):
        options["oversubscribe"] = True
    return replace(suite, cluster=cluster, engine_options=options)
