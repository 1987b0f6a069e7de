from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import OptionError
from cfo_bench.optimizers.geometry import Geometry
from cfo_bench.space import Categorical, Float, Int, Param, Space

RNG = np.random.default_rng(0)


def one(param: Param, scale: str = "log2", linear_span: float | None = None) -> Geometry:
    return Geometry(Space([param]), scale, linear_span)


def test_positive_ranges_are_logarithmic_and_others_linear() -> None:
    space = Space([Int("i", 1, 8), Float("x", 0.25, 4.0), Float("y", 0.0, 9.0), Categorical("c", "abc")])

    point = Geometry(space, "log2", None).encode({"i": 8, "x": 0.5, "y": 2.5, "c": "b"})

    assert point.vector == [3.0, -1.0, 2.5, 1.0]
    assert point.values == (8, 0.5, 2.5, "b")


def test_ln_measures_in_natural_logarithms() -> None:
    geometry = one(Float("x", 1.0, 1000.0), "ln")
    start = geometry.encode({"x": 1.0})

    assert geometry.project([2.0], start, RNG).values == (math.exp(2.0),)


def test_the_bounds_themselves_are_reached_exactly() -> None:
    # exp2(log2(0.1)) is not 0.1 everywhere; a bound is given as it was written.
    geometry = one(Float("x", 0.1, 0.7))
    start = geometry.encode({"x": 0.3})

    assert geometry.project([-99.0], start, RNG).values == (0.1,)
    assert geometry.project([99.0], start, RNG).values == (0.7,)
    assert geometry.project([99.0], start, RNG).vector == geometry.encode({"x": 0.7}).vector


@pytest.mark.parametrize(("low", "high"), [(3, 20), (0, 20), (-20, -3)])
def test_integers_are_whole_within_both_bounds_and_snap(low: int, high: int) -> None:
    geometry = one(Int("k", low, high))
    start = geometry.encode({"k": low})

    for x in np.linspace(-30, 30, 601).tolist():
        point = geometry.project([x], start, RNG)
        (k,) = point.values
        assert type(k) is int
        assert low <= k <= high
        assert point.vector == geometry.encode({"k": k}).vector


def test_integers_round_in_value_space_not_in_log_space() -> None:
    geometry = one(Int("k", 1, 100))
    start = geometry.encode({"k": 1})

    # 1.45 is nearer to 1; its logarithm 0.536 is nearer to log2(2) = 1 than to log2(1) = 0
    assert geometry.project([math.log2(1.45)], start, RNG).values == (1,)
    assert geometry.project([math.log2(1.55)], start, RNG).values == (2,)


def test_linear_span_does_not_touch_choices_or_logarithms() -> None:
    space = Space([Categorical("c", "abcde", ordered=True), Float("x", 1.0, 4.0), Int("k", -50, 50)])
    geometry = Geometry(space, "log2", 10.0)
    start = geometry.encode({"c": "a", "x": 1.0, "k": 0})

    # one unit of the vector: the next choice, twice x, a tenth of k's range
    assert geometry.project([1.0, 1.0, 1.0], start, RNG).values == ("b", 2.0, 10)


def test_an_index_that_stays_keeps_the_choice_whatever_it_stands_for() -> None:
    geometry = one(Categorical("c", "abcd"))
    start = geometry.encode({"c": "a"})
    moved = geometry.project([2.0], start, RNG)
    assert moved.values != ("a",)

    for x in (1.6, 2.0, 2.4):
        stayed = geometry.project([x], moved, RNG)
        assert (stayed.vector, stayed.values) == ([2.0], moved.values)


def test_an_index_that_moves_draws_uniformly_among_the_other_choices() -> None:
    geometry = one(Categorical("c", "abcde"))
    near = geometry.encode({"c": "b"})
    rng = np.random.default_rng(7)

    drawn = [geometry.project([3.0], near, rng).values[0] for _ in range(4000)]

    counts = {choice: drawn.count(choice) for choice in "abcde"}
    assert counts.pop("b") == 0
    chi_square = sum((n - 1000) ** 2 / 1000 for n in counts.values())
    assert chi_square < 16.3  # 3 degrees of freedom: exceeded once in a thousand


def test_ordered_choices_are_their_index() -> None:
    geometry = one(Categorical("c", ["s", "m", "l"], ordered=True))
    start = geometry.encode({"c": "s"})

    drawn = [geometry.project([x], start, RNG).values[0] for x in (-1.0, 0.4, 0.6, 1.4, 1.6, 9.0)]

    assert drawn == ["s", "s", "m", "m", "l", "l"]


