"""Arrays on disk: found again, never torn, built by one process, and not needed if they can't be kept."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from cfo_bench.errors import UserError
from cfo_bench.files.cache import CacheEntry, cached, code_hash, file_state, recall


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFO_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CFO_BENCH_CACHE_GB", raising=False)
    return tmp_path / "cache" / "tables"


def built() -> CacheEntry:
    arrays = {
        "x": np.arange(6_000, dtype=np.float32).reshape(2, 3_000),
        "y": np.arange(5, dtype=np.int32),
        "none": np.empty((0, 3)),
    }
    return CacheEntry(arrays, {"name": "ä", "rows": 5, "nested": {"a": [1, None]}})


def get(key: object = "key") -> CacheEntry:
    return cached("tables", key, built)


def not_built() -> NoReturn:
    pytest.fail("it is built again")


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def is_mapped(entry: CacheEntry) -> bool:
    array = entry.arrays["x"]
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base is not None


def assert_whole(entry: CacheEntry | None) -> None:
    expected = built()
    assert entry is not None and entry.facts == expected.facts
    assert list(entry.arrays) == list(expected.arrays)
    for name, array in expected.arrays.items():
        assert entry.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(entry.arrays[name], array)


# --- what is kept -------------------------------------------------------------------------------


def test_what_was_built_is_found_again_and_mapped(folder: Path) -> None:
    assert recall("tables", "key") is None
    first, again = get(), cached("tables", "key", not_built)
    for entry in (first, again, recall("tables", "key")):
        assert_whole(entry)
    assert is_mapped(first) and is_mapped(again)
    assert len(entries(folder)) == 1


def test_every_key_and_folder_has_an_entry_of_its_own(folder: Path) -> None:
    for key in ("key", ["key"], ["key", 1], {"a": 1, "b": None}, None):
        get(key)
    cached("tables", {"b": None, "a": 1}, not_built)
    assert len(entries(folder)) == 5
    assert recall("folds", "key") is None


def test_what_changed_while_it_was_built_is_not_kept(folder: Path) -> None:
    assert_whole(cached("tables", "key", built, may_keep=lambda: False))
    assert entries(folder) == []


def test_what_a_process_writes_into_its_arrays_nobody_else_sees() -> None:
    get().arrays["x"][:] = 7
    assert_whole(get())


def test_an_error_of_the_builder_is_raised_every_time_and_leaves_nothing(folder: Path) -> None:
    def refuse() -> NoReturn:
        raise UserError("wrong data")

    for _ in range(2):
        with pytest.raises(UserError, match="wrong data"):
            cached("tables", "key", refuse)
    assert entries(folder) == []


def test_the_folder_follows_the_users_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CFO_BENCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    get()
    assert len(entries(tmp_path / "xdg" / "cfo-bench" / "tables")) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    get()
    assert len(entries(tmp_path / "home" / ".cache" / "cfo-bench" / "tables")) == 1


# --- what goes wrong ------------------------------------------------------------------------------


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGES = {
    "nothing": lambda whole: b"",
    "zeros": lambda whole: bytes(len(whole)),
    "four zeros": lambda whole: bytes(4),
    "cut": lambda whole: whole[: len(whole) // 2],
    "a byte short": lambda whole: whole[:-1],
    "a bit in the arrays": lambda whole: flipped(whole, len(whole) // 2),
    "a bit in the header": lambda whole: flipped(whole, 20),
    "a bit in the checksum": lambda whole: flipped(whole, len(whole) - 1),
    "another file": lambda whole: b"not ours at all" * 100,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_built_again(folder: Path, damage: str) -> None:
    get()
    (path,) = entries(folder)
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(DAMAGES[damage](whole))

    assert recall("tables", "key") is None
    assert_whole(get())
    assert path.read_bytes() == whole
    assert entries(folder) == [path]


def test_a_cache_folder_that_is_a_file_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CFO_BENCH_CACHE", str(tmp_path / "file"))
    assert_whole(get())


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="there is no /sys here that nobody can write to")
def test_a_cache_folder_that_can_not_be_written_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_CACHE", "/sys/kernel/cfo-bench")
    assert_whole(get())


def ask_with_a_full_disk(answers: object) -> None:
    """A limit on the size of files ends a write in the middle, as a full disk does."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    answers.put(get().facts["rows"])  # type: ignore[attr-defined]


