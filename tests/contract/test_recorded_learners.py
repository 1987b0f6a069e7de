"""Every learner that uses a recording keeps the contract that cfo_bench.testing has for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfo_bench.recordings.yahpo_folder import ENVIRONMENT
from cfo_bench.records import DataRef
from cfo_bench.tasks import resolve
from cfo_bench.testing import RecordedLearnerContract


class TestHPOBench(RecordedLearnerContract):
    learner = "hpobench-mlp"

    @pytest.fixture
    def ref(self) -> DataRef:
        return resolve("hpobench:vehicle")


class TestHPOLib(RecordedLearnerContract):
    learner = "hpolib"

    @pytest.fixture
    def ref(self) -> DataRef:
        return resolve("hpolib:naval_propulsion")


class Yahpo(RecordedLearnerContract):
    task_name = "yahpo:1067"

    @pytest.fixture(autouse=True)
    def copy(self, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("onnxruntime")
        monkeypatch.setenv(ENVIRONMENT, str(shared / "yahpo"))

    @pytest.fixture
    def ref(self, copy: Any) -> DataRef:
        return resolve(self.task_name)


class TestYahpoXGBoost(Yahpo):
    learner = "yahpo:rbv2_xgboost"


class TestYahpoXGBoostHeld(Yahpo):
    learner = "yahpo:rbv2_xgboost"
    options = {"booster": "gbtree", "num_impute_selected_cpo": "impute.median"}  # noqa: RUF012


class TestYahpoRpart(Yahpo):
    learner = "yahpo:rbv2_rpart"
    task_name = "yahpo:40984"


class TestYahpoGlmnet(Yahpo):
    learner = "yahpo:iaml_glmnet"
