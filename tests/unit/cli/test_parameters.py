from __future__ import annotations

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbase_orm.cli.parameters import COUNT, KEY, POSITIVE
from hbase_orm.rowkey.notation import to_string_binary


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", b""),
        ("plain", b"plain"),
        (r"a\x00b", b"a\0b"),
        (r"\xFF\xff", b"\xff\xff"),
        (r"a\\x00", rb"a\x00"),
        ("ü", b"\xc3\xbc"),
        ("a\udcff", b"a\xff"),
    ],
)
def test_a_key_is_read_as_hbase_prints_it(text: str, key: bytes) -> None:
    assert KEY.convert(text, None, None) == key


@pytest.mark.parametrize("text", ["\\", r"a\n", r"\x0", r"\xg0", r"a\\\ ", r"\41"])
def test_a_stray_backslash_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="backslash"):
        KEY.convert(text, None, None)


@given(st.binary())
@example(rb"\x41")
def test_a_shown_key_is_read_back(key: bytes) -> None:
    assert KEY.convert(to_string_binary(key), None, None) == key


@pytest.mark.parametrize(
    ("text", "number"), [("5000", 5000), ("5_000", 5000), ("5e3", 5000), ("1.5e3", 1500), ("0", 0)]
)
def test_a_number_of_rows_may_have_an_exponent(text: str, number: int) -> None:
    assert COUNT.convert(text, None, None) == number


@pytest.mark.parametrize("text", ["", "many", "1.5", "nan", "inf", "1e999999", "-1e31"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="number"):
        COUNT.convert(text, None, None)


def test_a_positive_number_begins_with_one() -> None:
    assert POSITIVE.convert("1", None, None) == 1
    with pytest.raises(click.BadParameter, match="x>=1"):
        POSITIVE.convert("0", None, None)
