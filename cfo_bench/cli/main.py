"""`cfo-bench`: the group of commands, and the exit code and message of each error."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from cfo_bench import __version__
from cfo_bench.cli.best import best
from cfo_bench.cli.compare import compare
from cfo_bench.cli.export import export
from cfo_bench.cli.import_runs import import_runs
from cfo_bench.cli.listings import learners, methods, schema
from cfo_bench.cli.merge import merge
from cfo_bench.cli.prepare import prepare
from cfo_bench.cli.replay import replay
from cfo_bench.cli.report import report
from cfo_bench.cli.run import run
from cfo_bench.cli.status import status
from cfo_bench.cli.study import study
from cfo_bench.cli.surrogate import surrogate
from cfo_bench.cli.tasks import tasks
from cfo_bench.cli.watch import watch
from cfo_bench.errors import CfoBenchError
from cfo_bench.terminal.printing import one_line, print_text


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="cfo-bench")
def cli() -> None:
    """Given the same seconds, which method finds the better model, and when?

    \b
        cfo-bench run --task iris --method cfo --method rs --budget 5 --folds 0-2
        cfo-bench compare --data my.csv --target y --for 10m
        cfo-bench best results
        cfo-bench run smoke

    Tab completion, in bash (for zsh or fish, write zsh_source or fish_source):

    \b
        eval "$(_CFO_BENCH_COMPLETE=bash_source cfo-bench)"
    """


for _command in (
    *(run, compare, best, study, prepare, report, watch, replay, status),
    *(merge, export, import_runs, surrogate, methods, learners, tasks, schema),
):
    cli.add_command(_command)


def main() -> None:
    """Run a command. An error is one line on stderr; the exit code is 2 for a UserError, 1 for a RunError."""
    _prepare_streams()
    try:
        code = cli.main(standalone_mode=False, prog_name="cfo-bench")
        _flush()
        sys.exit(code)
    except click.exceptions.NoArgsIsHelpError as error:
        _end(error.format_message(), 2)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "cfo-bench"
        message = error.format_message().rstrip(".").replace("'. (", "' (")
        _end(one_line(f"{where}: {message[:1].lower()}{message[1:]} (see {where} --help)"), 2)
    except click.ClickException as error:
        _end(one_line(f"cfo-bench: {error.format_message()}"), error.exit_code)
    except CfoBenchError as error:
        _end(one_line(f"cfo-bench: {error}"), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _end("cfo-bench: stopped", 130)
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
        _end("", 141)
    except OSError as error:
        if error.errno not in _MACHINE_ERRORS + _PATH_ERRORS:
            raise
        place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        is_path = error.errno in _PATH_ERRORS
        remedy, exit_code = ("give another path", 2) if is_path else ("make room, or write elsewhere", 1)
        _end(one_line(f"cfo-bench: {place}{error.strerror}; {remedy}"), exit_code)


# A full disk, a full quota, a read-only file system, a closed output, a failed read or write.
_MACHINE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EBADF, errno.EIO)
# A path that no file system accepts, or that this user may not read or write.
_PATH_ERRORS = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES)


def _prepare_streams() -> None:
    """Replace a closed stream by the null device; characters that a stream can't encode become escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Raise the error of a full disk here, not while Python exits."""
    sys.stdout.flush()
    sys.stderr.flush()


def _end(text: str, exit_code: int) -> NoReturn:
    with suppress(OSError, ValueError):
        if text:
            print_text(text)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Without this, Python would try again when it exits, and print a warning.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(exit_code)
