"""The mean best loss so far and its interval, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cfo_bench.report.numbers.scores import Curve, curve, score_task
from cfo_bench.results.digest import Incumbents, without_configs
from cfo_bench.results.run import Run

# Student's t at 97.5 % with one degree of freedom, from a printed table.
T_OF_TWO = 12.706205


def steps(*points: tuple[float, float]) -> Incumbents:
    return without_configs([at for at, _ in points], [loss for _, loss in points])


def test_the_curve_steps_where_a_fold_does_and_starts_when_all_have_a_loss(by_hand: list[Run]) -> None:
    alpha = score_task([one for one in by_hand if one.task == "alpha"])

    cfo, rs = alpha.methods["cfo"].curve, alpha.methods["rs"].curve

    # (0.375 + 0.4375) / 2, (0.0625 + 0.4375) / 2, (0.0625 + 0.1875) / 2
    assert cfo is not None and rs is not None
    assert list(zip(cfo.seconds, cfo.mean, strict=True)) == [(2, 0.40625), (10, 0.25), (20, 0.125)]
    # (0.125 + 0.4375) / 2, then 0.125
    assert list(zip(rs.seconds, rs.mean, strict=True)) == [(2, 0.40625), (40, 0.28125), (80, 0.125)]


def test_the_interval_is_student_s_over_folds(by_hand: list[Run]) -> None:
    alpha = score_task([one for one in by_hand if one.task == "alpha"])

    cfo = alpha.methods["cfo"].curve

    # At 20 s the folds have 0.0625 and 0.1875: sd = 0.125 / √2, sd / √2 = 0.0625.
    assert cfo is not None
    assert cfo.high[-1] == pytest.approx(0.125 + T_OF_TWO * 0.0625, rel=1e-6)
    assert cfo.low[-1] == pytest.approx(0.125 - T_OF_TWO * 0.0625, rel=1e-6)


def test_one_fold_has_no_interval() -> None:
    found = curve([steps((1, 0.5), (2, 0.25))])

    assert found is not None and np.isnan(found.low).all() and np.isnan(found.high).all()


def test_there_is_no_curve_when_a_fold_has_no_loss() -> None:
    assert curve([steps((1, 0.5)), steps()]) is None
    assert curve([]) is None


def test_a_curve_tells_its_value_at_a_moment_and_when_it_gets_somewhere() -> None:
    found = curve([steps((1, 0.5), (4, 0.25))])

    assert found is not None
    before, *then = found.over(np.array([0.5, 1, 3.9, 4, 99]))
    assert math.isnan(before)
    assert then == [0.5, 0.5, 0.25, 0.25]
    assert (found.reached_at(0.3), found.reached_at(0.25), found.reached_at(0.2)) == (
        4,
        4,
        None,
    )


def test_thinning_keeps_start_and_end_and_moves_no_step_further_than_a_strip() -> None:
    seconds = np.geomspace(0.01, 3600, 20_000)
    mean = np.linspace(1.0, 0.1, 20_000)
    whole = Curve(seconds, mean, mean - 0.01, mean + 0.01, 10)

    thin = whole.thinned(400)

    assert len(thin.seconds) <= 402
    assert (thin.seconds[0], thin.seconds[-1]) == (seconds[0], seconds[-1])
    assert (thin.mean[0], thin.mean[-1]) == (1.0, 0.1)
    # A strip of the time axis is 1/400 of its length: so far is the eye's error, at the most.
    assert np.diff(np.log(thin.seconds)).max() < 2.01 * np.log(360_000) / 400


def test_a_short_curve_is_not_thinned() -> None:
    found = curve([steps((1, 0.5), (4, 0.25))])

    assert found is not None and found.thinned() is found
