"""The methods on BoTorch: what their models choose, and the rows that two of them train on."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfo_bench import Suite, run_suite
from cfo_bench.errors import UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result, RunStatus, Status, Trial
from cfo_bench.results.run import read_run
from cfo_bench.space import Float, Space

torch = pytest.importorskip("torch")
pytest.importorskip("botorch")

LINE = Space([Float("x", 0.0, 1.0)])
QUICK = {"n_initial_points": 4, "n_candidates": 16, "n_restarts": 1}
N_ROWS = 160_000
ROOT = Path(__file__).resolve().parents[2]

Answer = Callable[[Trial], Result]


def trials(name: str, n: int, answer: Answer, **options: Any) -> list[Trial]:
    method = METHODS.load(name)(LINE, {"x": 0.0}, 0, **{**QUICK, **options})
    asked = []
    for _ in range(n):
        asked.append(method.ask())
        method.tell(asked[-1], answer(asked[-1]))
    return asked


def values(asked: list[Trial]) -> list[float]:
    return [trial.config["x"] for trial in asked]


def two_valleys(trial: Trial) -> Result:
    """The loss is as low at 0.2 as at 0.8, where a trial takes a hundred times as long."""
    x = trial.config["x"]
    return Result.ok(min(abs(x - 0.2), abs(x - 0.8)), 0.1 * 100 ** ((x - 0.2) / 0.6))


def test_expected_improvement_finds_the_valley() -> None:
    asked = values(trials("botorch-ei", 10, lambda trial: Result.ok((trial.config["x"] - 0.4) ** 2, 1.0)))

    assert min(abs(x - 0.4) for x in asked[4:]) < 0.02 < min(abs(x - 0.4) for x in asked[:4])


def test_improvement_per_second_stays_where_trials_are_cheap() -> None:
    plain, per_second = (values(trials(name, 9, two_valleys))[4:] for name in ("botorch-ei", "botorch-eips"))

    assert sum(per_second) < sum(plain) and max(per_second) < 0.5


def test_with_cooling_and_a_spent_budget_the_seconds_do_not_count() -> None:
    plain = values(trials("botorch-ei", 7, two_valleys))
    cooled = values(trials("botorch-eips", 7, two_valleys, cooling=True, budget_seconds=1e-3))

    assert cooled == pytest.approx(plain, abs=1e-3)
    assert cooled != pytest.approx(values(trials("botorch-eips", 7, two_valleys)), abs=1e-3)


@pytest.mark.parametrize("cooling", [True, False])
def test_only_with_cooling_a_finished_run_can_not_be_extended(tmp_path: Path, cooling: bool) -> None:
    suite = Suite(
        learners=["synthetic-5d"],
        tasks=["synthetic-1k"],
        methods=[{"botorch-eips": {"cooling": cooling}}],
        folds="0",
        budget_seconds=1e4,
        max_trials=2,
        clock="virtual",
        results=tmp_path,
    )
    run_suite(suite)
    (trace,) = tmp_path.glob("*/*/*/*.jsonl")

    assert read_run(trace).header.knows_budget is cooling
    longer = replace(suite, budget_seconds=2e4, max_trials=3)
    if cooling:
        with pytest.raises(UserError, match="its method plans with its budget"):
            run_suite(longer)
    else:
        (verdict,) = run_suite(longer).verdicts
        assert verdict.outcome is RunStatus.DONE


def test_failed_trials_alone_lead_to_random_configurations() -> None:
    asked = trials("botorch-ei", 7, lambda trial: Result(Status.FAILED))

    assert len(set(values(asked))) == 7


def test_torchs_global_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    trials("botorch-ei", 6, two_valleys)

    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    "name", ["fabolas", *(pytest.param(name, marks=pytest.mark.slow) for name in ("boca", "botorch-eips"))]
)
def test_nothing_is_imported_while_the_clock_runs(name: str) -> None:
    code = (
        "import sys\n"
        "from tests.optimizers.test_botorch import *\n"
        f"method = METHODS.load({name!r})(LINE, {{'x': 0.0}}, 0, **QUICK)\n"
        "before = set(sys.modules)\n"
        "for _ in range(6):\n"
        "    trial = method.ask()\n"
        "    method.tell(trial, two_valleys(trial))\n"
        "print(sorted(set(sys.modules) - before))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)

    assert (answer.stdout, answer.stderr) == ("[]\n", "")


def test_a_suggestion_is_computed_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more, sums are rounded otherwise, and a replay would ask for other configurations."""
    import botorch.optim

    threads: list[int] = []
    maximise = botorch.optim.optimize_acqf

    def counted(*arguments: Any, **options: Any) -> Any:
        threads.append(torch.get_num_threads())
        return maximise(*arguments, **options)

    monkeypatch.setattr(botorch.optim, "optimize_acqf", counted)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        trials("botorch-ei", 6, two_valleys)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

    assert threads == [1, 1]


