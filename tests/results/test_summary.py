"""The table at the end of a batch, checked by hand on traces made by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cfo_bench.records import EndReason, RunLimits, RunSpec, Status
from cfo_bench.report.numbers.scores import score_tasks
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import EndRecord, FoldData, ProgramFacts, TrialRecord
from cfo_bench.results.summary import SummaryRow, comparable_traces, round_trips, summarise
from cfo_bench.results.trace import TraceWriter, path_of
from cfo_bench.terminal.summary_table import print_summary
from tests.helpers.traces import header_of


def trial(number: int, loss: float | None, ended: float, own: float = 0.0, **more: float) -> TrialRecord:
    """A trial of a metric whose score is 1 - loss; `own` are the seconds of ask and of tell, each."""
    return TrialRecord(
        number=number,
        config={"x": number},
        rows=None,
        thread=0,
        status=Status.OK if loss is not None else Status.TIMEOUT,
        loss=loss,
        score=None if loss is None else 1 - loss,
        started=ended - 0.5,
        ended=ended,
        ask_seconds=own,
        fit_seconds=0.5,
        validate_seconds=0.0,
        tell_seconds=None if loss is None else own,
        peak_memory_mb=None,
        error=None,
        **more,  # type: ignore[arg-type]
    )


def write(
    folder: Path,
    fold: int,
    trials: list[TrialRecord],
    reason: EndReason | None,
    elapsed: float,
    method: str = "m",
    seed: int = 0,
    validation: str = "fold",
) -> Path:
    spec = RunSpec("learner", "task", method, fold, seed, budget_seconds=10.0, validation=validation)
    path = path_of(folder, spec)
    with TraceWriter(path) as writer:
        writer.append(header_of(spec))
        for one in trials:
            writer.append(one)
        if reason is not None:
            writer.append(
                EndRecord(
                    reason=reason,
                    elapsed=elapsed,
                    trials=len(trials),
                    best_loss=None,
                    best_score=None,
                    best_number=None,
                )
            )
    return path


def only(rows: list[SummaryRow]) -> SummaryRow:
    (row,) = rows
    return row


def test_means_are_over_folds(tmp_path: Path) -> None:
    paths = [
        # best 0.2 after 2 s; 4 trials; the method took 4 × 2 × 0.25 of 10 s
        write(tmp_path, 0, [trial(0, 0.5, 1, 0.25), trial(1, 0.2, 2, 0.25), trial(2, 0.4, 3, 0.25),
                            trial(3, 0.2, 4, 0.25)], EndReason.BUDGET, 10.0),
        # best 0.4 after 6 s; 2 trials, the second without a result: asked (0.25) and never told
        write(tmp_path, 1, [trial(0, 0.4, 6, 0.25), trial(1, None, 9, 0.25)], EndReason.MAX_TRIALS, 15.0),
    ]  # fmt: skip

    row = only(summarise(paths))

    assert (row.learner, row.task, row.method, row.metric) == ("learner", "task", "m", "auc")
    assert (row.folds, row.unfinished) == (2, 0)
    assert row.score_mean == pytest.approx((0.8 + 0.6) / 2)
    assert row.score_sd == pytest.approx(((0.1**2 + 0.1**2) / (2 - 1)) ** 0.5)  # of a sample
    # The mean over folds is there from 6 s on, when the second fold has its first loss.
    assert row.seconds_to_best == 6
    assert row.trials == 3.0
    assert row.method_share == pytest.approx((4 * 0.5 + 0.5 + 0.25) / (10 + 15))
    assert row.test_score_mean is None


def test_seeds_of_a_fold_are_averaged_before_the_deviation(tmp_path: Path) -> None:
    losses = {(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.5, (1, 1): 0.7}
    paths = [
        write(tmp_path, fold, [trial(0, loss, 1)], EndReason.BUDGET, 10.0, seed=seed)
        for (fold, seed), loss in losses.items()
    ]

    row = only(summarise(paths))

    # Scores of the folds: 0.8 and 0.4.
    assert (row.folds, row.runs, row.score_mean) == (2, 4, pytest.approx(0.6))
    assert row.score_sd == pytest.approx((0.2**2 + 0.2**2) ** 0.5)


def test_a_trial_past_the_budget_does_not_count(tmp_path: Path) -> None:
    trials = [trial(0, 0.25, 1), trial(1, 0.1, 10.5)]

    assert only(summarise([write(tmp_path, 0, trials, EndReason.BUDGET, 10.5)])).score_mean == 0.75


def test_one_fold_has_no_deviation(tmp_path: Path) -> None:
    row = only(summarise([write(tmp_path, 0, [trial(0, 0.25, 1)], EndReason.BUDGET, 10.0)]))

    assert (row.score_mean, row.score_sd) == (0.75, None)


def test_the_first_of_equals_is_when_the_best_was_found(tmp_path: Path) -> None:
    trials = [trial(0, 0.3, 1), trial(1, 0.1, 3), trial(2, 0.1, 8)]

    assert only(summarise([write(tmp_path, 0, trials, EndReason.BUDGET, 10.0)])).seconds_to_best == 3


def test_a_fold_without_a_result_counts_as_the_constant_predictor(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, 0, [trial(0, 0.1, 1)], EndReason.BUDGET, 10.0),
        write(tmp_path, 1, [trial(0, None, 10)], EndReason.BUDGET, 10.0),
    ]

    row = only(summarise(paths))

    # The constant's AUC is 0.5.
    assert (row.folds, row.without_result) == (2, 1)
    assert (row.score_mean, row.seconds_to_best) == (pytest.approx((0.9 + 0.5) / 2), 1)


def test_a_fold_without_a_result_counts_as_the_worst_other_method_if_that_is_worse(tmp_path: Path) -> None:
    losses = {"a": 0.6, "b": 0.7, "constant": 0.9, "tuned-rf": 0.8}  # the last two are no methods to compare
    paths = [
        write(tmp_path, fold, [trial(0, loss, 2)], EndReason.BUDGET, 10.0, method=method)
        for method, loss in losses.items()
        for fold in (0, 1)
    ]
    paths.append(write(tmp_path, 0, [trial(0, 0.1, 1)], EndReason.BUDGET, 10.0))
    paths.append(write(tmp_path, 1, [trial(0, None, 10)], EndReason.BUDGET, 10.0))

    row = summarise(paths)[-1]

    assert (row.method, row.score_mean) == ("m", pytest.approx((0.9 + 0.3) / 2))


def test_what_a_run_found_before_it_failed_does_not_count(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, 0, [trial(0, 0.1, 1)], EndReason.BUDGET, 10.0),
        write(tmp_path, 1, [trial(0, 0.1, 1)], EndReason.ERROR, 2.0),
    ]

    row = only(summarise(paths))

    assert (row.without_result, row.score_mean) == (1, pytest.approx((0.9 + 0.5) / 2))


def test_a_run_that_was_stopped_before_its_first_result_is_left_out(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, 0, [trial(0, 0.1, 1)], EndReason.BUDGET, 10.0),
        write(tmp_path, 1, [], EndReason.INTERRUPTED, 2.0),
    ]

    row = only(summarise(paths))

    assert (row.unfinished, row.without_result, row.score_mean) == (1, 0, 0.9)


def test_no_result_at_all_is_no_number(tmp_path: Path) -> None:
    row = only(summarise([write(tmp_path, 0, [], EndReason.ERROR, 0.0)]))

    assert (row.score_mean, row.seconds_to_best, row.method_share, row.trials) == (None, None, None, 0)


@pytest.mark.parametrize("reason", [None, EndReason.INTERRUPTED, EndReason.ERROR])
def test_a_run_that_did_not_come_to_its_end_is_unfinished(tmp_path: Path, reason: EndReason | None) -> None:
    paths = [
        write(tmp_path, 0, [trial(0, 0.1, 1)], EndReason.EXHAUSTED, 2.0),
        write(tmp_path, 1, [trial(0, 0.1, 1)], reason, 2.0),
    ]

    assert only(summarise(paths)).unfinished == 1


def test_a_run_under_way_counts_the_time_of_its_last_trial(tmp_path: Path) -> None:
    row = only(summarise([write(tmp_path, 0, [trial(0, 0.1, 1.5, 0.5)], None, 0.0)]))

    assert row.method_share == pytest.approx((0.5 + 0.5) / (1.5 + 0.5))


def test_test_scores_are_those_of_the_best_trials(tmp_path: Path) -> None:
    trials = [trial(0, 0.3, 1, test_score=0.9), trial(1, 0.1, 2, test_score=0.5)]

    row = only(summarise([write(tmp_path, 0, trials, EndReason.BUDGET, 9.0)]))

    assert row.test_score_mean == 0.5
    # The time is to the test score that it ends with, 0.5.
    assert row.seconds_to_best == 1


def test_a_best_trial_without_a_test_score_leaves_the_place_to_the_one_before_it(tmp_path: Path) -> None:
    trials = [trial(0, 0.3, 1, test_score=0.75), trial(1, 0.1, 2)]

    row = only(summarise([write(tmp_path, 0, trials, EndReason.BUDGET, 9.0)]))

    assert (row.test_score_mean, row.score_mean, row.seconds_to_best) == (0.75, 0.9, 1)


def test_rows_come_in_the_order_of_the_runs_and_methods_from_files_by_their_class(tmp_path: Path) -> None:
    names = ["z", "path/to/mine.py:Mine", "a"]
    paths = [write(tmp_path, 0, [trial(0, 0.1, 1)], EndReason.BUDGET, 9.0, method=name) for name in names]

    assert [row.method for row in summarise(paths)] == ["z", "Mine", "a"]


def test_a_trace_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    assert summarise([tmp_path / "nothing.jsonl"]) == []


def test_the_table_says_what_is_unfinished_and_which_way_is_better(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        write(tmp_path, 0, [trial(0, 0.1, 1.26)], EndReason.BUDGET, 10.0),
        write(tmp_path, 1, [trial(0, 0.3, 1.26)], EndReason.INTERRUPTED, 10.0),
    ]

    print_summary(paths, Path("somewhere"), as_json=False, quiet=False)

    said = capsys.readouterr()
    cells = re.split(r"  +", said.out.splitlines()[2])
    assert cells == ["task", "m", "2 (1 unfinished)", "AUC ↑", "0.8000 ± 0.1414", "1.3 s", "1", "0.0%"]
    assert "validation score" in said.out.splitlines()[0]
    assert "validation score: the best trial was selected by it, so it is slightly optimistic." in said.err
    assert "±: standard deviation over folds" in said.err and "time to best: when the mean" in said.err
    assert said.err.endswith("traces in somewhere\n")


def test_with_a_holdout_the_test_score_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [write(tmp_path, 0, [trial(0, 0.1, 1, test_score=0.75)], EndReason.BUDGET, 10.0)]

    print_summary(paths, Path("somewhere"), as_json=False, quiet=False)

    said = capsys.readouterr()
    heading, _, row = said.out.splitlines()
    # The time is that to the test score, so it stands beside it.
    assert re.search(r"test score  time to best  validation score", heading)
    assert re.search(r"0\.7500 +1\.0 s +0\.9000 ", row)
    assert "time to best: when the mean test score came within" in said.err
    assert "validation score: the best trial was selected by it" in said.err


def test_the_terminal_and_the_page_tell_the_same_score_and_time(tmp_path: Path) -> None:
    first = [trial(0, 0.4, 1), trial(1, 0.2, 3), trial(2, 0.19999, 8)]
    paths = [
        write(tmp_path, 0, first, EndReason.BUDGET, 10.0),
        write(tmp_path, 1, [trial(0, 0.4, 2), trial(1, 0.3, 5)], EndReason.BUDGET, 10.0),
    ]

    row = only(summarise(paths))
    (task,) = score_tasks([run for path in paths if (run := read_run(path)) is not None])

    found = task.methods["m"]
    assert found.final_loss is not None
    assert row.score_mean == pytest.approx(task.native(found.final_loss))
    # The last gain, of 0.000005 in the mean, is within 0.05 % of the score: the mean is there at 5 s.
    assert row.seconds_to_best == found.seconds_to_final == 5


@pytest.mark.parametrize("is_tested", [False, True])
def test_a_failed_fold_has_the_same_score_on_the_terminal_and_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_tested: bool
) -> None:
    found = {
        "good": [[(1, 0.4), (4, 0.2)], [(2, 0.3)], [(1, 0.25)]],
        "bad": [[(3, 0.45)], [(2, 0.6), (5, 0.55)], [(1, 0.7)]],
        "slow": [[], [], [(1, 0.1)]],
    }
    more = {"test_score": 0.35} if is_tested else {}
    paths = [
        write(
            *(tmp_path, fold, [trial(at, loss, ended, **more) for at, (ended, loss) in enumerate(trials)]),
            *(EndReason.BUDGET, 10.0, method),
            validation="holdout" if is_tested else "fold",
        )
        for method, folds in found.items()
        for fold, trials in enumerate(folds)
    ]

    rows = {row.method: row for row in summarise(paths)}
    (task,) = score_tasks([run for path in paths if (run := read_run(path)) is not None])

    for method, row in rows.items():
        own = task.methods[method]
        assert own.final_loss is not None
        shown = row.test_score_mean if is_tested else row.score_mean
        assert shown == pytest.approx(task.native(own.final_loss))
        assert row.seconds_to_best == own.seconds_to_final
    assert rows["slow"].without_result == task.methods["slow"].imputed == 2
    print_summary(paths, Path("somewhere"), as_json=False, quiet=False)
    said = capsys.readouterr()
    assert "3 (2 without a result)" in said.out
    assert said.err.count("without a result: ") == 1


# --- which traces are in the table ----------------------------------------------------------------


SPEC = RunSpec("xgboost", "iris", "cfo", 0, budget_seconds=10.0)


def write_end(results: Path, spec: RunSpec, sha256: str = "0" * 64, is_over: bool = True) -> Path:
    path = path_of(results, spec)
    with TraceWriter(path) as writer:
        writer.append(msgspec.structs.replace(header_of(spec), data=FoldData(sha256=sha256, train_rows=90)))
        if is_over:
            writer.append(
                EndRecord(
                    reason=EndReason.BUDGET,
                    elapsed=spec.budget_seconds,
                    trials=0,
                    best_loss=None,
                    best_score=None,
                    best_number=None,
                )
            )
    return path


def test_other_methods_on_the_same_fold_stand_beside_also_if_they_ran_for_longer(tmp_path: Path) -> None:
    ours = write_end(tmp_path, SPEC)
    rs = write_end(tmp_path, replace(SPEC, method="rs"))
    longer = write_end(tmp_path, replace(SPEC, method="tpe", budget_seconds=60.0))

    assert comparable_traces(tmp_path, [ours], RunLimits(10.0)) == [rs, longer]


@pytest.mark.parametrize(
    "changed",
    [
        {"fold": 1},
        {"seed": 1},
        {"task": "wine"},
        {"learner": "knn"},
        {"budget_seconds": 5.0},
        {"n_folds": 3},
        {"validation": "holdout"},
        {"threads": 2},
        {"parallel": 2},
        {"clock": "virtual"},
        {"charge_method": True},
        {"learner_options": {"categories": "native"}},
    ],
)
def test_what_can_not_be_compared_does_not(tmp_path: Path, changed: dict[str, object]) -> None:
    ours = write_end(tmp_path, SPEC)
    write_end(tmp_path, replace(SPEC, method="rs", **changed))  # type: ignore[arg-type]

    assert comparable_traces(tmp_path, [ours], RunLimits(10.0)) == []


def test_other_holdout_shares_are_not_compared(tmp_path: Path) -> None:
    holdout = replace(SPEC, validation="holdout")
    ours = write_end(tmp_path, holdout)
    write_end(tmp_path, replace(holdout, method="rs", holdout_share=0.5))

    assert comparable_traces(tmp_path, [ours], RunLimits(10.0)) == []


def test_other_data_and_unfinished_runs_do_not_stand_beside(tmp_path: Path) -> None:
    ours = write_end(tmp_path, SPEC)
    write_end(tmp_path, replace(SPEC, method="rs"), sha256="1" * 64)
    write_end(tmp_path, replace(SPEC, method="tpe"), is_over=False)

    assert comparable_traces(tmp_path, [ours], RunLimits(10.0)) == []


# --- methods that are separate programs -----------------------------------------------------------


def run_of_program(seconds: float | None, trials: int, clock: str = "wall") -> Run:
    """A run of 10 s."""
    program = None if seconds is None else ProgramFacts(command="x", round_trip_seconds=seconds)
    header = msgspec.structs.replace(header_of(replace(SPEC, clock=clock)), program=program)
    end = EndRecord(
        reason=EndReason.BUDGET,
        elapsed=10.0,
        trials=trials,
        best_loss=None,
        best_score=None,
        best_number=None,
    )
    return Run(Path("t.jsonl"), header, end=end, n_trials=trials)


def test_the_share_is_that_of_two_a_trial_and_the_time_is_the_median() -> None:
    trips = round_trips([run_of_program(0.001, 50), run_of_program(0.003, 100), run_of_program(0.002, 0)])

    assert trips is not None
    assert trips.seconds == 0.002
    assert trips.share == pytest.approx((0.01 + 0.06 + 0.0) / 3)
    assert trips.in_words("mine") == (
        "mine is a separate program, and 2 bare round trips per trial of 2.00 ms each are part of its "
        "overhead: 2.33% of the time."
    )


def test_on_the_virtual_clock_they_take_no_time() -> None:
    trips = round_trips([run_of_program(0.001, 50, "virtual")])

    assert trips is not None and trips.share is None
    assert "the virtual clock does not count its 2 bare round trips" in trips.in_words("mine")


def test_methods_that_are_no_programs_have_none() -> None:
    assert round_trips([run_of_program(None, 50)]) is None
