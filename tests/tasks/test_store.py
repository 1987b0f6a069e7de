"""The prepared store keeps what it was given, all at once and unchanged."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from cfo_bench.errors import DataError
from cfo_bench.records import Problem
from cfo_bench.tasks import store
from cfo_bench.tasks.columns import categories, dates, numbers
from cfo_bench.tasks.data_set import DataSet
from cfo_bench.tasks.sources.origins import Origin

ORIGIN = Origin("openml", "5")


def fetched(n_rows: int = 20, **changes: object) -> store.Fetched:
    values = np.arange(n_rows, dtype=float)
    values[3] = math.nan
    codes = np.arange(n_rows) % 3
    codes[4] = -1
    given = {
        "columns": [
            numbers("x", values),
            dates("when", values / 4 + 19723),
            categories("c", codes, ["1", "b ", "2020-01-01"]),
            categories("y", np.arange(n_rows) % 2, ["no", "yes"]),
        ],
        "target": "y",
        "problem": Problem.BINARY,
        "source": "OpenML task 5 (data set 5, made up version 1)",
        "obtained": "a test",
        "fold_of_row": np.arange(n_rows) // 2 % 5,
    }
    return store.Fetched(**{**given, **changes})  # type: ignore[arg-type]


def put(what: store.Fetched) -> store.Stored:
    with store.workplace(store.path_of(ORIGIN)) as work:
        return store.put(ORIGIN, what, work, "2026-01-01T00:00:00Z")


def test_what_is_stored_has_the_hash_of_what_was_fetched(home: Path) -> None:
    given = fetched()
    put(given)
    stored = store.find(ORIGIN)
    assert stored is not None and stored.n_folds == 5
    was, now = (DataSet.of(columns, "y", None, "t") for columns in (given.columns, stored.columns()))
    assert was.sha256() == now.sha256() == stored.about["sha256"]
    np.testing.assert_array_equal(stored.fold_of_row(), given.fold_of_row)
    assert sorted(path.name for path in stored.folder.parent.iterdir() if path.is_dir()) == ["task-5"]


def test_data_that_can_be_no_task_is_not_stored(home: Path) -> None:
    with pytest.raises(DataError, match=r"openml:5 has no column 'z'"):
        put(fetched(target="z"))
    with pytest.raises(DataError, match="fold 0 of its official splits holds out one class only"):
        put(fetched(fold_of_row=np.arange(20) % 2))
    assert store.find(ORIGIN) is None


def test_a_changed_file_is_not_taken_for_what_was_stored(home: Path) -> None:
    stored = put(fetched())
    path = stored.folder / "table.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=r"table.parquet is not what was stored.*delete .*task-5"):
        stored.columns()


def test_a_killed_process_leaves_nothing_in_the_way(home: Path) -> None:
    left = store.path_of(ORIGIN).parent / ".task-5.work"
    left.mkdir(parents=True)
    (left / "new").write_text("half")
    assert put(fetched()).n_folds == 5
    assert not left.exists()


def test_a_store_that_can_not_be_written_is_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("CFO_BENCH_STORE", str(home / "file" / "store"))
    with pytest.raises(DataError, match=r"store .* can't be written .* set CFO_BENCH_STORE"):
        put(fetched())


def test_the_store_is_where_the_environment_has_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.root() == home / ".local/share/cfo-bench/tasks"
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "x"))
    assert store.root() == home / "x/cfo-bench/tasks"
    monkeypatch.setenv("CFO_BENCH_STORE", str(home / "s"))
    assert store.root() == home / "s"


def test_numbers_of_another_server_are_other_tasks(home: Path) -> None:
    ours = store.path_of(ORIGIN)
    (home / ".config/openml").mkdir(parents=True)
    (home / ".config/openml/config").write_text("server = https://test.openml.org/api/v1/xml\n")
    assert store.path_of(ORIGIN).parent.name == "test.openml.org" and ours.parent.name == "www.openml.org"
