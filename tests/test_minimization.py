"""`minimize`: a function of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cfo_bench import Float, Space, minimize


def test_a_method_that_asks_for_the_budget_is_told_it(tmp_path: Path) -> None:
    file = tmp_path / "asks.py"
    file.write_text(
        """
from cfo_bench.plugins import Trial

class Asks:
    def __init__(self, space, start, seed, *, budget_seconds: float | None = None):
        self.x = -1.0 if budget_seconds is None else budget_seconds

    def ask(self):
        return Trial(0, {"x": self.x})

    def tell(self, trial, result): ...
""",
        encoding="utf-8",
    )
    space, method = Space([Float("x", -1.0, 100.0)]), f"{file}:Asks"

    def found(**limits: Any) -> float:
        best = minimize(lambda config: config["x"], space, {"x": 0.0}, method=method, **limits)
        return float(best.config["x"])

    assert found(max_trials=1, budget_seconds=77.0) == 77.0
    assert found(max_trials=1) == -1.0
