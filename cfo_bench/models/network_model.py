"""The network's models: torch with autograd in a script, a state dict in a file.

The script draws its random numbers from torch, the learner from numpy, so their models differ like those of
two seeds.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cfo_bench.learners.dense import Encoder
from cfo_bench.learners.dnn import DNN
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants, literal
from cfo_bench.models.script import dense_code
from cfo_bench.records import Problem

_CODE = """
import torch
from torch import nn

SEED = {seed}
{parameters}
{dense}


def network_of(n_inputs, n_outputs):
    one, two = PARAMETERS["neurons_1"], PARAMETERS["neurons_2"]
    network = nn.Sequential(
        nn.Linear(n_inputs, one), nn.ReLU(), nn.Dropout(PARAMETERS["dropout"]),
        nn.Linear(one, two), nn.ReLU(), nn.Dropout(PARAMETERS["dropout"]),
        nn.Linear(two, n_outputs),
    )
    for layer in network[::3]:
        nn.init.normal_(layer.weight, std=(2 / layer.in_features) ** 0.5)
        nn.init.zeros_(layer.bias)
    return network


def loss_of(outputs, y):
    if PROBLEM == "binary":
        return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], y)
    if PROBLEM == "multiclass":
        return nn.functional.cross_entropy(outputs, y)
    return nn.functional.mse_loss(outputs[:, 0], y) / 2


def train_model(x, y, is_category, n_classes):
    torch.manual_seed(SEED)
    columns = fit_columns(x, is_category)
    rows = torch.randperm(len(x))
    n_stopping = min(round(PARAMETERS["early_stopping_share"] * len(x)), len(x) - 1)
    fitting, stopping = rows[n_stopping:], rows[:n_stopping]
    mean, deviation = 0.0, 1.0
    if PROBLEM == "regression":
        mean, deviation = y[fitting.numpy()].mean(), y[fitting.numpy()].std() or 1.0
    x = torch.from_numpy(dense_matrix(x, columns))
    kind = torch.int64 if PROBLEM == "multiclass" else torch.float32
    y = torch.as_tensor((y - mean) / deviation, dtype=kind)
    network = network_of(x.shape[1], n_classes if PROBLEM == "multiclass" else 1)
    rate = PARAMETERS["learning_rate"]
    adam = torch.optim.Adam(network.parameters(), lr=rate, betas=(0.9, 0.999), eps=1e-8)
    best_loss, best_epoch, best = math.inf, 0, None
    for epoch in range(1, PARAMETERS["max_epochs"] + 1):
        network.train()
        for batch in torch.split(fitting[torch.randperm(len(fitting))], PARAMETERS["batch_size"]):
            adam.zero_grad()
            loss_of(network(x[batch]), y[batch]).backward()
            adam.step()
        if not n_stopping:
            continue
        network.eval()
        with torch.no_grad():
            loss = float(loss_of(network(x[stopping]), y[stopping]))
        if loss < best_loss * (1 - PARAMETERS["min_improvement"]):
            best_loss, best_epoch = loss, epoch
            best = {{name: one.clone() for name, one in network.state_dict().items()}}
        elif epoch - best_epoch >= PARAMETERS["patience"]:
            break
    if best is not None:
        network.load_state_dict(best)
    return network.eval(), columns, mean, deviation


def predict_model(model, x):
    network, columns, mean, deviation = model
    with torch.no_grad():
        outputs = network(torch.from_numpy(dense_matrix(x, columns))).double()
    if PROBLEM == "multiclass":
        return torch.softmax(outputs, dim=1).numpy()
    if PROBLEM == "binary":
        return torch.sigmoid(outputs[:, 0]).numpy()
    return outputs[:, 0].numpy() * deviation + mean
"""


class NetworkModel:
    suffixes = (".pt",)
    is_parsed_natively = False

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        learner = DNN(**recipe.options)
        names = ("max_epochs", "patience", "early_stopping_share", "min_improvement")
        return {name: getattr(learner, name) for name in names}

    def code(self, recipe: ModelRecipe) -> str:
        parameters = constants("PARAMETERS", recipe.config, self.fixed(recipe))
        return _CODE.format(seed=literal(recipe.seed), parameters=parameters, dense=dense_code())

    def content(self, model: Any, suffix: str) -> bytes:
        import torch

        # The names that the layers have in the script's `nn.Sequential`.
        state = {}
        for at, (weights, biases) in zip((0, 3, 6), model.network.layers, strict=True):
            state[f"{at}.weight"] = weights.t().clone()
            state[f"{at}.bias"] = biases.clone()
        file = io.BytesIO()
        torch.save(state, file)
        return file.getvalue()

    def facts(self, model: Any) -> dict[str, Any]:
        return {
            "dense": model.rows.encoder.columns,
            "target_mean": model.mean,
            "target_deviation": model.deviation,
        }

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        import torch

        state = torch.load(io.BytesIO(content), weights_only=True)
        layers = [(state[f"{at}.weight"], state[f"{at}.bias"]) for at in (0, 3, 6)]
        encoder = Encoder(about["model_facts"]["dense"])

        def predict(x: Array) -> Array:
            (w1, b1), (w2, b2), (w3, b3) = layers
            with torch.inference_mode():
                hidden = torch.from_numpy(encoder.transform(x)) @ w1.t() + b1
                hidden = hidden.relu_() @ w2.t() + b2
                outputs = (hidden.relu_() @ w3.t() + b3).double()
                if recipe.problem is Problem.MULTICLASS:
                    return np.asarray(torch.softmax(outputs, dim=1).numpy())
                if recipe.problem is Problem.BINARY:
                    return np.asarray(torch.sigmoid(outputs[:, 0]).numpy())
            scale = about["model_facts"]
            return np.asarray(outputs[:, 0].numpy() * scale["target_deviation"] + scale["target_mean"])

        return predict
