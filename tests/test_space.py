from __future__ import annotations

import json
import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import SpaceError
from cfo_bench.space import Categorical, Float, Int, Space

names = st.text(min_size=1, max_size=5)


def bounds(values):
    return st.tuples(values, values).map(sorted)


positive = st.floats(1e-12, 1e12)
plain = st.one_of(st.integers(-9, 9), st.text(max_size=3), st.booleans(), st.none(), st.floats(-1, 1))
params = st.one_of(
    st.builds(lambda n, b: Int(n, *b), names, bounds(st.integers(-(10**6), 10**6))),
    st.builds(lambda n, b: Int(n, *b, log=True), names, bounds(st.integers(1, 10**6))),
    st.builds(lambda n, b: Float(n, *b), names, bounds(st.floats(-1e12, 1e12))),
    st.builds(lambda n, b: Float(n, *b, log=True), names, bounds(positive)),
    st.builds(Categorical, names, st.lists(plain, min_size=1, max_size=6, unique=True), st.booleans()),
)
spaces = st.lists(params, max_size=8, unique_by=lambda p: p.name).map(Space)


def kolmogorov_distance(sample: list[float], cdf) -> float:
    ordered = np.sort(sample)
    ranks = np.arange(1, len(ordered) + 1) / len(ordered)
    expected = np.array([cdf(x) for x in ordered])
    return float(max(np.max(ranks - expected), np.max(expected - ranks + 1 / len(ordered))))


# --- sampling ---------------------------------------------------------------------------------


