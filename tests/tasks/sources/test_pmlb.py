"""PMLB through its package, on files laid out as the package does and from a server on loopback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pmlb.pmlb
import pytest

from cfo_bench.errors import DataError, UnknownNameError
from cfo_bench.records import Problem
from cfo_bench.tasks import inspect, obtain, resolve
from tests.tasks.conftest import Server, bytes_below

ROWS = "".join(f"{i % 7}\t{'' if i == 4 else i}\t{i % 2}\n" for i in range(60))


def put(cache: Path, name: str, content: str) -> Path:
    path = cache / name / f"{name}.tsv.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(content.encode()))
    return path


@pytest.mark.usefixtures("no_network")
def test_a_data_set_comes_from_the_cache_with_its_missing_values(home: Path) -> None:
    cache = home / ".cache" / "pmlb"
    put(cache, "adult", "a\tb\ttarget\n" + ROWS)
    before = bytes_below(cache)
    facts = inspect(resolve("pmlb:adult"), 10)
    assert (facts.name, facts.problem, facts.n_rows, facts.n_features) == (
        "pmlb-adult",
        Problem.BINARY,
        60,
        2,
    )
    assert facts.source == "PMLB adult, prepared from PMLB's cache"
    assert facts.folds_source == "stratified 10-fold"
    assert bytes_below(cache) == before


@pytest.mark.usefixtures("no_network")
def test_a_task_of_the_paper_falls_back_to_pmlb(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_PMLB", str(home / "datasets"))
    put(home / "datasets", "201_pol", "a\tb\ttarget\n" + ROWS)
    facts = inspect(resolve("pol", offline=True), 5)
    assert facts.problem is Problem.REGRESSION and facts.source.startswith("PMLB 201_pol")
    assert facts.folds_source == "plain 5-fold"


def test_the_package_downloads_what_the_cache_lacks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(("a\tb\ttarget\n" + ROWS).encode())
    monkeypatch.setattr(pmlb.pmlb, "GITHUB_URL", f"{server.url}/pmlb")
    path = "/pmlb/wine_recognition/wine_recognition.tsv.gz"
    whole = lambda handler, _: handler.reply(200, content)  # noqa: E731
    bad = lambda handler, _: handler.reply(503, b"")  # noqa: E731
    half = lambda handler, _: handler.reply(200, content[:80])  # noqa: E731
    # The package asks twice: whether the file is there, and for it.
    server.fail(path, bad, whole, half, whole, whole)
    said: list[str] = []
    stored = obtain(resolve("pmlb:wine_recognition"), said.append)
    assert (stored.about["rows"], stored.about["obtained"]) == (60, "PMLB")
    assert ["did not return" in said[0], "cut off or damaged" in said[1], len(said)] == [True, True, 2]


@pytest.mark.usefixtures("no_network")
def test_no_copy_is_one_line_and_an_unknown_name_gets_the_nearest(home: Path) -> None:
    with pytest.raises(DataError, match=r"no adult/adult.tsv.gz.*prepare --task pmlb-adult"):
        obtain(resolve("pmlb:adult", offline=True))
    with pytest.raises(UnknownNameError, match=r"unknown PMLB data set 'adlt' \(did you mean 'adult'\?\)"):
        obtain(resolve("pmlb:adlt"))


@pytest.mark.usefixtures("no_network")
def test_a_file_without_a_target_is_refused(home: Path) -> None:
    put(home / ".cache" / "pmlb", "adult", "a\tb\tclass\n" + ROWS)
    with pytest.raises(DataError, match="no column 'target'"):
        obtain(resolve("pmlb:adult"))
