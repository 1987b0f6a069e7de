"""ZOGD in CFO's frame, step by step on one dimension: its vector is log2 of the value, δ = 2 and u = 1."""

from __future__ import annotations

import itertools
import math

import pytest

from cfo_bench.optimizers.cfo0 import CFO0
from cfo_bench.records import Result, Status
from cfo_bench.space import Float, Int, Space

LINE = Space([Float("a", 2.0**-10, 2.0**10)])
PLANE = Space([Float("a", 2.0**-10, 2.0**10), Float("b", 2.0**-10, 2.0**10)])


def line(step: str = "rms", **options) -> CFO0:
    return CFO0(LINE, {"a": 1.0}, delta_init=2.0, step=step, **options)


def test_the_slope_is_measured_ahead_and_the_move_goes_down_it(play) -> None:
    run = play(line(), [1])

    run.tell(10.0)
    assert (run.thread.asking, run.config) == ("PLUS", {"a": 4.0})  # 0 + 2·1
    run.tell(12.0)
    # g = (12 - 10)/2 = 1, the first: its RMS is 1, the move -2·1/1
    assert (run.thread.asking, run.config) == ("MOVE", {"a": 0.25})


def test_the_move_is_accepted_however_bad(play) -> None:
    run = play(line(n_threshold=99), [1], [-1])

    run.tell(10.0, 12.0, 50.0)

    assert (run.thread.x.vector, run.thread.loss) == ([-2.0], 50.0)
    assert run.method.best == ({"a": 1.0}, 10.0)
    # u = -1 from -2
    assert (run.thread.asking, run.config) == ("PLUS", {"a": 2.0**-4})


def test_rms_divides_by_the_root_mean_square_of_the_slopes_so_far(play) -> None:
    run = play(line(n_threshold=99), [1], [-1])

    run.tell(10.0, 11.0, 10.0)  # g = (11 - 10)/2 = 0.5, the move -2: x = -2 with f = 10
    run.tell(13.0)  # u = -1: f(-4) = 13, g = (13 - 10)/2 = 1.5

    # RMS of 0.5 and 1.5 is √((0.25 + 2.25)/2) = √1.25; the move is -2·1.5/√1.25·u, from -2 upwards
    assert list(run.thread.slopes) == [0.5, 1.5]
    assert run.config == pytest.approx({"a": 2 ** (-2 + 2 * 1.5 / math.sqrt(1.25))})


def test_rms_forgets_slopes_after_thirty_two(play) -> None:
    run = play(line(n_threshold=99), [1], [-1])
    run.tell(10.0)

    lengths = [run.thread.length(loss_plus) for loss_plus in (1000.0, *[12.0] * 32)]

    assert lengths[0] == 2.0  # g = 495, alone
    assert lengths[31] < 0.03  # g = 1 in the shadow of the first
    assert lengths[32] == pytest.approx(2.0)  # thirty-two of g = 1


def test_literal_takes_h_for_the_step(play) -> None:
    run = play(line("literal"), [1])

    run.tell(10.0, 11.0)

    assert run.config == {"a": 0.5}  # g = 0.5, -h·g = -2·0.5


def test_sign_takes_a_whole_step_to_the_lower_side(play) -> None:
    run = play(line("sign"), [1])

    run.tell(10.0, 10.5)

    assert run.config == {"a": 0.25}


def test_a_lower_loss_ahead_moves_ahead(play) -> None:
    run = play(line("literal"), [1])

    run.tell(10.0, 9.0)

    assert run.config == {"a": 2.0}  # g = -0.5, -h·g = 1


def test_an_infinite_loss_ahead_means_no_move(play) -> None:
    for step in ("rms", "literal", "sign"):
        run = play(line(step, n_threshold=99), [1], [-1])

        run.tell(10.0)
        run.method.tell(run.method.ask(), Result(Status.FAILED))

        assert (run.thread.x.vector, run.thread.loss) == ([0.0], 10.0)
        assert (run.thread.asking, run.config) == ("PLUS", {"a": 0.25})
        assert (run.thread.n, run.thread.k) == (1, 1)


def test_from_a_failed_point_it_moves_to_the_one_ahead(play) -> None:
    for step in ("rms", "literal", "sign"):
        run = play(line(step, n_threshold=99), [1])

        run.tell(math.inf, 10.0)  # no slope to be had; x + δu is known and lower

        assert (run.thread.x.vector, run.thread.loss) == ([2.0], 10.0)
        assert not run.thread.slopes


def test_equal_losses_give_no_direction_and_no_move(play) -> None:
    for step in ("rms", "literal", "sign"):
        run = play(line(step, n_threshold=99), [1], [-1])

        run.tell(10.0, 10.0)

        assert run.thread.x.vector == [0.0]
        assert run.config == {"a": 0.25}