@given(spaces, st.integers(0, 2**63))
def test_a_sample_is_a_configuration_of_the_space(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        config = space.sample(rng)

        assert list(config) == [param.name for param in space]
        checked = space.check(config)
        assert all(checked[name] is config[name] for name in config)
        for param in space:
            value = config[param.name]
            if isinstance(param, Categorical):
                assert value in param.choices
            else:
                assert type(value) is (int if isinstance(param, Int) else float)
                assert param.low <= value <= param.high


@given(params, st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_the_scale_is_climbed_in_order(param, share: float, other: float) -> None:
    if isinstance(param, Categorical):
        places = {choice: i for i, choice in enumerate(param.choices)}
        low, high = (places[param.at(s)] for s in sorted([share, other]))
        assert low <= high
    else:
        low, high = (param.at(s) for s in sorted([share, other]))
        assert low <= high or math.isclose(low, high, rel_tol=1e-12)


def test_the_same_generator_state_gives_the_same_sample() -> None:
    space = Space([Int("i", 1, 10**6, log=True), Float("x", 0.0, 1.0), Categorical("c", "abc")])

    assert space.sample(np.random.default_rng(5)) == space.sample(np.random.default_rng(5))


@pytest.mark.parametrize(("low", "high"), [(1e-10, 1.0), (0.5, 64.0), (1e-300, 1e300)])
def test_a_log_scaled_float_is_drawn_log_uniformly(low: float, high: float) -> None:
    rng = np.random.default_rng(1)
    space = Space([Float("x", low, high, log=True)])
    width = math.log(high) - math.log(low)

    drawn = [space.sample(rng)["x"] for _ in range(2000)]

    # The distance of 2000 draws from their own distribution exceeds 1.95/√2000 once in a thousand.
    assert kolmogorov_distance(drawn, lambda x: (math.log(x) - math.log(low)) / width) < 0.044


def test_a_linear_float_is_drawn_uniformly() -> None:
    rng = np.random.default_rng(2)
    space = Space([Float("x", -3.0, 7.0)])

    drawn = [space.sample(rng)["x"] for _ in range(2000)]

    assert kolmogorov_distance(drawn, lambda x: (x + 3) / 10) < 0.044


def test_both_bounds_of_an_int_are_drawn_as_often_as_their_neighbours() -> None:
    rng = np.random.default_rng(3)
    space = Space([Int("k", -2, 2)])

    drawn = [space.sample(rng)["k"] for _ in range(5000)]

    chi_square = sum((drawn.count(k) - 1000) ** 2 / 1000 for k in range(-2, 3))
    assert chi_square < 18.5  # 4 degrees of freedom: exceeded once in a thousand


def test_a_log_scaled_int_gets_the_part_of_the_scale_around_it() -> None:
    rng = np.random.default_rng(4)
    space = Space([Int("k", 1, 8, log=True)])

    drawn = [space.sample(rng)["k"] for _ in range(8000)]

    width = math.log(8.5 / 0.5)
    expected = {k: 8000 * math.log((k + 0.5) / (k - 0.5)) / width for k in range(1, 9)}
    chi_square = sum((drawn.count(k) - n) ** 2 / n for k, n in expected.items())
    assert chi_square < 24.4  # 7 degrees of freedom


def test_choices_are_drawn_equally_often() -> None:
    rng = np.random.default_rng(5)
    space = Space([Categorical("c", "abcd")])

    drawn = [space.sample(rng)["c"] for _ in range(4000)]

    assert sum((drawn.count(c) - 1000) ** 2 / 1000 for c in "abcd") < 16.3


# --- checking ---------------------------------------------------------------------------------

SPACE = Space([Int("trees", 4, 100), Float("rate", 0.1, 1.0), Categorical("loss", ["l1", 1, None])])
CONFIG = {"trees": 4, "rate": 0.5, "loss": "l1"}


def test_a_configuration_comes_back_in_the_order_of_the_space() -> None:
    checked = SPACE.check({"loss": None, "rate": 0.1, "trees": 100})

    assert list(checked.items()) == [("trees", 100), ("rate", 0.1), ("loss", None)]


def test_a_whole_number_becomes_the_float_it_equals() -> None:
    checked = SPACE.check({**CONFIG, "rate": 1})

    assert type(checked["rate"]) is float


def test_the_given_configuration_is_left_as_it_was() -> None:
    given_config = {**CONFIG, "rate": 1}

    SPACE.check(given_config)["trees"] = 50

    assert given_config == {**CONFIG, "rate": 1}
    assert type(given_config["rate"]) is int


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("trees", 3, "trees = 3 is not a whole number in [4, 100]"),
        ("trees", 101, "trees = 101 is not a whole number in [4, 100]"),
        ("trees", 5.0, "trees = 5.0 is not a whole number in [4, 100]"),
        ("trees", True, "trees = True is not a whole number in [4, 100]"),
        ("trees", "5", "trees = '5' is not a whole number in [4, 100]"),
        ("trees", np.int64(3), "trees = np.int64(3) is not a whole number in [4, 100]"),
        ("trees", np.float64(5), "trees = np.float64(5.0) is not a whole number in [4, 100]"),
        ("trees", np.bool_(True), "trees = np.True_ is not a whole number in [4, 100]"),
        ("rate", 0.05, "rate = 0.05 is not a number in [0.1, 1.0]"),
        ("rate", math.nan, "rate = nan is not a number in [0.1, 1.0]"),
        ("rate", 2, "rate = 2 is not a number in [0.1, 1.0]"),
        ("rate", 10**400, f"rate = {10**400} is not a number in [0.1, 1.0]"),
        ("rate", np.float64(1.5), "rate = np.float64(1.5) is not a number in [0.1, 1.0]"),
        ("rate", np.array(0.5), "rate = array(0.5) is not a number in [0.1, 1.0]"),
        ("rate", "\udc80", "rate = '\\udc80' is not a number in [0.1, 1.0]"),
        ("rate", None, "rate = None is not a number in [0.1, 1.0]"),
        ("loss", "l2", "loss = 'l2' is not one of its choices ['l1', 1, None]"),
        ("loss", True, "loss = True is not one of its choices ['l1', 1, None]"),
    ],
)
def test_a_value_out_of_its_rule_is_named_with_the_rule(name: str, value: object, says: str) -> None:
    with pytest.raises(SpaceError) as refused:
        SPACE.check({**CONFIG, name: value})

    assert str(refused.value) == says


