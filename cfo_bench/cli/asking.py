"""What was asked for on the command line: a suite file, with the options given in place of its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import click

from cfo_bench.cli.options import parse_values
from cfo_bench.errors import UserError
from cfo_bench.suite.file import find, read
from cfo_bench.suite.model import DEFAULTS, Choice, Cluster, Pick, Suite


def suite_of(file: str | None, asked: Mapping[str, Any]) -> Suite:
    """The suite of a file or the defaults, each key that the command line gives taken from there."""
    suite = read(find(file)) if file is not None else DEFAULTS
    names = [each.name for each in fields(Suite)]
    given: dict[str, Any] = {name: asked[name] for name in names if asked.get(name) not in (None, ())}
    if "methods" in given:
        given["methods"] = _named(given["methods"], suite.methods)
    if "learners" in given:
        given["learners"] = _named(given["learners"], suite.learners)
    if "seeds" in given:
        given["seeds"] = tuple(dict.fromkeys(given["seeds"]))
    if "tasks" in given or asked.get("data_file") is not None:
        given["tasks"] = tuple(Pick(word) for word in given.get("tasks", ()))
        given["exclude"] = ()
    places = {name: place for name, place in suite.places.items() if name not in given}
    suite = _on_engine(replace(suite, **given, places=places), asked)
    for name, flag in (("methods", "--method"), ("budget_seconds", "--budget")):
        if not getattr(suite, name):
            remedy = f" (or {name.partition('_')[0]}: in {file})" if file is not None else ""
            raise click.UsageError(f"missing option '{flag}'{remedy}", click.get_current_context(silent=True))
    return suite


def _named(names: Sequence[str], known: Sequence[Choice]) -> tuple[Choice, ...]:
    """With the options that the file has for them."""
    of_file = {choice.name: choice for choice in known}
    return tuple(of_file.get(name, Choice(name)) for name in names)


def _on_engine(suite: Suite, asked: Mapping[str, Any]) -> Suite:
    """`--scheduler` and `--cluster` imply Dask; what is meant for the other engine is a mistake."""
    kind, scheduler, workers = (asked.get(name) for name in ("cluster_kind", "scheduler", "workers"))
    options = asked.get("cluster_options") or ()
    if asked.get("engine") is None and (kind or scheduler):
        suite = replace(suite, engine="dask")
    if suite.engine == "local":
        if workers is not None:
            raise UserError(
                f"--workers {workers} counts the workers of a cluster: give --jobs for runs side by side on "
                "this machine, --parallel for trials at once in a run, or --engine dask"
            )
        for flag, value in (("--cluster", kind), ("--scheduler", scheduler), ("--cluster-option", options)):
            if value:
                raise UserError(f"{flag} is for a Dask cluster: leave it out, or give --engine dask")
        return suite
    if asked.get("jobs") is not None:
        raise UserError(
            f"--jobs {asked['jobs']} counts runs side by side on this machine: on a cluster give --workers"
        )
    if asked.get("oversubscribe"):
        raise UserError("--oversubscribe is for this machine: a Dask worker never takes more than it has")
    cluster = suite.cluster
    if scheduler is not None:
        if kind is not None:
            raise UserError(f"--scheduler joins a cluster, --cluster {kind} starts one: leave one out")
        cluster = Cluster("join", scheduler)
    elif kind is not None and kind != cluster.kind:
        cluster = Cluster(kind)
    return replace(
        suite,
        cluster=replace(
            cluster,
            workers=workers if workers is not None else cluster.workers,
            options={**cluster.options, **parse_values(options)},
        ),
    )
