"""What the shell offers when a user presses tab."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from cfo_bench.registry import Registry


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
