from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbase_orm.errors import RowKeyError
from hbase_orm.rowkey.notation import from_string_binary, to_string_binary


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"web 1~", "web 1~"),
        (b"a\\b", r"a\x5Cb"),
        (b"\x00\x1f\x7f\x80\xff", r"\x00\x1F\x7F\x80\xFF"),
        ("ü".encode(), r"\xC3\xBC"),
    ],
)
def test_a_key_is_shown_and_read_in_hbases_notation(data: bytes, text: str) -> None:
    assert (to_string_binary(data), from_string_binary(text)) == (text, data)


@given(st.binary())
@example(rb"\x41")
def test_what_is_shown_is_read_back(data: bytes) -> None:
    assert from_string_binary(to_string_binary(data)) == data


@pytest.mark.parametrize(("text", "data"), [(r"a\b", rb"a\b"), (r"\\x00", b"\\\x00")])
def test_a_backslash_without_an_x_is_itself(text: str, data: bytes) -> None:
    assert from_string_binary(text) == data


@pytest.mark.parametrize(
    ("text", "position"), [(r"a\xff", 1), (r"\x0", 0), ("\\x", 0), (r"\x00\xG0", 4), ("aü", 1)]
)
def test_what_java_would_misread_is_refused_with_its_place(text: str, position: int) -> None:
    with pytest.raises(RowKeyError) as caught:
        from_string_binary(text)

    assert caught.value.position == position
