"""The real OpenML client on real cache files, without a network and without harm to the cache."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openml
import pytest

from cfo_bench.errors import DataError
from cfo_bench.records import Problem
from cfo_bench.tasks import inspect, load_fold, official_folds, resolve, store
from cfo_bench.tasks.loading import load_data_set
from cfo_bench.tasks.sources.caches import openml_home
from cfo_bench.tasks.sources.openml import read_splits
from cfo_bench.tasks.sources.origins import Origin
from tests.tasks.conftest import bytes_below, configure

CopyCache = Callable[..., Path]


@pytest.mark.usefixtures("no_network")
def test_a_task_of_the_paper_comes_from_the_cache_with_its_official_folds(openml_cache: CopyCache) -> None:
    cache = openml_cache("assembled-www")
    before = bytes_below(cache)
    ref = resolve("kr-vs-kp")

    facts = inspect(ref, 10)
    folds = [load_fold(ref, fold, 10, seed)[0] for fold in (0, 9) for seed in (0, 1)]

    assert (facts.problem, facts.n_rows, facts.n_features) == (Problem.BINARY, 3196, 36)
    assert facts.folds_source == "OpenML task 3, official splits"
    assert facts.source == "OpenML task 3 (data set 3, kr-vs-kp version 1), prepared from the OpenML cache"
    np.testing.assert_array_equal(folds[0].valid_x, folds[1].valid_x)  # whatever the seed
    assert not np.array_equal(folds[0].valid_x, folds[2].valid_x)
    assert bytes_below(cache) == before


@pytest.mark.usefixtures("no_network")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("cache", "task", "n_folds", "rows", "features"),
    [
        ("openml-python-docs", 1, 10, 898, 38),
        ("openml-python-docs", 2, 2, 898, 38),
        ("openml-python-docs", 6, 1, 898, 38),
        ("openml-python-docs", 19, 10, 625, 4),
        ("openml-python-docs", 97, 10, 1000, 20),
        ("openml-python-docs", 403, 10, 14980, 14),
        ("openml-python-tests", 1882, 10, 898, 38),
    ],
)
def test_the_folds_are_those_of_the_client(
    openml_cache: CopyCache, cache: str, task: int, n_folds: int, rows: int, features: int
) -> None:
    copy = openml_cache(cache, "test")
    before = bytes_below(copy)
    ref = resolve(f"openml:{task}")
    table, stored = load_data_set(ref)

    assert (len(table.y), len(table.features)) == (rows, features)
    assert official_folds(ref) == n_folds and stored is not None
    assert bytes_below(copy) == before
    openml.config.set_root_cache_directory(copy)
    openml.config.server = "https://test.openml.org/api/v1/xml"
    theirs = openml.tasks.get_task(task, download_splits=True)
    for fold in range(n_folds):
        train, test = theirs.get_train_test_split_indices(fold=fold, repeat=0)
        np.testing.assert_array_equal(np.flatnonzero(stored.fold_of_row() == fold), np.sort(test))
        np.testing.assert_array_equal(np.flatnonzero(stored.fold_of_row() != fold), np.sort(train))


@pytest.mark.usefixtures("no_network")
def test_another_number_of_folds_is_made_split_rows(openml_cache: CopyCache) -> None:
    openml_cache("assembled-www")
    fold, facts = load_fold(resolve("openml:3"), 0, 5, 7)
    assert facts.folds_source == "stratified 5-fold by seed 7"
    assert len(fold.valid_y) == 640


@pytest.mark.usefixtures("no_network")
def test_arff_and_parquet_of_one_data_set_have_the_same_hash(
    openml_cache: CopyCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = openml_cache("assembled-www")
    of_parquet = inspect(resolve("openml-data:31"), 10)
    (cache / "org/openml/www/datasets/31/dataset_31.pq").unlink()
    monkeypatch.setenv("CFO_BENCH_STORE", str(tmp_path / "other"))
    of_arff = inspect(resolve("openml-data:31"), 10)
    assert of_parquet.sha256 == of_arff.sha256
    assert of_arff.folds_source == "stratified 10-fold"
    assert store.find(Origin("openml-data", "31")).about["md5"] == "9a475053fed0c26ee95cd4525e50074c"  # type: ignore[union-attr]


@pytest.mark.usefixtures("no_network")
def test_a_damaged_copy_is_told_by_its_md5_and_left_alone(openml_cache: CopyCache) -> None:
    cache = openml_cache("assembled-www")
    data = cache / "org/openml/www/datasets/3/dataset.arff"
    data.write_bytes(data.read_bytes()[:-100])
    before = bytes_below(cache)
    with pytest.raises(
        DataError, match=r"dataset.arff of the cache has the MD5 \w+ where OpenML states ad6eb32b"
    ):
        inspect(resolve("openml:3", offline=True), 10)
    assert bytes_below(cache) == before


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    "lacking", ["tasks/3/task.xml", "tasks/3/datasplits.arff", "datasets/3/features.xml"]
)
def test_an_incomplete_cache_is_no_copy_and_loses_nothing(openml_cache: CopyCache, lacking: str) -> None:
    cache = openml_cache("assembled-www")
    (cache / "org/openml/www" / lacking).unlink()
    before = bytes_below(cache)
    with pytest.raises(DataError) as caught:
        inspect(resolve("kr-vs-kp", offline=True), 10)
    message = str(caught.value)
    assert message.startswith("task 'kr-vs-kp' is not on this machine: looked in the store ")
    assert f"no {lacking}" in message and str(cache) in message
    assert "`cfo-bench prepare --task kr-vs-kp`" in message and str(store.root()) in message
    assert "\n" not in message and bytes_below(cache) == before


@pytest.mark.usefixtures("no_network")
def test_row_numbers_and_ignored_attributes_are_dropped_and_odd_labels_kept(openml_cache: CopyCache) -> None:
    cache = openml_cache("assembled-www")
    folder = cache / "org/openml/www/datasets/77"
    folder.mkdir()
    rows = "".join(
        f"{i},n{i},{'?' if i == 3 else i % 5},{'a b' if i % 2 else 0}\n".replace("a b", "'a b'")
        for i in range(40)
    )
    (folder / "dataset.arff").write_text(
        "@relation odd\n@attribute id numeric\n@attribute name string\n@attribute x numeric\n"
        "@attribute 'the class' {0,'a b',unused}\n@data\n" + rows
    )
    (folder / "description.xml").write_text(
        '<oml:data_set_description xmlns:oml="http://openml.org/openml"><oml:id>77</oml:id>'
        "<oml:name>odd</oml:name><oml:version>2</oml:version><oml:description>d</oml:description>"
        "<oml:format>ARFF</oml:format><oml:url>http://nowhere</oml:url>"
        "<oml:default_target_attribute>the class</oml:default_target_attribute>"
        "<oml:row_id_attribute>id</oml:row_id_attribute><oml:ignore_attribute>name</oml:ignore_attribute>"
        "</oml:data_set_description>"
    )
    kinds = [("id", "numeric"), ("name", "string"), ("x", "numeric"), ("the class", "nominal")]
    (folder / "features.xml").write_text(
        '<oml:data_features xmlns:oml="http://openml.org/openml">'
        + "".join(
            f"<oml:feature><oml:index>{i}</oml:index><oml:name>{name}</oml:name><oml:data_type>{kind}</oml:data_type>"
            + (
                "<oml:nominal_value>0</oml:nominal_value><oml:nominal_value>a b</oml:nominal_value>"
                if kind == "nominal"
                else ""
            )
            + "<oml:number_of_missing_values>0</oml:number_of_missing_values></oml:feature>"
            for i, (name, kind) in enumerate(kinds)
        )
        + "</oml:data_features>"
    )
    table, _ = load_data_set(resolve("openml-data:77"))
    assert [column.name for column in table.features] == ["x"]
    assert table.classes == ("0", "a b") and np.isnan(table.features[0].values).sum() == 1


@pytest.mark.usefixtures("no_network")
def test_an_openml_task_knows_its_problem_better_than_a_table(openml_cache: CopyCache, home: Path) -> None:
    openml_cache("assembled-www")
    (home / "own.yaml").write_text("- {name: chess, openml_task: 3, problem: multiclass}")
    assert inspect(resolve("chess", tables=[home / "own.yaml"]), 10).problem is Problem.BINARY


SPLITS = (
    "@relation s\n@attribute type {TRAIN,TEST}\n@attribute rowid numeric\n"
    "@attribute repeat numeric\n@attribute fold numeric\n@data\n"
)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("TEST,0,0,0\nTRAIN,1,0,0\nTEST,1,0,1\nTRAIN,0,0,1\n", "folds for 2 rows"),
        ("TEST,0,0,0\nTEST,1,0,0\nTRAIN,2,0,0\n", "train on all others"),
    ],
)
def test_splits_that_are_no_folds_are_left_aside(tmp_path: Path, lines: str, why: str) -> None:
    path = tmp_path / "datasplits.arff"
    path.write_text(SPLITS + lines)
    folds, reason = read_splits(path, 2 if "2 rows" in why else 4, "task")
    assert folds is None and why in str(reason)


def test_splits_of_more_rows_than_there_are_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "datasplits.arff"
    path.write_text(SPLITS + "TEST,9,0,0\n")
    with pytest.raises(DataError, match="not of these 5 rows"):
        read_splits(path, 5, "task")


@pytest.mark.parametrize(
    "setting",
    [
        "configuration",
        *(pytest.param(place, marks=pytest.mark.slow) for place in ("default", "environment", "xdg", "old")),
    ],
)
def test_the_cache_is_where_the_client_has_it(
    home: Path, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if setting == "environment":
        monkeypatch.setenv("OPENML_CACHE_DIR", str(home / "elsewhere"))
    if setting == "configuration":
        configure(home, cachedir="~/mine", server="https://test.openml.org/api/v1/xml")
    if setting in ("xdg", "old"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / "caches"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    if setting == "old":
        (home / "caches" / "org" / "openml").mkdir(parents=True)
    ours = openml_home()
    code = "from openml import config as c; print(c._root_cache_directory, c.server, c.get_cache_directory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(ours.root), ours.server, str(ours.folder())]
