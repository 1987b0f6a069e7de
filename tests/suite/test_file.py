"""Suites in YAML: what they say, and every mistake with its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cfo_bench.errors import UserError
from cfo_bench.files import yaml_file
from cfo_bench.settings import settings_of
from cfo_bench.suite.choices import Choice, Pick
from cfo_bench.suite.file import find, read, read_tasks, shipped, suite_schema
from cfo_bench.suite.model import DEFAULTS, Cluster, Suite

KEYS = [setting.key for setting in settings_of(Suite)]
SCHEMA: dict[str, Any] = suite_schema()
VALIDATOR = Draft202012Validator(SCHEMA)

WHOLE = """\
learners:
  - xgboost
  - dnn: {max_epochs: 50, min_improvement: 1e-4}
tasks:
  - iris
  - bng_*
  - 1049
  - tags: [paper, binary]
exclude: paper
methods:
  - rs
  - cfo:
      scale: ln
      delta_init: 2
  - mine.py:Mine
  - bohb:
folds: 0-4
n_folds: 5
seeds: [0, 7]
budget: 1h30m
max_trials: 1e3
trial_timeout: 90s
threads: 2
parallel: 4
memory: 4GB
validation: holdout
holdout_share: 0.25
clock: wall
engine: dask
jobs: 3
cluster:
  kind: slurm
  workers: 20
  options: {cores: 8, walltime: 24:00:00, account: "0042"}
results: out
data_dir: ../data
task_tables: own.yaml
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "suite.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_every_key_reaches_its_field(written: Callable[[str], Path], tmp_path: Path) -> None:
    suite = read(written(WHOLE))

    assert [(choice.name, choice.options) for choice in suite.learners] == [
        ("xgboost", {}),
        ("dnn", {"max_epochs": 50, "min_improvement": 1e-4}),
    ]
    assert [(pick.word, pick.tags) for pick in suite.tasks] == [
        ("iris", ()), ("bng_*", ()), ("1049", ()), ("", ("paper", "binary")),
    ]  # fmt: skip
    assert [pick.word for pick in suite.exclude] == ["paper"]
    assert [(choice.name, choice.options) for choice in suite.methods] == [
        ("rs", {}), ("cfo", {"scale": "ln", "delta_init": 2}), (f"{tmp_path}/mine.py:Mine", {}), ("bohb", {}),
    ]  # fmt: skip
    cluster = Cluster("slurm", None, 20, {"cores": 8, "walltime": "24:00:00", "account": "0042"})
    scalars = {
        "folds": "0-4", "n_folds": 5, "seeds": (0, 7), "budget_seconds": 5400.0, "max_trials": 1000,
        "trial_timeout_seconds": 90.0, "threads": 2, "parallel": 4, "memory_mb": 4096,
        "validation": "holdout", "holdout_share": 0.25, "clock": "wall", "engine": "dask", "jobs": 3,
        "cluster": cluster, "results": tmp_path / "out", "data_dir": tmp_path / "../data",
        "task_tables": (tmp_path / "own.yaml",),
    }  # fmt: skip
    assert {name: getattr(suite, name) for name in scalars} == scalars


def test_what_a_file_does_not_say_is_by_default(written: Callable[[str], Path]) -> None:
    suite = read(written("tasks: iris\n"))

    for field in fields(Suite):
        if field.name not in ("tasks", "places"):
            assert getattr(suite, field.name) == getattr(DEFAULTS, field.name)


def test_every_field_of_a_suite_has_a_key() -> None:
    assert {setting.name for setting in settings_of(Suite)} == {field.name for field in fields(Suite)} - {
        "places"
    }


def test_names_and_options_keep_their_lines(written: Callable[[str], Path]) -> None:
    path = written(WHOLE)
    suite = read(path)

    cfo = suite.methods[1]
    assert cfo.place == f"{path}, line 12"
    assert (cfo.places["scale"], cfo.places["delta_init"]) == (f"{path}, line 13", f"{path}, line 14")
    assert suite.tasks[3].place == f"{path}, line 8"
    assert suite.places["folds"] == f"{path}, line 17"


def test_one_alone_needs_no_list(written: Callable[[str], Path]) -> None:
    suite = read(written("methods: {cfo: {scale: ln}}\ntasks: {tags: paper}\nseeds: 3\nfolds: 2\n"))

    assert [(choice.name, choice.options) for choice in suite.methods] == [("cfo", {"scale": "ln"})]
    assert [pick.tags for pick in suite.tasks] == [("paper",)]
    assert (suite.seeds, suite.folds) == ((3,), "2")


def test_a_cluster_is_of_the_dask_engine_unless_told_otherwise(written: Callable[[str], Path]) -> None:
    assert read(written("cluster: {workers: 2}\n")).engine == "dask"
    assert read(written("cluster: {kind: local}\n")).engine == "dask"
    assert read(written("cluster: {workers: 2}\nengine: local\n")).engine == "local"


