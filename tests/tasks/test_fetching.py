"""Data that one machine has goes to another: here machines are stores, and files of another machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cfo_bench.errors import DataError
from cfo_bench.records import DataRef
from cfo_bench.tasks import load_fold, store
from cfo_bench.tasks.fetching import Item, Parcel, at_hand, pack, unpack


@pytest.fixture
def other_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another machine's store."""
    monkeypatch.setenv(store.ENVIRONMENT, str(tmp_path / "other_store"))
    return tmp_path / "other_store"


@pytest.fixture
def ref(tmp_path: Path) -> DataRef:
    path = tmp_path / "mine.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{i % 3 * 1.5}\n" for i in range(60)))
    return DataRef("mine", "file", path=str(path), target="y")


def never() -> None:
    raise AssertionError("there is nobody to wait for")


def sent(ref: DataRef) -> tuple[Parcel, dict[Path, bytes]]:
    """The parcel and its content, of a file that is gone from this machine then."""
    parcel = pack(ref)
    assert parcel is not None
    content = {item.path: b"".join(item.pieces()) for item in parcel.items}
    for item in parcel.items:
        item.path.unlink()
    return parcel, content


def test_a_file_that_is_seen_under_its_own_name_is_not_sent(ref: DataRef, other_store: Path) -> None:
    parcel = pack(ref)
    assert at_hand(ref, parcel) == ref
    Path(ref.path or "").touch()  # another file from now on, for all that can be known
    assert at_hand(ref, parcel) is None


def test_a_file_is_sent_once_and_gives_the_same_fold(ref: DataRef, other_store: Path) -> None:
    before, facts = load_fold(ref, 0, 5, 0)
    parcel, content = sent(ref)
    assert at_hand(ref, parcel) is None

    def receive(item: Item) -> Iterator[bytes]:
        yield content.pop(item.path)

    received = unpack(ref, parcel, receive, never)
    assert Path(received.path or "").is_relative_to(other_store) and replace(received, path=ref.path) == ref
    after, same_facts = load_fold(received, 0, 5, 0)
    assert facts == same_facts and (before.train_x == after.train_x).all()
    assert at_hand(ref, parcel) == unpack(ref, parcel, receive, never) == received


def test_a_file_that_arrives_changed_is_refused_and_not_kept(ref: DataRef, other_store: Path) -> None:
    parcel, _ = sent(ref)
    with pytest.raises(DataError, match="was changed while it was sent"):
        unpack(ref, parcel, lambda item: [b"x,y\n"], never)
    assert at_hand(ref, parcel) is None
    assert not [path for path in other_store.rglob("*") if path.is_file() and not path.name.endswith(".lock")]


def test_what_others_are_fetching_is_waited_for(ref: DataRef, other_store: Path) -> None:
    parcel, content = sent(ref)
    folder = parcel.folder

    class Enough(Exception):
        pass

    def enough() -> None:
        raise Enough

    with store.workplace(folder), pytest.raises(Enough):
        unpack(ref, parcel, lambda item: [content[item.path]], enough)


@pytest.mark.parametrize("source", ["bundled", "synthetic"])
def test_what_every_machine_has_is_no_parcel(source: str, other_store: Path) -> None:
    ref = DataRef("iris", source)
    assert pack(ref) is None
    assert at_hand(ref, None) == ref


def test_a_folder_of_the_store_becomes_one_of_the_other_store(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    from cfo_bench.tasks.columns import categories, numbers
    from cfo_bench.tasks.sources.origins import Origin

    origin = Origin("openml", "5")
    columns = [numbers("x", np.arange(20.0)), categories("y", np.arange(20) % 2, ["no", "yes"])]
    with store.workplace(store.path_of(origin)) as work:
        fetched = store.Fetched(columns, "y", None, "made up", "a test", fold_of_row=np.arange(20) // 2 % 5)
        here = store.put(origin, fetched, work, "2026-01-01T00:00:00Z")
    ref = DataRef("t", "openml", origins=("openml:5",), offline=True)
    parcel = pack(ref)
    assert parcel is not None and {item.path.parent for item in parcel.items} == {here.folder}
    monkeypatch.setenv(store.ENVIRONMENT, str(tmp_path / "other_store"))
    assert at_hand(ref, parcel) is None
    assert unpack(ref, parcel, Item.pieces, never) == ref
    stored = store.find(origin)
    assert stored is not None and stored.folder != here.folder and stored.about == here.about
    np.testing.assert_array_equal(stored.fold_of_row(), here.fold_of_row())
