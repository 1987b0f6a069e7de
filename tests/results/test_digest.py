"""The digest in the end of a trace: what it holds, and when it is not believed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfo_bench.cli.main import cli
from cfo_bench.errors import TraceError
from cfo_bench.records import EndReason, RunSpec, TrialStatus
from cfo_bench.results.digest import TrialDigest, digest_of
from cfo_bench.results.run import Run, read_run, read_verified_run
from cfo_bench.results.schema import NO_DIGEST, EndRecord, ResumeRecord, TrialRecord, decode, encode
from cfo_bench.results.trace import TraceWriter, sealed_end, trials_crc32
from tests.helpers.traces import header_of, write_run

TRIALS = [(1.0, 0.5, 0.5), (2.0, None, 0.5), (3.0, 0.25, 0.5), (4.0, 0.75, 0.5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_run(tmp_path, "t", "cfo", 0, TRIALS)


def read(path: Path) -> Run:
    run = read_run(path)
    assert run is not None
    return run


def digested(path: Path) -> TrialDigest:
    return read(path).digest


def stored(path: Path) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.json.decode(path.read_bytes().splitlines()[-1])
    return row


def digest_crc32(row: Any, trials_crc32: int) -> int:
    return zlib.crc32(msgspec.json.encode(row), trials_crc32)


def with_end(path: Path, end: dict[str, Any]) -> None:
    *lines, _ = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines, msgspec.json.encode(end)]) + b"\n")


def with_digest(path: Path, row: Any) -> None:
    """Somebody replaced the digest, and made a checksum that fits."""
    end = stored(path)
    with_end(path, {**end, "digest": row, "digest_crc32": digest_crc32(row, end["trials_crc32"])})


def spoil_a_trial(path: Path) -> None:
    """A trial can't be parsed any more, but the checksums are right: whoever reads it fails."""
    lines = path.read_bytes().splitlines()
    lines[2] = b'{"kind":"trial", and no more'
    end = msgspec.json.decode(lines[-1])
    crc32 = trials_crc32(lines)
    sums = {"trials_crc32": crc32, "digest_crc32": end["digest"] and digest_crc32(end["digest"], crc32)}
    path.write_bytes(b"\n".join([*lines[:-1], msgspec.json.encode({**end, **sums})]) + b"\n")


