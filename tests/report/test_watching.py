"""The page of a results folder while runs go on: what it shows, what it serves, and what it leaves alone."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.errors import UserError
from cfo_bench.records import EndReason, RunSpec
from cfo_bench.report.server import PageServer
from cfo_bench.report.watching import WatchedReport
from cfo_bench.results.status import record_plan
from tests.helpers.processes import wait_until
from tests.helpers.traces import BUDGET, held

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


class Visitor:
    """Asks a server for pages, as a browser does."""

    def __init__(self, server: PageServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    def ask(self, path: str, verb: str = "GET", host: str | None = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_address[1], timeout=60)
        connection.putrequest(verb, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.server.server_address[1]}")
        connection.endheaders()
        return connection.getresponse()

    def page(self) -> str:
        answer = self.ask("/")
        assert answer.status == 200
        return answer.read().decode()

    def version(self) -> dict[str, int]:
        answer: dict[str, int] = orjson.loads(self.ask("/version").read())
        return answer

    def wait_for_report(self, version: int = 1) -> str:
        wait_until(lambda: self.version()["report"] >= version, f"report {version}", seconds=100, tick=0.2)
        return self.page()


@pytest.fixture
def watch(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Visitor]]:
    """Serves the results of the test until it is over."""
    servers = []

    def start() -> Visitor:
        folder = tmp_path_factory.mktemp("report")
        report = WatchedReport([tmp_path / "results"], folder)
        server = PageServer(report)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((report, server, thread))
        return Visitor(server, folder)

    yield start
    for report, server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
        report.__exit__(None, None, None)


def test_the_report_of_finished_runs_is_below_the_running_and_waiting_ones(
    write_run: Any, tmp_path: Path, watch: Any
) -> None:
    write_run("wine", "rs", 0, TRIALS)
    write_run("wine", "cfo", 0, TRIALS)
    running = write_run("wine", "cfo", 1, TRIALS, reason=None)
    record_plan(
        tmp_path / "results",
        [RunSpec("xgboost", "wine", "rs", fold, budget_seconds=BUDGET) for fold in (0, 1)],
    )

    with held(running.with_suffix(".live")):
        page = watch().wait_for_report()

    assert page.index('id="table-of-runs"') < page.index('class="learner"')
    assert page.index("wine, fold 1") < page.index('class="learner"')
    for count in ("running <b>1</b>", "waiting <b>1</b>", "done <b>2</b>"):
        assert count in page
    # The incumbent of the run that is running: its score, and its configuration.
    assert "0.8 <small>AUC ↑</small>" in page and "n_estimators=8, max_leaves=16" in page
    assert '"name":"fold 1: cfo"' in page


def test_before_the_first_run_has_finished_the_page_has_the_runs_only(
    write_run: Any, tmp_path: Path, watch: Any
) -> None:
    running = write_run("wine", "cfo", 0, TRIALS, reason=None)

    with held(running.with_suffix(".live")):
        page = watch().page()

    assert "running <b>1</b>" in page and 'class="learner"' not in page
    assert "copy it" not in page  # it is no folder


def test_an_empty_folder_waits_for_its_first_run_and_a_missing_one_is_refused(
    write_run: Any, tmp_path: Path, watch: Any
) -> None:
    with pytest.raises(UserError, match="no folder"):
        watch()
    (tmp_path / "results").mkdir()
    visitor = watch()
    assert "No run has started" in visitor.page()

    write_run("wine", "cfo", 0, TRIALS)

    assert 'class="learner"' in visitor.wait_for_report()


def test_a_damaged_trace_is_a_warning_and_the_other_runs_are_reported(
    write_run: Any, tmp_path: Path, watch: Any
) -> None:
    write_run("wine", "cfo", 0, TRIALS)
    broken = write_run("wine", "rs", 0, TRIALS)
    visitor = watch()
    visitor.wait_for_report()

    broken.write_bytes(broken.read_bytes().replace(b'"kind":"trial"', b'"kind":"trail"', 1))

    wait_until(lambda: "is not a record of a trace" in visitor.page(), "the warning", tick=0.2)
    page = visitor.page()
    assert "rs/fold-0_seed-0.jsonl, line 2" in page and 'class="learner"' in page


def test_a_folder_without_any_readable_trace_has_a_page_too(
    write_run: Any, tmp_path: Path, watch: Any
) -> None:
    write_run("wine", "cfo", 0, TRIALS).write_bytes(b"\xff\xfe not a trace\n")

    page = watch().page()

    assert "line 1 is not a record of a trace" in page


def test_the_results_are_only_read(write_run: Any, tmp_path: Path, watch: Any) -> None:
    write_run("wine", "cfo", 0, TRIALS)
    write_run("wine", "rs", 0, TRIALS, reason=EndReason.INTERRUPTED)
    before = contents(tmp_path / "results")

    visitor = watch()
    visitor.wait_for_report()

    assert contents(tmp_path / "results") == before


def contents(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Every file and folder with the time of its last change, and the content of the files."""
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in (folder, *folder.rglob("*"))
    }