def test_a_full_disk_does_no_harm_and_leaves_nothing(folder: Path) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=ask_with_a_full_disk, args=(answers,))
    process.start()
    process.join()

    assert process.exitcode == 0 and answers.get() == 5
    assert entries(folder) == []


@pytest.mark.parametrize("wrong", ["ten", "-1", "nan", "inf"])
def test_a_size_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", wrong)
    with pytest.raises(UserError, match=f"CFO_BENCH_CACHE_GB is '{wrong}': give a number of gigabytes"):
        get()


# --- several processes --------------------------------------------------------------------------------


def ask_slowly(log: Path, gate: object, answers: object) -> None:
    def slow() -> CacheEntry:
        with log.open("a") as file:
            file.write(".")
        time.sleep(0.2)  # so that the others ask while it is built
        return built()

    gate.wait()  # type: ignore[attr-defined]
    entry = cached("tables", "key", slow)
    assert_whole(entry)
    answers.put(is_mapped(entry))  # type: ignore[attr-defined]


def test_processes_that_ask_at_once_share_what_one_of_them_builds(folder: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    gate, answers, log = context.Event(), context.SimpleQueue(), tmp_path / "built"
    processes = [context.Process(target=ask_slowly, args=(log, gate, answers)) for _ in range(6)]
    for process in processes:
        process.start()
    gate.set()
    for process in processes:
        process.join()

    assert [answers.get() for process in processes if process.exitcode == 0] == [True] * 6
    assert log.read_text() == "."
    assert len(entries(folder)) == 1


def test_a_process_that_dies_while_it_builds_holds_nobody_up(folder: Path, tmp_path: Path) -> None:
    def hang() -> NoReturn:
        (tmp_path / "reached").touch()
        time.sleep(60)
        raise AssertionError("it should be dead")

    process = multiprocessing.get_context("fork").Process(target=cached, args=("tables", "key", hang))
    process.start()
    while not (tmp_path / "reached").exists():
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()

    assert [path.suffix for path in entries(folder)] == [".part"]
    assert_whole(get())
    assert [path.suffix for path in entries(folder)] == [".arrays"]


def test_what_a_dead_process_left_is_removed(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "dead.part").write_bytes(b"torn")
    get()
    assert [path.suffix for path in entries(folder)] == [".arrays"]


# --- its size ---------------------------------------------------------------------------------------


def test_the_least_recently_used_entry_of_any_folder_goes_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = get(0)
    (first,) = entries(folder)
    size = first.stat().st_size
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", str(3.5 * size / 1e9))
    cached("folds", 1, built)
    (second,) = entries(folder.with_name("folds"))
    get(2)
    os.utime(first, (1, 1))
    os.utime(second, (2, 2))
    get(0)  # the last one used now
    get(3)
    assert len(entries(folder)) == 3
    assert first.exists() and not second.exists()
    first.unlink()
    assert_whole(held)  # what is mapped stays


def test_entries_of_an_earlier_version_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = folder.with_name("folds") / "0123.fold"
    old.parent.mkdir(parents=True)
    old.write_bytes(bytes(50_000))
    os.utime(old, (1, 1))
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", "5e-5")
    get()
    assert not old.exists() and len(entries(folder)) == 1


def test_what_is_larger_than_the_cache_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get(0)
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", "1e-5")
    assert not is_mapped(get(1)) and len(entries(folder)) == 1


def test_no_gigabytes_are_no_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", "0")
    assert not is_mapped(get()) and entries(folder) == []


# --- parts of keys ------------------------------------------------------------------------------------


def test_the_hash_of_code_changes_with_any_python_file_and_with_no_other(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    file, data = tmp_path / "inner" / "a.py", tmp_path / "inner" / "a.csv"
    file.write_text("x = 1")
    data.write_text("1")
    before = code_hash(tmp_path)
    data.write_text("2")
    assert code_hash(tmp_path) == before
    file.write_text("x = 2")
    assert code_hash(tmp_path) != before
    assert code_hash(tmp_path, data) != code_hash(tmp_path)


def test_the_state_of_a_file_changes_with_its_content_even_if_size_and_time_are_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    before, status = file_state(path), path.stat()
    path.write_text("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert file_state(path) != before
