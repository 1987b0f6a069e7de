"""Prepared arrays on disk: found again, never stale, never torn, and not needed where they can't be kept."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfo_bench.errors import DataError, UserError
from cfo_bench.records import DataRef, Fold, Problem, TaskFacts
from cfo_bench.tasks import cache, file_ref, inspect, load_fold

N_ROWS = 4_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFO_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CFO_BENCH_CACHE_GB", raising=False)
    return tmp_path / "cache" / "folds"


@pytest.fixture
def ref(tmp_path: Path) -> DataRef:
    return write(tmp_path / "mine.csv")


def write(path: Path, seed: int = 0, n_rows: int = N_ROWS) -> DataRef:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "colour": rng.choice(["red", "green", None], size=n_rows),
            "y": rng.choice(["no", "yes"], size=n_rows),
        }
    )
    frame.to_csv(path, index=False)
    return file_ref(path, "y")


def load(
    ref: DataRef, fold: int = 0, seed: int = 0, holdout_share: float | None = None
) -> tuple[Fold, TaskFacts]:
    return load_fold(ref, fold, 10, seed, holdout_share)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def is_mapped(array: np.ndarray) -> bool:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base is not None


def assert_same(one: tuple[Fold, TaskFacts], other: tuple[Fold, TaskFacts]) -> None:
    assert one[1] == other[1]
    for field in fields(Fold):
        ours, theirs = getattr(one[0], field.name), getattr(other[0], field.name)
        if isinstance(ours, np.ndarray):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert ours == theirs and type(ours) is type(theirs)


def in_memory(ref: DataRef, monkeypatch: pytest.MonkeyPatch, **choice: float) -> tuple[Fold, TaskFacts]:
    with monkeypatch.context() as patched:
        patched.setenv("CFO_BENCH_CACHE_GB", "0")
        return load(ref, **choice)


# --- what is kept -------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [{}, {"fold": 3, "seed": 5}, {"holdout_share": 0.25}])
def test_what_was_kept_is_what_was_made(
    ref: DataRef, monkeypatch: pytest.MonkeyPatch, choice: dict[str, float]
) -> None:
    made, first, again = in_memory(ref, monkeypatch, **choice), load(ref, **choice), load(ref, **choice)
    assert_same(first, made)
    assert_same(again, made)
    assert is_mapped(first[0].train_x) and is_mapped(again[0].train_x)
    assert (again[0].test_y is None) == ("holdout_share" not in choice)


def test_a_file_that_was_read_is_not_parsed_again(
    ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = load(ref), inspect(ref, 10)
    broken = {".csv": lambda path: pytest.fail(f"{path} is parsed again")}
    monkeypatch.setattr("cfo_bench.tasks.sources.files.READERS", broken)
    assert_same(load(ref), expected[0])
    assert inspect(ref, 10) == expected[1]


def test_every_choice_has_an_entry_of_its_own(ref: DataRef, folder: Path) -> None:
    load(ref)
    for choice in ({"fold": 1}, {"seed": 1}, {"holdout_share": 0.2}, {"holdout_share": 0.3}):
        load(ref, **choice)
    load_fold(ref, 0, 5, 0)
    load_fold(replace(ref, problem=Problem.BINARY), 0, 10, 0)
    load_fold(replace(ref, task="other"), 0, 10, 0)
    assert len(entries(folder)) == 8
    assert all(path.suffix == ".fold" for path in entries(folder))


def test_a_changed_file_is_read_anew_even_when_its_size_and_time_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    before, times = load(write(path)), path.stat()
    path.write_text(path.read_text().replace("red", "tan"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_size == times.st_size and path.stat().st_mtime_ns == times.st_mtime_ns
    after = load(file_ref(path, "y"))
    assert after[1].sha256 != before[1].sha256


def test_a_copy_of_a_file_finds_the_same_entry(ref: DataRef, tmp_path: Path, folder: Path) -> None:
    load(ref)
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "mine.csv"
    copy.write_bytes(Path(str(ref.path)).read_bytes())
    load(file_ref(copy, "y"))
    assert len(entries(folder)) == 1


def test_other_code_or_other_packages_find_nothing_of_ours(
    ref: DataRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key() -> str:
        found = cache.cache_key(ref, fold=0)
        assert found is not None
        return found.key

    ours = key()
    assert key() == ours
    monkeypatch.setattr(cache, "_code", lambda: "another version's")
    other_code = key()
    monkeypatch.undo()
    monkeypatch.setattr(cache, "_packages", lambda: ["numpy 99"])
    assert len({ours, other_code, key()}) == 3


def test_a_file_that_changes_while_it_is_read_is_not_kept(ref: DataRef, folder: Path) -> None:
    wanted = cache.cache_key(ref, fold=0)

    def build() -> TaskFacts:
        write(Path(str(ref.path)), seed=1)
        return inspect(ref, 10)

    cache.facts(wanted, build)
    assert wanted is not None and f"{wanted.key}.fold" not in [path.name for path in entries(folder)]


@pytest.mark.parametrize("task", ["iris", "small file"])
def test_what_is_small_stays_in_memory(task: str, tmp_path: Path, folder: Path) -> None:
    small = write(tmp_path / "small.csv", n_rows=100) if task == "small file" else DataRef("iris", "bundled")
    fold, _ = load(small)
    assert not is_mapped(fold.train_x) and entries(folder) == []


def test_what_a_process_writes_into_its_arrays_nobody_else_sees(ref: DataRef) -> None:
    mine, _ = load(ref)
    mine.train_x[:] = 7
    mine.train_y[:] = 0
    other, _ = load(ref)
    assert not (other.train_x == 7).all() and other.train_y.any()


def test_wrong_data_is_refused_every_time_and_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n" + "1,5\n" * 30_000)
    for _ in range(2):
        with pytest.raises(DataError, match="in every row"):
            load(file_ref(path, "y"))
    assert entries(folder) == []


def test_the_folder_follows_the_users_caches(
    ref: DataRef, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CFO_BENCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    load(ref)
    assert len(entries(tmp_path / "xdg" / "cfo-bench" / "folds")) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    load(ref)
    assert len(entries(tmp_path / "home" / ".cache" / "cfo-bench" / "folds")) == 1


# --- what goes wrong ------------------------------------------------------------------------------


def damages(whole: bytes) -> dict[str, bytes]:
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    header = bytearray(whole)
    header[20] ^= 1
    return {
        "nothing": b"",
        "zeros": bytes(len(whole)),
        "four zeros": bytes(4),
        "cut": whole[: len(whole) // 2],
        "a byte short": whole[:-1],
        "a bit in the arrays": bytes(flipped),
        "a bit in the header": bytes(header),
        "another file": b"not ours at all" * 100,
    }


def test_a_damaged_entry_is_made_again(ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = in_memory(ref, monkeypatch)
    load(ref)
    (path,) = entries(folder)
    whole = path.read_bytes()
    for damage, content in damages(whole).items():
        path.unlink()
        path.write_bytes(content)
        assert_same(load(ref), expected)
        assert path.read_bytes() == whole, damage
        assert entries(folder) == [path]


def test_a_cache_folder_that_is_a_file_does_no_harm(
    ref: DataRef, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = in_memory(ref, monkeypatch)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CFO_BENCH_CACHE", str(tmp_path / "file"))
    assert_same(load(ref), expected)


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="there is no /sys here that nobody can write to")
def test_a_cache_folder_that_can_not_be_written_does_no_harm(
    ref: DataRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = in_memory(ref, monkeypatch)
    monkeypatch.setenv("CFO_BENCH_CACHE", "/sys/kernel/cfo-bench")
    assert_same(load(ref), expected)


def test_a_full_disk_does_no_harm_and_leaves_nothing(ref: DataRef, tmp_path: Path, folder: Path) -> None:
    """A limit on the size of files ends a write in the middle, as a full disk does."""
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "from cfo_bench.tasks import file_ref, load_fold\nfrom pathlib import Path\n"
        f"fold, facts = load_fold(file_ref(Path({str(ref.path)!r}), 'y'), 0, 10, 0)\n"
        "print(facts.sha256, fold.n_rows)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert entries(folder) == []
    fold, facts = load(ref)
    assert answer.stdout.split() == [facts.sha256, str(fold.n_rows)]


def test_a_size_that_is_no_number_is_refused(ref: DataRef, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("ten", "-1", "nan", "inf"):
        monkeypatch.setenv("CFO_BENCH_CACHE_GB", wrong)
        with pytest.raises(UserError, match=f"CFO_BENCH_CACHE_GB is '{wrong}': give a number of gigabytes"):
            load(ref)


# --- many at once -----------------------------------------------------------------------------------


def ask(ref: DataRef, gate: object, answers: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    fold, facts = load(ref)
    answers.put((facts.sha256, fold.train_x.sum(where=~np.isnan(fold.train_x)), is_mapped(fold.train_x)))  # type: ignore[attr-defined]


def test_processes_that_ask_at_once_get_the_same_and_one_makes_it(
    ref: DataRef, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cfo_bench.tasks.loading

    made = tmp_path / "made"
    prepare = cfo_bench.tasks.loading._data_set

    def counted(*args: object) -> object:
        with made.open("a") as file:
            file.write(".")
        time.sleep(0.2)  # so that the others come while it is made
        return prepare(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(cfo_bench.tasks.loading, "_data_set", counted)
    context = multiprocessing.get_context("fork")
    gate, answers = context.Event(), context.SimpleQueue()
    processes = [context.Process(target=ask, args=(ref, gate, answers)) for _ in range(6)]
    for process in processes:
        process.start()
    gate.set()
    found = {answers.get() for _ in processes}
    for process in processes:
        process.join()
    assert len(found) == 1 and found.pop()[2] is True
    assert made.read_text() == "."
    assert len(entries(folder)) == 1


def test_a_process_that_dies_while_it_writes_holds_nobody_up(ref: DataRef, folder: Path) -> None:
    wanted = cache.cache_key(ref, fold=0)
    assert wanted is not None

    def hang() -> TaskFacts:
        (folder / "reached").touch()
        time.sleep(60)
        raise AssertionError("it should be dead")

    process = multiprocessing.get_context("fork").Process(target=cache.facts, args=(wanted, hang))
    process.start()
    while not (folder / "reached").exists():
        time.sleep(0.01)
    (folder / "reached").unlink()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert [path.suffix for path in entries(folder)] == [".part"]
    about = inspect(ref, 10)
    assert cache.facts(wanted, lambda: about) == about
    assert {path.suffix for path in entries(folder)} == {".fold"}


def test_what_a_dead_process_left_is_swept_away(ref: DataRef, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "dead.part").write_bytes(b"torn")
    load(ref)
    assert [path.suffix for path in entries(folder)] == [".fold"]


# --- its size ---------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_goes_first(
    ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = load(ref, fold=0)[0]
    (first,) = entries(folder)
    size = first.stat().st_size
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", str(3.5 * size / 1e9))
    load(ref, fold=1)
    (second,) = set(entries(folder)) - {first}
    load(ref, fold=2)
    os.utime(first, (1, 1))
    os.utime(second, (2, 2))
    load(ref, fold=0)  # used last now
    load(ref, fold=3)
    assert len(entries(folder)) == 3
    assert first.exists() and not second.exists()
    before = held.train_x.copy()
    first.unlink()
    np.testing.assert_array_equal(held.train_x, before)  # what is mapped stays


def test_what_is_larger_than_the_cache_is_not_kept(
    ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(ref, fold=0)
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", "1e-5")
    fold, _ = load(ref, fold=1)
    assert not is_mapped(fold.train_x) and len(entries(folder)) == 1


def test_no_gigabytes_are_no_cache(ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", "0")
    fold, _ = load(ref)
    assert not is_mapped(fold.train_x) and entries(folder) == []