def test_a_scheduler_is_joined_and_its_file_lies_beside_the_suite(
    written: Callable[[str], Path], tmp_path: Path
) -> None:
    assert read(written("cluster: {scheduler: tcp://node7:8786}\n")).cluster == Cluster(
        "join", "tcp://node7:8786"
    )
    assert read(written("cluster: {scheduler: s.json}\n")).cluster == Cluster("join", f"{tmp_path}/s.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks: iris\nbudgets: 3\n", "line 2: unknown key 'budgets' (did you mean 'budget'?)"),
        ("budget: 10 minuts\n", "line 1: budget is '10 minuts': write seconds above 0, or a time such as"),
        ("budget: -3\n", "line 1: budget is -3: write seconds above 0"),
        ("budget: .inf\n", "line 1: budget is inf: write seconds"),
        ("budget: [1h]\n", "line 1: budget is ['1h']: write seconds"),
        ("budget:\n", "line 1: budget is None: write seconds"),
        ("budget: 5400:00\n", "line 1: budget is '5400:00': write seconds"),
        ("memory: 4GiB\n", "line 1: memory is '4GiB': write megabytes above 0, or an amount such as"),
        ("threads: 1.5\n", "line 1: threads is 1.5: write a whole number from 1 on"),
        ("threads: true\n", "line 1: threads is True: write a whole number from 1 on"),
        ("jobs: 0\n", "line 1: jobs is 0: write a whole number from 1 on"),
        ("seeds: [0,\n  -1]\n", "line 2: seeds is -1: write a whole number from 0 to 4294967295"),
        ("folds: 0..3\n", "line 1: folds is '0..3': write all, 0, 0-4 or 0,3, or a list of numbers"),
        ("holdout_share: 20%\n", "line 1: holdout_share is '20%': write a number between 0 and 1"),
        ("clock: virtul\n", "line 1: unknown clock 'virtul' (did you mean 'virtual'?)"),
        ("engine: 3\n", "line 1: engine is 3: write some text"),
        ("methods: []\n", "line 1: methods is an empty list: write at least one"),
        ("methods:\n  - cfo: {}\n    rs: {}\n", "line 2: one of the methods is {'cfo': {}, 'rs': {}}: write"),
        ("methods:\n  - 3\n", "line 2: one of the methods is 3: write a name"),
        ("methods:\n  - cfo: 3\n", "line 2: the options of cfo is 3: write them as key: value"),
        ("tasks:\n  - name: a\n", "line 2: one of the tasks is {'name': 'a'}: write a name, or tags:"),
        ("tasks:\n  - tags: [paper, 3]\n", "line 2: tags is 3: write some text"),
        ('results: "a\\0b"\n', "line 1: results is 'a\\x00b': write some text"),
        ('results: "\\ud800"\n', "line 1: results is '\\ud800': write some text"),
        ("results: 3\n", "line 1: results is 3: write some text"),
        ("cluster: slurm\n", "line 1: cluster is 'slurm': write it as key: value"),
        ("cluster:\n  kind: slrm\n", "line 2: unknown cluster.kind 'slrm' (did you mean 'slurm'?)"),
        ("cluster:\n  wrkers: 2\n", "line 2: unknown key 'cluster.wrkers' (did you mean 'cluster.workers'?)"),
        ("cluster: {kind: join}\n", "kind: join needs a scheduler"),
        ("cluster: {kind: slurm, scheduler: x}\n", "a scheduler is for kind: join"),
        ("- iris\n", "line 1: a suite is a mapping"),
        ("iris\n", "line 1: a suite is a mapping"),
        ("# nothing\n", " is empty: a suite has at least tasks, methods and a budget"),
        (f"budget: {'x' * 5000}\n", "line 1: budget is 'xxx"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_file_line_value_and_rule(
    written: Callable[[str], Path], text: str, said: str
) -> None:
    path = written(text)

    with pytest.raises(UserError) as caught:
        read(path)

    message = str(caught.value)
    assert message.startswith(str(path)) and said in message
    assert "\n" not in message and len(message) < len(str(path)) + 500


@pytest.mark.parametrize("text", ["- iris\n- openml:3\n", "tasks: [iris, openml:3]\nbudget: 3\n"])
def test_a_list_of_tasks_is_read_with_or_without_its_key(written: Callable[[str], Path], text: str) -> None:
    assert [pick.word for pick in read_tasks(written(text)).tasks] == ["iris", "openml:3"]


# --- the suites that come with the package ----------------------------------------------------


def test_a_shipped_suite_is_found_by_its_name_unless_there_is_such_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("smoke", "smoke.yaml", "configs/smoke.yaml"):
        assert find(name) == shipped()["smoke"]

    (tmp_path / "smoke.yaml").write_text("tasks: iris\n")

    assert find("smoke.yaml") == Path("smoke.yaml")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smok", "unknown suite 'smok' (did you mean 'smoke'?): choose from evidence, evidence-dnn, "),
        (
            "smok.yaml",
            "no file 'smok.yaml': give the path of a suite, or the name of an included one: evidence, ",
        ),
        ("elsewhere/smoke.yaml", "no file 'elsewhere/smoke.yaml'"),
    ],
)
def test_a_suite_that_is_nowhere_is_told(name: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        find(name)

    assert str(caught.value).startswith(said)


def test_the_shipped_suites_are_these() -> None:
    assert list(shipped()) == [
        *("evidence", "evidence-dnn", "evidence-early", "knn", "paper-dnn", "paper-xgboost", "paper-yahpo"),
        *("quickstart", "smoke", "tables"),
    ]


# --- the page about suites --------------------------------------------------------------------

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "suites.md").read_text(encoding="utf-8")


