"""How many epochs per second does the network train, compared with a plain torch loop and scikit-learn's
network?

    python benchmarks/dnn_epochs.py

20,000 rows of 20 features, two classes, Adam, one thread. Two comparisons of the same updates on
the same data: with dropout 0.2, a loop over a DataLoader with autograd and torch.optim.Adam; without
dropout, which scikit-learn's does not have, its MLPClassifier without weight decay. All take turns;
medians are compared. Exits with 1 when a ratio is below its floor.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Callable
from time import perf_counter

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from benchmarks.figures import figure
from cfo_bench.clock import Deadline, WallClock
from cfo_bench.learners.network import Examples, Logistic, Network, Recipe, train

N_ROWS, N_FEATURES, LEARNING_RATE, DROPOUT = 20_000, 20, 1e-3, 0.2

# neurons of both layers, batch size, epochs a turn, turns, the least ratio to the DataLoader loop
CASES = (
    (4, 4, 128, 2, 5, 1.8),
    (64, 64, 128, 2, 5, 1.8),
    (64, 64, 8, 1, 1, 1.8),
    (256, 256, 128, 1, 3, 1.0),
    (1024, 1024, 128, 1, 1, 1.0),
)

rng = np.random.default_rng(0)
X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N_ROWS) > 0).astype(np.float32)
DATA = Examples(torch.from_numpy(X), torch.from_numpy(Y[:, None]))
NO_ROWS = Examples(DATA.x[:0], DATA.y[:0])


def ours(n_1: int, n_2: int, batch_size: int, epochs: int, dropout: float) -> None:
    recipe = Recipe(batch_size, dropout, LEARNING_RATE, epochs, patience=epochs, min_improvement=0.0)
    network = Network((N_FEATURES, n_1, n_2, 1))
    train(network, Logistic(), DATA, NO_ROWS, recipe, 0, Deadline(WallClock()))


def plain_loop(n_1: int, n_2: int, batch_size: int, epochs: int) -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(N_FEATURES, n_1),
        torch.nn.ReLU(),
        torch.nn.Dropout(DROPOUT),
        torch.nn.Linear(n_1, n_2),
        torch.nn.ReLU(),
        torch.nn.Dropout(DROPOUT),
        torch.nn.Linear(n_2, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    loss = torch.nn.BCEWithLogitsLoss()
    rows = torch.utils.data.TensorDataset(DATA.x, DATA.y)
    loader = torch.utils.data.DataLoader(rows, batch_size=batch_size, shuffle=True)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()


def scikit_learns(n_1: int, n_2: int, batch_size: int, epochs: int) -> None:
    model = MLPClassifier(
        (n_1, n_2), alpha=0.0, batch_size=batch_size, learning_rate_init=LEARNING_RATE, max_iter=epochs
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as many epochs as were asked for
        model.fit(X, Y)


def seconds(function: Callable[..., None], *case: float) -> float:
    begun = perf_counter()
    function(*case)
    return perf_counter() - begun


def main() -> int:
    torch.set_num_threads(1)
    plain_loop(4, 4, 128, 1)  # what is loaded and set up at first use
    scikit_learns(4, 4, 128, 1)
    good = True
    for n_1, n_2, size, epochs, turns, floor in CASES:
        timed: dict[str, list[float]] = {"loop": [], "dropping": [], "mlp": [], "keeping": []}
        for _ in range(turns):
            timed["loop"].append(seconds(plain_loop, n_1, n_2, size, epochs))
            timed["dropping"].append(seconds(ours, n_1, n_2, size, epochs, DROPOUT))
            timed["mlp"].append(seconds(scikit_learns, n_1, n_2, size, epochs))
            timed["keeping"].append(seconds(ours, n_1, n_2, size, epochs, 0.0))
        rate = {name: epochs / statistics.median(times) for name, times in timed.items()}
        what = f"{n_1} + {n_2} neurons, batches of {size}"
        figure(f"{what}: epochs per second", rate["dropping"])
        good &= figure(
            f"{what}: speed / speed of a DataLoader loop", rate["dropping"] / rate["loop"], at_least=floor
        )
        good &= figure(f"{what}: speed / speed of scikit-learn", rate["keeping"] / rate["mlp"], at_least=1.0)
    return 0 if good else 1


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
