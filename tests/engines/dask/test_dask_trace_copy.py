"""The driver's copy of a trace: at any time the beginning of what its worker has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.engines.dask.trace_copy import TraceCopy
from cfo_bench.records import DataRef, EndReason, RunSpec, Status
from cfo_bench.results.schema import TrialRecord, encode
from cfo_bench.run.job import Job
from cfo_bench.run.page import BusyError, end_record
from cfo_bench.run.supervisor import already_done
from tests.helpers.traces import header_of

SPEC = RunSpec("xgboost", "iris", "cfo", 0)


def lines(trials: int, is_over: bool = True) -> list[bytes]:
    records = [
        TrialRecord(
            number=number,
            config={"x": number},
            rows=None,
            thread=0,
            status=Status.OK,
            loss=1.0 / (number + 1),
            score=None,
            started=float(number),
            ended=number + 0.5,
            ask_seconds=0.0,
            fit_seconds=0.5,
            validate_seconds=0.0,
            tell_seconds=0.0,
        )
        for number in range(trials)
    ]
    end = [end_record(EndReason.BUDGET, 3600.0, trials, None)] if is_over else []
    return [encode(record) for record in [header_of(SPEC), *records, *end]]


def job(folder: Path) -> Job:
    return Job(SPEC, DataRef("iris", "bundled"), folder / "fold-0_seed-0.jsonl")


def opened(folder: Path, force: bool = False) -> TraceCopy:
    found = TraceCopy.open(job(folder), force, lambda text: None)
    assert isinstance(found, TraceCopy)
    return found


@given(data=st.data())
def test_chunks_in_any_order_and_number_leave_a_prefix_in_whole_lines(tmp_path_factory, data) -> None:
    whole = lines(6)
    folder = tmp_path_factory.mktemp("copy")
    copy = opened(folder)
    cut = st.integers(0, len(whole))
    for _ in range(data.draw(st.integers(0, 12))):
        first, last = sorted((data.draw(cut), data.draw(cut)))
        at, before = len(b"".join(whole[:first])), copy.size
        is_next = copy.add(at, b"".join(whole[first:last]))
        assert is_next == (at <= before) and copy.size >= before
        assert copy.past() == b"".join(whole)[: copy.size]
        assert copy.past()[-1:] in (b"", b"\n")
    copy.close()
    assert not list(folder.glob("*.live"))


def test_what_an_earlier_command_left_is_mended_and_resumed(tmp_path: Path) -> None:
    job(tmp_path).trace_path.write_bytes(b"".join(lines(3, is_over=False)) + b'{"kind":"tri')
    said: list[str] = []
    copy = TraceCopy.open(job(tmp_path), False, said.append)
    assert isinstance(copy, TraceCopy)
    assert copy.past() == b"".join(lines(3, is_over=False))
    assert any("resumed after 3 trials" in text for text in said)
    copy.close()


def test_a_method_that_can_not_be_replayed_starts_again_and_what_arrived_is_kept(tmp_path: Path) -> None:
    unsteady = replace(job(tmp_path), replays=False)
    first = TraceCopy.open(unsteady, False, lambda text: None)
    assert first is not None
    arrived = b"".join(lines(3, is_over=False))
    first.add(0, arrived)
    first.close()
    second = TraceCopy.open(unsteady, False, lambda text: None)
    assert second is not None and second.past() == b"" and second.size == 0
    assert (tmp_path / "fold-0_seed-0.interrupted").read_bytes() == arrived
    assert second.add(0, b"".join(lines(1)))
    assert unsteady.trace_path.read_bytes() == b"".join(lines(1))
    second.close()


def test_a_finished_trace_needs_no_attempt_unless_it_is_forced(tmp_path: Path) -> None:
    path = job(tmp_path).trace_path
    path.write_bytes(b"".join(lines(3)))
    assert TraceCopy.open(job(tmp_path), False, lambda text: None) is None
    assert already_done(job(tmp_path)) is not None
    copy = opened(tmp_path, force=True)
    assert copy.past() == b"" and path.read_bytes() == b"".join(lines(3))  # it stays until there is another
    assert copy.add(0, lines(0)[0])
    assert path.read_bytes() == lines(0)[0]
    copy.close()


def test_a_run_that_another_command_is_doing_is_busy(tmp_path: Path) -> None:
    copy = opened(tmp_path)
    with pytest.raises(BusyError):
        TraceCopy.open(job(tmp_path), False, lambda text: None)
    copy.close()


@pytest.mark.parametrize("is_over", [True, False])
def test_an_interruption_is_written_where_no_end_has_arrived(tmp_path: Path, is_over: bool) -> None:
    copy = opened(tmp_path)
    copy.add(0, b"".join(lines(2, is_over)))
    copy.interrupt()
    end = copy.end()
    assert end is not None and end.reason is (EndReason.BUDGET if is_over else EndReason.INTERRUPTED)
    copy.close()


def test_an_interruption_before_the_first_line_leaves_no_trace(tmp_path: Path) -> None:
    copy = opened(tmp_path)
    copy.interrupt()
    assert copy.end() is None
    copy.close()
    assert list(tmp_path.iterdir()) == []
