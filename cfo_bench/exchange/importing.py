"""`cfo-bench import`: runs of other programs as traces, beside those that cfo-bench has measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cfo_bench.errors import UnknownNameError, UserError
from cfo_bench.exchange import smac_import
from cfo_bench.exchange.csv_import import read_csv
from cfo_bench.exchange.flaml_import import looks_like_flaml, read_flaml
from cfo_bench.exchange.imported_trace import (
    FoundRun,
    ImportedTrace,
    Meaning,
    Source,
    SourceClock,
    Told,
    read_bytes,
    sha256_of,
    trace_of,
)
from cfo_bench.exchange.optuna_studies import SQLITE_MAGIC, is_journal, sqlite_file, without_password
from cfo_bench.records import run_id
from cfo_bench.results.folder import check_no_links
from cfo_bench.results.trace import TraceWriter, path_of

FORMATS = ("optuna", "smac", "flaml", "csv")


@dataclass(frozen=True, slots=True)
class Imported:
    """A run that was imported."""

    path: Path  # of its trace
    trials: int
    clock: str  # what its times are: see docs/exchange.md
    unknown: tuple[str, ...]  # what its source does not tell
    remarks: tuple[str, ...]


def import_trials(
    source: str | Path,
    results: str | Path = "results",
    *,
    format: str | None = None,
    learner: str | None = None,
    task: str | None = None,
    method: str | None = None,
    fold: int | None = None,
    seed: int | None = None,
    metric: str | None = None,
    problem: str | None = None,
    budget_seconds: float | None = None,
    constant_loss: float | None = None,
    clock: str | None = None,
    studies: Sequence[str] = (),
    loss: str | None = None,
    score: str | None = None,
    columns: Mapping[str, str] | None = None,
    hyperparameters: Sequence[str] = (),
    force: bool = False,
) -> list[Imported]:
    """Writes the runs of an Optuna storage, a SMAC run, a FLAML log or a CSV file as traces into `results`.

    What the source does not tell has to be said: mostly `learner`, `task` and `metric`. Several runs that
    would have the same name get one seed after the other.

    source           the storage, folder or file
    results          the results folder to put the traces into
    format           optuna, smac, flaml or csv; None: as it looks
    learner          what was tuned
    task             the data set
    method           what tuned it
    fold             the fold that it was tuned on
    seed             tells repetitions apart
    metric           the metric that was tuned, such as auc
    problem          binary, multiclass or regression, where the metric does not tell
    budget_seconds   the time that the run had
    constant_loss    the loss of a constant prediction
    clock            what the times are: see docs/exchange.md
    studies          only these Optuna studies; empty: all
    loss             which value of a trial is its loss
    score            which value of a trial is its score: the metric itself
    columns          what a column of a CSV file is; docs/exchange.md has the names
    hyperparameters  columns of a CSV file that are hyperparameters
    force            replace runs that were imported before
    returns          the runs that were imported
    """
    told = Told(
        learner=learner,
        task=task,
        method=method,
        fold=fold,
        seed=seed,
        metric=metric,
        problem=problem,
        budget_seconds=budget_seconds,
        constant_loss=constant_loss,
        clock=clock,
    )
    _check(told, loss, score)
    kind = format or _guess(str(source))
    if kind not in FORMATS:
        raise UnknownNameError("format", kind, FORMATS)
    meaning = Meaning.SCORE if score else Meaning.LOSS
    found, sha256 = _found(kind, str(source), studies, score or loss, meaning, columns or {}, hyperparameters)
    about = Source(format=kind, file=without_password(str(source)), sha256=sha256)
    traces = _with_seeds([trace_of(run, told, about) for run in found], found, told, about)
    return _written(Path(results), traces, force)


def _check(told: Told, loss: str | None, score: str | None) -> None:
    if loss and score:
        raise UserError("give one of --loss and --score: a trial has one value")
    if told.clock not in (None, *SourceClock):
        raise UnknownNameError("clock", str(told.clock), SourceClock)
    if told.budget_seconds is not None and not told.budget_seconds > 0:
        raise UserError(f"a budget of {told.budget_seconds:g} s is none: give more than 0")
    for name, value in (("fold", told.fold), ("seed", told.seed)):
        if value is not None and value < 0:
            raise UserError(f"{name} {value} is negative: give 0 or more")


def _guess(source: str) -> str:
    """The format of a source, by what is there."""
    path = sqlite_file(source)
    if path is None or "://" in source:
        return "optuna"
    if path.is_dir() or path.name == smac_import.HISTORY:
        return "smac"
    if not path.exists():
        raise UserError(
            f"no file or folder {source!r}: give an Optuna storage, a SMAC run, a FLAML log or a CSV"
        )
    if path.suffix.lower() == ".csv":
        return "csv"
    beginning = read_bytes(path)[:100_000]
    if beginning.startswith(SQLITE_MAGIC) or is_journal(beginning):
        return "optuna"
    if looks_like_flaml(beginning.decode("utf-8", "replace")):
        return "flaml"
    raise UserError(
        f"can't tell what {source!r} is: name its format with --from, one of {', '.join(FORMATS)}"
    )


def _found(
    kind: str,
    source: str,
    studies: Sequence[str],
    value: str | None,
    meaning: Meaning,
    columns: Mapping[str, str],
    hyperparameters: Sequence[str],
) -> tuple[list[FoundRun], str]:
    """The runs of a source, and a hash of what was read."""
    path = Path(source)
    match kind:
        case "optuna":
            from cfo_bench.exchange.optuna_studies import read_studies

            return read_studies(source, studies)
        case "smac":
            return [smac_import.read_smac(path)], sha256_of(*smac_import.files_of(path))
        case "flaml":
            return [read_flaml(path, value, meaning)], sha256_of(path)
        case _:
            named = {**columns, **({str(meaning): value} if value else {})}
            return read_csv(path, named, hyperparameters), sha256_of(path)


def _with_seeds(
    traces: Sequence[ImportedTrace], found: Sequence[FoundRun], told: Told, about: Source
) -> list[ImportedTrace]:
    """Runs that would have one trace get one seed after the other."""
    taken: set[str] = set()
    made = []
    for one, run in zip(traces, found, strict=True):
        while run_id(one.spec) in taken:
            one = trace_of(run, replace(told, seed=one.spec.seed + 1), about)
        taken.add(run_id(one.spec))
        made.append(one)
    return made


def _written(results: Path, traces: Sequence[ImportedTrace], force: bool) -> list[Imported]:
    check_no_links(results, [run_id(one.spec) for one in traces])
    paths = [path_of(results, one.spec) for one in traces]
    for path in paths:
        if path.exists() and not force:
            raise UserError(
                f"{path} exists already: name another --seed or --method, or --force to replace it"
            )
    for path, one in zip(paths, traces, strict=True):
        with TraceWriter(path) as writer:
            writer.clear()
            writer.write(one.content)
            writer.sync()
    return [
        Imported(path, one.trials, str(one.clock), one.unknown, one.remarks)
        for path, one in zip(paths, traces, strict=True)
    ]
