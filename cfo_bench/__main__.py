"""The entry point of the program `cfo-bench`. Ctrl-C also works while the other modules are loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs a command. At any time, Ctrl-C ends it with a one-line message."""
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
    """Whether Ctrl-C caused the error: an interrupted import of a compiled module raises an ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


if __name__ == "__main__":
    main()
