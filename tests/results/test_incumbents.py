"""What counts of the trials of a run: its incumbents, statuses and seconds."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import EndReason, RunStatus
from cfo_bench.results.digest import COST_BIN_EDGES
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import EndRecord, ResumeRecord, decode, encode
from cfo_bench.results.trace import sealed_end, trials_crc32


def digested(path: Path) -> Run:
    found = read_run(path)
    assert found is not None
    return found


def test_only_trials_that_lower_the_loss_are_incumbents(write_run: Any) -> None:
    path = write_run("t", "cfo", 0, [(1, 0.4, 1), (2, 0.5, 1), (3, 0.4, 1), (5, None, 2), (9, 0.25, 4)])

    found = digested(path)

    assert found.incumbents.seconds == [1, 9]
    assert found.incumbents.losses == [0.4, 0.25]
    assert found.incumbents.costs == [1, 4]
    assert found.incumbents.overheads == [0.5, 0.5]
    assert list(found.incumbents.configs) == [
        {"n_estimators": 4, "max_leaves": 8},
        {"n_estimators": 20, "max_leaves": 40},
    ]
    assert found.incumbents.best_config == found.incumbents.configs[-1]
    assert found.digest.statuses == {"ok": 4, "timeout": 1}


def test_incumbents_come_in_the_order_in_which_trials_ended(write_run: Any) -> None:
    # Two at once: the second one asked ended first.
    found = digested(write_run("t", "cfo", 0, [(8, 0.3, 7), (2, 0.4, 1)], parallel=2))

    assert found.incumbents.seconds == [2, 8]
    assert found.incumbents.best_config["n_estimators"] == 4


def test_trials_on_fewer_rows_don_t_count_when_only_full_ones_do(write_run: Any) -> None:
    # 900 of the 1000 rows are for training.
    path = write_run("t", "bohb", 0, [(1, 0.2, 1), (2, 0.4, 1), (3, 0.3, 1)], rows=[100, 900, None])

    found = digested(path)

    assert found.incumbents.losses == [0.2]
    assert found.digest.full_incumbents.losses == [0.4, 0.3]
    assert found.digest.full_incumbents.best_config["n_estimators"] == 12


def test_time_is_told_apart_by_what_it_went_into(write_run: Any) -> None:
    found = digested(write_run("t", "cfo", 0, [(1, 0.4, 0.5), (10, 0.1, 4), (60, 0.2, 20)]))

    # 24.5 s of trials, and 40 s after the last one; the third, of 20 s, is dearer than the incumbent's 4 s.
    assert found.spent == {"method": 1.5, "fit": 18.375, "validate": 6.125, "harness": 34.0, "idle": 40.0}
    assert found.expensive_share == 0.2


def test_where_the_owner_of_a_second_is_not_known_it_is_nobodys(write_run: Any) -> None:
    trials = [(10, 0.4, 10.0), (20, 0.1, 8.0)]
    at_once = digested(write_run("t", "cfo", 0, trials, parallel=2)).spent
    path = write_run("t", "cfo", 1, trials, is_sealed=False)
    imported = b'"imported":{"format":"csv","source":"a","sha256":"b","clock":"wall","unknown":[]},"problem":'
    path.write_bytes(path.read_bytes().replace(b'"problem":', imported, 1))
    foreign = digested(path).spent

    assert (at_once["harness"], foreign["harness"]) == (0.0, 0.0)
    assert at_once["idle"] > 150 and foreign["idle"] == 81.0


def test_a_call_that_was_cut_off_is_the_methods_and_not_idle(write_run: Any) -> None:
    path = write_run("t", "smac", 0, [(10, 0.4, 9.5)], is_sealed=False)
    path.write_bytes(path.read_bytes().replace(b'"cut_ask_seconds":0.0', b'"cut_ask_seconds":89.5'))

    found = digested(path).spent

    assert (found["method"], found["harness"], found["idle"]) == (90.0, 0.0, 0.5)


def test_the_cost_of_trials_is_kept_by_when_they_ended(write_run: Any) -> None:
    # Both end in (0.01, 0.0126] of the budget, and the third at its very end.
    found = digested(write_run("t", "cfo", 0, [(1.1, 0.4, 0.9), (1.2, 0.1, 1.1), (100, 0.2, 20)]))

    costs = {
        round(float(edge), 4): cost
        for edge, cost in zip(COST_BIN_EDGES[1:], found.digest.cost_bins, strict=True)
        if cost
    }
    assert costs == {0.0126: 1.0, 1.0: 20.0}


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (EndReason.BUDGET, RunStatus.DONE),
        (EndReason.MAX_TRIALS, RunStatus.DONE),
        (EndReason.EXHAUSTED, RunStatus.DONE),
        (EndReason.INTERRUPTED, RunStatus.INTERRUPTED),
        (EndReason.ERROR, RunStatus.FAILED),
        (None, RunStatus.UNFINISHED),
    ],
)
def test_how_a_run_ended_is_its_state(write_run: Any, reason: EndReason | None, state: RunStatus) -> None:
    found = digested(write_run("t", "cfo", 0, [(1, 0.4, 1)], reason=reason))

    assert found.status is state
    assert (found.end and found.end.reason) == reason
    assert found.error == ("it broke" if reason is EndReason.ERROR else None)


def test_a_torn_last_line_is_passed_over(write_run: Any) -> None:
    path = write_run("t", "cfo", 0, [(1, 0.4, 1), (2, 0.3, 1)], reason=None)
    path.write_bytes(path.read_bytes()[:-20])

    found = digested(path)

    assert (found.n_trials, found.incumbents.losses, found.status) == (1, [0.4], RunStatus.UNFINISHED)


def test_a_run_that_was_taken_up_after_its_end_is_not_done(write_run: Any) -> None:
    path = write_run("t", "cfo", 0, [(1, 0.4, 1)], reason=EndReason.INTERRUPTED)
    with path.open("ab") as file:
        file.write(b'{"kind":"resume","elapsed":1.0,"trials":1,"utc":"","why":"again"}\n')

    assert digested(path).status is RunStatus.UNFINISHED


def test_a_hyperparameter_called_number_does_not_confuse_the_best_configuration(write_run: Any) -> None:
    path = write_run("t", "cfo", 0, [(1, 0.4, 1), (2, 0.3, 1)])
    path.write_bytes(path.read_bytes().replace(b'"n_estimators":4,', b'"number":1,'))

    assert digested(path).incumbents.best_config == {"n_estimators": 8, "max_leaves": 16}


def test_a_run_without_trials_has_no_incumbent(write_run: Any) -> None:
    found = digested(write_run("t", "cfo", 0, []))

    assert found.incumbents.seconds == [] and found.incumbents.best_config == {}
    assert found.spent["idle"] == 100.0


def test_a_file_without_a_whole_header_is_no_run_yet(tmp_path: Path) -> None:
    path = tmp_path / "fold-0_seed-0.jsonl"
    path.write_bytes(b'{"kind":"run","sch')

    assert read_run(path) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ((b'"kind":"run"', b'"kind":"walk"'), "line 1 is not a record of a trace"),
        ((b'"schema":2', b'"schema":99'), "version 99"),
        ((b'{"kind":"trial"', b'{"kind"'), "line 2 is not a record of a trace"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(
    write_run: Any, change: tuple[bytes, bytes], says: str
) -> None:
    path = write_run("t", "cfo", 0, [(1, 0.4, 1)])
    path.write_bytes(path.read_bytes().replace(*change))

    with pytest.raises(TraceError, match=says) as caught:
        read_run(path)

    assert "\n" not in str(caught.value)


def test_a_trial_that_ended_past_the_budget_never_counts(write_run: Any) -> None:
    # The budget is 100 s; whoever wrote this trace called the second trial a success.
    found = digested(write_run("t", "cfo", 0, [(99, 0.4, 1), (100.5, 0.1, 1)], elapsed=101))

    assert (found.incumbents.seconds, found.incumbents.losses) == ([99], [0.4])
    assert found.digest.full_incumbents == found.incumbents
    assert found.digest.statuses == {"ok": 1, "timeout": 1}


LATE = [(10, 0.5, 1), (90, 0.25, 1), (100.5, 0.125, 1), (100.75, None, 1), (150, 0.0625, 1)]


@pytest.mark.parametrize("is_sealed", [True, False])
@pytest.mark.parametrize("parallel", [1, 2])
def test_trials_that_ended_past_the_budget_are_counted(
    write_run: Any, is_sealed: bool, parallel: int
) -> None:
    trials = LATE if parallel == 1 else [LATE[4], *LATE[:4]]
    found = digested(write_run("t", "cfo", 0, trials, parallel=parallel, is_sealed=is_sealed))

    assert (found.late_trials, found.digest.statuses) == (2, {"ok": 2, "timeout": 3})
    assert found.incumbents.losses == [0.5, 0.25]


@pytest.mark.parametrize("trials", [LATE[:2], LATE[:1], [], [(100, 0.5, 1)], [(101, None, 1)]])
def test_trials_within_the_budget_and_those_cut_off_at_its_end_are_not_late(
    write_run: Any, trials: Any
) -> None:
    assert digested(write_run("t", "cfo", 0, trials)).late_trials == 0


def test_a_run_of_late_trials_alone_has_no_result(write_run: Any) -> None:
    found = digested(write_run("t", "cfo", 0, LATE[2:3]))

    assert (found.late_trials, found.incumbents.losses) == (1, [])


def test_a_late_trial_of_a_run_that_was_resumed_is_counted(write_run: Any) -> None:
    path = write_run("t", "cfo", 0, LATE[:3], is_sealed=False)
    header, *trials, end = path.read_bytes().splitlines(keepends=True)
    resume = encode(ResumeRecord(elapsed=10.0, trials=1, utc="", why="it was interrupted"))
    before = b"".join([header, trials[0], resume, *trials[1:]])
    record = decode(end)
    assert isinstance(record, EndRecord)
    path.write_bytes(before + encode(sealed_end(record, before)))

    assert (digested(path).late_trials, digested(path).incumbents.losses) == (1, [0.5, 0.25])


def test_a_last_trial_that_can_not_be_parsed_is_told_though_its_checksum_is_right(write_run: Any) -> None:
    path = write_run("t", "cfo", 0, LATE[:3])
    *before, _, last = path.read_bytes().splitlines()
    text = b"\n".join([*before, b'{"kind":"trial", and no more'])
    end = decode(last)
    assert isinstance(end, EndRecord)
    crc32 = trials_crc32(text.splitlines())
    seal = {"trials_crc32": crc32, "digest_crc32": zlib.crc32(bytes(end.digest), crc32)}
    path.write_bytes(text + b"\n" + encode(msgspec.structs.replace(end, **seal)))

    with pytest.raises(TraceError, match="line 4 is not a record of a trace"):
        read_run(path)


def test_a_trial_past_the_budget_does_not_count_though_a_digest_has_it(write_run: Any) -> None:
    # The digest at the end was made for a budget of 100 s; the header says 50.
    path = write_run("t", "cfo", 0, [(20, 0.4, 1), (80, 0.1, 1)])
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"budget_seconds":100.0', b'"budget_seconds":50.0', 1))

    found = digested(path)

    assert path.read_bytes() != text
    assert (found.incumbents.seconds, found.incumbents.losses) == ([20], [0.4])
