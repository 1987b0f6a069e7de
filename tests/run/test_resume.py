"""A run that was cut off is resumed as if it had not been, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import EndReason
from cfo_bench.results.schema import OwnCode, ResumeRecord
from tests.helpers.runs import RunRecords, cut_off, spec

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


@pytest.mark.parametrize(
    ("method", "parallel"), [("cfo", 1), ("cfo", 3), ("cfo-0", 1), ("flow2", 1), ("rs", 1), ("rs", 4)]
)
def test_a_run_cut_off_after_any_trial_is_resumed_as_if_it_had_not_been(
    run: RunRecords, method: str, parallel: int
) -> None:
    wanted = spec(method, parallel)
    header, *trials, end = run(wanted)
    for kept in range(61):
        resume, *rest, last = run(wanted, cut_off(header, trials[:kept]))
        assert isinstance(resume, ResumeRecord)
        assert resume.trials == kept and resume.why == "it was interrupted"
        assert rest == trials[kept:], f"cut off after {kept} trials"
        assert last == end


def test_a_budget_that_is_spent_ends_a_resumed_run_at_once(run: RunRecords) -> None:
    wanted = spec(budget_seconds=0.5, max_trials=None)
    header, *trials, end = run(wanted)
    assert end.reason is EndReason.BUDGET
    _, last = run(wanted, cut_off(header, trials))
    assert last == end


def test_a_trace_that_the_method_would_not_have_made_is_refused(run: RunRecords) -> None:
    header, *trials, _ = run(spec())
    config = {**trials[5].config, "max_leaves": trials[5].config["max_leaves"] + 1}
    trials[5] = msgspec.structs.replace(trials[5], config=config)
    with pytest.raises(TraceError, match=r"trial 5 of the trace is not what method 'cfo' asks for.*--force"):
        run(spec(), cut_off(header, trials))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"options": {**spec().options, "n_threshold": 5}}, "option n_threshold"),
        ({"trial_timeout_seconds": 3.0}, "trial_timeout_seconds"),
        ({"threads": 2}, "threads"),
    ],
)
def test_a_past_of_another_spec_is_refused_and_says_what_differs(
    run: RunRecords, change: dict[str, Any], words: str
) -> None:
    header, *trials, _ = run(spec())
    with pytest.raises(TraceError, match=rf"belongs to another run.*{words}.*--force"):
        run(replace(spec(), **change), cut_off(header, trials))


def test_a_past_on_other_data_is_refused(run: RunRecords) -> None:
    header, *trials, _ = run(spec())
    other = msgspec.structs.replace(header, data=msgspec.structs.replace(header.data, sha256="0" * 64))
    with pytest.raises(TraceError, match="data 000000000000… there"):
        run(spec(), cut_off(other, trials))


def test_a_past_with_another_content_of_the_methods_file_is_refused(run: RunRecords) -> None:
    wanted = spec(f"{PLUGINS / 'methods.py'}:Draws", max_trials=5)
    header, *trials, _ = run(wanted)
    other = msgspec.structs.replace(header, own_code=OwnCode(method="0" * 64))
    with pytest.raises(TraceError, match=r"file .*methods.py 000000000000… there, .*--force"):
        run(wanted, cut_off(other, trials))
    assert run(wanted, cut_off(msgspec.structs.replace(header, own_code=None), trials))  # not known: resumed


def test_another_memory_cap_is_no_other_run(run: RunRecords) -> None:
    header, *trials, _ = run(spec())
    assert len(run(spec(memory_mb=99), cut_off(header, trials[:50]))) == 12


def test_a_run_of_an_older_version_is_resumed_with_the_seed_in_its_header(run: RunRecords) -> None:
    header, *trials, _ = run(spec())
    old = msgspec.structs.replace(header, method_seed=12345)

    _, *rest, _ = run(spec(), cut_off(old, []))
    _, *continued, _ = run(spec(), cut_off(old, rest[:30]))

    assert rest[0].config == trials[0].config and rest[1].config != trials[1].config
    assert continued == rest[30:]
