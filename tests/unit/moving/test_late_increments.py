"""The second look at an increment whose row is sealed, or was sealed long ago."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm.errors import ConnectionLostError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.moving import seal
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.counter_seals import seal_counters
from hbase_orm.moving.late_increments import confirm_late
from hbase_orm.moving.seal import seal_row
from hbase_orm.ops import GetRows, Increment, Protocol
from tests.support.counted_readings import KEPT, TTL_S, Answers, add, cell, readings_with_ttl
from tests.support.moved_readings import HITS, VISITS, Tables, readings_in_memory
from tests.support.stepping import drive

DONE = Increment("old", b"d1", {HITS: 1})


class Moving:
    """A catalog that shows the phase MOVING."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def phase(self) -> Protocol[Phase]:
        yield from ()
        return Phase.MOVING

    def hand_over(self, old_key: bytes) -> Protocol[bool]:
        yield from hand_over(KEPT, b"r" + old_key, self._tables.context)
        return True


def test_an_increment_after_the_seal_of_its_counter_has_expired_is_not_acknowledged() -> None:
    now_ms = 1_000
    tables = readings_with_ttl(lambda: now_ms)
    tables.write_old(b"d1", region=b"north")
    tables.run(hand_over(KEPT, b"rd1", tables.context))
    now_ms = tables.clock_ms = 1_000 + 2 * TTL_S * 1_000
    add(tables, HITS, 1)

    with pytest.raises(ConnectionLostError, match="unknown whether the amounts were added"):
        tables.run(confirm_late(KEPT.old, DONE, Moving(tables), tables.context))

    assert cell(tables, "new", b"rd1", VISITS) is None


def _interrupted(*_: object) -> Any:
    raise KeyboardInterrupt


def test_an_increment_of_a_row_that_is_just_being_sealed_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = readings_in_memory()
    tables.write_old(b"d1", region=b"north")
    add(tables, HITS, 1)
    with monkeypatch.context() as patch:
        patch.setattr(seal, "seal_counters", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            tables.run(seal_row(KEPT.old, b"d1", tables.context))
    reads: list[Any] = []

    def meanwhile(request: Any) -> Any:
        answer = tables.gateway.execute(request)
        if isinstance(request, GetRows) and not reads:
            tables.run(seal_counters(KEPT.old, b"d1", tables.context))
        reads.append(request)
        return answer

    drive(confirm_late(KEPT.old, DONE, Moving(tables), tables.context), Answers(tables, meanwhile))

    assert len(reads) == 2
