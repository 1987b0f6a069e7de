"""`cfo-bench`: the group of commands, and how errors reach a person."""

from __future__ import annotations

import sys

import click

from cfo_bench import __version__
from cfo_bench.cli.learners import learners
from cfo_bench.cli.merge import merge
from cfo_bench.cli.methods import methods
from cfo_bench.cli.prepare import prepare
from cfo_bench.cli.report import report
from cfo_bench.cli.run import run
from cfo_bench.cli.schema import schema
from cfo_bench.cli.status import status
from cfo_bench.cli.study import study
from cfo_bench.cli.tasks import tasks
from cfo_bench.errors import CfoBenchError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="cfo-bench")
def cli() -> None:
    """Given the same seconds, which method finds the better model, and when?

    \b
    cfo-bench run --task iris --method cfo --method rs --budget 5 --folds 0-2
    cfo-bench run --data my.csv --target y --method cfo --budget 60
    cfo-bench run smoke

    \b
    Tab completion, in bash (or zsh_source, fish_source):
    eval "$(_CFO_BENCH_COMPLETE=bash_source cfo-bench)"
    """


cli.add_command(run)
cli.add_command(study)
cli.add_command(prepare)
cli.add_command(report)
cli.add_command(status)
cli.add_command(merge)
cli.add_command(methods)
cli.add_command(learners)
cli.add_command(tasks)
cli.add_command(schema)


def main() -> None:
    """Every mistake is one line on stderr: exit code 2 for the user's, 1 for a run's."""
    try:
        sys.exit(cli.main(standalone_mode=False, prog_name="cfo-bench"))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "cfo-bench"
        message = error.format_message().rstrip(".").replace("'. (", "' (")
        click.echo(f"{where}: {message[:1].lower()}{message[1:]} (see {where} --help)", err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"cfo-bench: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except CfoBenchError as error:
        click.echo(f"cfo-bench: {error}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("cfo-bench: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output, such as `head`, has had enough
        sys.stderr.close()
        sys.exit(141)
