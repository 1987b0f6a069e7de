"""What was asked for on the command line: a suite file, with the options given in place of its keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import click

from cfo_bench.engines import ENGINES
from cfo_bench.errors import UserError
from cfo_bench.suite.choices import Choice, Pick, checked_name, method_of_word, parse_options, parse_values
from cfo_bench.suite.file import find, read
from cfo_bench.suite.model import DEFAULTS, OF_OWN_DATA, Cluster, Suite

_FOR_DASK = "is for a Dask cluster: leave it out, or give --engine dask"


def suite_of(file: str | None, asked: Mapping[str, Any]) -> Suite:
    """The suite of a file or the defaults, each key that the command line gives taken from there."""
    suite = read(find(file)) if file is not None else DEFAULTS
    names = [each.name for each in fields(Suite)]
    given: dict[str, Any] = {name: asked[name] for name in names if asked.get(name) not in (None, ())}
    if "methods" in given:
        methods = _named(map(method_of_word, given["methods"]), suite.methods)
        given["methods"] = _called(methods, asked.get("variants") or ())
    elif asked.get("variants"):
        raise UserError(f"--name {asked['variants'][0]} names a --method: give that too")
    if "learners" in given:
        given["learners"] = _named(map(Choice, given["learners"]), suite.learners)
    if "seeds" in given:
        given["seeds"] = tuple(dict.fromkeys(given["seeds"]))
    if "tasks" in given or "data_file" in given:
        given["tasks"] = tuple(Pick(word) for word in given.get("tasks", ()))
        given["exclude"] = ()
        if "data_file" not in given:  # the tasks stand in the place of the file's own data, too
            given |= {name: getattr(DEFAULTS, name) for name in OF_OWN_DATA if name not in given}
    places = {name: place for name, place in suite.places.items() if name not in given}
    suite = _on_engine(replace(suite, **given, places=places), asked)
    for name, flag in (("methods", "--method"), ("budget_seconds", "--budget")):
        if not getattr(suite, name):
            remedy = f" (or {name.partition('_')[0]}: in {file})" if file is not None else ""
            raise click.UsageError(f"missing option '{flag}'{remedy}", click.get_current_context(silent=True))
    return suite


def _named(choices: Iterable[Choice], known: Sequence[Choice]) -> tuple[Choice, ...]:
    """With the options that the file has for them. A variant of the file is known by its name."""
    of_file = {choice.variant or choice.name: choice for choice in known}
    return tuple(choice if choice.options else of_file.get(choice.name, choice) for choice in choices)


def _called(methods: Sequence[Choice], names: Sequence[str]) -> tuple[Choice, ...]:
    """The methods with these names, in order: as many as there are methods, or methods with options."""
    with_options = [at for at, one in enumerate(methods) if one.options]
    places = range(len(methods)) if len(names) == len(methods) else with_options
    if names and len(names) != len(places):
        raise UserError(
            f"{len(names)} --name for {len(methods)} --method, {len(with_options)} of them with options: "
            "give as many names as methods, or as methods with options, in the same order"
        )
    called = dict(zip(places, map(checked_name, names), strict=False))
    return tuple(replace(one, variant=called.get(at, one.variant)) for at, one in enumerate(methods))


# Options that only some engines have: the flag, the engine's option, and what is wrong with it elsewhere.
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


def _on_engine(suite: Suite, asked: Mapping[str, Any]) -> Suite:
    """The options of the engine; `--scheduler` and `--cluster` imply the engine that has clusters."""
    kind, scheduler, workers = (asked.get(name) for name in ("cluster_kind", "scheduler", "workers"))
    if asked.get("engine") is None and (kind or scheduler):
        suite = replace(suite, engine="dask")
    for name, (flag, option, fault) in _OF_ENGINES.items():
        # The engine is loaded only if it has to be asked: it may be in a file that is not to be imported.
        if asked.get(name) not in (None, ()) and option not in ENGINES.options(suite.engine, {}):
            raise UserError(f"{flag.format(asked[name])} {fault}")
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
        options={**cluster.options, **parse_values(asked.get("cluster_options") or ())},
    )
    options = {**suite.engine_options, **parse_options(asked.get("engine_option") or ())}
    if asked.get("oversubscribe"):
        options["oversubscribe"] = True
    return replace(suite, cluster=cluster, engine_options=options)
