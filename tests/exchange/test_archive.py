"""An archive: the report on the traces that it restores, what is exact in it, and what is rounded."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import msgspec
import pytest

from cfo_bench import Suite, export_to_archive, export_trials, import_trials, run_suite, write_report
from cfo_bench.errors import UserError
from cfo_bench.exchange.archive import MANTISSA_BITS
from cfo_bench.records import EndReason
from cfo_bench.results.limits import new_end
from cfo_bench.results.run import Run, read_run, read_verified_run
from cfo_bench.results.schema import encode
from cfo_bench.results.trace import sealed_end
from tests.helpers.odd_run import write_odd_run
from tests.helpers.traces import write_run

# Tables of sums of seconds, in which rounded trials are added up; seconds without a name are residuals.
OF_ALL_TRIALS = ("time-shares", "trial-cost", "dearer-share", "threads")


def restored(path: Path, tmp_path: Path) -> Run:
    """The run of the only trace in an archive of the folder."""
    export_to_archive(path, tmp_path / "study.parquet")
    [imported] = import_trials(tmp_path / "study.parquet", tmp_path / "restored")
    run = read_verified_run(imported.path)
    assert run is not None
    return run


def tables(folder: Path) -> dict[str, list[list[str]]]:
    found = {}
    for path in sorted(folder.glob("*/tables/*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found[path.name] = list(csv.reader(file))
    return found


def is_same(cell: str, other: str, relative: float, absolute: float = 0.0) -> bool:
    if cell == other:
        return True
    try:
        return math.isclose(float(cell), float(other), rel_tol=relative, abs_tol=absolute)
    except ValueError:
        return False


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real runs, in real seconds."""
    folder = tmp_path_factory.mktemp("study")
    run_suite(
        Suite(
            learners=["xgboost"],
            tasks=["iris", "wine"],
            methods=["cfo", "rs", "constant"],
            folds="0",
            budget_seconds=60,
            max_trials=25,
            results=str(folder / "results"),
        )
    )
    return folder / "results"


@pytest.mark.parametrize("budget", [None, 0.1])
def test_a_report_on_restored_traces_has_the_same_cells(
    study: Path, budget: float | None, tmp_path: Path
) -> None:
    export_to_archive(study, tmp_path / "study.parquet")
    import_trials(tmp_path / "study.parquet", tmp_path / "restored")

    write_report(study, tmp_path / "a", formats=["csv"], budget=budget)
    write_report(tmp_path / "restored", tmp_path / "b", formats=["csv"], budget=budget)

    first, second = tables(tmp_path / "a"), tables(tmp_path / "b")
    assert first.keys() == second.keys() and {"scores.csv", "trials.csv", "settings.csv"} < first.keys()
    for name, rows in first.items():
        others = second[name]
        if name == "settings.csv":  # which also states that the runs are from an archive
            at = others[0].index("origin")
            assert {row[at][:21] for row in others[1:]} == {"imported from archive"}
            others = [row[:at] + row[at + 1 :] for row in others]
        tolerance = (0.01, 0.01) if name.startswith(OF_ALL_TRIALS) else (1e-6, 0.0)
        assert [len(row) for row in rows] == [len(row) for row in others]
        for row, other in zip(rows, others, strict=True):
            assert all(is_same(*pair, *tolerance) for pair in zip(row, other, strict=True)), (
                name,
                row,
                other,
            )


def test_headers_and_incumbents_are_exact_and_other_trials_are_rounded(study: Path, tmp_path: Path) -> None:
    export_to_archive(study, tmp_path / "study.parquet", methods=["cfo"])

    n_rounded = 0
    for imported in import_trials(tmp_path / "study.parquet", tmp_path / "restored"):
        run = read_verified_run(imported.path)
        original = read_run(study / imported.path.relative_to(tmp_path / "restored"), parse_trials=True)
        assert run is not None and original is not None
        assert msgspec.structs.replace(run.header, imported=None) == original.header
        assert run.incumbents.losses == original.incumbents.losses
        assert run.incumbents.configs == original.incumbents.configs
        assert run.incumbents.costs == original.incumbents.costs
        for trial, before in zip(run.trials, original.trials, strict=True):
            assert list(trial.config) == list(before.config)
            assert trial.config["n_estimators"] == before.config["n_estimators"]
            assert trial.ended == pytest.approx(before.ended, rel=1e-7)
            assert trial.fit_seconds == pytest.approx(before.fit_seconds, rel=0.004)
            assert trial.loss is not None and before.loss is not None
            assert 0 <= trial.loss - before.loss <= 0.008 * before.loss
            n_rounded += trial.config != before.config
            if trial.config != before.config:
                mantissa, _ = math.frexp(trial.fit_seconds)
                assert (mantissa * 2**MANTISSA_BITS).is_integer()
    assert n_rounded > 10


def test_a_study_of_many_trials_takes_a_tenth_of_its_traces(study: Path, tmp_path: Path) -> None:
    path = study / "xgboost/iris/cfo/fold-0_seed-0.jsonl"
    run = read_run(path, parse_trials=True)
    assert run is not None and run.end is not None
    # The first trial is the only incumbent.
    again = [run.trials[0]] + [
        msgspec.structs.replace(trial, number=number, loss=1.0, score=0.0, started=at, ended=at)
        for number in range(1, 5000)
        for trial, at in [(run.trials[number % 20], number / 100 + run.trials[0].ended)]
    ]
    copy = tmp_path / "a" / path.relative_to(study)
    copy.parent.mkdir(parents=True)
    lines = encode(run.header) + b"".join(map(encode, again))
    copy.write_bytes(lines + encode(sealed_end(new_end(EndReason.BUDGET, 60.0, again), lines)))

    export_to_archive(tmp_path / "a", tmp_path / "study.parquet")

    assert (tmp_path / "study.parquet").stat().st_size < copy.stat().st_size / 10


