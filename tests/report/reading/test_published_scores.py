"""Published scores of others: what a file may hold, and what is said of one that is wrong."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean, stdev

import pytest

from cfo_bench.errors import UserError
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paper_tables import misspelt, placed, printed
from cfo_bench.report.reading.published_scores import Reference, read_references
from cfo_bench.results.run import Run

HEAD = "task,metric,score,source"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "references.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_has_three_columns_and_may_have_five_more(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "\ufefftask, metric,score,source,seconds,sd,method,learner\n\n"
        'adult,auc,0.93,"amlb, 2019",3600,0.002,autosklearn,\nwine,log_loss,0.05,a blog,,,,xgboost\n',
    )

    assert read_references(path) == [
        Reference("adult", "auc", 0.93, "amlb, 2019", "autosklearn", "", 3600.0, 0.002),
        Reference("wine", "log_loss", 0.05, "a blog", learner="xgboost"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "references.csv has no references: write a line task,metric,score"),
        (f"{HEAD}\n", "has no references"),
        (
            "task,metric,scor\na,auc,0.5\n",
            "line 1: no column 'score' (did you mean 'scor'?): it needs task, metric, score, and has task,",
        ),
        (f"{HEAD},task\n", "line 1: column 'task' occurs twice"),
        (f"{HEAD}\nadult,auc,0.9\n", "line 2: 3 values for 4 columns"),
        (f"{HEAD}\nadult,f1,0.9,me\n", "line 2: unknown metric 'f1': choose "),
        (f"{HEAD}\n\nadult,auc,high,me\n", "line 3: score 'high' is not a number"),
        (f"{HEAD}\nadult,r2,nan,me\n", "line 2: score 'nan' is not a number"),
        (f"{HEAD}\nadult,auc,93.1,me\n", "line 2: auc '93.1' is outside 0 to 1"),
        (f"{HEAD}\nhouses,r2,85,me\n", "line 2: r2 '85' is above 1: write a share, not percent"),
        (f"{HEAD}\nwine,log_loss,-1,me\n", "line 2: log_loss '-1' is below 0: write it without the minus"),
        (f"{HEAD}\nwine,accuracy,97,me\n", "line 2: accuracy '97' is outside 0 to 1"),
        (f"{HEAD}\nadult,auc,0.9,\n", "line 2: no source"),
        (f"{HEAD},fold\na,auc,0.9,me,0\na,auc,0.8,me,0\n", "line 3: auc of a, fold '0', occurs twice"),
        ("task,metric,score,method,framework,seconds,seconds\n", "column 'seconds' occurs twice"),
        (f"{HEAD},sd\nadult,auc,0.9,me,-1\n", "line 2: sd '-1' is negative"),
        (f'{HEAD}\nadult,auc,0.9,"me\n', "line 2: not valid CSV"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_value(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        read_references(write(tmp_path, text))

    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"can't read .*nowhere.csv.*No such file.*one of: paper"):
        read_references(tmp_path / "nowhere.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        read_references(tmp_path / "binary.csv")


def test_the_paper_s_references_are_the_scores_that_its_tables_print() -> None:
    found = read_references("paper")

    for learner in ("xgboost", "dnn"):
        cells = printed(learner).values()
        best = {(cell.task, cell.method): cell for cell in cells if cell.outcome == "best"}
        own = {(one.task, one.method): one for one in found if one.learner == learner}
        assert own.keys() == best.keys()
        for place, one in own.items():
            assert (one.score, one.seconds) == (best[place].score, best[place].seconds)
            # r2 is at most 1; a scaled score is 1 for the tuned random forest.
            assert one.metric == "scaled_score" or one.score <= 1
    assert {one.task for one in found if one.metric == "r2"} >= {"poker", "houses", "bng_pbc"}
    assert next(one for one in found if one.task == "adult").metric == "scaled_score"


def test_only_like_is_compared_with_like(by_hand: list[Run]) -> None:
    alpha, beta, gamma = LearnerResults("xgboost", by_hand).scores

    def score(metric: str, task: str, value: float, learner: str = "") -> list[float | None]:
        own = {"alpha": alpha, "beta": beta, "gamma": gamma}[task]
        one = Reference(task.upper(), metric, value, "me", learner=learner)
        return [found.score for found in placed([one], own)]

    assert score("auc", "alpha", 0.9) == [0.9]
    assert score("log_loss", "alpha", 0.3) == [None]
    # alpha: constant 0.5, forest 0.25. A scaled score of 1.5 is a loss of 0.5 - 1.5 × 0.25.
    assert score("scaled_score", "alpha", 1.5) == [pytest.approx(1 - 0.125)]
    assert score("scaled_score", "gamma", 1.5) == [None]  # no forest was run
    assert score("scaled_score", "beta", 0.5) == [None]  # regression is not scaled
    assert score("r2", "beta", 0.5, learner="xgboost") == [0.5]
    assert score("r2", "beta", 0.5, learner="dnn") == []


def test_the_best_reference_of_a_task_comes_first(by_hand: list[Run]) -> None:
    alpha, _, gamma = LearnerResults("xgboost", by_hand).scores
    references = [
        Reference(task, metric, score, f"{score}")
        for task, metric in (("alpha", "auc"), ("gamma", "log_loss"), ("alpha", "r2"))
        for score in (0.6, 0.8, 0.7)
    ]

    assert [one.score for one in placed(references, alpha)] == [0.8, 0.7, 0.6, None, None, None]
    assert [one.score for one in placed(references, gamma)] == [0.6, 0.7, 0.8]


def test_columns_that_are_not_known_are_ignored_and_named(tmp_path: Path) -> None:
    path = write(tmp_path, "task,metric,score,openml_task,secnds\nadult,auc,0.93,7592,60\n")
    remarks: list[str] = []

    (found,) = read_references(path, remarks.append)

    # Without a source, the file's name is the source.
    assert found == Reference("adult", "auc", 0.93, "references")
    (said,) = remarks
    assert said.endswith("columns are not known: openml_task, secnds (did you mean 'seconds'?)")


def test_the_lines_of_folds_become_their_mean(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "task,framework,fold,metric,score,duration\n"
        "a,forest,0,auc,0.9,10\na,forest,1,auc,0.8,20\na,forest,2,auc,,60\n"
        "a,forest,0,log_loss,0.3,10\nb,broken,0,auc,,5\nb,broken,1,auc,,5\n",
    )
    remarks: list[str] = []

    auc, log_loss = read_references(path, remarks.append)

    assert (auc.task, auc.method, auc.metric, auc.folds) == ("a", "forest", "auc", "mean over 2 of 3 folds")
    assert (auc.score, auc.sd, auc.seconds) == pytest.approx((0.85, stdev([0.9, 0.8]), 30))
    assert (log_loss.score, log_loss.sd, log_loss.folds) == (0.3, None, "")
    assert remarks == [f"{path}: left out, as no fold has a score: auc of broken on b"]


def test_the_table_of_the_automl_benchmark_can_be_given_as_it_is(shared: Path) -> None:
    table = shared / "references" / "amlb-2019-1h.csv"
    if not table.is_file():
        pytest.skip(f"no {table}")
    remarks: list[str] = []

    found = read_references(table, remarks.append)

    with table.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["score"]]
    assert len(found) == len({(row["task"], row["metric"], row["framework"]) for row in rows}) > 100
    forest = next(one for one in found if (one.task, one.method) == ("kr-vs-kp", "randomforest"))
    own = [row for row in rows if (row["task"], row["framework"]) == ("kr-vs-kp", "randomforest")]
    scores = [float(row["score"]) for row in own]
    assert (forest.score, forest.sd) == pytest.approx((fmean(scores), stdev(scores)))
    assert forest.seconds == pytest.approx(fmean(float(row["duration"]) for row in own))
    assert (forest.source, forest.folds) == ("amlb-2019-1h", "mean over 10 folds")
    assert "columns are not known: openml_task" in remarks[0]


def test_a_published_score_goes_before_a_converted_one(by_hand: list[Run]) -> None:
    alpha = LearnerResults("xgboost", by_hand).scores[0]
    references = [Reference("alpha", "scaled_score", 1.9, "them"), Reference("alpha", "auc", 0.7, "us")]

    published, converted = placed(references, alpha)

    assert (published.score, published.label, published.is_converted) == (0.7, "us", False)
    assert (converted.score, converted.label, converted.is_converted) == (
        *(pytest.approx(0.5 + 1.9 * 0.25), "≈ them", True),
    )
    assert (
        converted.note == "converted from a scaled score with the constant predictor and forest of these runs"
    )


@pytest.mark.parametrize(
    ("name", "ours"), [("alph", ["alpha"]), ("ALPHA", []), ("alpha2", []), ("another", [])]
)
def test_a_misspelt_task_is_told_from_another_one(by_hand: list[Run], name: str, ours: list[str]) -> None:
    tasks = LearnerResults("xgboost", by_hand).scores

    assert [near for _, near in misspelt([Reference(name, "auc", 0.7, "me")], tasks)] == ours
