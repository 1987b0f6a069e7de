"""Metrics as people write them, the losses made of them, and the lowest and the highest score possible."""

from __future__ import annotations

import math

METRIC_NAMES = {
    "auc": "AUC",
    "log_loss": "log-loss",
    "r2": "r2",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mse": "mean squared error",
}
LOSS_NAMES = {
    "auc": "1 − AUC",
    "log_loss": "log-loss",
    "r2": "1 − r2",
    "accuracy": "1 − accuracy",
    "balanced_accuracy": "1 − balanced accuracy",
    "mse": "mean squared error",
}
METRIC_BOUNDS = {
    "auc": (0.0, 1.0),
    "log_loss": (0.0, math.inf),
    "r2": (-math.inf, 1.0),
    "accuracy": (0.0, 1.0),
    "balanced_accuracy": (0.0, 1.0),
    "mse": (0.0, math.inf),
}