def test_numbers_of_numpy_become_plain_ones_in_a_copy() -> None:
    given = {"trees": np.int32(5), "rate": np.float32(0.5), "loss": np.str_("l1")}
    for taken in (SPACE.check(given), SPACE.accept(given)):
        assert taken == {"trees": 5, "rate": 0.5, "loss": "l1"}
        assert [type(value) for value in taken.values()] == [int, float, str]
    assert type(given["trees"]) is np.int32


def test_a_configuration_of_plain_values_is_accepted_as_it_is() -> None:
    assert SPACE.accept(CONFIG) is CONFIG
    proxy = MappingProxyType(CONFIG)
    assert type(SPACE.accept(proxy)) is dict and SPACE.accept(proxy) == CONFIG


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categorical("c", ["a", "\ud800"]),
        lambda: Categorical("c", [1.0, math.inf]),
        lambda: Categorical("c", [2**64]),
        lambda: Int("i", 0, 2**64),
        lambda: Space([Int("\ud800", 0, 1)]),
        lambda: Space([Int(7, 0, 1)]),  # type: ignore[arg-type]
    ],
)
def test_a_space_that_no_trace_can_hold_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(SpaceError, match=r"UTF-8|64 bits"):
        make()


def test_missing_and_unknown_names_are_named() -> None:
    with pytest.raises(SpaceError, match=r"missing \['rate'\], unknown \['eta'\]"):
        SPACE.check({"trees": 4, "eta": 0.1, "loss": "l1"})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Int("k", 5, 4), "bounds of 'k' are [5, 4]: low must not exceed high, both finite"),
        (lambda: Int("k", 1.0, 4), "bounds of 'k' are [1.0, 4]: an Int has whole bounds"),
        (lambda: Int("k", 0, 4, log=True), "bounds of 'k' are [0, 4]: a log scale needs low > 0"),
        (lambda: Float("x", 1, 0.5), "bounds of 'x' are [1.0, 0.5]: low must not exceed high, both finite"),
        (
            lambda: Float("x", 0, math.inf),
            "bounds of 'x' are [0.0, inf]: low must not exceed high, both finite",
        ),
        (
            lambda: Float("x", math.nan, 1),
            "bounds of 'x' are [nan, 1.0]: low must not exceed high, both finite",
        ),
        (lambda: Float("x", 0, 1, log=True), "bounds of 'x' are [0.0, 1.0]: a log scale needs low > 0"),
        (lambda: Categorical("c", []), "choices of 'c' are []: give one or more, all different"),
        (
            lambda: Categorical("c", [1, True]),
            "choices of 'c' are [1, True]: give one or more, all different",
        ),
        (
            lambda: Categorical("c", [[1]]),
            "choices of 'c' are [[1]]: give plain numbers, texts, bools or None",
        ),
        (
            lambda: Space([Int("k", 1, 2), Float("k", 1, 2)]),
            "hyperparameter 'k' is in the space twice: rename one",
        ),
    ],
)
def test_a_space_that_makes_no_sense_is_refused_in_one_line(make, says: str) -> None:
    with pytest.raises(SpaceError) as refused:
        make()

    assert str(refused.value) == says


# --- in a trace -------------------------------------------------------------------------------


@given(spaces)
def test_a_space_comes_back_from_json_as_it_was(space: Space) -> None:
    assert Space.from_json(json.loads(json.dumps(space.to_json()))) == space


def test_a_space_reads_like_the_dataclass_it_is() -> None:
    space = Space([Int("k", 1, 2), Float("x", 0, 1)])

    assert space["k"] is space.params[0]
    assert [param.name for param in space] == ["k", "x"]
    assert len(space) == 2
    assert space == Space([Int("k", 1, 2), Float("x", 0.0, 1.0)])
    assert hash(space) == hash(Space([Int("k", 1, 2), Float("x", 0.0, 1.0)]))


