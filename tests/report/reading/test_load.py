"""A results folder is read once, and what can't be read is told."""

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.report.reading.load import Selection, load

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


def test_digests_from_the_cache_are_those_from_the_traces(by_hand: list[Any], tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    cold = load(tmp_path / "results", cache).digests
    warm = load(tmp_path / "results", cache).digests

    assert warm == cold == by_hand


def test_only_a_trace_that_changed_is_read_again(write_run: Any, tmp_path: Path) -> None:
    kept, changed = (write_run("t", "cfo", fold, TRIALS) for fold in (0, 1))
    results, cache = tmp_path / "results", tmp_path / "cache"
    load(results, cache)
    # A cached digest that differs from its trace shows that the trace was not looked at.
    change_losses(cache)
    write_run("t", "cfo", 1, [*TRIALS, (3.0, 0.1, 0.5)])

    by_path = {one.path: one.steps.losses for one in load(results, cache).digests}

    assert by_path == {str(kept): [0.4, 0.125], str(changed): [0.4, 0.2, 0.1]}


HEAD = struct.Struct("<IIQ")  # checksum, bytes of JSON, bytes of numbers


def parts(cache: Path) -> tuple[bytes, list[tuple[int, bytes]]]:
    """The line that names the code; and of each record the checksum and what comes after its head."""
    content = cache.read_bytes()
    at = content.index(b"\n") + 1
    code, records = content[:at], []
    while at < len(content):
        checksum, of_text, of_numbers = HEAD.unpack_from(content, at)
        end = at + HEAD.size + of_text + of_numbers
        records.append((checksum, content[at + HEAD.size : end]))
        at = end
    return code, records


def change_losses(cache: Path, with_checksum: bool = True) -> None:
    """The cached digests of TRIALS get another loss than their traces have."""
    code, records = parts(cache)
    content = code
    for checksum, record in records:
        of_text = len(record.rpartition(b"}")[0]) // 8 * 8 + 8
        # The seconds and losses of the two trials.
        before, after = (struct.pack("<4d", 1.0, 2.0, 0.4, last) for last in (0.2, 0.125))
        changed = record.replace(before, after)
        if with_checksum:
            checksum = zlib.crc32(changed, zlib.crc32(code))
        content += HEAD.pack(checksum, of_text, len(record) - of_text) + changed
    cache.write_bytes(content)


def test_the_digest_of_one_changed_trace_is_appended(write_run: Any, tmp_path: Path) -> None:
    for fold in range(10):
        write_run("t", "cfo", fold, TRIALS)
    results, cache = tmp_path / "results", tmp_path / "cache"
    load(results, cache)
    before = cache.read_bytes()
    write_run("t", "cfo", 1, [*TRIALS, (3.0, 0.1, 0.5)])
    load(results, cache)
    after = cache.read_bytes()

    assert after.startswith(before) and len(parts(cache)[1]) == 11
    change_losses(cache)
    losses = [one.steps.losses for one in load(results, cache).digests]
    assert losses == [[0.4, 0.125], [0.4, 0.2, 0.1], *[[0.4, 0.125]] * 8]


def test_a_cache_with_many_outdated_records_is_written_anew(write_run: Any, tmp_path: Path) -> None:
    for fold in range(10):
        write_run("t", "cfo", fold, TRIALS)
    results, cache = tmp_path / "results", tmp_path / "cache"
    for at in range(7):
        load(results, cache)
        write_run("t", "cfo", 1, [*TRIALS, (3.0 + at, 0.1, 0.5)])

    assert len(parts(cache)[1]) <= 12
    assert load(results, cache).digests == load(results).digests


@pytest.mark.parametrize("damage", ["torn", "by other code"])
def test_an_appended_record_that_is_not_ours_is_not_believed(
    write_run: Any, tmp_path: Path, damage: str
) -> None:
    for fold in range(10):
        write_run("t", "cfo", fold, TRIALS)
    results, cache = tmp_path / "results", tmp_path / "cache"
    load(results, cache)
    whole, code = cache.read_bytes(), parts(cache)[0]
    change_losses(cache)
    first = cache.read_bytes()[len(code) : len(code) + HEAD.size + len(parts(cache)[1][0][1])]
    by_others = struct.pack("<I", zlib.crc32(first[HEAD.size :], zlib.crc32(b"other code"))) + first[4:]
    cache.write_bytes(whole + (first[:40] if damage == "torn" else by_others))

    assert {tuple(one.steps.losses) for one in load(results, cache).digests} == {(0.4, 0.2)}
    write_run("t", "cfo", 1, [*TRIALS, (3.0, 0.1, 0.5)])
    load(results, cache)
    assert len(parts(cache)[1]) == 10  # nothing is appended to a damaged file
    assert load(results, cache).digests == load(results).digests


def test_a_cache_that_comes_with_somebody_elses_results_is_not_believed(
    write_run: Any, tmp_path: Path
) -> None:
    write_run("t", "cfo", 0, TRIALS)
    theirs, ours, cache = tmp_path / "results", tmp_path / "theirs", tmp_path / "cache"
    load(theirs, cache)
    change_losses(cache)
    theirs.rename(ours)
    shutil.copytree(ours, theirs)  # like an unpacked archive: with sizes and times of the files as they were

    assert [one.steps.losses for one in load(theirs, cache).digests] == [[0.4, 0.2]]


def test_a_cache_that_was_damaged_is_not_believed(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    results, cache = tmp_path / "results", tmp_path / "cache"
    load(results, cache)
    change_losses(cache, with_checksum=False)

    assert [one.steps.losses for one in load(results, cache).digests] == [[0.4, 0.2]]


@pytest.mark.parametrize("content", [b"", b"not a cache", b'"another version"\n{}', b"\xff\x00"])
def test_a_cache_that_is_broken_or_of_another_version_is_passed_over(
    by_hand: list[Any], tmp_path: Path, content: bytes
) -> None:
    cache = tmp_path / "cache"
    cache.write_bytes(content)

    assert load(tmp_path / "results", cache).digests == by_hand


def test_the_digest_of_a_trace_that_is_gone_is_gone(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    gone = write_run("t", "cfo", 1, TRIALS)
    results, cache = tmp_path / "results", tmp_path / "cache"
    load(results, cache)
    gone.unlink()

    assert [one.fold for one in load(results, cache).digests] == [0]
    assert str(gone).encode() not in cache.read_bytes()


def test_foreign_and_broken_files_are_told_in_one_line_each(write_run: Any, tmp_path: Path) -> None:
    good = write_run("t", "cfo", 0, TRIALS)
    results = tmp_path / "results"
    (results / "notes.jsonl").write_text('{"todo": "buy milk"}\n')
    (results / "other-version.jsonl").write_bytes(good.read_bytes().replace(b'"schema":1', b'"schema":99', 1))
    (results / "broken.jsonl").write_bytes(good.read_bytes().replace(b'"kind":"trial"', b'"kind":trial', 1))
    (results / "README.md").write_text("not called like a trace")

    loaded = load(results)

    assert [one.path for one in loaded.digests] == [str(good)]
    assert len(loaded.unreadable) == 3
    for line, name in zip(sorted(loaded.unreadable), ("broken", "notes", "other-version"), strict=True):
        assert f"{name}.jsonl" in line and "\n" not in line


def test_a_torn_last_line_is_passed_over(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, TRIALS)
    path.write_bytes(path.read_bytes() + b'{"kind":"trial","number":2,"los')

    (one,) = load(tmp_path / "results").digests

    assert one.steps.losses == [0.4, 0.2]


def test_a_run_without_a_header_is_no_run_yet(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("t", "cfo", 1, TRIALS).write_bytes(b'{"kind":"run","sche')

    loaded = load(tmp_path / "results")

    assert [one.fold for one in loaded.digests] == [0] and not loaded.unreadable


def test_a_folder_without_traces_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no traces in"):
        load(tmp_path)
    with pytest.raises(UserError, match="no folder"):
        load(tmp_path / "nowhere")


def test_a_selection_takes_what_it_names(by_hand: list[Any], tmp_path: Path) -> None:
    found = load(tmp_path / "results", selection=Selection(tasks=["beta"], methods=["cfo", "rs"])).digests

    assert {(one.task, one.method) for one in found} == {("beta", "cfo"), ("beta", "rs")}


def test_a_name_that_is_not_there_is_refused_with_those_that_are(by_hand: list[Any], tmp_path: Path) -> None:
    with pytest.raises(
        UnknownNameError, match="unknown method in these results 'smac': choose from bohb, cfo"
    ):
        load(tmp_path / "results", selection=Selection(methods=["smac"]))


def test_names_that_are_there_but_not_together_are_refused(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    write_run("u", "rs", 0, TRIALS)

    with pytest.raises(UserError, match="together"):
        load(tmp_path / "results", selection=Selection(tasks=["t"], methods=["rs"]))


def test_the_methods_that_scale_scores_are_read_whatever_methods_are_selected(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "rs", "constant", "tuned-rf", "study"):
        write_run("t", method, 0, [(1, 0.25, 1)])
    write_run("u", "rs", 0, [(1, 0.25, 1)])

    found = load(tmp_path / "results", selection=Selection(methods=["cfo"])).digests

    assert sorted(one.method for one in found) == ["cfo", "constant", "tuned-rf"]
    with pytest.raises(UserError, match="no run has such a learner, task and method together"):
        load(tmp_path / "results", selection=Selection(tasks=["u"], methods=["cfo"]))
