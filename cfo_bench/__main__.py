"""Where the program `cfo-bench` starts: it answers Ctrl-C also in the second in which the rest is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs a command; Ctrl-C ends it with one line, wherever it comes."""
    try:
        from cfo_bench.cli.main import main as run_command

        run_command()
    except Exception as error:
        if not _comes_of_ctrl_c(error):
            raise
    except KeyboardInterrupt:
        pass
    sys.stderr.write("cfo-bench: stopped\n")
    sys.exit(130)


def _comes_of_ctrl_c(error: BaseException | None) -> bool:
    """A compiled module that Ctrl-C meets while it is loaded raises an ImportError, caused by the Ctrl-C."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


if __name__ == "__main__":
    main()
