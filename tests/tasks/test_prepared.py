"""Folds and facts in the cache: found again, and never out of date."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfo_bench.errors import DataError
from cfo_bench.records import DataRef, Fold, Problem, TaskFacts
from cfo_bench.tasks import facts_if_known, file_ref, inspect, load_fold, prepared, resolve

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


def assert_same(first: tuple[Fold, TaskFacts], other: tuple[Fold, TaskFacts]) -> None:
    assert first[1] == other[1]
    for field in fields(Fold):
        ours, theirs = getattr(first[0], field.name), getattr(other[0], field.name)
        if isinstance(ours, np.ndarray):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
        elif field.compare:
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
    assert made[0].frames is not None and again[0].frames is not None
    for part, other in zip(made[0].frames(), again[0].frames(), strict=True):
        assert part is other is None or part.equals(other)


def test_a_file_that_was_read_is_not_parsed_again(
    ref: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = load(ref), inspect(ref, 10)
    broken = {"csv": lambda path: pytest.fail(f"{path} is parsed again")}
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
    def key() -> list[object]:
        wanted = prepared.content_key(ref, fold=0)
        assert wanted is not None
        return wanted.key

    ours = key()
    assert key() == ours
    monkeypatch.setattr(prepared, "_code", lambda: "another version's")
    other_code = key()
    monkeypatch.undo()
    monkeypatch.setattr(prepared, "_packages", lambda: ["numpy 99"])
    assert other_code != ours and key() != ours


def test_a_file_that_changes_while_it_is_read_is_not_kept(ref: DataRef, folder: Path) -> None:
    wanted, facts = prepared.content_key(ref, fold=0), inspect(ref, 10)
    n_entries = len(entries(folder))

    def build() -> TaskFacts:
        write(Path(str(ref.path)), seed=1)
        return facts

    assert prepared.prepared_facts(wanted, build) == facts
    assert len(entries(folder)) == n_entries


@pytest.mark.parametrize("task", ["iris", "small file"])
def test_what_is_small_stays_in_memory(task: str, tmp_path: Path, folder: Path) -> None:
    small = write(tmp_path / "small.csv", n_rows=100) if task == "small file" else DataRef("iris", "bundled")
    fold, _ = load(small)
    assert not is_mapped(fold.train_x) and entries(folder) == []


def test_wrong_data_is_refused_every_time_and_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n" + "1,5\n" * 30_000)
    for _ in range(2):
        with pytest.raises(DataError, match="in every row"):
            load(file_ref(path, "y"))
    assert entries(folder) == []


# --- facts that are known without reading the data ----------------------------------------------------


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataRef:
    """A file whose state counts at once, as if it had been written long ago."""
    monkeypatch.setattr(prepared, "SETTLED_SECONDS", 0.0)
    write_small(tmp_path / "small.csv")
    return file_ref(tmp_path / "small.csv", "y")


def write_small(path: Path) -> None:
    path.write_text("a,y,z\n" + "".join(f"{n},{n % 2},{n * 1.5}\n" for n in range(40)))


def test_facts_are_known_once_the_data_was_inspected(small: DataRef) -> None:
    assert facts_if_known(small, 2) is None
    facts = inspect(small, 2)
    assert facts_if_known(small, 2) == facts and facts.target == "y"
    assert facts_if_known(small, 3) is None
    assert facts_if_known(file_ref(Path(str(small.path)), "z"), 2) is None


def test_a_file_that_has_changed_is_not_known_even_with_the_same_size_and_time(small: DataRef) -> None:
    inspect(small, 2)
    path = Path(str(small.path))
    before = path.stat()
    path.write_text(path.read_text().replace("39,1,", "38,1,"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert facts_if_known(small, 2) is None


def test_what_was_inspected_right_after_a_change_is_not_relied_on(
    small: DataRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "SETTLED_SECONDS", 3600.0)
    inspect(small, 2)
    assert facts_if_known(small, 2) is None


def test_other_packages_know_nothing_of_ours(small: DataRef, monkeypatch: pytest.MonkeyPatch) -> None:
    inspect(small, 2)
    monkeypatch.setattr(prepared, "_packages", lambda: ["numpy 99"])
    assert facts_if_known(small, 2) is None


def test_bundled_and_synthetic_tasks_are_known() -> None:
    assert facts_if_known(resolve("synthetic-1k"), 2) == inspect(resolve("synthetic-1k"), 2)
    assert facts_if_known(resolve("iris"), 2) is None
    assert inspect(resolve("iris"), 2) == facts_if_known(resolve("iris"), 2)


def test_without_a_cache_nothing_is_kept(
    small: DataRef, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFO_BENCH_CACHE_GB", "0")
    inspect(small, 2)
    assert facts_if_known(small, 2) is None and not folder.parent.exists()
