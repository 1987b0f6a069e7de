from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cfo_bench.clock import Deadline  # noqa: E402
from cfo_bench.errors import OptionError  # noqa: E402
from cfo_bench.learners.dnn import DNN, network_start  # noqa: E402
from cfo_bench.learners.evaluation import OutOfTime  # noqa: E402
from cfo_bench.learners.network import (  # noqa: E402
    Examples,
    Head,
    Logistic,
    Network,
    Recipe,
    Softmax,
    SquaredError,
    _kept_neurons,
    _Stepper,
    train,
)
from cfo_bench.records import Fold, Problem, Status, Trial  # noqa: E402
from tests.helpers.clocks import CountingClock, forever  # noqa: E402
from tests.helpers.folds import make_fold  # noqa: E402

N_TRAIN = 600
GOOD = network_start() | {"neurons_1": 32, "neurons_2": 16, "batch_size": 32}
NOTHING = Examples(torch.zeros(0, 5), torch.zeros(0, 1))

some_fold = partial(make_fold, n_train=N_TRAIN, n_valid=200, numbers=5, categories=0, missing=0.0, noise=0.1)


def recipe(**changes: float) -> Recipe:
    known = {
        "batch_size": 16,
        "dropout": 0.0,
        "learning_rate": 1e-2,
        "max_epochs": 5,
        "patience": 3,
        "min_improvement": 1e-3,
    }
    return Recipe(**(known | changes))  # type: ignore[arg-type]


def examples(head: Head, n: int = 100, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5)).astype(np.float32)
    y = x[:, :1] + 0.1 * rng.normal(size=(n, 1)).astype(np.float32)
    if isinstance(head, Logistic):
        y = (y > 0).astype(np.float32)
    if isinstance(head, Softmax):
        y = np.digitize(y, [-0.5, 0.5])
    return Examples(torch.from_numpy(x), torch.from_numpy(y))


# --- the training loop ------------------------------------------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("head", [SquaredError(), Logistic(), Softmax()])
def test_steps_are_those_of_autograd_and_torchs_own_adam(head: Head, dropout: float) -> None:
    n_outputs = 3 if isinstance(head, Softmax) else 1
    network = Network((5, 7, 6, n_outputs))
    network.initialise(np.random.default_rng(0))
    theirs = [part.clone().requires_grad_() for layer in network.layers for part in layer]
    w1, b1, w2, b2, w3, b3 = theirs
    adam = torch.optim.Adam(theirs, lr=0.01)
    stepper = _Stepper(network, head, recipe(dropout=dropout))
    data, rng = examples(head, 16 * 8 - 5), np.random.default_rng(1)  # the last batch is smaller
    scale = 65536 / round((1 - dropout) * 65536)
    for x, y in zip(torch.split(data.x, 16), torch.split(data.y, 16), strict=True):
        kept = [_kept_neurons(rng, len(x) * n, dropout).view(-1, n) if dropout else None for n in (7, 6)]
        with torch.inference_mode():
            stepper.step(x, y, *kept)
        h1 = torch.relu(x @ w1 + b1) * (1.0 if kept[0] is None else kept[0] * scale)
        h2 = torch.relu(h1 @ w2 + b2) * (1.0 if kept[1] is None else kept[1] * scale)
        loss = head.summed_loss(h2 @ w3 + b3, y) / len(x)
        adam.zero_grad()
        loss.backward()
        adam.step()
    ours = [part for layer in network.layers for part in layer]
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dropout", [0.2, 0.5])
def test_neurons_are_dropped_at_the_given_rate(dropout: float) -> None:
    kept = _kept_neurons(np.random.default_rng(0), 100_001, dropout)
    assert set(kept.tolist()) == {0.0, 1.0}
    assert kept.mean().item() == pytest.approx(1 - dropout, abs=0.01)


