"""The importance of hyperparameters, and the values of incumbents over time."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.report.numbers.hyperparameters import MOMENTS, footprint, importance, numeric_names
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.reading.load import load
from cfo_bench.results.run import Run, read_run
from cfo_bench.space import Categorical, Float, Int, Space

SPACE = Space([Int("trees", 1, 1024, log=True), Float("rate", 0.0, 1.0), Categorical("kind", ["a", "b"])])


def write(
    write_run: Any,
    losses: dict[tuple[int, float, str], float | None],
    fold: int = 0,
    shift: float = 0.0,
    space: Space | None = SPACE,
    rows: int | None = None,
) -> Run:
    """A run that tried each (trees, rate, kind); None is a trial that failed."""
    trials = [
        (1 + at / 100, None if loss is None else loss + shift, 0.005)
        for at, loss in enumerate(losses.values())
    ]
    path: Path = write_run("t", "rs", fold, trials, rows=[rows] * len(trials))
    header, *lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    header["space"] = space.to_json() if space else []
    for line, (trees, rate, kind) in zip(lines, losses, strict=False):
        line["config"] = {"trees": trees, "rate": rate, "kind": kind}
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in (header, *lines)))
    found = read_run(path)
    assert found is not None
    return found


GRID = list(itertools.product([2**k for k in range(11)], [0.0, 0.25, 0.5, 0.75, 1.0], ["a", "b"]))


def test_a_loss_that_one_hyperparameter_decides_gives_it_all_the_importance(write_run: Any) -> None:
    found = importance([write(write_run, {place: 0.4 * place[1] for place in GRID})])

    assert found is not None and (found.used, found.scored) == (110, 110)
    assert found.shares["rate"] == pytest.approx(1.0, abs=0.02)
    assert found.shares["trees"] < 0.01 and found.shares["kind"] < 0.01


def test_a_log_scale_is_searched_and_judged_as_such(write_run: Any) -> None:
    # The loss falls from 1 to 32 trees and is flat above: 3 % of the values, but half of the log scale.
    losses = {place: 0.4 if place[0] < 32 else 0.1 + 0.1 * place[1] for place in GRID}

    found = importance([write(write_run, losses)])

    assert found is not None and found.shares["trees"] > 0.8


def test_failed_trials_and_those_on_fewer_rows_are_left_out(write_run: Any) -> None:
    losses: dict[tuple[int, float, str], float | None] = {place: 0.4 * place[1] for place in GRID}
    losses |= dict.fromkeys(GRID[:10])
    whole, part = write(write_run, losses), write(write_run, losses, fold=1, rows=100)

    found = importance([whole, part])

    assert found is not None and found.scored == 100


def test_a_difference_between_folds_is_nobody_s_importance(write_run: Any) -> None:
    half = {place: 0.2 * place[1] for place in GRID if place[0] <= 32}
    other = {place: 0.2 * place[1] for place in GRID if place[0] > 32}

    # Few trees only in fold 0, many only in fold 1, which is harder.
    found = importance([write(write_run, half), write(write_run, other, fold=1, shift=0.2)])

    assert found is not None and found.shares["trees"] < 0.05


def test_of_many_trials_the_same_samples_are_taken_each_time(write_run: Any) -> None:
    run = write(write_run, {place: 0.4 * place[1] + 0.01 * (place[2] == "a") for place in GRID})

    found = importance([run], most=60)

    assert found is not None and (found.used, found.scored) == (60, 110)
    assert importance([run], most=60) == found
    # The samples differ, so that the importance does, too.
    assert 0 < found.spreads["rate"] < 0.1


def test_the_parts_make_a_whole_with_the_interactions(write_run: Any) -> None:
    # The loss depends on whether both hyperparameters are high, or both are low.
    losses = {place: 0.4 * ((place[0] > 32) == (place[1] > 0.5)) for place in GRID}

    found = importance([write(write_run, losses)])

    assert found is not None and found.interactions > 0.5
    assert found.interactions + sum(found.shares.values()) == pytest.approx(1.0)
    assert found.interactions_spread > 0


def test_too_few_trials_or_no_space_give_no_importance(write_run: Any) -> None:
    assert importance([write(write_run, dict.fromkeys(GRID[:29], 0.1))]) is None
    assert importance([write(write_run, dict.fromkeys(GRID, 0.1), space=None)]) is None


def test_equal_losses_make_nothing_important(write_run: Any) -> None:
    found = importance([write(write_run, dict.fromkeys(GRID, 0.1))])

    assert found is not None and set(found.shares.values()) == {0.0}
    assert (found.interactions, set(found.spreads.values())) == (0.0, {0.0})


def read(tmp_path: Path) -> LearnerResults:
    return LearnerResults("xgboost", load(tmp_path / "results").runs)


def values(results: LearnerResults, name: str, *shares: float) -> list[float | None]:
    found = footprint(results, "cfo", ["max_leaves", name])[:, 1].tolist()
    at = [min(range(len(MOMENTS)), key=lambda i: abs(MOMENTS[i] - share)) for share in shares]
    return [None if math.isnan(found[i]) else found[i] for i in at]


def test_the_value_is_that_of_the_best_configuration_so_far(write_run: Any, tmp_path: Path) -> None:
    # Trial i has 4 (i + 1) trees; the second is worse than the first, so it is no incumbent.
    write_run("t", "cfo", 0, [(1, 0.4, 0.5), (5, 0.45, 1), (30, 0.3, 1)])

    assert values(read(tmp_path), "n_estimators", 0.001, 0.0126, 0.1, 1.0) == [None, 4, 4, 12]
    assert values(read(tmp_path), "max_leaves", 1.0) == [24]


def test_tasks_count_the_same_and_wait_for_each_other(write_run: Any, tmp_path: Path) -> None:
    for fold in range(3):
        write_run("t", "cfo", fold, [(1, 0.4, 0.5), (5, 0.3, 1)])
    write_run("u", "cfo", 0, [(20, 0.4, 1)])
    write_run("never", "cfo", 0, [(20, None, 1)])
    results = read(tmp_path)

    # Until 20 s u has none. Then t has 8 trees on all folds and u has 4: the median of 8 and 4 is 6.
    assert values(results, "n_estimators", 0.0126, 0.1, 1.0) == [None, None, 6]


def test_a_method_without_a_result_has_no_footprint(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, [(20, None, 1)])

    assert values(read(tmp_path), "n_estimators", 0.1, 1.0) == [None, None]


def test_only_numbers_have_a_place_on_an_axis(write_run: Any, tmp_path: Path) -> None:
    path = write_run("t", "cfo", 0, [(1, 0.4, 0.5), (5, 0.3, 1)])
    text = path.read_text().replace('"max_leaves":8', '"max_leaves":"few"')
    path.write_text(text.replace('"max_leaves":16', '"max_leaves":true'))

    assert numeric_names(read(tmp_path)) == (["n_estimators"], ["max_leaves"])