def test_nothing_but_the_report_is_served(write_run: Any, tmp_path: Path, watch: Any) -> None:
    trace = write_run("wine", "cfo", 0, TRIALS)
    visitor = watch()
    page = visitor.wait_for_report()

    assert visitor.ask("/assets/report.css").status == 200
    assert visitor.ask("/xgboost/curves/000.js").status == 200
    assert "xgboost/tables/" in page
    for path in (
        "/../results/xgboost/wine/cfo/fold-0_seed-0.jsonl",
        "/%2e%2e/results/runs.plan",
        f"/{trace}",
        f"/%2F{trace}",
        f"/{visitor.folder}/index.html",
        "/index.html",
        "/.cache/manifest.json",
        "/assets/",
        "/assets/../assets/report.css",
        "/assets/__init__.py",
        "/xgboost",
        "/xgboost/curves/000.js/",
        "/xgboost/curves/%00",
        "/etc/passwd",
    ):
        answer = visitor.ask(path)
        assert (path, answer.status) == (path, 404)
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert visitor.ask("/version", verb="POST").status == 501


def test_a_file_that_was_put_into_the_reports_folder_is_not_served(
    write_run: Any, tmp_path: Path, watch: Any
) -> None:
    write_run("wine", "cfo", 0, TRIALS)
    visitor = watch()
    visitor.wait_for_report()

    (visitor.folder / "xgboost" / "tables" / "mine.csv").write_text("secret")

    assert visitor.ask("/xgboost/tables/mine.csv").status == 404


@pytest.mark.parametrize("path", ["/", "/version", "/runs", "/assets/report.css"])
def test_a_page_of_another_site_whose_name_leads_here_gets_nothing(
    write_run: Any, tmp_path: Path, watch: Any, path: str
) -> None:
    write_run("wine", "cfo", 0, TRIALS)
    visitor = watch()

    for host in (
        "rebinding.example",
        "rebinding.example:80",
        "127.0.0.1.example",
        "",
        "[::1",
        "localhost.example",
    ):
        answer = visitor.ask(path, host=host or " ")
        assert answer.status == 403 and b"wine" not in answer.read()
    # A tunnel may end at another port.
    for host in ("localhost:9000", "127.0.0.1", "[::1]:80"):
        assert visitor.ask(path, host=host).status == 200


def test_the_headers_keep_other_hosts_and_frames_out(write_run: Any, tmp_path: Path, watch: Any) -> None:
    write_run("wine", "cfo", 0, TRIALS)

    headers = watch().ask("/", verb="HEAD").headers

    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "http" not in policy and "script-src 'self';" in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
    assert "Python" not in headers["Server"]


def test_a_task_called_like_a_script_is_text_in_the_table(write_run: Any, watch: Any) -> None:
    odd = "<script>alert(1)</script>"
    running = write_run(odd, odd, 0, TRIALS, reason=None)

    with held(running.with_suffix(".live")):
        page = watch().page()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and odd not in page


@pytest.mark.slow  # that it is built again is seen in the browser, too: tests/cli/test_watch.py
def test_the_report_is_built_again_when_a_run_has_finished_and_not_otherwise(
    write_run: Any, tmp_path: Path, watch: Any
) -> None:
    write_run("wine", "cfo", 0, TRIALS)
    visitor = watch()
    # With nothing left to run the pictures are drawn at once, but after the rest.
    assert "/figures/" not in visitor.wait_for_report(1)
    assert "/figures/" in visitor.wait_for_report(2)
    waiting = threading.active_count()
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        assert visitor.version()["report"] == 2
        time.sleep(0.2)
    assert threading.active_count() <= waiting + 1

    write_run("wine", "rs", 0, TRIALS)

    assert "rs" in visitor.wait_for_report(3).partition('class="learner"')[2]


def test_a_build_that_has_just_been_started_ends_with_the_report(tmp_path: Path, write_run: Any) -> None:
    write_run("wine", "cfo", 0, TRIALS)
    (tmp_path / "report").mkdir()
    threads = set(threading.enumerate())

    with WatchedReport([tmp_path / "results"], tmp_path / "report") as report:
        report.look()

    assert set(threading.enumerate()) <= threads


def test_several_folders_are_one_report(tmp_path: Path, write_run: Any) -> None:
    write_run("wine", "cfo", 0, TRIALS)
    os.rename(tmp_path / "results", tmp_path / "other")
    write_run("wine", "rs", 0, TRIALS)
    (tmp_path / "report").mkdir()

    with WatchedReport([tmp_path / "results", tmp_path / "other"], tmp_path / "report") as report:
        report.look()

    assert "done <b>2</b>" in report.page()