def test_a_network_that_no_longer_improves_stops_and_the_best_one_is_kept() -> None:
    head = SquaredError()
    noise = examples(head, 40)
    noise.y.copy_(torch.from_numpy(np.random.default_rng(1).normal(size=(40, 1)).astype(np.float32)))
    fitting, stopping = Examples(noise.x[:20], noise.y[:20]), Examples(noise.x[20:], noise.y[20:])
    network = Network((5, 32, 32, 1))
    epochs = train(network, head, fitting, stopping, recipe(max_epochs=200, patience=4), 0, forever())
    assert 4 < epochs < 200
    kept = network.mean_loss(stopping, head, forever())
    again, losses = Network((5, 32, 32, 1)), []
    for n in range(1, epochs + 1):
        train(again, head, fitting, NOTHING, recipe(max_epochs=n), 0, forever())
        losses.append(again.mean_loss(stopping, head, forever()))
    assert kept == pytest.approx(losses[epochs - 5], rel=1e-5)  # four epochs of patience after the best
    assert kept <= min(losses) / (1 - 1e-3)


def test_without_rows_to_stop_by_all_epochs_are_taken() -> None:
    head = SquaredError()
    assert train(Network((5, 4, 4, 1)), head, examples(head), NOTHING, recipe(), 0, forever()) == 5


def test_the_deadline_is_looked_at_before_every_batch() -> None:
    clock, head = CountingClock(), SquaredError()
    train(Network((5, 4, 4, 1)), head, examples(head, 100), NOTHING, recipe(), 0, Deadline(clock))
    assert clock.now() - 1 == 5 * 7  # 7 batches of 16 in 100 rows
    with pytest.raises(OutOfTime):
        train(
            Network((5, 4, 4, 1)), head, examples(head), NOTHING, recipe(), 0, Deadline(CountingClock(), 3.0)
        )


def test_rows_are_predicted_in_chunks_with_a_look_at_the_deadline_before_each() -> None:
    network = Network((5, 2048, 2048, 1))
    network.initialise(np.random.default_rng(0))
    x, clock = examples(SquaredError(), 300).x, CountingClock()
    predicted = network.predict(x, Deadline(clock))
    looks = clock.now() - 1
    assert looks == 3  # chunks of 127
    (w1, b1), (w2, b2), (w3, b3) = network.layers
    whole = torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3
    assert predicted == pytest.approx(whole.numpy(), abs=1e-4)
    with pytest.raises(OutOfTime):
        network.predict(x, Deadline(CountingClock(), at=2.0))


def test_training_leaves_tiny_numbers_to_others_as_they_were() -> None:
    head = SquaredError()
    train(Network((5, 4, 4, 1)), head, examples(head), NOTHING, recipe(), 0, forever())
    assert np.float32(1e-40) * np.float32(0.5) > 0


# --- the learner ------------------------------------------------------------------------------


@pytest.mark.parametrize(("problem", "bound"), [("binary", 0.05), ("multiclass", 0.5), ("regression", 0.15)])
def test_it_learns_what_is_there_to_be_learned(problem: str, bound: float) -> None:
    objective = DNN().prepare(some_fold(Problem(problem)), 1, 0)
    result = objective.evaluate(Trial(0, GOOD), forever())
    assert result.loss is not None and result.loss < bound


def test_r2_is_that_of_the_original_scale_and_the_network_never_sees_it() -> None:
    fold = some_fold(Problem.REGRESSION)
    moved = replace(fold, train_y=1e6 * fold.train_y - 4e8, valid_y=1e6 * fold.valid_y - 4e8)
    first, second = (
        DNN().prepare(one, 1, 0).evaluate(Trial(0, GOOD), forever()).loss for one in (fold, moved)
    )
    assert first == pytest.approx(second, rel=0.05)


def test_a_quantity_that_is_constant_in_the_trials_rows_is_learned_as_that() -> None:
    fold = some_fold(Problem.REGRESSION)
    objective = DNN().prepare(replace(fold, train_y=np.full(N_TRAIN, 3.0)), 1, 0)
    assert objective.evaluate(Trial(0, network_start()), forever()).status is Status.OK


