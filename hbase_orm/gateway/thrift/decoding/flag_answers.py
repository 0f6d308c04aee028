"""A fast reader of the answer to a check-and-mutate: true or false, in the binary protocol."""

from __future__ import annotations

from typing import Final

from hbase_orm.gateway.thrift.decoding.answers import AnswerReader

# Field 0 of a result, of type 2; then the value, and the end of the struct.
_FLAGS: Final = {b"\x02\x00\x00\x01\x00": True, b"\x02\x00\x00\x00\x00": False}


def usual_flag(reader: AnswerReader, head: bytes) -> bool | None:
    """Return the flag of an answer that has arrived completely and has nothing else.

    None for any other answer; then nothing of it was read.

    Args:
        reader: The reader, at the beginning of the answer.
        head: The expected bytes of the answer before its result.
    """
    incoming = reader.incoming
    data = incoming.data
    flag = _FLAGS.get(data[len(head) :]) if data.startswith(head) else None
    if flag is not None:
        incoming.position = len(data)
    return flag