# A trial: seconds since the one before, loss, cost, rows.
trials = st.lists(
    st.tuples(
        st.floats(0.01, 9.0),
        st.none() | st.sampled_from([0.1, 0.2, 0.3, 0.4]),
        st.floats(0.0, 0.01),
        st.none() | st.sampled_from([90, 900]),
    ),
    max_size=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(trials, st.integers(1, 3))
def test_it_says_the_same_as_the_trials(tmp_path: Path, some: Sequence[Any], parallel: int) -> None:
    ended, now = [], 0.0
    for since, loss, cost, _ in some:
        now += since
        ended.append((now, loss, cost))
    rows = [row for *_, row in some]
    without, with_it = (
        read(write_run(tmp_path, "t", "cfo", 0, ended, rows=rows, parallel=parallel, is_sealed=is_sealed))
        for is_sealed in (False, True)
    )

    assert without.stored is None and with_it.stored is not None
    assert with_it.digest == without.digest


def test_trials_are_not_parsed_where_the_checksums_are_right(path: Path) -> None:
    before = digested(path)
    spoil_a_trial(path)

    assert digested(path) == before


@pytest.mark.parametrize("change", [(b'"loss":0.25', b'"loss":0.24'), (b'"loss":0.25', b'"loss":0.125')])
def test_a_trial_that_was_edited_afterwards_is_noticed(path: Path, change: tuple[bytes, bytes]) -> None:
    path.write_bytes(path.read_bytes().replace(*change, 1))

    assert digested(path).incumbents.losses == [0.5, float(change[1].removeprefix(b'"loss":'))]


def test_an_end_that_counts_other_trials_than_its_digest_is_noticed(path: Path) -> None:
    with_end(path, {**stored(path), "trials": 3})

    with pytest.raises(TraceError, match="trials is 3, and the lines before it have 4"):
        read_run(path)


def test_a_digest_that_was_damaged_is_not_believed(path: Path) -> None:
    before = digested(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"losses":[0.5,0.25]', b'"losses":[0.5,0.125]'))
    assert path.read_bytes() != content

    assert digested(path) == before


@pytest.mark.parametrize("losses", [[0.5, 0.25e-3], [0.25e-3, 0.125e-3], []])
def test_a_digest_with_another_best_loss_than_its_end_is_not_believed(
    path: Path, losses: list[float]
) -> None:
    before = digested(path)
    row = stored(path)["digest"]
    steps = {
        name: column[: len(losses)] if name != "names" else column for name, column in row["steps"].items()
    }
    with_digest(path, {**row, "steps": {**steps, "losses": losses}})

    assert digested(path) == before


@pytest.mark.parametrize(
    "change",
    [
        {"statuses": {"ok": 4}},
        {"last_ended": 3.0},
        {"fit_seconds": 2.0},
        {"method_seconds": 0.0},
        {"cost_bins": [None] * 41},
        {"steps": [("losses", [0.75, 0.25])]},
        {"steps": [("seconds", [1.0, 2.0])]},
        {"steps": [("configs", [[4, 8], [99, 24]])]},
        {"full": []},
    ],
)
def test_a_forged_digest_is_named_if_it_is_compared_with_the_trials(path: Path, change: Any) -> None:
    assert read_verified_run(path) is not None
    row = stored(path)["digest"]
    if "steps" in change:
        change = {"steps": {**row["steps"], **dict(change["steps"])}}
    if "full" in change:
        change = {"full": {**row["steps"], "losses": [0.5, 0.125]}}
    with_digest(path, {**row, **change})

    with pytest.raises(TraceError, match="the digest in its last line is not that of its trials"):
        read_verified_run(path)


@pytest.mark.parametrize("words", [("replay", "TRACE"), ("merge", "RESULTS", "-o", "MERGED")])
def test_replay_and_merge_compare_the_digest_with_the_trials(
    words: Sequence[str], path: Path, tmp_path: Path
) -> None:
    with_digest(path, {**stored(path)["digest"], "fit_seconds": 2.0})
    merged = tmp_path.with_name("merged")
    places = {"TRACE": path, "RESULTS": tmp_path, "MERGED": merged}

    answer = CliRunner().invoke(cli, [str(places.get(word, word)) for word in words])

    assert answer.exit_code != 0 and not merged.exists()
    assert "is not that of its trials" in f"{answer.output}{answer.exception}"


def test_sums_that_were_added_in_another_order_are_the_same(path: Path) -> None:
    row = stored(path)["digest"]
    with_digest(path, {**row, "fit_seconds": row["fit_seconds"] * (1 + 1e-12)})

    assert read_verified_run(path) is not None


def test_a_digest_of_another_version_is_not_believed(path: Path) -> None:
    before = digested(path)
    row = stored(path)["digest"]
    with_digest(path, {**row, "version": row["version"] + 1, "fit_seconds": 77.0})

    assert digested(path) == before


STEPS = {
    "seconds": [1.0],
    "losses": [0.5],
    "test_scores": [None],
    "costs": [1.0],
    "overheads": [0.0],
    "names": ["x"],
    "configs": [[1]],
}


@pytest.mark.parametrize(
    "change",
    [
        {"trials": 5},
        {"statuses": {"ok": 4}, "trials": "4"},
        {"statuses": {"ok": 3}},
        {"statuses": {"fine": 4}},
        {"statuses": {"ok": 5, "failed": -1}},
        {"statuses": None},
        {"steps": []},
        {"steps": {}},
        {"steps": {**STEPS, "losses": [0.5, 0.4]}},
        {"steps": {**STEPS, "losses": ["0.5"]}},
        {"steps": {**STEPS, "losses": [None]}},
        {"steps": {**STEPS, "losses": 0.5}},
        {"steps": {**STEPS, "seconds": [-1.0]}},
        {"steps": {**STEPS, "test_scores": [True]}},
        {"steps": {**STEPS, "names": [7]}},
        {"steps": {**STEPS, "configs": [[1, 2]]}},
        {"steps": {**STEPS, "configs": [[{}]]}},
        {"steps": {**STEPS, "configs": []}},
        {"steps": {**STEPS, "names": None}},
        {"full": 7},
        {"cost_bins": []},
        {"cost_bins": ["1"] * 41},
        {"method_seconds": -1.0},
        {"fit_seconds": "1"},
        {"validate_seconds": None},
        {"dearer_seconds": [1]},
        {"last_ended": False},
    ],
)
def test_a_digest_of_another_shape_is_not_believed(path: Path, change: dict[str, Any]) -> None:
    before = digested(path)
    with_digest(path, {**stored(path)["digest"], **change})

    assert digested(path) == before


@pytest.mark.parametrize("row", [None, {}, {"version": 1}])
def test_an_end_without_a_digest_is_fine(path: Path, row: Any) -> None:
    before = digested(path)
    with_digest(path, row)

    assert digested(path) == before


def test_a_version_is_one_way_to_compute_it(tmp_path: Path) -> None:
    """If this fails, the same trials give another digest: raise VERSION, and write the new one here."""
    path = write_run(
        tmp_path, "t", "cfo", 0, [*TRIALS, (101.0, 0.125, 1.0)], rows=[None, 900, 90, None, None]
    )

    row = stored(path)["digest"]
    bins = row.pop("cost_bins")

    assert {at: cost for at, cost in enumerate(bins) if cost is not None} == {
        20: 0.5,
        24: 0.5,
        25: 0.5,
        27: 0.5,
        40: 1.0,
    }
    assert row == {
        "version": 1,
        "trials": 5,
        "statuses": {"ok": 3, "timeout": 2},
        "steps": {
            "seconds": [1.0, 3.0],
            "losses": [0.5, 0.25],
            "test_scores": [None, None],
            "costs": [0.5, 0.5],
            "overheads": [0.5, 0.5],
            "names": ["n_estimators", "max_leaves"],
            "configs": [[4, 8], [12, 24]],
        },
        "full": {
            "seconds": [1.0],
            "losses": [0.5],
            "test_scores": [None],
            "costs": [0.5],
            "overheads": [0.5],
            "names": ["n_estimators", "max_leaves"],
            "configs": [[4, 8]],
        },
        "method_seconds": 2.5,
        "fit_seconds": 2.25,
        "validate_seconds": 0.75,
        "dearer_seconds": 1.0,
        "last_ended": 101.0,
    }


def test_configurations_with_different_hyperparameters_are_kept(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'{"n_estimators":4,', b'{"depth":4,', 1))
    *before, line = path.read_bytes().splitlines(keepends=True)
    end = decode(line)
    assert isinstance(end, EndRecord)
    path.write_bytes(b"".join(before) + encode(sealed_end(end, b"".join(before))))
    spoil_a_trial(path)

    assert list(digested(path).incumbents.configs) == [
        {"depth": 4, "max_leaves": 8},
        {"n_estimators": 12, "max_leaves": 24},
    ]


def test_an_interrupted_run_gets_its_digest_when_it_has_been_resumed(tmp_path: Path) -> None:
    path = write_run(tmp_path, "t", "cfo", 0, TRIALS, reason=EndReason.INTERRUPTED)
    assert stored(path)["digest"] is None
    with TraceWriter(path) as writer:
        writer.append(ResumeRecord(elapsed=4.0, trials=4, utc="", why="again", node="other"))
        writer.append(
            EndRecord(
                reason=EndReason.BUDGET,
                elapsed=100.0,
                trials=4,
                best_loss=0.25,
                best_score=0.75,
                best_number=2,
            )
        )
    before = digested(path)
    spoil_a_trial(path)

    run = read(path)
    assert run.digest == before and run.nodes == ["other"] and run.n_trials == 4


def test_the_text_of_no_trace_gets_no_digest() -> None:
    end = EndRecord(
        reason=EndReason.BUDGET, elapsed=1.0, trials=0, best_loss=None, best_score=None, best_number=None
    )
    for text in (b"", b"words\n", b"{}\n", b'{"spec":{}}\n{"kind":"trial",\n', b"[]\n"):
        assert sealed_end(end, text).digest == NO_DIGEST


# --- whose seconds they are -----------------------------------------------------------------------


def method_seconds(parallel: int, end: EndRecord, *trials: dict[str, Any]) -> float:
    """The method's seconds of trials that are given by the fields that matter."""
    others = {
        "config": {},
        "rows": None,
        "thread": 0,
        "status": TrialStatus.TIMEOUT,
        "loss": None,
        "score": None,
    }
    records = [
        TrialRecord(**{**others, "fit_seconds": 0.0, "validate_seconds": 0.0, **trial}) for trial in trials
    ]
    spec = RunSpec("xgboost", "t", "cfo", 0, budget_seconds=100.0, parallel=parallel)
    return digest_of(header_of(spec), records, end).method_seconds


END = EndRecord(
    reason=EndReason.BUDGET, elapsed=10.0, trials=2, best_loss=None, best_score=None, best_number=None
)


def test_one_trial_at_a_time_waits_for_the_method_alone() -> None:
    trials = [
        {"number": 0, "started": 1.0, "ended": 3.0, "ask_seconds": 1.0, "tell_seconds": 2.0},
        {"number": 1, "started": 6.0, "ended": 9.0, "ask_seconds": 1.0, "tell_seconds": None},
    ]

    assert method_seconds(1, END, *trials) == 4.0
    assert method_seconds(1, msgspec.structs.replace(END, cut_tell_seconds=1.0), *trials) == 5.0


def test_of_several_evaluators_each_waits_for_the_method() -> None:
    # Both wait for the first ask (2 × 1 s), one for the second (1 s). At 5 s both trials have ended: the
    # method is told of the first until 7 s (2 × 2 s), of the other until 8 s (2 × 1 s), and asked until 9 s
    # (2 × 1 s). The last ask is cut off at 10 s, when one evaluator is busy (1 s).
    trials = [
        {"number": 0, "started": 1.0, "ended": 5.0, "ask_seconds": 1.0, "tell_seconds": 2.0, "asked": 2},
        {"number": 1, "started": 2.0, "ended": 5.0, "ask_seconds": 1.0, "tell_seconds": 1.0, "asked": 2},
        {"number": 2, "started": 9.0, "ended": 10.0, "ask_seconds": 1.0, "tell_seconds": None, "asked": None},
    ]

    assert method_seconds(2, msgspec.structs.replace(END, cut_ask_seconds=1.0), *trials) == pytest.approx(
        2 + 1 + 4 + 2 + 2 + 1
    )


def test_an_evaluator_that_is_busy_does_not_wait_for_the_method() -> None:
    # While the method is told of trial 0, and asked for trial 2, trial 1 is evaluated.
    trials = [
        {"number": 0, "started": 0.0, "ended": 4.0, "ask_seconds": 0.0, "tell_seconds": 2.0, "asked": 2},
        {"number": 2, "started": 7.0, "ended": 9.0, "ask_seconds": 1.0, "tell_seconds": None, "asked": None},
        {"number": 1, "started": 0.0, "ended": 10.0, "ask_seconds": 0.0, "tell_seconds": None, "asked": None},
    ]

    assert method_seconds(2, END, *trials) == pytest.approx(3.0)
