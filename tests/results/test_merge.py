"""Results folders put together: nothing is lost, nothing is mixed up, and the order does not matter."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfo_bench.errors import RunError, UserError
from cfo_bench.records import DataRef, RunSpec
from cfo_bench.records import run_id as id_of
from cfo_bench.results import status
from cfo_bench.results.merge import MergeConflict, Merged
from cfo_bench.results.merge import merge as merge_folders
from cfo_bench.results.schema import encode
from cfo_bench.results.trace import path_of, split_torn
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage
from cfo_bench.run.runner import run

SPECS = [
    RunSpec("synthetic", "synthetic-1k", method, fold, max_trials=4, clock="virtual")
    for method in ("rs", "cfo")
    for fold in range(2)
]


def merge(folders: Sequence[Path], out: Path, **options: bool) -> Merged:
    """As the command does it."""
    return merge_folders(folders, out, lambda page: LivePage.left_behind(page).evaluated, **options)


MACHINE = {"machine": {"cpu": "a processor"}, "cfo_bench": {"version": "1"}}


def trace_of(spec: RunSpec, tmp_path: Path, provenance: dict[str, Any] = MACHINE) -> bytes:
    """The lines that a real run of it leaves."""
    job = Job(spec, DataRef(spec.task, "synthetic"), path_of(tmp_path, spec), provenance)
    page = LivePage.own(tmp_path / "page.live")
    try:
        return b"".join(encode(record) for record in run(job, None, page))
    finally:
        page.close(remove=True)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("runs")
    return {id_of(spec): trace_of(spec, folder) for spec in SPECS}


Put = Callable[[str, str, bytes], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Writes a copy of a run into a folder."""

    def write(folder: str, run_id: str, content: bytes) -> Path:
        path = tmp_path / folder / f"{run_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return write


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changed(content: bytes, **header: Any) -> bytes:
    """The same lines below another header."""
    head, _, rest = content.partition(b"\n")
    old = msgspec.json.decode(head)
    changed = {**old, **header, "spec": {**old["spec"], **header.get("spec", {})}}
    return msgspec.json.encode(changed) + b"\n" + rest


def conflicts(*folders: Path, out: Path) -> list[str]:
    """What stands in the way; and nothing was written."""
    before = files(out) if out.exists() else None
    with pytest.raises(MergeConflict) as caught:
        merge(folders, out)
    assert (files(out) if out.exists() else None) == before
    assert caught.value.exit_code == 1
    return caught.value.conflicts


# --- what comes together -----------------------------------------------------------------------


@settings(max_examples=60)
@given(data=st.data())
def test_shards_and_older_copies_give_the_same_folder_in_any_order(traces: Any, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folders = [root / letter for letter in "ABC"]
        best: dict[str, bytes] = {}
        for run_id, whole in traces.items():
            for folder in folders:
                length = data.draw(st.sampled_from([0, len(whole)]) | st.integers(0, len(whole)))
                path = folder / f"{run_id}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(whole[:length])
                best[run_id] = max(best.get(run_id, b""), split_torn(whole[:length])[0], key=len)
        status.record_plan(folders[0], SPECS[:3])
        status.record_plan(folders[2], SPECS[1:])
        order = data.draw(st.permutations(folders))

        merge(folders, root / "merged")
        merge(order, root / "again")
        merge(order[1:], order[0])

        found = files(root / "merged")
        assert found.pop(status.PLAN_NAME)
        assert found == {f"{run_id}.jsonl": lines for run_id, lines in best.items() if lines}
        assert files(root / "again") == files(root / "merged")
        in_place = {name: content for name, content in files(order[0]).items() if split_torn(content)[0]}
        assert {**in_place, status.PLAN_NAME: b""} == {**found, status.PLAN_NAME: b""}
        assert {one.id for one in status.read_plan(order[0])} == set(traces)


def test_merging_again_changes_nothing(traces: Any, put: Put, tmp_path: Path) -> None:
    for folder, (run_id, content) in zip("ABAB", traces.items(), strict=True):
        put(folder, run_id, content)
    merge([tmp_path / "A", tmp_path / "B"], tmp_path / "C")
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "C").rglob("*.jsonl")}

    merged = merge([tmp_path / "B", tmp_path / "A"], tmp_path / "C")

    assert (merged.there_before, merged.copied.total()) == (4, 0)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_run_that_was_finished_in_one_of_two_places_is_taken_from_there(
    traces: Any, put: Put, tmp_path: Path
) -> None:
    run_id, whole = next(iter(traces.items()))
    lines = whole.splitlines(keepends=True)
    resume = b'{"kind":"resume","elapsed":1.0,"trials":2,"utc":"","why":"it was interrupted"}\n'
    other_trial = lines[3].replace(b'"fit_seconds":', b'"fit_seconds":1')
    put("A", run_id, b"".join([*lines[:3], resume, other_trial]))
    put("B", run_id, whole)

    merge([tmp_path / "A", tmp_path / "B"], tmp_path / "C")

    assert files(tmp_path / "C") == {f"{run_id}.jsonl": whole}


