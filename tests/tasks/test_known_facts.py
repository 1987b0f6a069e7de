"""What is known of a task without reading its data again, and when that no longer holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cfo_bench.records import DataRef
from cfo_bench.tasks import cache, facts_if_known, inspect, resolve
from cfo_bench.tasks.catalogue import file_ref

HOUR_NS = 3600 * 10**9


def write(path: Path, shift: int = 0) -> None:
    path.write_text("a,y,z\n" + "".join(f"{n + shift},{n % 2},{n * 1.5}\n" for n in range(40)))


def settle(folder: Path) -> None:
    """Dates what was kept an hour later, as if the data had been looked at long after its last change."""
    for kept in (folder / "facts").iterdir():
        later = kept.stat().st_mtime_ns + HOUR_NS
        os.utime(kept, ns=(later, later))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFO_BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def ref(tmp_path: Path, folder: Path) -> DataRef:
    write(tmp_path / "mine.csv")
    return file_ref(tmp_path / "mine.csv", "y")


def test_facts_are_known_once_the_data_was_inspected(ref: DataRef, folder: Path) -> None:
    assert facts_if_known(ref, 2) is None
    facts = inspect(ref, 2)
    settle(folder)
    assert facts_if_known(ref, 2) == facts and facts.target == "y"
    assert facts_if_known(ref, 3) is None
    assert facts_if_known(file_ref(Path(str(ref.path)), "z"), 2) is None


def test_a_file_that_has_changed_is_not_known_even_with_the_same_size_and_time(
    ref: DataRef, folder: Path
) -> None:
    inspect(ref, 2)
    settle(folder)
    path = Path(str(ref.path))
    before = path.stat()
    write(path, shift=0)
    path.write_text(path.read_text().replace("39,1,", "38,1,"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert facts_if_known(ref, 2) is None


def test_what_was_kept_right_after_a_change_is_not_trusted(ref: DataRef) -> None:
    inspect(ref, 2)
    assert facts_if_known(ref, 2) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\0" * 99, b'{"state": [], "made_with": []}'])
def test_a_damaged_entry_is_no_entry(ref: DataRef, folder: Path, content: bytes) -> None:
    inspect(ref, 2)
    settle(folder)
    [kept] = (folder / "facts").iterdir()
    kept.write_bytes(content)
    assert facts_if_known(ref, 2) is None


def test_other_packages_know_nothing_of_ours(
    ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect(ref, 2)
    settle(folder)
    monkeypatch.setattr(cache, "_packages", lambda: ["numpy 99"])
    assert facts_if_known(ref, 2) is None


def test_bundled_and_synthetic_tasks_are_known(folder: Path) -> None:
    assert facts_if_known(resolve("synthetic-1k"), 2) == inspect(resolve("synthetic-1k"), 2)
    assert facts_if_known(resolve("iris"), 2) is None
    assert inspect(resolve("iris"), 2) == facts_if_known(resolve("iris"), 2)


def test_without_a_cache_nothing_is_kept(ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", "0")
    inspect(ref, 2)
    assert facts_if_known(ref, 2) is None and not folder.exists()
