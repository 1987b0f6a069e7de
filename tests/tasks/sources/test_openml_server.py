"""The real OpenML client against a server on loopback that answers as OpenML does, and as it should not."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cfo_bench.cli.main import cli
from cfo_bench.errors import DataError
from cfo_bench.tasks import inspect, is_stored, obtain, resolve, resolve_all
from cfo_bench.tasks.sources import origins
from cfo_bench.tasks.sources.caches import openml_home
from tests.tasks.conftest import Server, bytes_below

TASK = "/api/v1/xml/task/19"


def status(number: int, body: bytes = b"<html>no</html>") -> Callable[[Any, bytes], None]:
    return lambda handler, content: handler.reply(number, body)


def cut_off(handler: Any, content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    handler.close_connection = True


def other_bytes(handler: Any, content: bytes) -> None:
    handler.reply(200, content.replace(b"R", b"L", 1))


def never(handler: Any, content: bytes) -> None:
    threading.Event().wait(3)
    handler.close_connection = True


def test_a_task_is_downloaded_checked_stored_and_given_to_the_clients_cache(server: Server) -> None:
    facts = inspect(resolve("openml:19"), 10)
    assert (facts.n_rows, facts.n_features, facts.n_classes) == (625, 4, 3)
    assert facts.folds_source == "OpenML task 19, official splits"
    assert facts.source.endswith(f"prepared from {server.url.removeprefix('http://')}")
    cached = bytes_below(openml_home().folder())
    assert sorted(cached) == [
        *(f"datasets/4/{name}" for name in ("dataset.arff", "description.xml", "features.xml")),
        *(f"tasks/19/{name}" for name in ("datasplits.arff", "task.xml")),
    ]
    n_asked = len(server.asked)
    assert n_asked == 5
    inspect(resolve("openml:19", offline=True), 10)
    assert len(server.asked) == n_asked


def test_another_task_of_the_same_data_does_not_download_it_again(server: Server) -> None:
    obtain(resolve("openml:1"))
    obtain(resolve("openml:6"))
    assert server.asked.count("/arff/1") == 1


@pytest.mark.parametrize(
    "path", [TASK, "/api/v1/xml/data/4", "/api/v1/xml/data/features/4", "/arff/4", "/splits/19"]
)
@pytest.mark.parametrize("fault", [status(500), cut_off])
def test_a_passing_fault_is_overcome_by_trying_again(
    server: Server, path: str, fault: Callable[[Any, bytes], None]
) -> None:
    server.fail(path, fault, fault)
    said: list[str] = []
    stored = obtain(resolve("openml:19"), said.append)
    assert (stored.about["rows"], stored.n_folds) == (625, 10)
    assert len(said) == 2 and all("trying again in 0 s" in line for line in said)


@pytest.mark.parametrize(
    ("path", "fault", "reason"),
    [
        (TASK, status(500), "it answered with status 500"),
        ("/splits/19", status(404), "it answered with status 404"),
        ("/arff/4", cut_off, "its answer was cut off"),
        ("/arff/4", other_bytes, "the file that came has another MD5 than OpenML states"),
        (TASK, status(200, b"<html>hotel</html>"), "its answer makes no sense"),
        ("/splits/19", never, "it did not answer in time"),
    ],
)
def test_a_lasting_fault_is_one_line_and_leaves_no_half_file(
    server: Server,
    path: str,
    fault: Callable[[Any, bytes], None],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(origins, "TIMEOUT_SECONDS", 0.5)
    server.fail(path, fault, fault, fault)
    ref = resolve("openml:19")
    with pytest.raises(DataError) as caught:
        obtain(ref)
    message = str(caught.value)
    assert reason in message and "\n" not in message
    assert "`cfo-bench prepare --task openml-19`" in message
    assert not is_stored(ref)
    for name, content in bytes_below(openml_home().folder()).items():  # what came whole is kept
        assert "dataset.arff" not in name or len(content) == len(server.answer("/arff/4") or b"")
    server.faults.clear()
    assert obtain(ref).n_folds == 10


def test_an_unknown_task_is_not_asked_for_twice(server: Server) -> None:
    with pytest.raises(DataError, match=r"it answered 'Unknown task' \(code 151\)"):
        obtain(resolve("openml:99999"))
    assert server.asked == ["/api/v1/xml/task/99999"]


def test_a_wrong_file_in_the_cache_is_left_alone_and_fetched_anew_with_a_network(server: Server) -> None:
    obtain(resolve("openml:19"))
    data = openml_home().folder() / "datasets/4/dataset.arff"
    data.write_text("damaged")
    (openml_home().folder() / "tasks/19/datasplits.arff").unlink()
    ref = resolve("openml-data:4")
    stored = obtain(ref)
    assert stored.about["rows"] == 625 and data.read_text() == "damaged"


def test_a_suite_is_all_its_tasks_and_is_remembered(server: Server) -> None:
    refs = resolve_all("openml-suite:271")
    assert [ref.task for ref in refs] == ["openml-19", "openml-97"]
    n_asked = len(server.asked)
    assert resolve_all("openml-suite:271", offline=True) == [
        resolve(name, offline=True) for name in ("openml:19", "openml:97")
    ]
    assert len(server.asked) == n_asked


def test_an_unknown_suite_is_one_line(server: Server) -> None:
    with pytest.raises(DataError, match=r"suite 'openml-suite:5' is not on this machine: .*Unknown task"):
        resolve_all("openml-suite:5")


def test_many_that_ask_at_once_download_once(server: Server) -> None:
    ref = resolve("openml:19")
    numbers: list[int | None] = []
    threads = [threading.Thread(target=lambda: numbers.append(obtain(ref).n_folds)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers == [10] * 4 and server.asked.count("/arff/4") == 1


def test_prepare_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    names = tmp_path / "mine.yaml"
    names.write_text("tasks:\n  - openml-suite:271\n  - openml:6\n  - iris\n")
    server.fail("/splits/97", *[status(500)] * 3)

    first = CliRunner().invoke(cli, ["prepare", str(names)], standalone_mode=False)
    assert first.return_value == 1
    assert re.search(
        r"^\[1/4\] openml-19: .* 19 .*625 rows × 4 features, 10 official folds, MD5 matches, stored$",
        first.output,
        re.M,
    )
    assert re.search(r"^\[2/4\] openml-97: MISSING: .*status 500", first.output, re.M)
    assert "1 official fold, MD5 matches, stored" in first.output and "[4/4] iris: bundled" in first.output
    assert "3 of 4 tasks are on this machine" in first.output and "missing: openml-97" in first.output

    asked = len(server.asked)
    second = CliRunner().invoke(cli, ["prepare", str(names)], standalone_mode=False)
    assert second.return_value == 0 and second.output.count("stored already") == 2
    assert server.asked[asked:] == ["/splits/97"]
    offline = CliRunner().invoke(cli, ["prepare", str(names), "--offline"], standalone_mode=False)
    assert offline.return_value == 0 and len(server.asked) == asked + 1


def test_no_server_at_all_is_one_line(home: Path) -> None:
    from tests.tasks.conftest import configure

    configure(home, server="http://127.0.0.1:9/api/v1/xml")
    with pytest.raises(DataError, match=r"127.0.0.1:9 \(no connection\)"):
        obtain(resolve("adult"))