def test_a_run_that_came_out_the_same_on_two_machines_is_one(traces: Any, put: Put, tmp_path: Path) -> None:
    run_id, whole = next(iter(traces.items()))
    other = changed(whole, utc="2001-01-01T00:00:00Z")
    put("A", run_id, whole)
    put("B", run_id, other)

    merge([tmp_path / "A", tmp_path / "B"], tmp_path / "C")
    merge([tmp_path / "B", tmp_path / "A"], tmp_path / "D")

    assert files(tmp_path / "C") == files(tmp_path / "D")
    assert files(tmp_path / "C")[f"{run_id}.jsonl"] in (whole, other)


def test_a_torn_line_is_mended_in_the_copy_and_told(traces: Any, put: Put, tmp_path: Path) -> None:
    run_id, whole = next(iter(traces.items()))
    torn = put("A", run_id, whole[:-20])

    merged = merge([tmp_path / "A"], tmp_path / "C")

    assert files(tmp_path / "C")[f"{run_id}.jsonl"] == b"".join(whole.splitlines(keepends=True)[:-1])
    assert "torn" in merged.notes[0] and run_id in merged.notes[0]
    assert torn.read_bytes() == whole[:-20]


def test_a_page_that_can_not_be_read_is_left_behind(traces: Any, put: Put, tmp_path: Path) -> None:
    (first, whole), (second, done), *_ = traces.items()
    cut = b"".join(whole.splitlines(keepends=True)[:3])
    put("A", first, cut).with_suffix(".live").write_bytes(b"page of A")
    put("A", second, done).with_suffix(".live").write_bytes(b"of no use any more")
    put("C", first, b"".join(cut.splitlines(keepends=True)[:2])).with_suffix(".live").write_bytes(b"older")

    merge([tmp_path / "A"], tmp_path / "C")

    assert files(tmp_path / "C") == {
        f"{first}.jsonl": cut,
        f"{second}.jsonl": done,
    }


def test_interrupted_traces_that_were_put_aside_are_all_kept(traces: Any, put: Put, tmp_path: Path) -> None:
    run_id, whole = next(iter(traces.items()))
    for folder, aside in (("A", b"one"), ("B", b"two"), ("D", b"one")):
        put(folder, run_id, whole).with_suffix(".interrupted").write_bytes(aside)

    merge([tmp_path / "B", tmp_path / "A", tmp_path / "D"], tmp_path / "C")
    merge([tmp_path / "A", tmp_path / "B"], tmp_path / "C")

    assert files(tmp_path / "C") == {
        f"{run_id}.jsonl": whole,
        f"{run_id}.interrupted": b"one",
        f"{run_id}-2.interrupted": b"two",
    }


def test_machines_and_versions_that_differ_are_told(traces: Any, put: Put, tmp_path: Path) -> None:
    (first, whole), (second, other), *_ = traces.items()
    put("A", first, whole)
    put("B", second, changed(other, machine={"cpu": "another"}, cfo_bench={"version": "2"}))

    merged = merge([tmp_path / "A", tmp_path / "B"], tmp_path / "C")

    assert len(merged.warnings) == 2
    assert "a processor (1 runs" in merged.warnings[0] and "another (1 runs" in merged.warnings[0]
    assert "versions of cfo-bench" in merged.warnings[1]


# --- what is refused ---------------------------------------------------------------------------


def test_two_runs_of_one_name_are_a_conflict_that_says_what_differs(
    traces: Any, put: Put, tmp_path: Path
) -> None:
    first, second, third, _ = traces
    put("A", first, traces[first])
    put("B", first, changed(traces[first], spec={"budget_seconds": 5.0}))
    put("A", second, traces[second])
    put("B", second, traces[second].replace(b'"fit_seconds":', b'"fit_seconds":1'))
    put("A", third, traces[third])

    found = conflicts(tmp_path / "A", tmp_path / "B", out=tmp_path / "C")

    assert len(found) == 2
    assert first in found[0] and "budget_seconds 3600.0 and 5.0" in found[0]
    assert second in found[1] and "4 trials, finished and 4 trials, finished, the same for 0" in found[1]


def test_a_run_that_went_on_in_two_places_and_ended_in_none_is_a_conflict(
    traces: Any, put: Put, tmp_path: Path
) -> None:
    run_id, whole = next(iter(traces.items()))
    lines = whole.splitlines(keepends=True)
    put("A", run_id, b"".join(lines[:4]))
    put("B", run_id, b"".join([*lines[:3], lines[3].replace(b'"fit_seconds":', b'"fit_seconds":1')]))

    (found,) = conflicts(tmp_path / "A", tmp_path / "B", out=tmp_path / "C")

    assert "3 trials, unfinished and 3 trials, unfinished, the same for 2 lines" in found


