"""The answer to a check-and-mutate, read in one step."""

from __future__ import annotations

from io import BytesIO

import pytest

from hbase_orm.gateway.thrift.decoding.flag_answers import usual_flag
from hbase_orm.gateway.thrift.decoding.incoming import Incoming
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader

HEAD = b"head of the message"
TRUE, FALSE = HEAD + b"\x02\x00\x00\x01\x00", HEAD + b"\x02\x00\x00\x00\x00"


def usual(answer: bytes) -> tuple[bool | None, int]:
    """Return the flag that is read in one step, and how many bytes were read."""
    incoming = Incoming(BytesIO(answer), is_framed=False)
    incoming.begin()
    incoming.need(1)
    return usual_flag(BinaryReader(incoming, {}), HEAD), incoming.position


@pytest.mark.parametrize(("answer", "flag"), [(TRUE, True), (FALSE, False)])
def test_a_usual_answer_is_read_in_one_step(answer: bytes, *, flag: bool) -> None:
    assert usual(answer) == (flag, len(answer))


@pytest.mark.parametrize(
    "answer",
    [
        b"other" + TRUE,
        HEAD + b"\x02\x00\x00\x02\x00",
        HEAD + b"\x03\x00\x00\x01\x00",
        HEAD + b"\x0c\x00\x01" + TRUE,
        TRUE + b"\x00",
        *(TRUE[:count] for count in range(1, len(TRUE))),
    ],
)
def test_nothing_is_read_of_any_other_answer(answer: bytes) -> None:
    assert usual(answer) == (None, 0)