# --- conditions ----------------------------------------------------------------------------------

KERNEL = Categorical("kernel", ["linear", "rbf", "poly"])


def conditional_space() -> Space:
    return Space(
        [
            KERNEL,
            Float("gamma", 0.01, 1.0, log=True, when={"kernel": ["rbf", "poly"]}),
            Categorical("shape", ["odd", "even"], when={"kernel": "poly"}),
            Int("degree", 2, 8, when={"shape": "even"}),
            Float("C", 0.1, 10.0),
        ]
    )


@pytest.mark.parametrize(
    ("kernel", "shape", "active"),
    [
        ("linear", "even", ["kernel", "C"]),
        ("rbf", "even", ["kernel", "gamma", "C"]),
        ("poly", "odd", ["kernel", "gamma", "shape", "C"]),
        ("poly", "even", ["kernel", "gamma", "shape", "degree", "C"]),
    ],
)
def test_a_hyperparameter_is_active_only_if_its_conditions_hold(kernel: str, shape: str, active: list[str]):
    config = {"kernel": kernel, "gamma": 0.1, "shape": shape, "degree": 3, "C": 1.0}
    assert conditional_space().active(config) == {name: config[name] for name in active}


def test_a_sample_has_a_value_for_inactive_hyperparameters_too():
    space = conditional_space()
    config = space.sample(np.random.default_rng(0))
    assert list(config) == [param.name for param in space] and space.check(config) == config


def test_conditions_survive_json_and_a_space_without_them_is_written_as_before():
    rows = json.loads(json.dumps(conditional_space().to_json()))
    assert Space.from_json(rows) == conditional_space()
    assert [row["name"] for row in rows if "when" in row] == ["gamma", "shape", "degree"]


@pytest.mark.parametrize(
    ("when", "rule"),
    [
        ({"missing": "rbf"}, "'gamma' depends on 'missing': name a categorical hyperparameter"),
        ({"C": 1.0}, "'gamma' depends on 'C': name a categorical hyperparameter"),
        ({"kernel": "RBF"}, "'gamma' depends on kernel = 'RBF': choose from"),
        ({"kernel": []}, "'gamma' depends on no choice of 'kernel'"),
        ("rbf", "'gamma' depends on 'rbf': give a mapping"),
    ],
)
def test_a_condition_names_a_choice_of_a_categorical_hyperparameter(when: object, rule: str):
    with pytest.raises(SpaceError, match=rule):
        Space([Float("C", 0.1, 1.0), KERNEL, Float("gamma", 0.01, 1.0, when=when)])


def test_a_hyperparameter_stands_after_the_one_it_depends_on():
    with pytest.raises(SpaceError, match="listed before it"):
        Space([Float("gamma", 0.01, 1.0, when={"kernel": "rbf"}), KERNEL])


ROW = {"type": "float", "name": "x", "low": 0.5, "high": 1.0, "log": False}


@pytest.mark.parametrize(
    "rows",
    [
        7, "text", [7], [[]], [{}], {"a": 1},
        [{**ROW, "type": "complex"}], [{**ROW, "type": []}], [{**ROW, "name": []}], [{**ROW, "name": None}],
        [{**ROW, "low": "0.5"}], [{**ROW, "low": {}}], [{**ROW, "high": 10**400}], [{**ROW, "high": None}],
        [{**ROW, "log": "yes"}], [{**ROW, "more": 1}], [{"type": "float", "name": "x", "low": 0.5}],
        [{"type": "int", "name": "x", "low": 1, "high": "2"}],
        [{"type": "categorical", "name": "x", "choices": 7}],
        [{"type": "categorical", "name": "x", "choices": [[]]}],
    ],
)  # fmt: skip
def test_what_is_no_space_in_json_is_an_error_of_the_space(rows: Any) -> None:
    with pytest.raises(SpaceError) as refusal:
        Space.from_json(rows)
    assert "\n" not in str(refusal.value)
