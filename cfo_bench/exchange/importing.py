"""`cfo-bench import`: runs of other programs as traces, which a report can compare with measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cfo_bench.errors import CfoBenchError, UnknownNameError, UserError, describe
from cfo_bench.exchange import smac_import
from cfo_bench.exchange.archive import is_archive, read_archive
from cfo_bench.exchange.flaml_import import looks_like_flaml, read_flaml
from cfo_bench.exchange.imported_trace import (
    GivenFacts,
    ImportedTrace,
    Meaning,
    Source,
    SourceClock,
    SourceRun,
    read_bytes,
    sha256_of,
    trace_of,
)
from cfo_bench.exchange.optuna_studies import SQLITE_MAGIC, is_journal, sqlite_file, without_password
from cfo_bench.exchange.trial_table import read_csv
from cfo_bench.records import run_id
from cfo_bench.results.folder import check_no_links
from cfo_bench.results.schema import ARCHIVE
from cfo_bench.results.trace import TraceWriter, path_of

FORMATS = ("optuna", "smac", "flaml", "csv", ARCHIVE)


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run that was imported.

    Attributes
    ----------
    path : Path
        The path of its trace.
    trials : int
        The number of its trials.
    clock : str
        The meaning of its times: see docs/exchange.md.
    unknown : tuple of str
        Facts that its source does not state.
    remarks : tuple of str
        Notes for the user, such as trials that were left out.
    """

    path: Path
    trials: int
    clock: str
    unknown: tuple[str, ...]
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
) -> list[ImportedRun]:
    """Write the runs of an Optuna storage, a SMAC run, a FLAML log, a CSV file or an archive as traces.

    Facts that the source does not state have to be given: mostly `learner`, `task` and `metric`. Runs that
    would have the same name get consecutive seeds.

    Parameters
    ----------
    source : str or Path
        The storage, folder or file.
    results : str or Path, default="results"
        The results folder for the traces.
    format : {"optuna", "smac", "flaml", "csv", "archive"} or None, default=None
        The format of the source; None: it is detected.
    learner, task, method : str or None, default=None
        What was tuned, on which data set, and by which method.
    fold : int or None, default=None
        The fold on which the learner was tuned.
    seed : int or None, default=None
        The seed, which identifies repetitions.
    metric : str or None, default=None
        The metric that was tuned, such as "auc".
    problem : {"binary", "multiclass", "regression"} or None, default=None
        The problem, if it does not follow from the metric.
    budget_seconds : float or None, default=None
        The time that the run had.
    constant_loss : float or None, default=None
        The loss of a constant prediction.
    clock : str or None, default=None
        The meaning of the times: see docs/exchange.md.
    studies : sequence of str, default=()
        Only these Optuna studies; empty: all.
    loss : str or None, default=None
        The name of the value that is the loss.
    score : str or None, default=None
        The name of the value that is the score: the metric itself.
    columns : Mapping of str to str or None, default=None
        The names of columns of a CSV file, by the names in docs/exchange.md.
    hyperparameters : sequence of str, default=()
        Columns of a CSV file that are hyperparameters.
    force : bool, default=False
        Whether to replace runs that were imported before.

    Returns
    -------
    list of ImportedRun
        The runs that were imported.

    Raises
    ------
    UserError
        The source can't be read, a fact is missing, or a trace exists.
    """
    given = GivenFacts(
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
    _check(given, loss, score)
    kind = format or _guess(str(source))
    if kind not in FORMATS:
        raise UnknownNameError("format", kind, FORMATS)
    meaning = Meaning.SCORE if score else Meaning.LOSS
    try:
        if kind == ARCHIVE:
            origin = Source(format=kind, file=str(source), sha256=sha256_of(Path(source)))
            return _written(Path(results), read_archive(Path(source), origin), force)
        runs, sha256 = _read(
            kind, str(source), studies, score or loss, meaning, columns or {}, hyperparameters
        )
    except CfoBenchError:
        raise
    except Exception as error:  # a file of another program may contain values of any type
        raise UserError(
            f"{str(source)!r} is not as {kind} writes it ({describe(error)}): give the file unchanged"
        ) from None
    origin = Source(format=kind, file=without_password(str(source)), sha256=sha256)
    return _written(Path(results), _traces(runs, given, origin), force)


def _check(given: GivenFacts, loss: str | None, score: str | None) -> None:
    if loss and score:
        raise UserError("give one of --loss and --score: a trial has one value")
    if given.clock not in (None, *SourceClock):
        raise UnknownNameError("clock", str(given.clock), SourceClock)
    if given.budget_seconds is not None and not given.budget_seconds > 0:
        raise UserError(f"a budget of {given.budget_seconds:g} s is not positive: give more than 0")
    for name, value in (("fold", given.fold), ("seed", given.seed)):
        if value is not None and value < 0:
            raise UserError(f"{name} {value} is negative: give 0 or more")


def _guess(source: str) -> str:
    """The format of a source, by its name and its content."""
    path = sqlite_file(source)
    if path is None or "://" in source:
        return "optuna"
    if path.is_dir() or path.name == smac_import.HISTORY:
        return "smac"
    if not path.exists():
        raise UserError(
            f"no file or folder {source!r}: give an Optuna storage, a SMAC run, a FLAML log, "
            "a CSV or an archive"
        )
    if path.suffix.lower() == ".csv":
        return "csv"
    beginning = read_bytes(path)[:100_000]
    if beginning.startswith(SQLITE_MAGIC) or is_journal(beginning):
        return "optuna"
    if is_archive(beginning):
        return ARCHIVE
    if looks_like_flaml(beginning.decode("utf-8", "replace")):
        return "flaml"
    raise UserError(
        f"the format of {source!r} is not known: name it with --from, one of {', '.join(FORMATS)}"
    )


def _read(
    kind: str,
    source: str,
    studies: Sequence[str],
    value: str | None,
    meaning: Meaning,
    columns: Mapping[str, str],
    hyperparameters: Sequence[str],
) -> tuple[list[SourceRun], str]:
    """The runs of a source, and the SHA-256 of its content."""
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


def _traces(runs: Sequence[SourceRun], given: GivenFacts, source: Source) -> list[ImportedTrace]:
    """The traces of the runs. Runs that would have the same path get consecutive seeds."""
    traces: dict[str, ImportedTrace] = {}
    for run in runs:
        trace = trace_of(run, given, source)
        while run_id(trace.spec) in traces:
            trace = trace_of(run, replace(given, seed=trace.spec.seed + 1), source)
        traces[run_id(trace.spec)] = trace
    return list(traces.values())


def _written(results: Path, traces: Sequence[ImportedTrace], force: bool) -> list[ImportedRun]:
    check_no_links(results, [run_id(trace.spec) for trace in traces])
    paths = [path_of(results, trace.spec) for trace in traces]
    for path in paths:
        if path.exists() and not force:
            raise UserError(
                f"{path} exists already: name another --seed or --method, or --force to replace it"
            )
    for path, trace in zip(paths, traces, strict=True):
        with TraceWriter(path) as writer:
            writer.clear()
            writer.write(trace.content)
            writer.sync()
    return [
        ImportedRun(path, trace.trials, str(trace.clock), trace.unknown, trace.remarks)
        for path, trace in zip(paths, traces, strict=True)
    ]
