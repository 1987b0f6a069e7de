"""The file of surrogates: it comes back as it was written, and a damaged or hostile one is one line."""

from __future__ import annotations

import io
import pickle
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import UserError
from cfo_bench.recordings.surrogate import ModelledFold
from cfo_bench.recordings.surrogate_file import SurrogateFile, read, to_bytes
from tests.helpers.surrogates import SPACE, fitted

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> SurrogateFile:
    results = tmp_path_factory.mktemp("results")
    return SurrogateFile([fitted(results, trials=25, fails=lambda c: c["trees"] > 300)], 6, "ab" * 32, "9.9")


@pytest.fixture(scope="module")
def written(content: SurrogateFile) -> bytes:
    return to_bytes(content)


def rewritten(data: bytes, change: Callable[[Members], None], compression: int = zipfile.ZIP_STORED) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue()


def refusal(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "s.npz"
    path.write_bytes(data)
    with pytest.raises(UserError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_comes_back_as_it_was_written(tmp_path: Path, content: SurrogateFile, written: bytes) -> None:
    (tmp_path / "s.npz").write_bytes(written)

    file = read(tmp_path / "s.npz")

    assert to_bytes(file) == written
    assert (file.traces, file.traces_sha256, file.made_by) == (6, "ab" * 32, "9.9")
    assert file.learners == ["xgboost"] and file.tasks("xgboost") == ["bowl"]
    rng = np.random.default_rng(0)
    for config in (SPACE.sample(rng) for _ in range(20)):
        before, after = (
            ModelledFold(source.surrogates[0], 3, 1).look_up(config, None) for source in (content, file)
        )
        assert before == after


def test_numpy_reads_its_arrays_without_pickles(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "s.npz").write_bytes(written)

    with np.load(tmp_path / "s.npz", allow_pickle=False) as arrays:
        assert arrays["0/loss/threshold"].dtype == np.float32


@given(st.data())
def test_a_damaged_file_is_one_line_or_still_a_surrogate(written: bytes, data: st.DataObject) -> None:
    damaged = bytearray(written)
    for at in data.draw(st.lists(st.integers(0, len(written) - 1), min_size=1, max_size=4)):
        damaged[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(written), len(written) // 2, len(written) - 30]))

    answer = read_or_message(bytes(damaged[:cut]))

    if isinstance(answer, str):
        assert "\n" not in answer
    else:
        for surrogate in answer.surrogates:
            ModelledFold(surrogate, 0, 0).look_up(dict(surrogate.start), None)


def read_or_message(data: bytes) -> SurrogateFile | str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.npz"
        path.write_bytes(data)
        try:
            return read(path)
        except UserError as error:
            return str(error)


def test_nothing_that_is_pickled_is_loaded(tmp_path: Path, written: bytes) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (tmp_path / "exploded",))  # type: ignore[return-value]

    pickled = io.BytesIO()
    np.lib.format.write_array(pickled, np.array([Bomb()], dtype=object), allow_pickle=True)

    def plant(members: Members) -> None:
        members["0/loss/child.npy"] = pickled.getvalue()

    assert pickle.dumps(Bomb())
    assert "not a usable surrogate" in refusal(tmp_path, rewritten(written, plant))
    assert not (tmp_path / "exploded").exists()


def test_an_archive_that_would_swell_is_refused(tmp_path: Path, written: bytes) -> None:
    swelling = rewritten(
        written, lambda members: members.update(more=b"\0" * 10_000_000), zipfile.ZIP_DEFLATED
    )

    assert "compressed" in refusal(tmp_path, swelling)


def test_an_array_may_not_promise_more_than_there_is(tmp_path: Path, written: bytes) -> None:
    def promise(members: Members) -> None:
        array = members["0/loss/value.npy"]
        start = array.index(b"'shape': (")
        end = array.index(b")", start)
        shape = b"'shape': (999999999999,"
        header = array[:start] + shape + array[end:]
        spare = header.index(b"\n") - array.index(b"\n")
        members["0/loss/value.npy"] = header.replace(b" " * spare + b"\n", b"\n", 1)

    assert "not a usable surrogate" in refusal(tmp_path, rewritten(written, promise))


@pytest.mark.parametrize("node", [0, -1])
def test_trees_without_an_end_are_refused(tmp_path: Path, written: bytes, node: int) -> None:
    def turn_back(members: Members) -> None:
        child = np.lib.format.read_array(io.BytesIO(members["0/loss/child.npy"])).copy()
        child[1 if node == 0 else 0] = node
        out = io.BytesIO()
        np.lib.format.write_array(out, child, version=(1, 0))
        members["0/loss/child.npy"] = out.getvalue()

    assert "child" in refusal(tmp_path, rewritten(written, turn_back))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scale", 0),
        ("most_y", 1e9),
        ("least_seconds", -1),
        ("n_folds", 0),
        ("n_folds", 10**15),
        ("metric", "luck"),
        ("space", []),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, written: bytes, key: str, value: object) -> None:
    def change(members: Members) -> None:
        text = orjson.loads(members["surrogate.json"])
        text["surrogates"][0][key] = value
        members["surrogate.json"] = orjson.dumps(text)

    assert "not a usable surrogate" in refusal(tmp_path, rewritten(written, change))


def test_another_version_is_named(tmp_path: Path, written: bytes) -> None:
    def change(members: Members) -> None:
        text = orjson.loads(members["surrogate.json"])
        members["surrogate.json"] = orjson.dumps({**text, "version": 2})

    assert "has version 2 of the format, and this cfo-bench reads 1" in refusal(
        tmp_path, rewritten(written, change)
    )


@pytest.mark.parametrize("data", [b"", b"PK\x05\x06", b"{}", b"\0" * 1000])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    assert "make one with cfo-bench surrogate fit" in refusal(tmp_path, data)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"can't read '.*none.npz'"):
        read(tmp_path / "none.npz")