def test_the_example_of_the_docs_is_a_suite(written: Callable[[str], Path]) -> None:
    example, *_ = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    suite = read(written(example))

    assert [pick.word or pick.tags for pick in suite.tasks] == [
        "adult", "bng_*", "bundled", ("paper", "binary"), "openml:3",
    ]  # fmt: skip
    assert VALIDATOR.is_valid(yaml_file.parse(example, "suites.md").plain())


def test_the_example_in_python_makes_a_suite() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}

    exec(example, names)

    assert names["suite"].methods == (Choice("rs"), Choice("cfo", {"scale": "ln"}))
    assert names["suite"].budget_seconds == 600.0


# --- the schema says the same -----------------------------------------------------------------


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", shipped().values(), ids=shipped())
def test_a_shipped_suite_is_right_by_the_reader_and_by_the_schema(path: Path) -> None:
    read(path)

    assert not list(VALIDATOR.iter_errors(yaml_file.read(path).plain()))


WORDS = st.sampled_from(
    ["cfo", "rs", "iris", "bng_*", "paper", "all", "0-4", "0,3", "1h", "1h30m", "0s", "2 d", "4GB", "512 mb",
     "0GB", "1e-3", "1e4", "1e-0", "0", "007", "local", "dask", "wall", "fold", "holdout", "slurm", "join",
     "tcp://a:1", "", " ", "x y", "10min", "a\0b", "~nobody/x"]
)  # fmt: skip
SCALARS = (
    WORDS
    | st.integers(-2, 2**33)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-1, max_value=1e120)
    | st.booleans()
    | st.none()
)
OPTIONS = st.dictionaries(st.sampled_from(["tags", "scale", "cores", "kind"]), SCALARS, max_size=2)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tags", "cfo", "kind", "scheduler", "workers", "options", ""]), inner, max_size=2
        )
    ),
    max_leaves=6,
)
RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "tasks": st.lists(WORDS | st.fixed_dictionaries({"tags": st.lists(WORDS, max_size=2)}), max_size=2),
    "methods": st.lists(WORDS | st.dictionaries(WORDS, OPTIONS | st.none(), max_size=2), max_size=2),
    "folds": st.integers(0, 9) | st.lists(st.integers(-1, 9), max_size=3) | WORDS,
    "seeds": st.integers(-1, 2**33) | st.lists(st.integers(0, 9), max_size=3),
    "holdout_share": st.floats(-0.5, 1.5) | WORDS,
    "cluster": st.fixed_dictionaries(
        {},
        optional={
            "kind": st.sampled_from(["local", "join", "slurm", "none"]),
            "scheduler": WORDS,
            "workers": st.integers(-1, 3),
            "options": OPTIONS | st.none(),
        },
    ),
}


# Few keys at a time, or hardly a suite would be right.
SUITES = st.sets(st.sampled_from([*KEYS, "extra"]), min_size=1, max_size=2).flatmap(
    lambda keys: st.fixed_dictionaries({key: RIGHT.get(key, SCALARS) | ANYTHING for key in sorted(keys)})
)


@settings(max_examples=300)
@given(SUITES)
def test_reader_and_schema_accept_the_same_suites(
    tmp_path_factory: pytest.TempPathFactory, suite: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump(suite), encoding="utf-8")
    # As read, not as dumped: an editor sees the text too, and 1e-3 in it.
    plain = yaml_file.read(path).plain()

    by_schema = [error.message for error in VALIDATOR.iter_errors(plain)]
    by_reader = mistake(lambda: read(path))

    assert bool(by_schema) == bool(by_reader), (plain, by_schema, by_reader)


# --- any bytes --------------------------------------------------------------------------------


def mistake(attempt: Callable[[], object]) -> str:
    """What the user is told; nothing where all is well. Any other error is our own."""
    try:
        attempt()
    except UserError as error:
        return str(error)
    return ""


@given(st.binary(max_size=300))
def test_any_bytes_are_a_suite_or_one_line(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(content)

    assert "\n" not in mistake(lambda: read(path))


@given(
    st.integers(0, len(WHOLE)), st.integers(0, 12), st.text(max_size=5) | st.sampled_from(list("[]{}&*!:-\n"))
)
def test_a_suite_with_a_slip_of_the_keys_is_a_suite_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, at: int, cut: int, typed: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "slip.yaml"
    path.write_bytes((WHOLE[:at] + typed + WHOLE[at + cut :]).encode("utf-8", "surrogatepass"))

    assert "\n" not in mistake(lambda: read(path))


def test_a_record_of_the_suite_can_not_be_changed() -> None:
    for record, name in ((Choice("a"), "name"), (Pick("a"), "word"), (Cluster(), "kind"), (Suite(), "jobs")):
        with pytest.raises(AttributeError):
            setattr(record, name, "b")
