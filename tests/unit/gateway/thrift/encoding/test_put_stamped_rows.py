"""The bytes of `PutStampedRows`: Thrift's own code reads what `MutateRows` would send."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import thriftpy2.protocol
import thriftpy2.transport
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.gateway.thrift.encoding.put_stamped_rows import put_multiple_arguments
from hbase_orm.gateway.thrift.wire import HBASE2
from hbase_orm.ops import PutStampedRows, StampedRows

# Mostly without annotations, and so unknown to the type checker.
PROTOCOLS: Any = thriftpy2.protocol
TRANSPORTS: Any = thriftpy2.transport

values = st.one_of(st.binary(max_size=3), st.just(b"x" * 5_000))
keys = st.binary(min_size=1, max_size=4)


@st.composite
def groups(draw: st.DrawFn) -> StampedRows:
    columns = draw(st.lists(st.sampled_from((b"d:a", b"d:", b"e:long")), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(keys, *[values] * len(columns)), max_size=4))
    stamps = st.tuples(*[st.integers(0, 2**63 - 1)] * len(columns))
    return StampedRows(tuple(columns), tuple(rows), tuple(draw(stamps) for _ in rows))


@given(st.builds(PutStampedRows, st.just("ns:t"), st.lists(groups(), max_size=3).map(tuple)))
def test_a_server_reads_the_rows_that_were_meant(request: PutStampedRows) -> None:
    received = HBASE2.HBase2.putMultiple_args()
    buffer = TRANSPORTS.TMemoryBuffer(put_multiple_arguments(request))
    received.read(PROTOCOLS.TBinaryProtocol(buffer, decode_response=False))

    assert received.table == b"ns:t"
    assert [
        (
            each.row,
            [(v.family + b":" + v.qualifier, v.value, v.timestamp) for v in each.values],
        )
        for each in received.requests
    ] == [
        (each.row, [(put.column, put.value, put.timestamp_ms) for put in each.puts])
        for each in request.as_mutations().mutations
    ]
    assert buffer.read(1) == b""


@pytest.mark.parametrize(("value", "stamp"), [("text", 1), (b"1", 2**63), (b"1", "1")])
def test_what_cannot_be_encoded_raises_an_error(value: Any, stamp: Any) -> None:
    rows: Any = ((b"a", b"1"), (b"b", value))
    stamps: Any = ((1,), (stamp,))

    with pytest.raises((TypeError, struct.error)):
        put_multiple_arguments(PutStampedRows("t", (StampedRows((b"d:a",), rows, stamps),)))