def test_a_training_that_diverges_fails_its_trial_and_no_other() -> None:
    objective = DNN().prepare(some_fold(Problem.REGRESSION), 1, 0)
    before = objective.evaluate(Trial(0, network_start()), forever())
    diverged = objective.evaluate(Trial(1, network_start() | {"learning_rate": 1e30}), forever())
    assert (diverged.status, diverged.loss) == (Status.FAILED, None)
    assert diverged.error is not None and "after epoch 1" in diverged.error
    assert objective.evaluate(Trial(2, network_start()), forever()).loss == before.loss


def test_rows_to_stop_by_are_taken_from_the_training_part() -> None:
    """They are the last of the shuffled order: what the network is fitted on depends on their share."""
    fold = some_fold(Problem.BINARY)
    losses = {
        DNN(early_stopping_share=share, max_epochs=3)
        .prepare(fold, 1, 0)
        .evaluate(Trial(0, GOOD), forever())
        .loss
        for share in (0.0, 0.1, 0.3)
    }
    assert len(losses) == 3


@pytest.mark.parametrize("n_features", [1, 5000])
def test_one_feature_and_5000_work(n_features: int) -> None:
    fold = some_fold(Problem.BINARY, numbers=n_features)
    result = DNN(max_epochs=3).prepare(fold, 1, 0).evaluate(Trial(0, network_start()), forever())
    assert result.status is Status.OK


def test_a_category_of_30000_values_works() -> None:
    rng = np.random.default_rng(0)
    x = rng.permutation(33_000).astype(np.float32)[:, None]
    y = rng.integers(0, 2, len(x))
    fold = Fold(Problem.BINARY, "auc", 2, (True,), x[:30_000], y[:30_000], x[30_000:], y[30_000:], 0.5)
    objective = DNN(max_epochs=1).prepare(fold, 1, 0)
    assert objective.evaluate(Trial(0, network_start()), forever()).status is Status.OK


def test_columns_that_are_all_constant_work() -> None:
    fold = some_fold(Problem.MULTICLASS)
    objective = DNN(max_epochs=2).prepare(replace(fold, train_x=np.ones_like(fold.train_x)), 1, 0)
    assert objective.evaluate(Trial(0, network_start()), forever()).status is Status.OK


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_epochs", 0), ("patience", -1), ("early_stopping_share", 1.0), ("min_improvement", -0.1)],
)
def test_a_wrong_value_of_an_option_is_refused(option: str, value: float) -> None:
    with pytest.raises(OptionError, match=f"{option} = {value} of learner 'dnn': give"):
        DNN(**{option: value})


def test_torch_is_not_loaded_before_a_fold_is_prepared() -> None:
    code = "import sys; from cfo_bench.learners.dnn import DNN; DNN().space(9); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_trial_without_enough_memory_ends_as_memory_and_the_next_one_is_as_ever() -> None:
    code = """
import numpy as np
from cfo_bench.clock import Deadline, WallClock
from cfo_bench.learners.dnn import DNN, network_start
from cfo_bench.machine.facts import cap_memory
from cfo_bench.records import Fold, Problem, Trial

rng = np.random.default_rng(0)
x, y = rng.normal(size=(300, 5)).astype(np.float32), rng.normal(size=300)
fold = Fold(Problem.REGRESSION, "r2", 0, (False,) * 5, x[:200], y[:200], x[200:], y[200:], 1.0)
objective = DNN(max_epochs=2).prepare(fold, 1, 0)
deadline = Deadline(WallClock())
before = objective.evaluate(Trial(0, network_start()), deadline)
cap_memory(32)
dear = objective.evaluate(Trial(1, network_start() | {"neurons_1": 2048, "neurons_2": 2048}), deadline)
after = objective.evaluate(Trial(2, network_start()), deadline)
print(dear.status, dear.loss, "\\n" in dear.error, after.loss == before.loss, sep=",")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "memory,None,False,True"
