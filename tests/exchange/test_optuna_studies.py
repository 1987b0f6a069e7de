"""Runs as Optuna studies and back, and studies of Optuna's own, with the real package and SQLite files."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import optuna
import pytest

from cfo_bench import export_to_optuna, import_trials
from cfo_bench.errors import UserError
from tests.helpers.odd_run import write_odd_run
from tests.helpers.traces import existing_run, write_run


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    yield
    optuna.logging.set_verbosity(before)


@pytest.mark.parametrize(
    "storage",
    ["sqlite:///{}/trials.db", "sqlite+pysqlite:///{}/trials.db", "{}/trials.log", "{}/trials.journal"],
)
def test_trials_come_back_from_a_storage_as_they_were(tmp_path: Path, storage: str) -> None:
    odd = write_odd_run(tmp_path / "a")
    plain = write_run(tmp_path / "a", "wine", "cfo", 1, [(1.0, 0.25, 0.5), (2.0, None, 0.5)])
    storage = storage.format(tmp_path)

    exported = export_to_optuna(tmp_path / "a", storage)
    imported = import_trials(storage, tmp_path / "b")

    assert (exported.runs, exported.trials) == (2, 7)
    for one, path in zip(imported, (odd, plain), strict=True):
        before, after = existing_run(path), existing_run(one.path)
        assert after.trials == before.trials
        assert after.header.imported is not None and after.header.imported.unknown == []
        assert after.spec == replace(before.spec, variant=f"imported {before.spec.method}")
        assert msgspec.structs.replace(after.header, imported=None, spec=before.spec) == before.header
    ends = [existing_run(path).end for path in (imported[1].path, plain)]
    assert ends[0] is not None and ends[0] == ends[1]


def test_a_study_has_the_space_the_dates_and_the_seconds_of_its_run(tmp_path: Path) -> None:
    write_odd_run(tmp_path / "a")
    storage = f"sqlite:///{tmp_path}/trials.db"

    export_to_optuna(tmp_path / "a", storage)

    study = optuna.load_study(study_name="xgboost/iris/rs/fold-0_seed-0", storage=storage)
    first, second = study.trials[:2]
    assert study.direction.name == "MINIMIZE" and study.best_value == pytest.approx(0.1 / 5)
    assert [one.state.name for one in study.trials] == ["COMPLETE", "FAIL", "COMPLETE", "FAIL", "FAIL"]
    assert first.distributions["n"] == optuna.distributions.IntDistribution(1, 9)
    assert first.distributions["x"] == optuna.distributions.FloatDistribution(0.0, 1.0)
    assert first.params == {"n": 1, "x": 0.0, "kind": "=cmd()"}
    assert first.duration is not None and first.duration.total_seconds() == pytest.approx(0.7 / 3, abs=1e-5)
    assert first.datetime_start.timestamp() == 1794952800
    assert second.user_attrs["status"] == "failed" and second.user_attrs["error"] == "=1+1"
    assert first.user_attrs["fit_seconds"] == 0.2 and first.user_attrs["peak_memory_mb"] == 191.25
    assert study.user_attrs["data_sha256"] == "0" * 64 and study.user_attrs["clock"] == "wall"
    assert study.metric_names == ["loss (auc)"]


def test_a_study_is_replaced_only_with_force_and_others_stay(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])
    storage = f"sqlite:///{tmp_path}/trials.db"
    optuna.create_study(study_name="mine", storage=storage)
    export_to_optuna(tmp_path / "a", storage)

    with pytest.raises(UserError, match=r"has a study 'xgboost/wine/cfo/fold-0_seed-0' already"):
        export_to_optuna(tmp_path / "a", storage)
    export_to_optuna(tmp_path / "a", storage, force=True)

    assert optuna.get_all_study_names(storage) == ["mine", "xgboost/wine/cfo/fold-0_seed-0"]
    assert len(optuna.load_study(study_name="xgboost/wine/cfo/fold-0_seed-0", storage=storage).trials) == 1


# Without the driver, its package is named; with it, there is nobody at that port.
POSTGRES = r"needs the package 'psycopg.*pip install 'psycopg|'postgresql://me:\*\*\*@127.* can't be used"


def own_study(storage: Any, **options: Any) -> optuna.Study:
    """A study of eight trials, of which one fails and one is pruned."""

    def score(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.01, 1.0, log=True)
        trial.suggest_int("n", 2, 10, step=2)
        trial.suggest_categorical("kind", ["a", "b"])
        if trial.number == 3:
            raise ValueError("three")
        if trial.number == 4:
            trial.report(0.5, 7)
            raise optuna.TrialPruned
        return 0.9 + x / 20

    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(storage=storage, sampler=sampler, **options)
    study.optimize(score, n_trials=8, catch=ValueError)
    return study


def test_a_study_of_optuna_becomes_a_run_that_says_what_it_can_not_tell(tmp_path: Path) -> None:
    file = tmp_path / "own.db"
    study = own_study(f"sqlite:///{file}", study_name="tpe", direction="maximize")
    study.ask()  # never told: it has not ended
    before = file.read_bytes()

    [one] = import_trials(file, tmp_path / "r", learner="xgboost", task="adult", metric="auc", fold=2)

    found = existing_run(one.path)
    assert file.read_bytes() == before
    assert one.path == tmp_path / "r" / "xgboost" / "adult" / "imported tpe" / "fold-2_seed-0.jsonl"
    assert one.remarks == ("1 trials that have not ended are left out",)
    assert [trial.config for trial in found.trials] == [one.params for one in study.trials[:8]]
    assert found.trials[0].score == pytest.approx(study.trials[0].value)
    assert [(trial.status, trial.error) for trial in found.trials][3:5] == [
        ("failed", "it failed"),
        ("timeout", "pruned after step 7"),
    ]
    durations = [one.duration.total_seconds() for one in study.trials[:8] if one.duration]
    assert [trial.ended - trial.started for trial in found.trials] == pytest.approx(durations, abs=1e-6)
    assert found.header.space[1]["choices"] == [2, 4, 6, 8, 10]
    assert found.header.imported.clock == "wall" and found.spec.clock == "wall"
    assert set(one.unknown) == {
        *("budget_seconds", "n_folds", "threads", "learner_options", "data", "machine", "method_seconds")
    }
    assert found.end is not None and found.end.reason == "budget"


def test_several_studies_of_one_method_get_one_seed_after_the_other(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/own.db"
    for name in ("first", "second", "other"):
        own_study(storage, study_name=name)

    imported = import_trials(
        storage,
        tmp_path / "r",
        learner="l",
        task="t",
        metric="auc",
        method="tpe",
        studies=["first", "second"],
    )

    assert [one.path.stem for one in imported] == ["fold-0_seed-0", "fold-0_seed-1"]
    assert [existing_run(one.path).header.imported.part for one in imported] == ["first", "second"]


def test_trials_at_once_keep_their_order(tmp_path: Path) -> None:
    from datetime import datetime, timedelta

    storage = f"sqlite:///{tmp_path}/own.db"
    study = optuna.create_study(storage=storage, study_name="s")
    start = datetime(2026, 1, 1)
    for number, (begun, ended) in enumerate([(0, 9), (1, 4), (4, 6)]):
        study.add_trial(
            optuna.trial.FrozenTrial(
                number=number,
                trial_id=-1,
                state=optuna.trial.TrialState.COMPLETE,
                value=0.1 * (number + 1),
                datetime_start=start + timedelta(seconds=begun),
                datetime_complete=start + timedelta(seconds=ended),
                params={"x": 1.0},
                distributions={"x": optuna.distributions.FloatDistribution(0, 2)},
                user_attrs={},
                system_attrs={},
                intermediate_values={},
            )
        )

    [one] = import_trials(storage, tmp_path / "r", learner="l", task="t", metric="auc")

    found = existing_run(one.path)
    assert found.spec.parallel == 2
    assert [(trial.number, trial.ended) for trial in found.trials] == [(1, 4.0), (2, 6.0), (0, 9.0)]


def test_a_journal_of_optuna_is_imported_and_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    backend = optuna.storages.journal.JournalFileBackend(str(file))
    study = own_study(optuna.storages.JournalStorage(backend), study_name="tpe", direction="maximize")
    before = file.read_bytes()

    [one] = import_trials(file, tmp_path / "r", learner="xgboost", task="adult", metric="auc")

    assert file.read_bytes() == before and [path.name for path in tmp_path.iterdir()] == ["journal", "r"]
    assert [trial.config for trial in existing_run(one.path).trials] == [one.params for one in study.trials]
    file.write_bytes(before[:2000] + b"torn\n" + before[2000:])
    with pytest.raises(UserError, match=r"the storage '.*journal' can't be used: "):
        import_trials(file, tmp_path / "s", learner="xgboost", task="adult", metric="auc")


def test_a_journal_takes_more_runs_and_a_file_that_is_none_is_left_alone(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])
    write_run(tmp_path / "b", "wine", "rs", 0, [(1.0, 0.25, 0.5)])
    journal = str(tmp_path / "trials.log")
    for folder in ("a", "b"):
        export_to_optuna(tmp_path / folder, journal)
    with pytest.raises(UserError, match=r"has a study 'xgboost/wine/cfo/fold-0_seed-0' already"):
        export_to_optuna(tmp_path / "a", journal)
    export_to_optuna(tmp_path / "a", journal, force=True)
    assert len(import_trials(journal, tmp_path / "r")) == 2

    (tmp_path / "mine.log").write_text("a line\n")
    with pytest.raises(UserError, match=r"mine.log' is not a journal of Optuna: choose another file"):
        export_to_optuna(tmp_path / "a", str(tmp_path / "mine.log"))
    assert (tmp_path / "mine.log").read_text() == "a line\n"


def test_a_storage_that_can_not_be_imported_is_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("create table mine (x)")
    text = tmp_path / "text.log"
    text.write_text("a line\n")
    two = f"sqlite:///{tmp_path}/two.db"
    optuna.create_study(storage=two, study_name="both", directions=["minimize", "maximize"])
    before = other.read_bytes()

    for source, message in (
        (f"sqlite:///{tmp_path}/none.db", "no storage .*none.db"),
        (str(text), "is neither an SQLite file nor a journal of Optuna"),
        ("postgresql://me:secret@127.0.0.1:1/db", POSTGRES),
        (
            "nosuch://me:secret@host/db",
            r"'nosuch://me:\*\*\*@host/db' is not a storage of Optuna: give a file",
        ),
        (str(other), "has no studies of Optuna"),
        (two, "study 'both' has 2 objectives"),
    ):
        with pytest.raises(UserError, match=message) as refused:
            import_trials(source, tmp_path / "r", format="optuna", learner="l", task="t", metric="auc")
        assert "secret" not in str(refused.value)
    with pytest.raises(UserError, match="unknown study 'none': choose from both"):
        import_trials(two, tmp_path / "r", studies=["none"])
    assert not (tmp_path / "none.db").exists() and other.read_bytes() == before


def test_a_study_that_only_looks_exported_is_one_line(tmp_path: Path) -> None:
    headers: list[Any] = [{}, {"spec": 3}, {"spec": {"clock": "sun"}}, {"spec": {}, "metric": 7}]
    headers.append({"spec": {"learner": "l", "task": "t", "method": "m", "fold": "x"}, "metric": "auc"})
    for number, header in enumerate(headers):
        storage = f"sqlite:///{tmp_path}/{number}.db"
        study = own_study(storage, study_name="s")
        study.set_user_attr("cfo_bench_trace", {"header": header, "end": None})

        with pytest.raises(UserError, match=r"is not as cfo-bench export wrote it|can't be imported"):
            import_trials(storage, tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        (
            "trials.db",
            "is not a storage of Optuna: write it as a URL, sqlite:///trials.db, or name a journal",
        ),
        ("sqlite:////nowhere/at/all/trials.db", "no folder '/nowhere/at/all'"),
    ],
)
def test_a_storage_that_can_not_be_written_is_one_line(tmp_path: Path, storage: str, message: str) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])

    with pytest.raises(UserError, match=message):
        export_to_optuna(tmp_path / "a", storage)


@pytest.mark.parametrize("package", ["optuna", "sqlalchemy"])
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    write_run(tmp_path / "a", "wine", "cfo", 0, [(1.0, 0.25, 0.5)])
    monkeypatch.setitem(sys.modules, package, None)  # as Python does for a package that can't be imported
    missing = rf"needs the package '{package}', which is not installed: pip install 'cfo-bench\[baselines\]'"

    with pytest.raises(UserError, match=missing):
        export_to_optuna(tmp_path / "a", f"sqlite:///{tmp_path}/trials.db")
    with pytest.raises(UserError, match=missing):
        import_trials(tmp_path / "own.db", tmp_path / "r", format="optuna")


def study_in(storage: Any) -> None:
    study = optuna.create_study(storage=storage, study_name="own")
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("op_code", "."),
        ("op_code", None),
        ("datetime_start", [[]]),
        ("study_id", [[]]),
        ("distribution", "{}"),
        ("values", ["x"]),
        ("state", 99),
        ("directions", []),
    ],
)
def test_a_damaged_journal_is_one_line(tmp_path: Path, key: str, value: Any) -> None:
    file = tmp_path / "trials.log"
    study_in(optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(file))))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    at = next(at for at, row in reversed(list(enumerate(rows))) if key in row)
    rows[at][key] = value
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    with pytest.raises(UserError) as refusal:
        import_trials(str(file), tmp_path / "r", learner="l", task="t", metric="mse")
    assert "\n" not in str(refusal.value) and "trials.log" in str(refusal.value)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE study_directions SET direction = '7'",
        "DELETE FROM study_directions",
        "UPDATE trials SET state = 'x'",
        "UPDATE trials SET datetime_start = 'x'",
        "UPDATE trial_params SET distribution_json = '{}'",
        "UPDATE trial_values SET value = 'x'",
        "UPDATE trial_values SET value_type = 'x'",
        "INSERT INTO study_user_attributes (study_id, key, value_json) VALUES (1, 'a', 'b')",
    ],
)
def test_a_damaged_database_is_one_line(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "trials.db"
    study_in(f"sqlite:///{file}")
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(statement)

    with pytest.raises(UserError) as refusal:
        import_trials(str(file), tmp_path / "r", learner="l", task="t", metric="mse")
    assert "\n" not in str(refusal.value) and "trials.db" in str(refusal.value)
