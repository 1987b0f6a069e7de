"""What is written is read back; what a kill or a power cut leaves is mended; what is not ours stays."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfo_bench.errors import RunError, TraceError
from cfo_bench.records import EndReason, RunSpec, Status
from cfo_bench.results import trace
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import AnyLine, EndRecord, ResumeRecord, TrialRecord, encode
from cfo_bench.results.trace import TraceWriter
from tests.helpers.traces import header_of

# Several trials at once, so that any order of their ends is a trace.
HEADER = header_of(RunSpec("xgboost", "iris", "cfo", 0, parallel=8))
RESUME = ResumeRecord(elapsed=1.5, trials=1, utc="2026-01-02T03:04:05Z", why="it was interrupted")

seconds = st.floats(0, 1e6)
losses = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=20)
values = st.one_of(st.integers(-(2**53), 2**53), losses, texts, st.booleans(), st.none())


@st.composite
def trials(draw: st.DrawFn) -> TrialRecord:
    started = draw(seconds)
    is_ok = draw(st.booleans())
    return TrialRecord(
        number=draw(st.integers(0, 10**9)),
        config=draw(st.dictionaries(texts, values, max_size=4)),
        rows=draw(st.none() | st.integers(1, 10**9)),
        thread=draw(st.integers(0, 99)),
        status=Status.OK if is_ok else draw(st.sampled_from([Status.FAILED, Status.TIMEOUT, Status.MEMORY])),
        loss=draw(losses) if is_ok else None,
        score=draw(losses) if is_ok else None,
        started=started,
        ended=started + draw(seconds),
        ask_seconds=draw(seconds),
        fit_seconds=draw(seconds),
        validate_seconds=draw(seconds),
        tell_seconds=draw(st.none() | seconds),
        peak_memory_mb=draw(st.none() | seconds),
        error=draw(st.none() | texts),
        test_score=draw(st.none() | losses),
        asked=draw(st.none() | st.integers(1, 10**9)),
    )


def changed(record: AnyLine, **values: Any) -> Any:
    return msgspec.structs.replace(record, **values)


def numbered(most: int) -> st.SearchStrategy[list[TrialRecord]]:
    """Up to so many trials, numbered as a method counts them."""
    return st.lists(trials(), max_size=most).map(
        lambda drawn: [changed(record, number=number) for number, record in enumerate(drawn)]
    )


def trial(number: int = 0, loss: float | None = 0.5, started: float = 0.0, **changes: Any) -> TrialRecord:
    fields: dict[str, Any] = {
        "number": number,
        "config": {"x": 1, "name": "ü\n"},
        "rows": None,
        "thread": 0,
        "status": Status.FAILED if loss is None else Status.OK,
        "loss": loss,
        "score": None if loss is None else 1 - loss,
        "started": started,
        "ended": started + 1,
        "ask_seconds": 0.0,
        "fit_seconds": 1.0,
        "validate_seconds": 0.0,
        "tell_seconds": 0.25,
        "peak_memory_mb": None,
        "error": None,
    }
    return TrialRecord(**{**fields, **changes})


def end(reason: EndReason = EndReason.BUDGET, trials: int = 1) -> EndRecord:
    return EndRecord(reason=reason, elapsed=9.0, trials=trials, best_loss=0.5, best_score=0.5, best_number=0)


def write(path: Path, *records: AnyLine) -> bytes:
    with TraceWriter(path) as writer:
        writer.clear()
        for record in records:
            writer.append(record)
    return path.read_bytes()


def read(path: Path) -> Run:
    run = read_run(path, parse_trials=True)
    assert run is not None
    return run


# Hypothesis calls a test many times with one tmp_path: each writes its file again.
many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@many
@given(written=numbered(4))
def test_what_is_written_is_read_back(tmp_path: Path, written: list[TrialRecord]):
    last = end(trials=len(written))
    write(tmp_path / "t.jsonl", HEADER, *written, last)
    run = read(tmp_path / "t.jsonl")
    assert run.end is not None and run.end.trials_crc32 is not None
    end_without_checksum = changed(run.end, trials_crc32=None, digest_crc32=None)
    assert (run.header, run.trials, end_without_checksum) == (HEADER, written, last)


def test_a_line_has_the_fields_of_its_record_and_some_only_where_they_are_known():
    fields = ["kind", *TrialRecord.__struct_fields__]
    known = {"asked": 3, "cpu_seconds": 0.5, "method_cpu_seconds": 0.25}
    assert list(msgspec.json.decode(encode(trial(0, **known)))) == fields
    assert list(msgspec.json.decode(encode(trial(0)))) == fields[:-3] and fields[-3:] == list(known)


@many
@given(written=numbered(3), data=st.data())
def test_a_trace_cut_anywhere_gives_its_whole_lines(tmp_path: Path, written: list[TrialRecord], data):
    path = tmp_path / "t.jsonl"
    whole = write(path, HEADER, *written)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    # A line that lacks only its end of line is whole.
    lines = whole[: cut + 1].count(b"\n") if cut < len(whole) else len(written) + 1
    run = read_run(path)
    if lines == 0:
        assert run is None
    else:
        assert run is not None and run.trials == written[: lines - 1]
    with TraceWriter(path) as writer:
        torn = writer.mend()
        writer.append(trial(99))
    mended = b"".join(line + b"\n" for line in whole.split(b"\n")[:lines])
    assert path.read_bytes() == mended + encode(trial(99))
    assert torn == max(cut - len(mended), 0)


@pytest.mark.parametrize("kept", [0, 1, 30])
def test_the_zeros_that_a_power_cut_leaves_are_cut_off(tmp_path: Path, kept: int):
    path = tmp_path / "t.jsonl"
    whole = write(path, HEADER, trial(0))
    path.write_bytes(whole + encode(trial(1))[:kept] + b"\0" * 4096)
    assert read(path).trials == [trial(0)]
    with TraceWriter(path) as writer:
        assert writer.mend() == kept + 4096
    assert path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"\0\0\0", b'{"kind":"run","sche', b"{"])
def test_a_file_without_a_whole_header_is_no_trace_yet(tmp_path: Path, content: bytes):
    (tmp_path / "t.jsonl").write_bytes(content)
    assert read_run(tmp_path / "t.jsonl") is None


def test_no_file_is_no_trace(tmp_path: Path):
    assert read_run(tmp_path / "nowhere" / "t.jsonl") is None


def test_a_header_alone_is_a_trace_without_trials(tmp_path: Path):
    write(tmp_path / "t.jsonl", HEADER)
    run = read(tmp_path / "t.jsonl")
    assert (run.trials, run.end, run.best, run.elapsed) == ([], None, None, 0.0)
    assert not run.is_finished


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"not json\n",
        b"not json",
        b"\0\0\n",
        b"7\n",
        b"[]\n",
        b'{"kind":"poem"}\n',
        b'{"no":"kind"}\n',
        b'{"kind":"trial"}\n',
        b'{"kind":"trial","number":0,"status":"splendid"}\n',
        encode(trial(0)).replace(b'"ended":1.0', b'"ended":null'),
        encode(trial(0)).replace(b'"ended":1.0', b'"ended":-1.0'),
        encode(trial(0)).replace(b'"number":0', b'"number":"0"'),
        encode(end()).replace(b'"budget"', b'"boredom"'),
    ],
)
def test_garbage_is_an_error_that_names_the_line_and_changes_nothing(tmp_path: Path, garbage: bytes):
    path = tmp_path / "t.jsonl"
    content = write(path, HEADER, trial(0)) + garbage
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"t\.jsonl, line 3 is not a record.*--force"):
        read_run(path)
    assert path.read_bytes() == content


def test_a_trace_of_another_version_is_refused(tmp_path: Path):
    write(tmp_path / "t.jsonl", changed(HEADER, schema=7))
    with pytest.raises(TraceError, match=r"version 7.*reads version 2"):
        read_run(tmp_path / "t.jsonl")


def test_keys_that_this_version_does_not_know_are_ignored(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    rows = [msgspec.json.decode(encode(record)) for record in (HEADER, trial(0), end())]
    path.write_bytes(b"".join(msgspec.json.encode({**row, "mood": "good"}) + b"\n" for row in rows))
    run = read(path)
    assert (run.header, run.trials, run.end) == (HEADER, [trial(0)], end())


def test_a_trial_of_before_test_scores_has_none(tmp_path: Path):
    row = msgspec.json.decode(encode(trial(0)))
    del row["test_score"]
    (tmp_path / "t.jsonl").write_bytes(encode(HEADER) + msgspec.json.encode(row))
    assert read(tmp_path / "t.jsonl").trials == [trial(0)]


def test_the_last_end_or_resume_counts(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    write(path, HEADER, trial(0), end(EndReason.INTERRUPTED))
    assert not read(path).is_finished
    write(path, HEADER, trial(0), end(EndReason.INTERRUPTED), RESUME)
    assert read(path).end is None
    write(path, HEADER, trial(0), end(EndReason.INTERRUPTED), RESUME, trial(1), end(trials=2))
    assert read(path).is_finished


def test_the_best_is_the_first_of_the_lowest_and_failures_are_none(tmp_path: Path):
    write(tmp_path / "t.jsonl", HEADER, trial(0, None), trial(1, 0.3), trial(2, 0.2), trial(3, 0.2))
    best = read(tmp_path / "t.jsonl").best
    assert best is not None and best.number == 2


def test_the_clock_stands_where_the_last_tell_ended(tmp_path: Path):
    write(tmp_path / "t.jsonl", HEADER, trial(0, started=4.0), trial(1, started=2.0, tell_seconds=None))
    assert read(tmp_path / "t.jsonl").elapsed == 5.25


# --- writing ----------------------------------------------------------------------------------


def test_a_disk_that_takes_a_part_of_a_line_keeps_whole_lines_only(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=_write_up_to_a_limit, args=(path, 2000, theirs))
    process.start()
    theirs.close()
    said = ours.recv()
    process.join()
    assert "File too large" in said and "everything written before is kept" in said
    content = path.read_bytes()
    assert content.endswith(b"\n") and 1000 < len(content) <= 2000
    assert [record.number for record in read(path).trials] == list(range(content.count(b"\n") - 1))


def _write_up_to_a_limit(path: Path, size: int, answer: Any) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    with TraceWriter(path) as writer:
        writer.append(HEADER)
        try:
            for number in range(1000):
                writer.append(trial(number))
        except RunError as error:
            answer.send(str(error))


def test_a_second_writer_is_refused_and_told_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trace, "LOCK_PATIENCE_SECONDS", 0.1)
    with (
        TraceWriter(tmp_path / "t.jsonl"),
        pytest.raises(TraceError, match="being written by another process"),
    ):
        TraceWriter(tmp_path / "t.jsonl")


def test_a_writer_waits_for_one_that_is_about_to_end(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    fork = multiprocessing.get_context("fork")
    ready = fork.Event()
    other = fork.Process(target=_hold, args=(path, ready))
    other.start()
    assert ready.wait(20)
    with TraceWriter(path) as writer:
        writer.append(HEADER)
    other.join()
    assert read(path).header == HEADER


def _hold(path: Path, ready: Any) -> None:
    with TraceWriter(path):
        ready.set()
        time.sleep(0.3)


def test_a_folder_that_can_not_be_made_is_an_error_with_a_remedy(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TraceError, match=r"can't write .*; choose another --results"):
        TraceWriter(tmp_path / "file" / "t.jsonl")


def test_a_folder_in_place_of_a_trace_is_an_error(tmp_path: Path):
    with pytest.raises(TraceError, match=r"can't read .*not a regular file"):
        read_run(tmp_path)


# --- where a trace stands ---------------------------------------------------------------------


def spec(learner: str = "xgboost", task: str = "iris", method: str = "cfo") -> RunSpec:
    return RunSpec(learner, task, method, fold=3, seed=5)


def test_a_trace_stands_in_the_folder_of_its_learner_task_and_method():
    assert trace.path_of(Path("r"), spec()) == Path("r/xgboost/iris/cfo/fold-3_seed-5.jsonl")
    local = spec(method="some/where/mine.py:Mine")
    assert trace.path_of(Path("r"), local) == Path("r/xgboost/iris/Mine/fold-3_seed-5.jsonl")


names = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="./%2Ea\\ ", max_size=6),
    st.sampled_from(["", ".", "..", "../x", "a/b", "/etc/passwd", "%2E", "%", "…", "a\0b", "Ünï", "a\nb"]),
).filter(lambda name: ".py:" not in name and not any("\ud800" <= c <= "\udfff" for c in name))


@given(task=names, other=names)
def test_no_name_leaves_the_results_folder_and_no_two_meet(task: str, other: str):
    path = trace.path_of(Path("/results"), spec(task=task))
    assert len(path.parts) == 6
    assert Path(os.path.normpath(path)) == path and path.is_relative_to("/results/xgboost")
    assert "\0" not in str(path) and str(path).isprintable()
    assert (path == trace.path_of(Path("/results"), spec(task=other))) == (task == other)
