"""Imported runs among measured ones: in the check of traces, the report, and every other command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cfo_bench import export_trials, import_trials, load_results
from cfo_bench.errors import TraceError, UserError
from cfo_bench.exchange.importing import ImportedRun
from cfo_bench.report.build import Built, Request, build
from cfo_bench.results.comparability import check_resumable, same_run
from cfo_bench.results.run import read_run
from cfo_bench.results.schema import trace_schema
from cfo_bench.results.status import status
from cfo_bench.run.replay import replay_trace
from cfo_bench.surrogates.trials import read_trials
from tests.helpers.traces import write_run

SCHEMA = Draft202012Validator(trace_schema())


def imported(
    tmp_path: Path, *trials: tuple[float, float], clock: str | None = "wall", **options: Any
) -> ImportedRun:
    """A run of `tpe`; a trial is (second it ended, loss)."""
    source = tmp_path / "own.csv"
    rows = [f"{number},{loss},{ended}" for number, (ended, loss) in enumerate(trials)]
    source.write_text("\n".join(["config.x,loss,ended_seconds", *rows, ""]))
    names = {"learner": "xgboost", "task": "wine", "method": "tpe", "metric": "auc", **options}
    [one] = import_trials(source, tmp_path / "results", clock=clock, force=True, **names)
    return one


def measured(tmp_path: Path) -> None:
    for fold in (0, 1):
        write_run(tmp_path / "results", "wine", "cfo", fold, [(1.0, 0.30, 0.5), (50.0, 0.10, 0.5)])
        write_run(tmp_path / "results", "wine", "rs", fold, [(2.0, 0.40, 0.5), (60.0, 0.20, 0.5)])


def report(tmp_path: Path, **options: Any) -> Built:
    return build(Request(tmp_path / "results", tmp_path / "report", formats=["csv"], **options))


def methods(built: Built) -> set[str]:
    return {one.method for overview in built.overviews for one in overview.standings}


def test_the_trace_of_an_imported_run_is_valid(tmp_path: Path) -> None:
    one = imported(tmp_path, (1.0, 0.3), (3.0, 0.2))

    for line in one.path.read_text(encoding="utf-8").splitlines():
        assert SCHEMA.is_valid(json.loads(line))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ('"x"', "imported is 'x', which is not a mapping or null"),
        ('{"format": "csv"}', "imported.source is missing"),
    ],
)
def test_a_header_that_is_imported_from_nowhere_is_refused(tmp_path: Path, wrong: str, why: str) -> None:
    one = imported(tmp_path, (1.0, 0.3))
    first, _, rest = one.path.read_text(encoding="utf-8").partition("\n")
    header = {**json.loads(first), "imported": json.loads(wrong)}
    one.path.write_text(json.dumps(header) + "\n" + rest, encoding="utf-8")

    with pytest.raises(TraceError, match=why):
        read_run(one.path, parse_trials=True)


def test_a_report_has_imported_runs_beside_measured_ones_and_says_so(tmp_path: Path) -> None:
    measured(tmp_path)
    for fold in (0, 1):
        imported(tmp_path, (1.0, 0.35), (40.0, 0.05), (150.0, 0.01), fold=fold)

    built = report(tmp_path)

    assert methods(built) == {"cfo", "rs", "imported tpe"}
    [line] = [line for line in built.warnings if "is imported from csv (own.csv, SHA-256 " in line]
    assert line.startswith("imported tpe on wine with xgboost is imported from csv")
    assert (
        "its source does not state its budget, folds, threads" in line and "those of the other runs" in line
    )
    # The loss after 150 s is past the budget of the measured runs.
    curves = (tmp_path / "report").rglob("*curves*wine*.csv")
    assert "0.01," not in "".join(path.read_text() for path in curves)
    assert not [line for line in built.warnings if "sets of versions" in line]
    [best] = [
        one for overview in built.overviews for one in overview.standings if one.method == "imported tpe"
    ]
    assert best.wins == 1


def test_an_imported_method_on_many_tasks_is_told_in_one_line(tmp_path: Path) -> None:
    for number in range(7):
        imported(tmp_path, (1.0, 0.35), task=f"t{number}")
        write_run(tmp_path / "results", f"t{number}", "cfo", 0, [(1.0, 0.3, 0.5)])
        imported(tmp_path, (1.0, 0.35), task=f"t{number}", method="smac", clock="durations")

    built = report(tmp_path)

    lines = [line for line in built.warnings if "is imported from csv" in line]
    assert [line.partition(" is imported")[0] for line in lines] == [
        "imported smac on t0, t1, t2, t3, t4 and 2 more with xgboost",
        "imported tpe on t0, t1, t2, t3, t4 and 2 more with xgboost",
    ]


@pytest.mark.parametrize("clock", [None, "durations"])
def test_a_clock_that_is_not_known_to_be_real_time_is_never_pooled(tmp_path: Path, clock: str | None) -> None:
    measured(tmp_path)
    imported(tmp_path, (1.0, 0.35), (40.0, 0.05), clock=clock)

    built = report(tmp_path)

    assert methods(built) == {"cfo", "rs"}
    assert any(
        "its times are not real seconds" in line and "AUC 0.95 after 2 trials" in line
        for line in built.warnings
    )
    assert any(
        "different clocks, imported (durations) (1 run) and wall (4 runs)" in line for line in built.warnings
    )


def test_imported_runs_never_outvote_measured_ones(tmp_path: Path) -> None:
    write_run(tmp_path / "results", "wine", "cfo", 0, [(1.0, 0.30, 0.5)])
    for seed in range(3):
        imported(tmp_path, (1.0, 0.35), clock="durations", seed=seed)

    assert methods(report(tmp_path)) == {"cfo"}


def test_the_budget_of_an_imported_run_is_that_of_the_methods_beside_it(tmp_path: Path) -> None:
    measured(tmp_path)
    for fold in range(6):
        path = write_run(tmp_path / "results", "wine", "constant", fold, [(0.1, 0.5, 0.1)])
        path.write_bytes(path.read_bytes().replace(b'"budget_seconds":100.0', b'"budget_seconds":2.0'))
    for fold in (0, 1):
        imported(tmp_path, (1.0, 0.35), (40.0, 0.05), fold=fold)

    [overview] = report(tmp_path).overviews

    # Within 2 s its best loss is 0.35, and cfo's 0.10 wins.
    assert {one.method: one.wins for one in overview.standings} == {"cfo": 0, "rs": 0, "imported tpe": 1}


def test_a_report_of_imported_runs_alone_has_them_all(tmp_path: Path) -> None:
    imported(tmp_path, (1.0, 0.35), (40.0, 0.05))
    imported(tmp_path, (1.0, 0.35), (60.0, 0.10), method="smac")

    assert methods(report(tmp_path)) == {"imported tpe", "imported smac"}


def test_a_run_never_resumes_an_imported_one(tmp_path: Path) -> None:
    one = imported(tmp_path, (1.0, 0.3))
    found = read_run(one.path, parse_trials=True)
    assert found is not None

    with pytest.raises(TraceError, match=r"belongs to another run .origin imported .* there, a run here"):
        check_resumable(one.path, found.header, found.spec)
    assert same_run(found.header, found.header) == []


def test_an_imported_run_lacks_no_folds_and_asks_none_of_others(tmp_path: Path) -> None:
    measured(tmp_path)
    imported(tmp_path, (1.0, 0.3), fold=7)

    assert {str(run.status) for run in status(tmp_path / "results").runs} == {"done"}
    assert "imported tpe" in set(load_results(tmp_path / "results").runs["method"])


def test_an_imported_run_is_not_replayed_and_no_surrogate_is_fitted_to_it(tmp_path: Path) -> None:
    one = imported(tmp_path, (1.0, 0.3))

    with pytest.raises(UserError, match="was imported, so its method can't be asked again"):
        replay_trace(one.path, ())
    with pytest.raises(
        UserError, match=r"no trials in .* found only runs that were imported, .* \(1\); give"
    ):
        read_trials([tmp_path / "results"])


def test_an_imported_run_is_exported_as_one(tmp_path: Path) -> None:
    imported(tmp_path, (1.0, 0.3), clock=None)

    export_trials(tmp_path / "results", tmp_path / "out.csv")

    head, row = ((tmp_path / "out.csv").read_text().splitlines()[at].split(",") for at in (0, 1))
    about = dict(zip(head, row, strict=True))
    assert (about["origin"], about["clock"], about["method"]) == ("csv", "durations", "imported tpe")


def test_an_imported_run_is_merged_with_measured_ones(tmp_path: Path) -> None:
    from cfo_bench.results.merge import merge

    measured(tmp_path)
    (tmp_path / "results").rename(tmp_path / "own")
    imported(tmp_path, (1.0, 0.3))

    merged = merge([tmp_path / "own", tmp_path / "results"], tmp_path / "both", lambda page: [], False)

    assert merged.copied.total() == 5
