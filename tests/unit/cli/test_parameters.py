from __future__ import annotations

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbase_orm.cli.parameters import KEY
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
