"""Metrics as people write them, the losses made of them, and the lowest and the highest score possible."""

from __future__ import annotations

from cfo_bench.metrics import METRICS

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
METRIC_BOUNDS = {name: metric.bounds for name, metric in METRICS.items()}
