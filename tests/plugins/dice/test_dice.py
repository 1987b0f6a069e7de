"""What our own plug-ins have to pass: start `pytest` here once the package is installed."""

from __future__ import annotations

from cfo_bench.testing import LearnerContract, MethodContract, TaskSourceContract


class TestDice(MethodContract):
    method = "dice"
    repeats = True


class TestParabola(LearnerContract):
    learner = "parabola"


class TestBoxes(TaskSourceContract):
    source = "boxes"
