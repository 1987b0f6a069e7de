"""Names, patterns, tags and files become DataRefs, without any data being loaded."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from cfo_bench.errors import DataError, UnknownNameError, UserError
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks import file_ref, listing, resolve, select, tagged


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.csv").write_text(
        "name,file,target,problem,rows,features,note\n"
        "bank-marketing,bank.csv,y,binary,10,2,calls\n"
        "Wine,sub/wine.csv,quality,,,,\n"
    )
    return tmp_path


def test_a_name_in_the_folder_is_found_there(folder: Path) -> None:
    ref = resolve("bank-marketing", folder)
    assert ref == DataRef(
        "bank-marketing", "folder", str(folder / "bank.csv"), "y", Problem.BINARY, str(folder)
    )


@pytest.mark.parametrize("name", ["bank_marketing", "Bank-Marketing", "BANK_MARKETING"])
def test_capitals_and_dashes_do_not_matter(folder: Path, name: str) -> None:
    assert resolve(name, folder).task == "bank-marketing"


def test_an_exact_name_wins_over_a_similar_one_of_an_earlier_source(folder: Path) -> None:
    assert resolve("wine", folder).source == "bundled"
    assert resolve("Wine", folder).source == "folder"


def test_the_folder_wins_when_both_sources_have_a_similar_name(folder: Path) -> None:
    assert resolve("WINE", folder).source == "folder"


def test_two_similar_names_in_one_folder_are_not_guessed_between(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("name,file,target,problem\na-b,1.csv,y,\na_b,2.csv,y,\n")
    assert resolve("a_b", tmp_path).path == str(tmp_path / "2.csv")
    with pytest.raises(UnknownNameError, match=r"unknown task 'A-B'.*a-b.*a_b"):
        resolve("A-B", tmp_path)


def test_a_name_that_the_folder_lacks_falls_through_to_the_bundled_sets(folder: Path) -> None:
    assert resolve("iris", folder) == DataRef("iris", "bundled", problem=Problem.MULTICLASS)


def test_synthetic_tasks_have_names_too() -> None:
    assert resolve("synthetic_30K") == DataRef("synthetic-30k", "synthetic", problem=Problem.REGRESSION)


def test_the_environment_names_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_DATA", str(folder))
    assert resolve("bank-marketing").source == "folder"


def test_an_explicit_folder_takes_the_place_of_the_environments(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFO_BENCH_DATA", str(tmp_path / "absent"))
    assert resolve("bank-marketing", folder).source == "folder"


def test_a_wrong_folder_in_the_environment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_DATA", str(tmp_path / "absent"))
    with pytest.raises(DataError, match=r"absent.*CFO_BENCH_DATA"):
        resolve("iris")


def test_an_unknown_name_is_told_all_that_there_are(folder: Path) -> None:
    with pytest.raises(UnknownNameError) as caught:
        resolve("bank-marketin", folder)
    message = str(caught.value)
    assert message.startswith("unknown task 'bank-marketin' (did you mean 'bank-marketing'?)")
    assert "iris" in message and "Wine" in message and "\n" not in message


def test_a_file_is_a_task_called_by_its_stem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ref = file_ref(Path("my.data.csv"), "y", Problem.BINARY)
    assert ref == DataRef("my.data", "file", str(tmp_path / "my.data.csv"), "y", Problem.BINARY)


def test_a_path_without_a_stem_is_refused() -> None:
    with pytest.raises(DataError, match="no file"):
        file_ref(Path(".."), "y")


def test_a_ref_goes_to_another_process_whole(folder: Path) -> None:
    for ref in (resolve("Wine", folder), resolve("iris"), file_ref(folder / "x.csv", "y")):
        assert pickle.loads(pickle.dumps(ref)) == ref


def test_the_listing_shows_the_folder_first_and_every_name_once(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text(
        "name,file,target,problem,rows,note\niris,i.csv,y,,150,ours\nb,b.csv,y,binary,,\n"
    )
    rows = listing(tmp_path)
    assert [row.name for row in rows if not {"paper", "recorded"} & set(row.tags)] == [
        *("iris", "b", "wine", "breast_cancer", "digits", "diabetes"),
        *("synthetic-1k", "synthetic-30k", "synthetic-1m"),
    ]
    assert (rows[0].source, rows[0].rows, rows[0].features, rows[0].note) == ("folder", 150, None, "ours")
    assert rows[1].problem is Problem.BINARY and rows[1].note is None


def test_naming_tasks_loads_no_heavy_package() -> None:
    code = (
        "import sys, cfo_bench.tasks as tasks; tasks.listing(); tasks.resolve('iris'); "
        "print(*{name.partition('.')[0] for name in sys.modules} & {'pandas', 'pyarrow', 'scipy', 'sklearn'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# --- patterns and tags ------------------------------------------------------------------------------


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
    selected = names(tagged(["paper", "binary"]))

    assert {"adult", "kr-vs-kp"} <= set(selected)
    assert not {"car", "mv", "breast_cancer"} & set(selected)
    assert len(selected) == 20
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
    with pytest.raises(UserError, match=r"no task matches 'bgn_\*'"):
        select("bgn_*")
    with pytest.raises(UnknownNameError, match=r"unknown task 'papr' \(did you mean 'paper'\?\)"):
        select("papr")
    with pytest.raises(UnknownNameError, match=r"unknown tag 'binry' \(did you mean 'binary'\?\)"):
        tagged(["paper", "binry"])
    with pytest.raises(UserError, match="no task has all the tags bundled, paper"):
        tagged(["bundled", "paper"])
