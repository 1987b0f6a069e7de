"""What the shell offers when a user presses tab."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem


def method_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.optimizers import METHODS

    return _offer({name: row.summary for name, row in METHODS.rows().items()}, incomplete)


def learner_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cfo_bench.learners import LEARNERS

    return _offer({name: row.summary for name, row in LEARNERS.rows().items()}, incomplete)


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


def _offer(known: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=text) for name, text in sorted(known.items()) if name.startswith(incomplete)
    ]
