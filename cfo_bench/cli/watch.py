"""`cfo-bench watch`: serve the report of results folders while their runs are running."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import click

from cfo_bench.terminal.printing import print_text


@click.command(short_help="Serve the report as a live page.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. With any other than the default, others on the network can read the page.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="a free one",
    metavar="N",
    help="Port to listen on.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
def watch(results: tuple[Path, ...], host: str, port: int, open_page: bool) -> None:
    """Serve the report of RESULTS as a page that follows the runs.  [default: results]

    Above the report, the page lists every run with its status, remaining time and best trial so far, and
    shows the curves of running runs. The list is updated when a trial finishes, the report when a run
    finishes.

    The command only reads RESULTS, which may be written by a run on this machine, by Dask, or by another
    machine. It prints the address of the page on stdout, and runs until Ctrl-C.
    """
    from cfo_bench.report.server import PageServer
    from cfo_bench.report.watching import WatchedReport

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="cfo-bench-watch-", ignore_cleanup_errors=True) as folder,
            WatchedReport(results or (Path("results"),), Path(folder)) as report,
            PageServer(report, host, port) as server,
        ):
            print_text(server.url, err=False)
            print_text("cfo-bench: serving until Ctrl-C")
            if open_page:
                click.launch(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        pass
