"""The runs on the page of `cfo-bench watch`: a table, and a plot for each task that has a running run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from cfo_bench.records import RunStatus
from cfo_bench.report.contents import plural
from cfo_bench.report.method_styles import style_of
from cfo_bench.report.rendering.html_page import notices
from cfo_bench.report.rendering.html_plots import RunLine, chart_of_runs, whole_swatch
from cfo_bench.report.rendering.html_table import scroll_box
from cfo_bench.results.digest import NO_INCUMBENTS, Incumbents
from cfo_bench.results.run import Run
from cfo_bench.results.status import STATUSES, RunProgress, time_left
from cfo_bench.values import duration

# The order of the table: runs that need attention come first.
_ORDER = (
    RunStatus.RUNNING,
    RunStatus.FAILED,
    RunStatus.INTERRUPTED,
    RunStatus.WAITING,
    RunStatus.MISSING,
    RunStatus.DONE,
)
# At most this many rows of the table, plots, and lines of finished runs in a plot.
MAX_ROWS, MAX_PLOTS, MAX_FINISHED_LINES = 100, 6, 24
# At most this many letters of a configuration, and of the reason of a failure.
_MAX_LETTERS = 300


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run with its progress and its current trace; `run` is None until the trace has a header."""

    progress: RunProgress
    run: Run | None

    @property
    def is_running(self) -> bool:
        return self.progress.status is RunStatus.RUNNING

    @property
    def incumbents(self) -> Incumbents:
        return self.run.incumbents if self.run else NO_INCUMBENTS

    @property
    def fold(self) -> str:
        seed = f", seed {self.progress.seed}" if self.progress.seed else ""
        return f"fold {self.progress.fold}{seed}"


def table_of_runs(runs: Sequence[WatchedRun], warnings: Sequence[str]) -> str:
    """The number of runs by status, the time left, the warnings, and a row for each run."""
    counts = Counter(run.progress.status for run in runs)
    numbers = "".join(f"<li>{kind} <b>{counts[kind]:,}</b></li>" for kind in STATUSES if counts[kind])
    left = time_left([run.progress for run in runs]) if runs else "no run has started"
    rows = sorted(runs, key=lambda run: _ORDER.index(run.progress.status))
    shown = rows[:MAX_ROWS]
    rest = f'<p class="note">Here are {len(shown)} of {plural(len(rows), "run")}, the running ones first.</p>'
    table = (
        f'<div class="sheet runs"><div class="edges"><div {scroll_box("Runs", is_long=len(shown) > 12)}>'
        '<table><caption class="sr">Runs</caption><thead><tr><th scope="col">run</th>'
        '<th scope="col">status</th><th scope="col" class="number">time left</th>'
        '<th scope="col" class="number">best score</th><th scope="col" class="number">trials</th>'
        '<th scope="col">incumbent</th></tr></thead>'
        f"<tbody>{''.join(map(_row, shown))}</tbody></table></div></div>"
        f"{rest if len(rows) > len(shown) else ''}</div>"
    )
    return (
        f'<p class="left">{escape(left[:1].upper() + left[1:])}</p><ul class="facts">{numbers}</ul>'
        f"{notices('Warnings', warnings)}{table if shown else ''}"
    )


def _row(watched: WatchedRun) -> str:
    progress = watched.progress
    names = f"{progress.task}, {watched.fold}"
    status = f'<span class="status {progress.status}">{progress.status}</span>'
    trials = "" if progress.trials is None else f"{progress.trials:,}"
    return (
        f'<tr><th scope="row">{whole_swatch(style_of(progress.method))}{escape(progress.method)}'
        f'<small title="{escape(progress.learner)}">{escape(names)}</small></th><td>{status}</td>'
        f'<td class="number">{_time_left_of(progress)}</td><td class="number">{_best_score(watched)}</td>'
        f'<td class="number">{trials}</td><td class="wide">{escape(_incumbent(watched))}</td></tr>'
    )


def _time_left_of(progress: RunProgress) -> str:
    """The rest of the run's budget; on the virtual clock, of its trials; empty for a run that has ended."""
    if progress.status not in (RunStatus.RUNNING, RunStatus.WAITING, RunStatus.INTERRUPTED):
        return ""
    if progress.clock == "virtual" or progress.budget_seconds is None:
        return f"{progress.max_trials - (progress.trials or 0):,} trials" if progress.max_trials else ""
    return duration(max(progress.budget_seconds - (progress.elapsed or 0.0), 0.0))


def _best_score(watched: WatchedRun) -> str:
    if watched.run is None or not watched.incumbents.losses:
        return ""
    metric = watched.run.header.metric_facts
    return f"{metric.to_score(watched.incumbents.losses[-1]):.5g} <small>{escape(str(metric))}</small>"


def _incumbent(watched: WatchedRun) -> str:
    """The best configuration so far; for a failed or interrupted run, the reason."""
    if watched.progress.reason:
        text = watched.progress.reason
    else:
        config = watched.incumbents.best_config
        text = ", ".join(f"{name}={_short(value)}" for name, value in config.items())
    return text if len(text) <= _MAX_LETTERS else f"{text[:_MAX_LETTERS]}…"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# --- curves ---------------------------------------------------------------------------------------


def curves_of_runs(runs: Sequence[WatchedRun]) -> str:
    """A plot for each task that has a running run, with the curves of all its runs."""
    by_task: dict[tuple[str, str], list[WatchedRun]] = {}
    for run in runs:
        by_task.setdefault((run.progress.learner, run.progress.task), []).append(run)
    plots = list(_plots(by_task))
    more = len(plots) - MAX_PLOTS
    note = f'<p class="note">{plural(more, "more task")} with running runs.</p>' if more > 0 else ""
    return f'<div class="gallery">{"".join(plots[:MAX_PLOTS])}</div>{note}' if plots else ""


def _plots(by_task: Mapping[tuple[str, str], Sequence[WatchedRun]]) -> Iterator[str]:
    for (learner, task), of_task in sorted(by_task.items()):
        curves = [(watched, watched.run) for watched in of_task if watched.run and watched.incumbents.losses]
        running = [curve for curve in curves if curve[0].is_running]
        if not running:
            continue
        finished = [curve for curve in curves if not curve[0].is_running][-MAX_FINISHED_LINES:]
        lines = [_line(watched, run) for watched, run in (*finished, *running)]
        _, newest = running[-1]
        title = f"{task}, {learner}"
        plot = chart_of_runs(
            title,
            newest.header.metric_facts,
            max(run.budget_seconds for _, run in (*finished, *running)),
            newest.spec.clock == "virtual",
            lines,
        )
        yield (
            f"<figure>{plot}<figcaption><strong>{escape(title)}</strong> The loss of each run's incumbent, "
            f'up to now. <span class="files"><button type="button" class="svg">SVG'
            f'<span class="sr"> of {escape(title)}</span></button></span></figcaption></figure>'
        )


def _line(watched: WatchedRun, run: Run) -> RunLine:
    progress = watched.progress
    reached = max(progress.elapsed or 0.0, run.reached)
    return RunLine(
        f"{watched.fold}: {progress.method}",  # the end of a long name is cut off
        style_of(progress.method),
        run.incumbents,
        min(reached, run.budget_seconds),
        watched.is_running,
    )
