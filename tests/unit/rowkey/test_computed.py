"""Computed parts: every row must stand where a query that knows its fields would look."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.errors import RowKeyError
from hbase_orm.rowkey import Computed, KeyFields, KeyLayout, KeySource, assemble

A = KeySource()


def made(function: Callable[..., Any], values: Callable[..., Iterable[Any]]) -> KeyLayout:
    """Return the layout of a key of one field behind a computed part."""
    part = Computed(function, of=A, codec=codecs.uint8(), values=values)
    return assemble((part, A), KeyFields({"a": A}, {"a": codecs.text()}))


def lengths(text: str | None) -> Iterable[int]:
    """Return the lengths that are declared, none of a text of three letters."""
    return (0, 1, 2, 3) if text is None else iter((0, 1, 2))


def test_a_computed_value_that_the_function_of_values_leaves_out_is_refused() -> None:
    built = made(len, lengths)

    assert built.encode({"a": "ab"}) == b"\x02ab"
    with pytest.raises(RowKeyError, match="not one of the declared values") as caught:
        built.encode({"a": "abc"})
    assert (caught.value.field, caught.value.value) == ("len(a)", 3)
