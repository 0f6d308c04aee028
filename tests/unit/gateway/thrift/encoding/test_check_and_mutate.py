"""The bytes of `CheckAndMutate`: those that thriftpy2 makes of the same request."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import thriftpy2.protocol
import thriftpy2.transport
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.gateway.thrift import thrift2_writes
from hbase_orm.gateway.thrift.encoding.check_and_mutate import check_and_mutate_arguments
from hbase_orm.gateway.thrift.wire import HBASE2
from hbase_orm.ops import CheckAndMutate, Delete, Put, RowMutation

# Mostly without annotations, and so unknown to the type checker.
PROTOCOLS: Any = thriftpy2.protocol
TRANSPORTS: Any = thriftpy2.transport

TEXT: Any = "text"
"""A value of a wrong type."""

values = st.one_of(st.binary(max_size=3), st.just(b"x" * 5_000))
columns = st.sampled_from((b"d:a", b"d:", b"_:g", b"e:" + b"long" * 40, b"d:a:b"))
stamps = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
puts = st.builds(Put, columns, values, stamps)
deletes = st.builds(Delete, st.one_of(columns, st.sampled_from((b"d", b"_"))), stamps)


@st.composite
def requests(draw: st.DrawFn) -> CheckAndMutate:
    mutation = RowMutation(
        draw(st.binary(min_size=1, max_size=4)),
        tuple(draw(st.lists(puts, max_size=4))),
        tuple(draw(st.lists(deletes, max_size=4))),
        ttl_ms=draw(st.one_of(st.none(), st.integers(1, 2**63 - 1))),
    )
    table = draw(st.sampled_from(("t", "ns:täble")))
    operator: Any = draw(st.sampled_from(("==", "!=", "<", "<=", ">", ">=")))
    return CheckAndMutate(table, draw(columns), draw(values), mutation, operator)


class _Line:
    is_binary = False  # so that the gateway calls thriftpy2


class _Client:
    """Encodes the call by thriftpy2 instead of sending it."""

    line = _Line()
    sent = b""

    def checkAndMutate(self, *arguments: Any) -> bool:  # noqa: N802  # Thrift's name
        struct_of_call = HBASE2.HBase2.checkAndMutate_args()
        for specification, value in zip(
            struct_of_call.thrift_spec.values(), arguments, strict=True
        ):
            setattr(struct_of_call, specification[1], value)
        buffer = TRANSPORTS.TMemoryBuffer()
        struct_of_call.write(PROTOCOLS.TBinaryProtocol(buffer))
        self.sent = buffer.getvalue()
        return True


@given(requests())
def test_the_bytes_are_those_of_thriftpy2(request: CheckAndMutate) -> None:
    client = _Client()
    assert thrift2_writes.check_and_mutate(client, request) is True

    operator = thrift2_writes._OPERATORS[request.operator]
    assert check_and_mutate_arguments(request, operator) == client.sent


@pytest.mark.parametrize(
    "mutation",
    [
        RowMutation(b"r", (Put(b"d:a", TEXT),)),
        RowMutation(b"r", (Put(b"d:a", b"1", 2**63),)),
        RowMutation(b"r", (Put(b"d:a", b"1", TEXT),)),
        RowMutation(b"r", (), (Delete(b"d:a", 2**63),)),
        RowMutation(TEXT, (Put(b"d:a", b"1"),)),
    ],
)
def test_what_cannot_be_encoded_raises_an_error(mutation: RowMutation) -> None:
    with pytest.raises((TypeError, struct.error)):
        check_and_mutate_arguments(CheckAndMutate("t", b"_:g", b"", mutation), 2)
