"""Several tasks by one word: patterns, tags and names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.tasks import listing, select, tagged


@pytest.fixture(autouse=True)
def _nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CFO_BENCH_DATA", "CFO_BENCH_TASKS"):
        monkeypatch.delenv(name, raising=False)


def names(refs: list[object]) -> list[str]:
    return [ref.task for ref in refs]  # type: ignore[attr-defined]


def test_a_name_is_that_task() -> None:
    assert names(select("iris")) == ["iris"]
    assert names(select("openml:3")) == ["kr-vs-kp"]


def test_a_pattern_takes_all_names_that_it_fits_capitals_or_not() -> None:
    bng = [
        "bng_echomonths", "bng_lowbwt", "bng_breastTumor", "bng_pbc", "bng_pharynx", "bng_pwLinear",
    ]  # fmt: skip
    assert names(select("bng_*")) == bng
    assert names(select("BNG_*")) == bng
    assert names(select("synthetic-1[km]")) == ["synthetic-1k", "synthetic-1m"]


def test_a_tag_takes_all_tasks_that_have_it() -> None:
    assert len(select("paper")) == 47
    assert names(select("bundled")) == ["iris", "wine", "breast_cancer", "digits", "diabetes"]


def test_tags_together_take_the_tasks_that_have_all_of_them() -> None:
    found = names(tagged(["paper", "binary"]))

    assert {"adult", "kr-vs-kp"} <= set(found)
    assert not {"car", "mv", "breast_cancer"} & set(found)
    assert len(found) == 20
    assert names(tagged(["bundled", "regression"])) == ["diabetes"]


def test_a_name_goes_before_a_tag(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("name,file,target,problem\npaper,p.csv,y,\n")

    assert [ref.source for ref in select("paper", tmp_path)] == ["folder"]


def test_tasks_are_tagged_by_what_is_known_of_them(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text(
        "name,file,target,problem,rows\nbig,b.csv,y,binary,30000\nodd,o.csv,y,,\n"
    )
    (tmp_path / "own.yaml").write_text(
        "- {name: sales, file: s.csv, target: y, problem: regression, rows: 100, tags: [mine]}\n"
    )
    tags = {row.name: row.tags for row in listing(tmp_path, [tmp_path / "own.yaml"])}

    assert tags["big"] == ("folder", "classification", "binary", "large")
    assert tags["odd"] == ("folder",)
    assert tags["sales"] == ("mine", "regression", "small")
    assert tags["adult"] == ("paper", "classification", "binary", "large")
    assert tags["car"] == ("paper", "classification", "multiclass", "small")
    assert tags["iris"] == ("bundled", "classification", "multiclass", "small")
    assert tags["diabetes"] == ("bundled", "regression", "small")
    assert names(select("mine", None, [tmp_path / "own.yaml"])) == ["sales"]


def test_what_takes_nothing_is_an_error() -> None:
    with pytest.raises(UserError, match=r"no task has a name like 'bgn_\*'"):
        select("bgn_*")
    with pytest.raises(UnknownNameError, match=r"unknown task 'papr' \(did you mean 'paper'\?\)"):
        select("papr")
    with pytest.raises(UnknownNameError, match=r"unknown tag 'binry' \(did you mean 'binary'\?\)"):
        tagged(["paper", "binry"])
    with pytest.raises(UserError, match="no task has all the tags bundled, paper"):
        tagged(["bundled", "paper"])