def test_data_that_is_not_the_same_everywhere_is_a_conflict(traces: Any, put: Put, tmp_path: Path) -> None:
    (first, whole), (second, other), *_ = traces.items()
    data = {**msgspec.json.decode(other.partition(b"\n")[0])["data"], "sha256": "f" * 64}
    put("A", first, whole)
    put("B", second, changed(other, data=data))

    (found,) = conflicts(tmp_path / "A", tmp_path / "B", out=tmp_path / "C")

    assert "task 'synthetic-1k'" in found and "ffffffffffff…" in found
    assert str(tmp_path / "A") in found and str(tmp_path / "B") in found


def test_another_content_of_the_metrics_file_is_a_conflict_if_it_is_known(
    traces: Any, put: Put, tmp_path: Path
) -> None:
    codes = {"A": {"metric": "a" * 64}, "B": {"metric": "b" * 64}, "older": None}
    for (folder, own_code), (run_id, lines) in zip(codes.items(), traces.items(), strict=False):
        put(folder, run_id, changed(lines, own_code=own_code))

    (found,) = conflicts(*(tmp_path / folder for folder in codes), out=tmp_path / "C")
    merge([tmp_path / "A", tmp_path / "older"], tmp_path / "C")

    assert "metric file aaaaaaaaaaaa… in" in found and "metric file bbbbbbbbbbbb… in" in found


def test_what_the_target_has_counts_as_much(traces: Any, put: Put, tmp_path: Path) -> None:
    run_id, whole = next(iter(traces.items()))
    put("A", run_id, whole)
    put("C", run_id, changed(whole, spec={"max_trials": 9}))

    (found,) = conflicts(tmp_path / "A", out=tmp_path / "C")

    assert "max_trials" in found


def test_unreadable_traces_are_named(traces: Any, put: Put, tmp_path: Path) -> None:
    (first, whole), (second, other), *_ = traces.items()
    put("A", first, whole.replace(b'"kind":"trial"', b'"kind":"tria', 1))
    put("A", second, other)
    put("B", "notes", b'{"kind":"run","schema":1,"spec":{}}\n')

    found = conflicts(tmp_path / "A", tmp_path / "B", out=tmp_path / "C")

    assert any(f"{first}.jsonl, line 2" in line for line in found)
    assert any("notes.jsonl" in line for line in found)


def test_a_run_under_way_is_refused_or_left_out(traces: Any, put: Put, tmp_path: Path) -> None:
    (first, whole), (second, other), *_ = traces.items()
    cut = b"".join(whole.splitlines(keepends=True)[:3])
    page = put("A", first, cut).with_suffix(".live")
    put("A", second, other)
    put("B", first, cut)
    fd = os.open(page, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        (found,) = conflicts(tmp_path / "A", tmp_path / "B", out=tmp_path / "C")
        assert "is running in" in found and "--skip-running" in found

        merged = merge([tmp_path / "A", tmp_path / "B"], tmp_path / "C", skip_running=True)
        in_place = merge([tmp_path / "B"], tmp_path / "A", skip_running=True)
    finally:
        os.close(fd)

    assert files(tmp_path / "C") == {f"{first}.jsonl": cut, f"{second}.jsonl": other}
    assert "left out" in merged.notes[0]
    assert in_place.there_before == 1


@pytest.mark.parametrize(
    ("folders", "out", "said"),
    [
        (["A", "nowhere"], "C", "no folder"),
        (["A", "empty"], "C", "no traces in"),
        (["A"], "A/inside", "is inside"),
        (["A", "A/synthetic"], "C", "is inside"),
        (["A"], "file", "is a file"),
    ],
)
def test_folders_that_make_no_sense_are_refused_in_one_line(
    traces: Any, put: Put, tmp_path: Path, folders: list[str], out: str, said: str
) -> None:
    put("A", *next(iter(traces.items())))
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    before = files(tmp_path)

    with pytest.raises(UserError, match=said):
        merge([tmp_path / folder for folder in folders], tmp_path / out)

    assert files(tmp_path) == before


def test_a_full_disk_leaves_whole_traces_only_and_the_same_command_goes_on(
    traces: Any, put: Put, tmp_path: Path
) -> None:
    for run_id, whole in traces.items():
        put("A", run_id, whole)
    # As a disk that fills up in the middle: the folder of the second method can't be made.
    (tmp_path / "C" / "synthetic" / "synthetic-1k").mkdir(parents=True)
    obstacle = tmp_path / "C" / "synthetic" / "synthetic-1k" / "rs"
    obstacle.write_text("in the way")

    with pytest.raises(RunError, match="run the same command again"):
        merge([tmp_path / "A"], tmp_path / "C")
    assert len(list((tmp_path / "C").rglob("*.jsonl"))) == 2
    obstacle.unlink()
    merge([tmp_path / "A"], tmp_path / "C")

    assert files(tmp_path / "C") == files(tmp_path / "A")
