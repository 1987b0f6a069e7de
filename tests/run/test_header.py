"""The header of a trace: what is needed to do the run again."""

from __future__ import annotations

from cfo_bench.results import trace
from cfo_bench.run.header import method_seed
from tests.helpers.runs import Run, spec


def test_the_header_says_what_is_needed_to_run_it_again(run: Run) -> None:
    header = run(spec())[0]
    assert header["schema"] == trace.SCHEMA_VERSION
    assert header["method_seed"] == method_seed(spec())
    assert header["spec"]["options"] == spec().options
    assert len(header["space"]) == 9 and header["start"]["n_estimators"] == 4
    assert header["data"]["rows"] == 1000 and len(header["data"]["sha256"]) == 64
    assert header["command"].startswith("cfo-bench run --task synthetic-1k --method cfo")
    assert {"metric", "problem", "constant_loss", "utc", "cost_related"} <= header.keys()


def test_folds_draw_different_numbers() -> None:
    assert method_seed(spec(fold=0)) != method_seed(spec(fold=1))
    assert method_seed(spec(seed=0)) != method_seed(spec(seed=1))