def test_values_of_every_type_come_back(tmp_path: Path) -> None:
    path = write_odd_run(tmp_path / "a")
    run = read_run(path, parse_trials=True)
    assert run is not None
    text = path.read_bytes()
    path.write_bytes(text + encode(sealed_end(new_end(EndReason.BUDGET, 10.0, run.trials), text)))

    back = restored(tmp_path / "a", tmp_path)

    assert back.method == run.method and back.is_imported
    kinds = [trial.config["kind"] for trial in back.trials]
    assert [(type(kind), kind) for kind in kinds] == [
        (type(kind), kind) for kind in (trial.config["kind"] for trial in run.trials)
    ]
    for name in ("number", "rows", "status", "error", "thread", "asked", "test_score"):
        assert [getattr(trial, name) for trial in back.trials] == [
            getattr(trial, name) for trial in run.trials
        ]
    assert [trial.tell_seconds is None for trial in back.trials] == [
        trial.tell_seconds is None for trial in run.trials
    ]


def test_a_trial_that_ended_in_time_still_does_and_a_late_one_does_not(tmp_path: Path) -> None:
    in_time, late = 99.99999999, 100.00000001
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.3, 0.5), (in_time, 0.2, 0.5), (late, 0.1, 0.0)])

    back = restored(tmp_path / "a", tmp_path)

    assert back.incumbents.losses == [0.3, 0.2]
    assert back.late_trials == 1


def test_the_best_trials_on_all_rows_are_exact_too(tmp_path: Path) -> None:
    losses = [0.31, 0.23, 0.3012345, 0.27, 0.2912345]
    trials = [(number + 1.0, loss, 0.3) for number, loss in enumerate(losses)]
    write_run(tmp_path / "a", "wine", "cfo", 0, trials, rows=[None, 100, None, 100, None])

    back = restored(tmp_path / "a", tmp_path)

    assert back.incumbents.losses == [0.31, 0.23]
    assert back.digest.full_incumbents.losses == [0.31, 0.3012345, 0.2912345]
    assert back.trials[3].loss != 0.27  # it was no incumbent


def test_a_loss_that_is_rounded_makes_no_incumbent(tmp_path: Path) -> None:
    losses = [-0.5001, -0.50009, -0.4, -0.39]
    write_run(
        tmp_path / "a",
        "wine",
        "cfo",
        0,
        [(at + 1.0, loss, 0.3) for at, loss in enumerate(losses)],
        metric="r2",
    )

    back = restored(tmp_path / "a", tmp_path)

    assert back.incumbents.losses == [-0.5001]
    assert back.trials[1].loss is not None and back.trials[1].loss > -0.5001


def test_restored_virtual_runs_are_compared_with_own_ones(tmp_path: Path) -> None:
    def run(method: str, folder: str) -> None:
        run_suite(
            Suite(
                learners=["synthetic"],
                tasks=["iris"],
                methods=[method],
                folds="0",
                budget_seconds=60,
                max_trials=10,
                clock="virtual",
                results=str(tmp_path / folder),
            )
        )

    run("cfo", "theirs")
    run("rs", "own")
    export_to_archive(tmp_path / "theirs", tmp_path / "study.parquet")
    import_trials(tmp_path / "study.parquet", tmp_path / "restored")

    write_report([tmp_path / "restored", tmp_path / "own"], tmp_path / "report", formats=["csv"])

    assert tables(tmp_path / "report")["scores.csv"][0][-2:] == ["rs", "cfo"]


def test_a_restored_run_is_not_resumed(study: Path, tmp_path: Path) -> None:
    export_to_archive(study, tmp_path / "study.parquet", tasks=["iris"], methods=["rs"])
    [first] = import_trials(tmp_path / "study.parquet", tmp_path / "restored")
    before = first.path.read_bytes()

    outcome = run_suite(
        Suite(
            learners=["xgboost"],
            tasks=["iris"],
            methods=["rs"],
            folds="0",
            budget_seconds=60,
            max_trials=30,
            results=str(tmp_path / "restored"),
        )
    )

    assert "origin imported" in str(outcome) and first.path.read_bytes() == before


def test_a_run_that_has_not_finished_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.3, 0.5)], reason=EndReason.INTERRUPTED)

    with pytest.raises(UserError, match="has not finished: run the same command again"):
        export_to_archive(tmp_path / "a", tmp_path / "study.parquet")
    assert not list(tmp_path.glob("*study*"))


def test_another_parquet_file_and_a_damaged_archive_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.3, 0.5)])
    export_trials(tmp_path / "a", tmp_path / "table.parquet")
    export_to_archive(tmp_path / "a", tmp_path / "study.parquet")
    whole = (tmp_path / "study.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(UserError, match="has no headers of runs"):
        import_trials(tmp_path / "table.parquet", tmp_path / "b")
    with pytest.raises(UserError, match="not as archive writes it"):
        import_trials(tmp_path / "cut.parquet", tmp_path / "b")
    with pytest.raises(UserError, match=r"exists already.*--force"):
        export_to_archive(tmp_path / "a", tmp_path / "study.parquet")
    assert not (tmp_path / "b").exists()
