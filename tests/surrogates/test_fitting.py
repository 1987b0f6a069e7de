"""A surrogate of trials whose loss and seconds are a formula."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import TraceError
from cfo_bench.recordings.surrogate import LUCK, SECONDS_BEYOND, Cover, ModelledFold, Surrogate
from cfo_bench.recordings.surrogate_file import SurrogateFile, to_bytes
from cfo_bench.surrogates.boosting import Durations, fit_log_seconds
from cfo_bench.surrogates.quality import rank_correlation
from cfo_bench.surrogates.trials import read_trials
from tests.helpers.surrogates import FOLD_OFFSETS, SPACE, fitted, loss_of, seconds_of, write_traces


@pytest.fixture(scope="module")
def surrogate(tmp_path_factory: pytest.TempPathFactory) -> Surrogate:
    return fitted(tmp_path_factory.mktemp("results"))


def asked(
    surrogate: Surrogate, fold: int, seed: int = 0
) -> tuple[list[float], list[float], list[dict[str, object]]]:
    """Losses and seconds of fresh configurations."""
    rng = np.random.default_rng(99)
    configs = [SPACE.sample(rng) for _ in range(150)]
    answers = [ModelledFold(surrogate, fold, seed).look_up(config, None) for config in configs]
    return [a.loss or 0.0 for a in answers], [a.fit_seconds + a.validate_seconds for a in answers], configs


def test_fresh_configurations_are_ordered_as_the_formula_orders_them(surrogate: Surrogate) -> None:
    losses, seconds, configs = asked(surrogate, 0)

    assert (rank_correlation(np.array(losses), np.array([loss_of(c) for c in configs])) or 0) > 0.85
    assert (rank_correlation(np.array(seconds), np.array([seconds_of(c) for c in configs])) or 0) > 0.95
    assert np.median(np.abs(np.array(losses) - [loss_of(c) for c in configs])) < 0.02


def test_a_recorded_fold_has_its_own_level(surrogate: Surrogate) -> None:
    (zero, _, _), (one, _, _) = asked(surrogate, 0), asked(surrogate, 1)

    recorded = FOLD_OFFSETS[1] - FOLD_OFFSETS[0]
    assert np.median(np.array(one) - zero) == pytest.approx(recorded, abs=0.015)


def test_other_folds_are_drawn_with_the_spread_of_the_recorded_ones(surrogate: Surrogate) -> None:
    offsets = [surrogate.offset(seed, fold) for seed in range(20) for fold in range(2, 10)]

    assert len(set(offsets)) > 100
    assert np.std(offsets) == pytest.approx(surrogate.offset_spread, rel=0.3)
    assert surrogate.offset_spread == pytest.approx(np.std(FOLD_OFFSETS[:2], ddof=1), abs=0.01)


def test_the_same_question_has_the_same_answer_and_another_fold_another(surrogate: Surrogate) -> None:
    assert asked(surrogate, 5)[:2] == asked(surrogate, 5)[:2]
    assert asked(surrogate, 5)[:2] != asked(surrogate, 6)[:2]
    assert asked(surrogate, 5)[:2] != asked(surrogate, 5, seed=1)[:2]


@given(st.integers(0, 2**32 - 1), st.integers(0, 99))
def test_answers_are_finite_and_within_what_was_recorded(surrogate: Surrogate, seed: int, fold: int) -> None:
    one = ModelledFold(surrogate, fold, seed)
    offset = surrogate.offset(seed, fold)
    least = surrogate.from_y(surrogate.least_y - LUCK, offset)
    most = surrogate.from_y(surrogate.most_y, offset)

    answer = one.look_up(SPACE.sample(np.random.default_rng(seed)), None)

    assert answer.loss is not None and math.isfinite(answer.loss)
    assert least <= answer.loss <= most
    seconds = answer.fit_seconds + answer.validate_seconds
    longest = surrogate.longest_seconds * SECONDS_BEYOND
    assert surrogate.least_seconds * (1 - 1e-9) <= seconds <= longest * (1 + 1e-9)


def test_the_same_trials_give_the_same_file(tmp_path: Path) -> None:
    both = [
        to_bytes(SurrogateFile([fitted(tmp_path / name, trials=25)], 6, "0" * 64, "1")) for name in ("a", "b")
    ]

    assert both[0] == both[1]


def test_a_trial_that_was_cut_off_is_known_to_take_longer() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.random((600, 2)).astype(np.float32)
    truth = np.exp(4 * vectors[:, 0])
    cut = truth > 20
    taken = Durations(np.where(cut, 20.0, truth), cut)

    log_seconds = fit_log_seconds(vectors, taken).predict_all(vectors)
    as_if_ended = fit_log_seconds(vectors, Durations(taken.seconds, np.zeros(600, dtype=bool))).predict_all(
        vectors
    )

    assert np.mean(np.exp(log_seconds[cut]) > 20) > 0.9
    assert np.mean(np.exp(as_if_ended[cut]) > 20) < 0.6
    assert np.max(np.abs(log_seconds[~cut] - np.log(truth[~cut]))) < 1.0


def test_what_failed_when_it_was_recorded_fails_again(tmp_path: Path) -> None:
    one = fitted(tmp_path, fails=lambda config: config["trees"] > 300)
    fold = ModelledFold(one, 0, 0)
    rng = np.random.default_rng(3)
    configs = [SPACE.sample(rng) for _ in range(200)]

    failed = [(fold.look_up(config, None).error is not None, config["trees"]) for config in configs]

    assert np.mean([is_failed for is_failed, trees in failed if trees > 400]) > 0.8
    assert np.mean([is_failed for is_failed, trees in failed if trees < 200]) < 0.1


def test_recorded_configurations_are_near_and_what_is_unlike_all_of_them_is_far(surrogate: Surrogate) -> None:
    cover = surrogate.cover
    [corner] = surrogate.encoding.encode_all([{"trees": 1000, "rate": 0.01, "kind": "a"}], [None])
    opposite = [{"trees": 4, "rate": 1.0, "kind": "b"}]
    only_the_corner = Cover(corner[np.newaxis], cover.weights, cover.radius)

    assert cover.weights.sum() == pytest.approx(1)
    assert not np.any(cover.are_far(cover.vectors))
    assert not only_the_corner.are_far(corner[np.newaxis])[0]
    assert only_the_corner.are_far(surrogate.encoding.encode_all(opposite, [None]))[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b'"kind":"b"', b'"other":"b"'), "is not in its search space"),
        ((b'"kind":"b"', b'"kind":7'), "is not in its search space"),
        ((b'"low":0.01', b'"low":"x"'), "a space can't be read"),
        ((b'"type":"float"', b'"type":"x"'), "a space can't be read"),
    ],
)
def test_a_foreign_trace_that_can_not_be_fitted_is_named(
    tmp_path: Path, change: tuple[bytes, bytes], message: str
) -> None:
    write_traces(tmp_path, methods=["rs"], folds=[0], trials=5)
    [path] = tmp_path.rglob("*.jsonl")
    content = path.read_bytes()
    path.write_bytes(content.replace(*change, 1))
    assert path.read_bytes() != content

    with pytest.raises(TraceError, match=message):
        read_trials([tmp_path])
