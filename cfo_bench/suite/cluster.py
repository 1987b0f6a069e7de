"""Where the Dask engine finds its workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfo_bench.errors import UnknownNameError, told_at
from cfo_bench.kinds import Count, Kind, OneOf, Schema, Text
from cfo_bench.settings import setting, settings_of
from cfo_bench.suite.choices import Options
from cfo_bench.marked import Marked, mark

BATCH_SYSTEMS = ("slurm", "pbs", "sge", "lsf", "htcondor", "oar", "moab")
CLUSTER_KINDS = ("local", "join", *BATCH_SYSTEMS)


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster to start or to join.

    A batch system is started through the class of dask-jobqueue that is named like it, with the `options`.
    """

    kind: str = setting(
        "local",
        OneOf(CLUSTER_KINDS),
        "local: started on this machine; join: the one at `scheduler`; or the batch system that starts "
        "workers.",
    )
    scheduler: str | None = setting(
        None, Text(), "Address such as tcp://host:8786, or the path of a scheduler file."
    )
    workers: int | None = setting(None, Count(), "Workers to start, or to wait for.")
    options: Mapping[str, Any] = setting(
        dict, Options(), "Options of the batch system: cores, memory, walltime, queue, account."
    )


class ClusterKeys(Kind):
    """A `Cluster`, written as key: value."""

    def read(self, key: str, marked: Marked) -> Cluster:
        known = {one.key: one for one in settings_of(Cluster)}
        written = marked.value
        if isinstance(written, Cluster):
            values = {one.key: (getattr(written, one.name), one.default) for one in known.values()}
            written = {
                name: mark(value) for name, (value, default) in values.items() if value not in (None, default)
            }
        if not isinstance(written, Mapping):
            raise marked.wrong(key, f"write it as key: value, with {', '.join(known)}")
        given: dict[str, Any] = {}
        for name, one in written.items():
            with told_at(one.key_place):
                if name not in known:
                    raise UnknownNameError("key", f"{key}.{name}", [f"{key}.{each}" for each in known])
            given[name] = known[name].kind.read(f"{key}.{name}", one)
        if "scheduler" in given and given.setdefault("kind", "join") != "join":
            raise marked.wrong(f"{key}.kind", "a scheduler is for kind: join; leave one of the two out")
        if given.get("kind") == "join" and "scheduler" not in given:
            raise marked.wrong(key, "kind: join needs a scheduler: its address, or the path of its file")
        return Cluster(**given)

    def schema(self) -> Schema:
        is_join = {"properties": {"kind": {"const": "join"}}}
        has_scheduler = {"required": ["scheduler"]}
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {one.key: one.schema() for one in settings_of(Cluster)},
            "allOf": [
                {"if": {**is_join, "required": ["kind"]}, "then": has_scheduler},
                {"if": has_scheduler, "then": is_join},
            ],
        }

    def parts(self) -> Sequence[Kind]:
        return [one.kind for one in settings_of(Cluster)]
