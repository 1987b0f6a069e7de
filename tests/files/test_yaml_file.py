"""YAML as values that know their line; any bytes at all end in values or in one clear line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import UserError
from cfo_bench.files.yaml_file import MAX_BYTES, parse, read


def test_every_value_knows_its_line_and_that_of_its_key() -> None:
    root = parse("a: 1\nb:\n  - x\n  - c:\n      deep\n", "f.yaml")

    assert isinstance(root.value, dict)
    b = root.value["b"]
    assert (b.key_line, b.line) == (2, 3)
    c = b.value[1].value["c"]
    assert (c.place, c.key_place) == ("f.yaml, line 5", "f.yaml, line 4")
    assert root.plain() == {"a": 1, "b": ["x", {"c": "deep"}]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("1.5", 1.5), ("true", True), ("null", None), ("", None), ("'1'", "1"), ("1e-3", "1e-3"),
        ("24:00:00", "24:00:00"), ("2024-01-31", "2024-01-31"), ("2024-13-45", "2024-13-45"), ("0x_", "0x_"),
        ("1_000", 1000), ("9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_a_scalar_is_read_as_it_looks(text: str, value: object) -> None:
    assert parse(text, "f").plain() == value


def bomb() -> str:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40))]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: [1", "line 1: this is not YAML"),
        (b"a: 1\nb: 'x", "line 2: this is not YAML"),
        (b"a: 1\n---\nb: 2\n", "line 2: this is not YAML"),
        (b"a: 1\na: 2\n", "line 2: 'a' is in line 1 already"),
        (b"a:\n  b: 1\n  c: 2\n  b: 3\n", "line 4: 'b' is in line 2 already"),
        (b"1: a\n", "line 1: a key has to be text"),
        (b"[a, b]: c\n", "line 1: a key has to be text"),
        (b"ok: 1\nx: \x00\n", "line 2: the character #x00 is not text"),
        (b"ok: 1\nx: \xff\xfe\n", "line 2: the byte 0xff is not UTF-8"),
        (b"x: !!python/object/apply:os.system [touch pwned]\n", "line 1: the tag 'tag:yaml.org,2002:python"),
        (b"x: !mine 3\n", "line 1: the tag '!mine' is not read"),
        (b"x: !!binary aGk=\n", "line 1: the tag"),
        (b"a: &x 1\nb: *x\n", "line 1: anchors and aliases"),
        (bomb().encode(), "line 1: anchors and aliases"),
        (b"[" * 100_000, "line 1: nested more than 40 deep"),
        (b"a:\n" + b"".join(b" " * i + b"- \n" for i in range(1, 300)), "nested more than 40 deep"),
        (b"a: b\n" * MAX_BYTES, "is larger than 1024 kB"),
    ],
)
def test_what_is_no_data_is_told_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(content)

    with pytest.raises(UserError) as caught:
        read(path)

    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    assert said in message
    assert not Path("pwned").exists()


def test_a_merge_key_is_a_key_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"<<: {a: 1}\n")

    assert read(path).plain() == {"<<": {"a": 1}}


def test_a_file_that_can_not_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file"):
        read(tmp_path / "absent.yaml")
    with pytest.raises(UserError, match="can't be read: it is not a regular file"):
        read(tmp_path)


def mistake(attempt: Callable[[], object]) -> str:
    """What the user is told; nothing where all is well. Any other error is our own."""
    try:
        attempt()
    except UserError as error:
        return str(error)
    return ""


@given(st.binary(max_size=200))
def test_any_bytes_are_values_or_one_line(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)

    assert mistake(lambda: read(path).plain()).count("\n") == 0


@given(st.text(alphabet="ab:- \n[]{},&*!|>'\"#?%@`0e.\t", max_size=80))
def test_any_text_of_yamls_own_signs_is_values_or_one_line(text: str) -> None:
    assert mistake(lambda: parse(text, "f").plain()).count("\n") == 0