def test_ordered_numbers_are_searched_on_their_own_scale() -> None:
    # Factors of 2 and 5 in turn: a step of one doubles, as for any positive number.
    rates = one(Categorical("rate", [0.0005, 0.001, 0.005, 0.01], ordered=True))
    start = rates.encode({"rate": 0.001})

    assert start.vector == [math.log2(0.001)]
    assert rates.project([start.vector[0] - 1.0], start, RNG).values == (0.0005,)
    assert rates.project([start.vector[0] + 1.0], start, RNG).values == (0.001,)  # 0.002 is nearer to 0.001
    assert rates.project([start.vector[0] + 1.2], start, RNG).values == (0.005,)
    assert rates.finest_steps(start, 2) == [(pytest.approx(1.0), pytest.approx(math.log2(20)))]


def test_half_way_between_two_ordered_numbers_is_the_lower() -> None:
    sizes = one(Categorical("size", [1, 4, 16], ordered=True))
    start = sizes.encode({"size": 16})

    assert [sizes.project([x], start, RNG).values for x in (0.999, 1.0, 1.001, 3.0)] == [
        (1,),
        (1,),
        (4,),
        (4,),
    ]


def test_ordered_numbers_that_touch_zero_are_linear_and_span_what_a_range_would() -> None:
    dropout = one(Categorical("dropout", [0.0, 0.3, 0.6], ordered=True), linear_span=10.0)

    assert dropout.encode({"dropout": 0.3}).vector == [5.0]
    assert dropout.finest_steps(dropout.encode({"dropout": 0.0}), 3) == [(5.0, 10.0)]


@pytest.mark.parametrize(
    "param",
    [
        Categorical("c", [8, 4, 2], ordered=True),
        Categorical("c", [1, 2.0, "3"], ordered=True),
        Categorical("c", [False, True, 7], ordered=True),
        Categorical("c", [1, 2, 4]),
        Categorical("c", [1e308, 1.0000000000000002e308, 1.0000000000000004e308], ordered=True),
    ],
)
def test_choices_that_are_no_growing_numbers_are_their_index(param: Categorical) -> None:
    geometry = one(param)

    assert [geometry.encode({"c": choice}).vector for choice in param.choices] == [[0.0], [1.0], [2.0]]


def test_bad_options_are_refused() -> None:
    with pytest.raises(OptionError, match="scale 'log10': choose from log2, ln"):
        one(Float("x", 1.0, 2.0), "log10")
    with pytest.raises(OptionError, match="linear_span 0"):
        one(Float("x", 1.0, 2.0), linear_span=0)


# --- for any space ----------------------------------------------------------------------------

names = st.sampled_from("abcdefgh")
finite = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


def bounds(values):
    return st.tuples(values, values).map(sorted)


params = st.one_of(
    st.builds(lambda n, b: Int(n, *b), names, bounds(st.integers(-1000, 1000))),
    st.builds(lambda n, b: Int(n, *b), names, bounds(st.integers(1, 100_000))),
    st.builds(lambda n, b: Float(n, *b), names, bounds(finite)),
    st.builds(lambda n, b: Float(n, *b), names, bounds(st.floats(1e-10, 1e4))),
    st.builds(
        Categorical, names, st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True), st.booleans()
    ),
)
spaces = st.lists(params, min_size=1, max_size=6, unique_by=lambda p: p.name).map(Space)


@given(spaces, st.integers(0, 2**32), st.sampled_from(["log2", "ln"]), st.sampled_from([None, 10.0]))
def test_encoding_and_projecting_gives_the_configuration_back(space, seed, scale, linear_span) -> None:
    geometry = Geometry(space, scale, linear_span)
    config = space.sample(np.random.default_rng(seed))
    point = geometry.encode(config)

    back = geometry.config(geometry.project(point.vector, point, RNG))

    assert list(back) == list(config)
    for param in space:
        if isinstance(param, Float):
            assert back[param.name] == pytest.approx(config[param.name], rel=1e-12, abs=1e-9)
        else:
            assert back[param.name] == config[param.name]


@given(spaces, st.integers(0, 2**32), st.sampled_from(["log2", "ln"]), st.sampled_from([None, 10.0]))
def test_projection_is_in_the_space_and_idempotent(space, seed, scale, linear_span) -> None:
    geometry = Geometry(space, scale, linear_span)
    rng = np.random.default_rng(seed)
    start = geometry.encode(space.sample(rng))
    vector = (np.array(start.vector) + 3 * rng.standard_normal(geometry.d)).tolist()

    point = geometry.project(vector, start, rng)
    again = geometry.project(point.vector, point, rng)

    assert space.check(geometry.config(point)) == geometry.config(point)
    assert (again.vector, again.values) == (point.vector, point.values)
    if geometry.d:
        assert geometry.snapped(np.array([vector])).tolist() == [point.vector]
