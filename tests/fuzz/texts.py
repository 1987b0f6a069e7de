"""Damage to what people write: suites, tables of tasks, the index of a data folder."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz import odd
from tests.fuzz.damage import Damaged, flipped, spliced, torn

SUITE = """\
learners:
  - synthetic
tasks:
  - synthetic-1k
  - iris
exclude: [synthetic-1m]
methods:
  - rs
  - cfo: {scale: log2}
folds: 0-1
n_folds: 5
seeds: [0, 1]
budget: 1m
max_trials: 5
trial_timeout: 10s
threads: 1
parallel: 1
memory: 512MB
validation: fold
holdout_share: 0.2
clock: virtual
engine: local
jobs: 1
results: results
data_dir: data
task_tables: [tasks.yaml]
"""

TABLE = """\
tasks:
  - name: sales
    file: sales.csv
    target: price
    problem: regression
    tags: [mine]
    rows: 40
    features: 2
    note: a note
  - name: credit
    aliases: [cr]
    openml_data: 31
    target: class
  - {name: iris-openml, openml_task: 59}
  - {name: wines, pmlb: wine_recognition}
"""

INDEX = """\
name,openml_task_id,file,target,problem,rows,features,source,note
sales,,sales.csv,price,regression,40,2,here,a note
other,59,sales.csv,shop,,40,2,here,
"""

SALES = "shop,size,price\n" + "".join(f"{'ab'[n % 2]},{n},{n * 1.5}\n" for n in range(40))

# What a value may be written as: numbers at their edges, other types, YAML that only programs write.
_YAML_VALUES = (
    "", "~", "null", "true", "[]", "{}", "[[]]", "[null]", "{a: {b: {c: 1}}}", "0", "-1", "1e999", ".nan",
    ".inf", "0x1F", "0o17", "1_000", "12:30:45", "2020-01-01", "9" * 40, "9" * 5000, "1.5", "''", "' '",
    '"\\0"', '"\\x1b[2J"', '"\\ud800"', '"\\n"', "'*'", "'?'", "'[a-'", "..", "../outside", "/etc/passwd",
    "/dev/full", "fifo.csv", "~nosuchuser/x", "$HOME", "x.py:Evil", "evil.py:Evil", ".py:", ":", "a:b:c",
    "!!python/object/apply:os.system [id]", "!!binary aGk=", "!include x", "&a [*a]", "*a", "<<: {a: 1}",
    "|\n    x\n    y", ">-\n    x", "x" * 5000, "[" * 50 + "]" * 50, "[" * 3000, "{" * 3000, "é", "名前",
    "\t", "- x", "? a", "%TAG", "---", "...", "@x", "`x`", "100000000", "0-100000000", "0,0,0", "all", "-",
    "1-", "99999999999999999999", "1h30m", "1e300d", "-5s", "9" * 30 + "d", "999999TB", "openml:",
    "openml:x", "openml-suite:99", "pmlb:", "pmlb:..", "openml:1e9", "synthetic-1k", "iris", "dask",
    "holdout", "tuned-rf", "constant",
)  # fmt: skip


def yaml_file(whole: str, rng: random.Random) -> Damaged:
    """A value, a key or a line of a YAML file changed; or its bytes."""
    lines = whole.splitlines()
    at = rng.randrange(len(lines))
    head, colon, _ = lines[at].partition(":")
    kind = rng.choices(["value", "key", "line", "many", "bytes", "bomb", "indent"], [60, 8, 10, 8, 10, 1, 3])[
        0
    ]
    if kind == "value":
        value = rng.choice(_YAML_VALUES)
        lines[at] = f"{head}{colon} {value}" if colon else f"  - {value}"
        what = f"line {at + 1}: {value[:40]!r}"
    elif kind == "key":
        key = rng.choice(
            [
                "",
                "?",
                "a b",
                "1",
                "null",
                "true",
                "[a]",
                "learners",
                "tasks",
                "name",
                "file",
                "<<",
                "!!x y",
                '"\\0"',
            ]
        )
        indent = head[: len(head) - len(head.lstrip(" -"))]
        lines[at] = f"{indent}{key}:{lines[at].partition(':')[2]}"
        what = f"line {at + 1}: key {key!r}"
    elif kind == "line":
        what = rng.choice(["doubled", "missing", "moved"])
        line = lines[at] if what == "doubled" else lines.pop(at)
        if what != "missing":
            lines.insert(rng.randrange(len(lines) + 1), line)
        what = f"line {at + 1} {what}"
    elif kind == "many":
        for _ in range(4):
            other = rng.randrange(len(lines))
            lines[other] = f"{lines[other].partition(':')[0]}: {rng.choice(_YAML_VALUES)}"
        what = "four values"
    elif kind == "bytes":
        return rng.choice([torn, flipped, spliced])(whole.encode(), rng)
    elif kind == "bomb":
        lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'lol'}]" for n in range(12)]
        what = "a bomb of aliases"
    else:
        lines[at] = " " * rng.randrange(1, 9) + lines[at]
        what = f"line {at + 1} indented"
    return what, "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n"


def index(rng: random.Random) -> Damaged:
    """A cell, a column or a line of an index.csv changed; or its bytes."""
    rows = [line.split(",") for line in INDEX.splitlines()]
    kind = rng.choice(["cell", "cell", "cell", "column", "line", "bytes", "separator", "header"])
    at, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
    if kind == "cell":
        value = odd.value(rng)
        text = (
            value if isinstance(value, str) else rng.choice(["", "-1", "1e999", "x", "nan", repr(value)[:50]])
        )
        rows[at][column] = rng.choice([text, '"' + text.replace('"', '""') + '"', '"' + text])
        what = f"row {at}, column {column}: {text[:40]!r}"
    elif kind == "column":
        what = f"column {column} missing"
        for row in rows:
            del row[column]
    elif kind == "line":
        what = f"row {at} {rng.choice(['missing', 'doubled'])}"
        if what.endswith("missing"):
            del rows[at]
        else:
            rows.append(rows[at])
    elif kind == "bytes":
        return rng.choice([torn, flipped, spliced])(INDEX.encode(), rng)
    elif kind == "separator":
        return "other separator", INDEX.replace(",", rng.choice([";", "\t", "|", ""])).encode()
    else:
        what = f"header {column} called twice"
        rows[0][column] = rows[0][0]
    return what, _csv(rows)


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    return "".join(",".join(row) + "\n" for row in rows).encode("utf-8", "surrogatepass")
