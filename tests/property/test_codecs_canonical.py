"""Codecs that call themselves canonical: no two byte strings decode to equal values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError
from tests.property.test_codec_families import SUBJECTS, Values
from tests.support.filtered_rows import KINDS, Kind

CANONICAL = [
    *((codec, values) for codec, values in SUBJECTS if codec.canonical),
    *((kind.codec, st.sampled_from(kind.values)) for kind in KINDS if kind.codec.canonical),
]


@pytest.mark.parametrize(("codec", "values"), CANONICAL, ids=[repr(c) for c, _ in CANONICAL])
@settings(max_examples=20)
@given(data=st.data())
def test_what_decodes_has_no_other_bytes(
    codec: Codec[Any], values: Values, data: st.DataObject
) -> None:
    encoded = data.draw(values.map(codec.encode))
    width = len(encoded)
    found = data.draw(
        st.one_of(
            st.binary(min_size=width, max_size=width),
            st.binary(max_size=24),
            st.tuples(st.integers(0, max(0, width - 1)), st.integers(0, 255)).map(
                lambda change: encoded[: change[0]] + bytes(change[1:]) + encoded[change[0] + 1 :]
            ),
        )
    )
    with suppress(CodecError):
        value = codec.decode(found)
        if value == value:  # noqa: PLR0124 - NaN is excepted
            assert _encoded(codec, value) in {found, None}


def _encoded(codec: Codec[Any], value: Any) -> bytes | None:
    """Return the bytes; None for a text that a codec reads and would not write."""
    try:
        return codec.encode(value)
    except CodecError:
        if codec.python_type is str:
            return None
        raise AssertionError(f"{value!r} decodes and does not encode") from None


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.codec.canonical], ids=repr)
def test_those_that_are_not_read_what_they_do_not_write(kind: Kind) -> None:
    pairs = [(data, kind.codec.decode(data)) for data in kind.cells]
    pairs += [(kind.codec.encode(value), value) for value in kind.values]

    assert any(one == other and a != b for a, one in pairs for b, other in pairs)


def test_no_more_codecs_are_left_out() -> None:
    plain = {codec.name for codec, _ in SUBJECTS if not codec.canonical}

    assert plain == {
        "bytes.decimal",
        "json",
        "msgpack",
        "phoenix.timestamp",
        "phoenix.unsigned_timestamp",
    }
