"""The bytes of a get of one row are those that the Thrift library writes."""

from __future__ import annotations

from typing import Any

import pytest
import thriftpy2.protocol
import thriftpy2.transport
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.gateway.thrift.encoding.get_row import get_row_call
from hbase_orm.gateway.thrift.interfaces import HBASE1

# Mostly without annotations, and so unknown to the type checker.
_BINARY: Any = thriftpy2.protocol.TBinaryProtocol
_MEMORY: Any = thriftpy2.transport.TMemoryBuffer

columns = st.lists(st.sampled_from((b"d", b"d:a", b"d:", b"e:long", b"f")), max_size=3).map(tuple)


def _written(method: str, **values: Any) -> bytes:
    arguments = getattr(HBASE1.Hbase, f"{method}_args")(**values)
    buffer = _MEMORY()
    arguments.write(_BINARY(buffer))
    data: bytes = buffer.getvalue()
    return data


@given(st.binary(min_size=1, max_size=40), st.sampled_from(("t", "ns:tä")))
def test_a_whole_row(key: bytes, table: str) -> None:
    expected = _written("getRow", tableName=table.encode(), row=key, attributes={})

    assert get_row_call(table, key, ()) == ("getRow", expected)


@given(st.binary(min_size=1, max_size=40), columns.filter(bool))
def test_some_columns_without_those_of_families_that_are_read_whole(
    key: bytes, chosen: tuple[bytes, ...]
) -> None:
    families = {each for each in chosen if b":" not in each}
    wanted = [
        each for each in dict.fromkeys(chosen) if each in families or each[:1] not in families
    ]
    expected = _written("getRowWithColumns", tableName=b"t", row=key, columns=wanted, attributes={})

    assert get_row_call("t", key, chosen) == ("getRowWithColumns", expected)


@pytest.mark.parametrize(("key", "chosen"), [("text", ()), (b"a", ("d:a",))])
def test_what_is_not_bytes_is_refused(key: Any, chosen: Any) -> None:
    with pytest.raises(TypeError):
        get_row_call("t", key, chosen)