def test_an_improvement_is_one_of_the_two_values_below_the_rounds_best(play) -> None:
    run = play(CFO0(PLANE, {"a": 1.0, "b": 1.0}, n_threshold=99), [1, 0], [0, 1], [3, 4], [4, 3])

    run.tell(10.0, 12.0, 11.0)  # iteration 0: 11 < inf, the better of the two
    assert (run.thread.n, run.thread.k_best, run.thread.round_best_loss) == (0, 0, 11.0)
    assert run.thread.round_best is run.thread.x
    run.tell(11.5, 11.0)  # iteration 1: 11 is not below 11
    assert (run.thread.n, run.thread.k_best) == (1, 0)
    run.tell(10.5, 20.0)  # iteration 2: ahead it was lower, though x is worse now
    assert (run.thread.n, run.thread.k_best, run.thread.round_best_loss) == (0, 2, 10.5)
    assert run.thread.round_best is not run.thread.x
    assert run.thread.loss == 20.0
    run.tell(11.0, 10.0)  # iteration 3: the move was lower
    assert (run.thread.n, run.thread.k_best, run.thread.round_best_loss) == (0, 3, 10.0)


def test_of_two_equal_values_the_first_is_the_rounds_best(play) -> None:
    run = play(line("literal", n_threshold=99), [1], [-1])

    run.tell(10.0, 9.0, 9.0)  # ahead at 4, then the move to 2

    assert (run.thread.round_best.values, run.thread.x.values) == ((4.0,), (2.0,))


def test_delta_lower_is_computed_at_the_rounds_best_not_where_the_search_is(play) -> None:
    run = play(CFO0(Space([Int("k", 1, 1024)]), {"k": 16}, delta_init=2.0, n_threshold=99), [1], [-1])

    run.tell(10.0, 12.0, 50.0)  # ahead at 64, then the move to 4, which is accepted
    assert (run.thread.round_best.values, run.thread.x.values) == ((64,), (4,))

    assert run.thread.delta_lower() == pytest.approx(2.0 * math.log2(1 + 1 / 64) / 10)


def test_a_move_onto_the_point_ahead_is_not_evaluated_again() -> None:
    """Slopes of about one size make moves of the length δ, but for a rounding error."""
    method, asked = CFO0(LINE, {"a": 0.01}, 1, delta_init=0.3, n_threshold=99), []
    for _ in range(60):
        trial = method.ask()
        asked.append(trial.config["a"])
        method.tell(trial, Result.ok(0.1 * abs(math.log2(trial.config["a"]) - 9.0)))

    assert not any(math.isclose(a, b, rel_tol=1e-12) for a, b in itertools.pairwise(asked))


@pytest.mark.parametrize("step", ["rms", "literal", "sign"])
def test_a_start_is_not_evaluated_again_if_equal_losses_lead_back_to_it(step: str) -> None:
    """Its value is as given, and not the exponential of its logarithm."""
    method, asked = CFO0(LINE, {"a": 0.01}, step=step), []
    assert math.exp2(math.log2(0.01)) != 0.01
    for _ in range(3):
        trial = method.ask()
        asked.append(trial.config["a"])
        method.tell(trial, Result.ok(1.0))

    assert asked[2] != pytest.approx(0.01, rel=1e-12)
    assert method.threads[0].loss == 1.0


def test_a_move_close_to_the_point_ahead_is_evaluated(play) -> None:
    """Only rounding errors make two configurations the same."""
    run = play(line("literal", n_threshold=99), [1])

    run.tell(10.0, 10.0 - (2.0 + 2e-11))  # a slope of -(1 + 1e-11): ahead at 4, the move a little further

    assert run.thread.asking == "MOVE"
    assert 1e-11 < run.config["a"] / 4.0 - 1.0 < 2e-11


def test_the_frame_shrinks_the_step_and_restarts_as_cfo_does(play) -> None:
    run = play(CFO0(PLANE, {"a": 1.0, "b": 1.0}, delta_init=0.011), [1, 0], [0, 1], [3, 4], [4, 3], [2, 3])

    run.tell(10.0, 9.0)  # iteration 0 moves to x + δu itself
    run.tell(9.5, 9.5, 9.6)  # iterations 1 and 2: n = N = 2 …
    assert run.thread.n == 1
    run.tell(9.7)

    # k = 3, k' = 0, η = 3, δ = 0.011/√3 < 0.01
    assert (run.thread.asking, run.thread.r, run.thread.delta) == ("RESET", 1, 1.011)
    assert run.config == pytest.approx({"a": 16.0, "b": 8.0})


def test_enormous_losses_do_not_overflow(play) -> None:
    for step in ("rms", "literal", "sign"):
        run = play(line(step, n_threshold=99), [1], [-1])

        run.tell(1e308, -1e308, 1e308, -1e308, 0.0)

        assert -10 <= run.thread.x.vector[0] <= 10
