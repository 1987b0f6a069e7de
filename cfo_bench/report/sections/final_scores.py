"""Final scores, task by task: in the task's metric, next to the baseline's and to published scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cfo_bench.metrics import MetricFacts
from cfo_bench.report.contents import CellValue, Figure, Place, Section, SectionContent, Table, some
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paired import Paired, paired
from cfo_bench.report.numbers.paper_tables import PlacedReference, misspelt, placed
from cfo_bench.report.numbers.scores import MethodScores, TaskScores
from cfo_bench.report.numbers.significance import in_words
from cfo_bench.report.rendering.charts import FEWEST_FOR_A_BAND, Dot, Plot, dot_sheet
from cfo_bench.results.best_so_far import REACHES, reaching_loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

References = Mapping[str, Sequence[PlacedReference]]  # by task
# The number of tasks on a sheet of dots, and of published scores that are drawn for a task.
_TASKS_PER_SHEET = 9
_MAX_REFERENCES = 3
STAR = (
    "*: some of the runs have no result; they get the score of the constant predictor or of the worst other "
    "method, whichever is worse."
)
_TEST = "rows that no method has seen"
_VALIDATION = "the best trial was chosen by them, so they are somewhat too good"


class FinalScoresSection(Section):
    name = "final-scores"
    title = "Final scores, task by task"
    place = Place.SUPPORT

    def build(self, results: LearnerResults) -> SectionContent:
        references = {task.task: placed(results.references, task) for task in results.scores}
        differences = [difference for task in results.scores for difference in paired(results, task)]
        scores, tests = _scores(results, references), _tests(results, differences)
        published = _references(results, references)
        base = results.baseline
        around = (
            "the line through it is the 95 % confidence interval (Student's t); with fewer than "
            f"{FEWEST_FOR_A_BAND} folds, strokes are the individual folds instead"
        )
        metrics = {task.task: task.metric_facts for task in results.scores}
        figures = sheets(
            "final-scores",
            "Final scores",
            f"A dot is the mean over folds; {around}. An arrowhead at the edge: the line continues. Further "
            "right is always better: for a metric with ↓ the axis runs from high to low."
            + (f" Dashed: published scores, the best {_MAX_REFERENCES} of a task." if published.rows else ""),
            metrics,
            results.methods,
            scores,
            _fold_scores(results),
            published,
        )
        figures += sheets(
            "differences",
            f"Differences to {base}",
            f"How much better a method is than {base} on the same fold. A dot is the mean over folds; "
            f"{around}. An arrowhead at the edge: the line continues. Right of 0, the method is better than "
            f"{base}; left of 0, it is worse.",
            metrics,
            results.methods,
            tests,
            _fold_differences(base, differences),
        )
        return SectionContent(
            f"Scores in the task's metric (↑: higher is better; ↓: lower). "
            f"{measured_on(results.scores)} Means are over folds; the seeds of a fold are averaged first.",
            tables=tuple(
                table for table in (_printed(results, references), scores, tests, published) if table.rows
            ),
            figures=tuple(figures),
            warnings=tuple(_warnings(results, references)),
        )


def _printed(results: LearnerResults, references: References) -> Table:
    labels = results.methods
    best = {task.task: _best(references, task) for task in results.scores}
    facts = {
        "metric": [f"{task.metric_facts} ({task.part})" for task in results.scores],
        "over": [task.over for task in results.scores],
    }
    # Facts that are the same for all tasks are in the title and in the note, and not in every row.
    columns = {name: texts for name, texts in facts.items() if len(set(texts)) > 1}
    rows: list[list[CellValue]] = []
    for at, task in enumerate(results.scores):
        cells = [_cell(task, task.methods.get(method)) for method in results.methods]
        other = [_reference_cell(best[task.task])] if results.references else []
        rows.append([task.task, *cells, *other, *(texts[at] for texts in columns.values())])
    over = "folds" if "over" in columns else facts["over"][0]
    note = [
        f"One row for each task: mean ± standard deviation over {over}. Bold: the best, and scores within "
        f"{100 * (1 - REACHES):.2g} % of it. Methods by mean rank. {measured_on(results.scores)}"
    ]
    if any(scores.imputed for task in results.scores for scores in task.methods.values()):
        note.append(STAR)
    if results.references:
        note.append("Reference: the best published score that can be compared.")
    if any(reference.is_converted for reference in best.values() if reference):
        note.append("≈: converted from a scaled score with the constant predictor and forest of these runs.")
    return Table(
        "scores",
        "Final scores" if "metric" in columns else f"Final scores: {facts['metric'][0]}",
        " ".join(note),
        ("task", *labels, *(("reference",) if results.references else ()), *columns),
        rows,
        verbatim=tuple(labels),
    )


def _reference_cell(best: PlacedReference | None) -> str | None:
    if best is None:
        return None
    return f"{'≈' * best.is_converted}{best.score:.4f} ({best.reference.label})"


def _cell(task: TaskScores, method_scores: MethodScores | None) -> str:
    if method_scores is None:
        return "not run"
    if not method_scores.is_compared:
        return "left out"
    if method_scores.final_loss is None:
        return "no result"
    estimate = task.estimate(method_scores.fold_losses)
    text = f"{estimate.mean:.4f}" if estimate.sd is None else f"{estimate.mean:.4f} ± {estimate.sd:.4f}"
    best = min(scores.final_loss for scores in task.methods.values() if scores.final_loss is not None)
    is_best = method_scores.final_loss <= reaching_loss(best, task.scale.zero_loss)
    return (f"**{text}**" if is_best else text) + "*" * bool(method_scores.imputed)


def _best(references: References, task: TaskScores) -> PlacedReference | None:
    """The best published score that can be compared."""
    return next((reference for reference in references[task.task] if reference.score is not None), None)


def _scores(results: LearnerResults, references: References) -> Table:
    rows: list[list[CellValue]] = []
    for task in results.scores:
        best = _best(references, task)
        reference = [best.score, best.label] if best else [None, None]
        for method in results.methods:
            method_scores = task.methods.get(method)
            if method_scores is None or method_scores.final_loss is None:
                continue
            estimate = task.estimate(method_scores.fold_losses)
            rows.append(
                [
                    *(
                        task.task,
                        method,
                        task.metric_name,
                        estimate.mean,
                        estimate.sd,
                        estimate.low,
                        estimate.high,
                        estimate.folds,
                    ),
                    *(
                        method_scores.imputed,
                        method_scores.seconds_to_final,
                        method_scores.final_score,
                        task.part,
                    ),
                    *(reference if results.references else []),
                ]
            )
    return Table(
        "final-scores",
        "Final scores as numbers, and the time to them",
        "One row for each task and method: mean, standard deviation and 95 % interval (Student's t, "
        "limited to the range of the metric) over folds; how many of its runs have no result (imputed: they "
        "count as the constant predictor or the worst other method, whichever is worse); the seconds until "
        "the mean over folds reaches its last value; and the scaled score, which the optimality table "
        "explains. "
        f"{measured_on(results.scores)}"
        + (" Then the best published score that can be compared." if results.references else ""),
        (
            *("task", "method", "metric", "score", "sd", "ci_low", "ci_high", "folds"),
            *("imputed_runs", "seconds_to_it", "scaled_score", "score_is"),
            *(("reference", "reference_source") if results.references else ()),
        ),
        rows,
    )


def _fold_scores(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = [
        [task.task, method, fold, task.native(loss)]
        for task in results.scores
        for method in results.methods
        if (scores := task.methods.get(method)) is not None and scores.fold_losses
        for fold, loss in zip(sorted({fold for fold, _ in task.shared}), scores.fold_losses, strict=True)
    ]
    return Table(
        "fold-scores",
        "Final scores of each fold",
        "One row for each task, method and fold: the score in the task's metric, the mean over seeds.",
        ("task", "method", "fold", "score"),
        rows,
    )


def _fold_differences(base: str, differences: Sequence[Paired]) -> Table:
    rows: list[list[CellValue]] = [
        [paired.task, paired.method, fold, difference]
        for paired in differences
        for fold, difference in paired.by_fold.items()
    ]
    return Table(
        "fold-differences",
        f"Differences to {base} on each fold",
        f"One row for each task, method and fold: how much better its score is than that of {base}.",
        ("task", "method", "fold", "difference"),
        rows,
    )


def _tests(results: LearnerResults, differences: Sequence[Paired]) -> Table:
    base = results.baseline
    return Table.of(
        "paired-tests",
        f"Differences to {base}, the baseline",
        f"One row for each task and method, on the folds that it shares with {base}: how much better its "
        "score is (above 0 is better, also for log-loss), with a 95 % confidence interval; p of the exact "
        "sign-flip test over folds; p after Holm's correction, since a task has several methods; and the "
        "least p that is possible with this number of folds. Means within 0.05 % of each other count as "
        "equal, however small p is. Intervals are not corrected for the number of methods, so an interval "
        "without 0 alone is not significant: the verdict is by p. The folds of a task share rows, so "
        "intervals and p are somewhat too small.",
        differences,
        {
            "task": lambda paired: paired.task,
            "method": lambda paired: paired.method,
            "metric": lambda paired: paired.metric,
            "over": lambda paired: paired.over,
            "difference": lambda paired: paired.difference,
            "ci_low": lambda paired: paired.low,
            "ci_high": lambda paired: paired.high,
            "p": lambda paired: paired.p,
            "p_holm": lambda paired: paired.p_holm,
            "least_p_holm": lambda paired: paired.least_p_holm,
            "verdict": lambda paired: paired.verdict,
        },
    )


def _references(results: LearnerResults, references: References) -> Table:
    return Table(
        "references",
        "Published scores",
        "One row for each published score of a task that was run here: as it was published, and in the "
        "metric of the task if it can be compared. Label: its name in the figures, with ≈ if its score is "
        "converted. Their folds, machines and budgets may differ from those of these runs.",
        (
            *("task", "source", "method", "metric", "published", "sd", "seconds"),
            *("our_metric", "score", "note", "label"),
        ),
        [
            [
                *(task.task, entry.reference.source, entry.reference.method, entry.reference.metric),
                *(entry.reference.score, entry.reference.sd, entry.reference.seconds),
                *(task.metric_name, entry.score, entry.note, entry.label),
            ]
            for task in results.scores
            for entry in references[task.task]
        ],
    )


def _warnings(results: LearnerResults, references: References) -> list[str]:
    lines = []
    if not any(results.baseline in task.methods for task in results.scores):
        lines.append(f"no differences: {results.baseline}, the baseline, has no runs")
    n, n_placed = len(results.references), sum(map(len, references.values()))
    if not n:
        return lines
    if near := misspelt(results.references, results.scores):
        names = [f"{name!r} (did you mean {ours!r}?)" for name, ours in near]
        lines.append(f"references of tasks that these results don't have: {some(names)}")
    if not n_placed:
        return [*lines, f"none of the {n} references is of a task and learner of these results"]
    if n_placed < n:
        lines.append(f"{n - n_placed} of the {n} references are of other tasks or learners")
    different = [
        task
        for task, entries in references.items()
        if entries and all(entry.score is None for entry in entries)
    ]
    if different:
        lines.append(f"no comparable reference, see the table's notes: {', '.join(different)}")
    if not all(task.by_test for task in results.scores):
        lines.append(
            "scores of these runs are validation scores, by which the search selected its trials: compared "
            "with published test scores they are too good; runs with --validation holdout have test scores"
        )
    return lines


def sheets(
    name: str,
    title: str,
    caption: str,
    metrics: Mapping[str, MetricFacts],
    methods: Sequence[str],
    means: Table,
    folds: Table,
    others: Table | None = None,
) -> list[Figure]:
    """Sheets with a plot for each task and a dot for each row of `means`; `metrics` are by task.

    The last column of `folds` names the value of a dot, and has it for each fold; `others` are published
    scores.
    """
    tasks = list(dict.fromkeys(str(row[0]) for row in means.rows))
    every = [tasks[at : at + _TASKS_PER_SHEET] for at in range(0, len(tasks), _TASKS_PER_SHEET)]
    figures = []
    for i, sheet in enumerate(every, start=1):
        number = f"-{i}" if len(every) > 1 else ""
        sheet_means, sheet_folds = _only(means, sheet, number), _only(folds, sheet, number)
        sheet_others = _only(others, sheet, number) if others is not None and others.rows else None
        tables = sheet_means, sheet_folds
        figures.append(
            Figure(
                f"{name}{number}",
                title + (f" ({i}/{len(every)})" if number else ""),
                caption,
                tables if sheet_others is None or not sheet_others.rows else (*tables, sheet_others),
                partial(draw_sheet, metrics, methods, sheet_means, sheet_folds, sheet_others),
                alt=_best_in_words(metrics, sheet_means, folds.columns[-1]),
            )
        )
    return figures


def _best_in_words(metrics: Mapping[str, MetricFacts], means: Table, column: str) -> str:
    """The best of each task, for the text alternative: all means would be thousands of letters."""
    parts = []
    for task, rows in means.records_by("task").items():
        is_low = column == "score" and not metrics[task].higher_is_better
        best = (min if is_low else max)(row[column] for row in rows)
        names = in_words([row["method"] for row in rows if row[column] == best])
        parts.append(f"{task} {names} {best:.4g}")
    return f"Dots for each task and method. The best {column} of each task: {'; '.join(parts)}."


def _only(table: Table, tasks: Sequence[str], number: str) -> Table:
    rows = [row for row in table.rows if row[0] in tasks]
    return Table(f"{table.name}{number}", table.title, table.note, table.columns, rows)


def draw_sheet(
    metrics: Mapping[str, MetricFacts],
    methods: Sequence[str],
    means: Table,
    folds: Table,
    others: Table | None = None,
) -> Canvas:
    """One plot for each task, with a row for each method that is in one of them."""
    column = folds.columns[-1]
    is_difference = column == "difference"
    lines: dict[str, list[tuple[float, str]]] = {}
    for row in others.records() if others else ():
        if row["score"] is not None and len(lines.setdefault(row["task"], [])) < _MAX_REFERENCES:
            lines[row["task"]].append((row["score"], row["label"]))
    each: dict[tuple[str, str], list[float]] = {}
    for row in folds.records():
        each.setdefault((row["task"], row["method"]), []).append(row[column])

    def dot(row: Mapping[str, Any]) -> Dot:
        values = each.get((row["task"], row["method"]), ())
        if len(values) < FEWEST_FOR_A_BAND:
            return Dot(row["method"], row[column], each=values)
        return Dot(row["method"], row[column], row["ci_low"], row["ci_high"])

    plots = [
        Plot(
            title=task,
            axis=f"difference of {rows[0]['metric']}"
            if is_difference
            else f"{metrics[task]} ({rows[0]['score_is']})",
            dots=[dot(row) for row in rows],
            lines=lines.get(task, ()),
            mark=0.0 if is_difference else None,
            reverse=not is_difference and not metrics[task].higher_is_better,
            bounds=(-math.inf, math.inf) if is_difference else metrics[task].bounds,
        )
        for task, rows in means.records_by("task").items()
    ]
    return dot_sheet(plots, [method for method in methods if method in means.column("method")])


class HoldoutSection(Section):
    """Validation and test scores; absent if no run has a test score."""

    name = "holdout"
    title = "Validation and test"
    place = Place.SUPPORT

    def build(self, results: LearnerResults) -> SectionContent | None:
        rows: list[list[CellValue]] = []
        for task in results.scores:
            for method in results.methods:
                scores = task.methods.get(method)
                if task.by_test and scores is not None and scores.validation_losses:
                    test = task.estimate(scores.test_losses).mean
                    validation = task.estimate(scores.validation_losses).mean
                    n_folds = len(scores.test_losses)
                    rows.append(
                        [task.task, method, task.metric_name, test, validation, test - validation, n_folds]
                    )
        if not rows:
            return None
        untested = [task.task for task in results.scores if not task.by_test]
        where = "this report" if not untested else "these tasks"
        return SectionContent(
            "A method sees only the validation score, and selects its best trial by it. The test score is "
            "that of the selected trial on rows that no method has seen; the time to compute it is not "
            f"charged. Ranks, wins and curves of {where} are by test scores, and scores are test scores, "
            "except for the validation scores here and in the table of the best configurations."
            + (
                f" Without test scores, and compared by validation scores: {some(untested)}."
                if untested
                else ""
            ),
            tables=(
                Table(
                    "validation-and-test",
                    "Validation and test scores",
                    "One row for each task and method, means over the folds on which it has a result, in the "
                    "task's metric, whose direction is in the table of final scores. Difference: test minus "
                    "validation.",
                    ("task", "method", "metric", "test_score", "validation_score", "difference", "folds"),
                    rows,
                ),
            ),
        )


def measured_on(scores: Sequence[TaskScores]) -> str:
    """A sentence on whether scores are of the test or of the validation part."""
    tested = [task.task for task in scores if task.by_test]
    if not tested:
        return f"Scores are validation scores: {_VALIDATION}."
    if len(tested) == len(scores):
        return f"Scores are test scores: on {_TEST}."
    return (
        f"Scores are test scores, on {_TEST}, for {some(tested)}. For the other tasks they are validation "
        f"scores: {_VALIDATION}."
    )