# --- rows ------------------------------------------------------------------------------------------


def with_rows(loss: Callable[[Mapping[str, Any], float], float]) -> Answer:
    """A trial takes as long as it has rows; the loss depends on its share of them."""

    def answer(trial: Trial) -> Result:
        share = (trial.rows or N_ROWS) / N_ROWS
        return Result.ok(loss(trial.config, share), 10.0 * share)

    return answer


SAME_ORDER = with_rows(lambda config, share: (config["x"] - 0.4) ** 2 + 0.2 * (1 - share))
CHOOSES_ROWS = pytest.mark.parametrize("name", ["boca", "fabolas"])


@CHOOSES_ROWS
def test_the_initial_configurations_are_on_four_numbers_of_rows_in_turn(name: str) -> None:
    rows = [trial.rows for trial in trials(name, 4, SAME_ORDER, n_rows=N_ROWS)]

    assert rows == [10_000, 25_198, 63_496, None]


@CHOOSES_ROWS
@pytest.mark.parametrize("n_rows", [None, 10_000])
def test_without_more_rows_than_the_fewest_every_trial_is_on_all(name: str, n_rows: int | None) -> None:
    assert {trial.rows for trial in trials(name, 6, SAME_ORDER, n_rows=n_rows)} == {None}


def test_rows_stay_between_the_fewest_and_all() -> None:
    for trial in trials("boca", 10, SAME_ORDER, n_rows=N_ROWS):
        assert trial.rows is None or 10_000 <= trial.rows < N_ROWS


def test_boca_trains_on_the_fewest_rows_on_which_it_is_uncertain() -> None:
    """Losses on few rows say nothing here: what is asked for is uncertain on every number of rows."""
    unrelated = with_rows(lambda config, share: math.sin(40 * config["x"] + 30 * share))

    rows = [trial.rows for trial in trials("boca", 12, unrelated, n_rows=N_ROWS)[4:]]

    assert sum(number is not None for number in rows) >= 4
    assert rows.count(10_000) >= 2


def test_boca_trains_on_all_rows_what_is_certain_on_fewer() -> None:
    rows = [trial.rows for trial in trials("boca", 12, SAME_ORDER, n_rows=N_ROWS)]

    assert rows[9:] == [None] * 3


def test_fabolas_trains_on_fewer_rows_if_they_take_less_time() -> None:
    def equally_long(trial: Trial) -> Result:
        return SAME_ORDER(trial)._replace(fit_seconds=10.0)

    cheaper, equal = (
        [trial.rows or N_ROWS for trial in trials("fabolas", 9, answer, n_rows=N_ROWS, incumbent_every=9)[4:]]
        for answer in (SAME_ORDER, equally_long)
    )

    assert sum(cheaper) < sum(equal) / 2


def test_fabolas_trains_its_predicted_optimum_on_all_rows_after_as_many_trials_on_part_of_them() -> None:
    asked = trials("fabolas", 12, SAME_ORDER, n_rows=N_ROWS, incumbent_every=1)

    on_all = [number for number, trial in enumerate(asked) if trial.rows is None and number >= 4]
    assert all(later - earlier <= 2 for earlier, later in zip([3, *on_all], [*on_all, 12], strict=True))
    for number in on_all:
        if asked[number - 1].rows is not None:
            assert asked[number].config in [earlier.config for earlier in asked[:number]]
