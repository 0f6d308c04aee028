"""Structs of an answer: what the library's interface does not have is passed over."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import ClassVar

from hbase_orm.gateway.thrift.decoding.answers import STRING, STRUCT
from hbase_orm.gateway.thrift.decoding.incoming import Incoming
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader

STOP = b"\x00"
TEXT_1 = b"\x0b\x00\x01\x00\x00\x00\x04"
STRUCT_9 = b"\x0c\x00\x09"


class Named:
    """A struct with one field."""

    thrift_spec: ClassVar = {1: (STRING, "name", False)}
    name = b""


def test_a_struct_that_is_passed_over_ends_where_it_stops() -> None:
    inner = STRUCT_9 + TEXT_1 + b"nope" + STOP
    answer = inner + TEXT_1 + b"mine" + STOP
    incoming = Incoming(BytesIO(struct.pack(">I", len(answer)) + answer), is_framed=True)
    incoming.begin()

    made = BinaryReader(incoming, {}).read_struct(Named())

    incoming.end()  # nothing is left of the answer
    assert answer[0] == STRUCT
    assert made.name == b"mine"
