"""Files are written where they belong, whatever links somebody has put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cfo_bench.errors import UserError
from cfo_bench.files.writing import open_file, read_regular, refuse_linked_folders, write_whole


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "outside" / "precious.txt"
    path.parent.mkdir()
    path.write_text("mine")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


def test_a_file_is_written_as_a_whole_and_nothing_else_is_left(folder: Path) -> None:
    for content in (b"first", b"second"):
        write_whole(folder / "file", content, sync=True)
        assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("file", content)]


def test_a_file_with_the_longest_name_can_be_written(folder: Path) -> None:
    write_whole(folder / ("n" * 255), b"x")

    assert (folder / ("n" * 255)).read_bytes() == b"x"


def test_a_link_is_replaced_by_the_file_and_its_target_stays(folder: Path, precious: Path) -> None:
    (folder / "file").symlink_to(precious)

    write_whole(folder / "file", b"new")

    assert not (folder / "file").is_symlink() and (folder / "file").read_bytes() == b"new"
    assert precious.read_text() == "mine"


def test_a_folder_of_that_name_is_an_error_and_leaves_nothing(folder: Path) -> None:
    (folder / "file").mkdir()

    with pytest.raises(OSError, match="directory"):
        write_whole(folder / "file", b"new")

    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_link_is_not_opened_for_writing(folder: Path, precious: Path) -> None:
    (folder / "file").symlink_to(precious)
    (folder / "dangling").symlink_to(folder / "absent")

    for name in ("file", "dangling"):
        with pytest.raises(OSError, match="it is a link"):
            open_file(folder / name, os.O_RDWR | os.O_CREAT)

    assert precious.read_text() == "mine" and not (folder / "absent").exists()


@pytest.mark.timeout(10)
def test_only_a_regular_file_is_read(folder: Path, precious: Path) -> None:
    assert read_regular(precious) == b"mine"
    (folder / "link").symlink_to(precious)
    os.mkfifo(folder / "pipe")

    for name, why in {"link": "it is a link", "pipe": "not a regular file", "absent": "No such file"}.items():
        with pytest.raises(OSError, match=why):
            read_regular(folder / name)


def test_a_linked_folder_on_the_way_is_refused_and_the_named_one_is_not(folder: Path, precious: Path) -> None:
    named = folder.with_name("named")
    named.symlink_to(folder)
    refuse_linked_folders(named, named / "a" / "b" / "file", "remove it")
    (folder / "a").mkdir()
    (folder / "a" / "b").symlink_to(precious.parent)

    with pytest.raises(UserError, match=r"named/a/b is a link, .*: remove it"):
        refuse_linked_folders(named, named / "a" / "b" / "c" / "file", "remove it")
