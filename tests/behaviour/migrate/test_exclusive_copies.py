"""What an exclusive copy keeps of the old cells, and how it notices that a copy is not right."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import uuid4

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, Table, codecs, column, key, rowkey, select
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.errors import RejectedError, SchemaDriftError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.refusals import RefusedRowsError
from hbase_orm.migrate.operations.rows import exclusive_copy
from hbase_orm.migrate.operations.tables import DropTable
from hbase_orm.ops import MutateRows, Operation, Put, PutStampedRows, RowMutation, StampedRows
from tests.support.backends import Backend
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    Revision,
    Saved,
    contents,
    run_in_two_programs,
    with_short_lease,
)
from tests.support.recording import RecordsRequests, gateway_of, through

R = TypeVar("R")

DAY_MS: Final = 86_400_000
ROWS: Final = 24

Versions = Mapping[bytes, tuple[tuple[int, bytes], ...]]
"""The versions of a row by column: timestamps and values, newest first."""


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


def numbers(table: str, family: Family, *, is_turned: bool = False) -> Any:
    """Return a model whose key has two numbers, perhaps in the other order."""

    class Number(Model, table=Table(table, splits=[b"\x00\x00\x00\x08"])):
        d = family
        a: Key[int] = key(codecs.uint32())
        b: Key[int] = key(codecs.uint32())
        v: Mapped[str] = column(d, "v")
        w: Mapped[str | None] = column(d, "w", default=None)
        if is_turned:
            __rowkey__ = rowkey(b, a)

    return Number


def old_key(number: int) -> bytes:
    return number.to_bytes(4, "big") + (ROWS - number).to_bytes(4, "big")


def turned(key: bytes) -> bytes:
    return key[4:] + key[:4]


class Copy:
    """A table whose rows are copied to one with the turned key."""

    def __init__(self, engine: Engine, old: Family, new: Family) -> None:
        self.engine = engine
        self.name = f"numbers_{uuid4().hex[:8]}"
        self.old = numbers(self.name, old)
        self.new = numbers(f"{self.name}_2", new, is_turned=True)
        self.operation = RekeyTable(self.name, new_table=f"{self.name}_2")
        self.revision = Revision(engine, (self.old,), (self.new,))
        self.saved = Saved()
        engine.create_tables(self.old)

    def put(self, rows: Mapping[bytes, Versions]) -> None:
        """Put rows into the old table."""
        mutations = [
            RowMutation(
                row, tuple(Put(name, v, ms) for name, each in cells.items() for ms, v in each)
            )
            for row, cells in rows.items()
        ]
        table = in_namespace(self.name, self.engine.options.namespace)
        self.engine._runtime.execute(MutateRows(table, tuple(mutations)))

    def run(self, engine: Engine | None = None) -> None:
        self.operation.run(self.revision.migration(engine, exclusive=True), self.saved)

    @property
    def copied(self) -> dict[bytes, Any]:
        """The cells of the new table by the old row key."""
        cells = contents(self.engine, f"{self.name}_2").cells
        return {turned(row): dict(columns) for row, columns in cells.items()}

    @property
    def steps(self) -> list[str]:
        return list(dict.fromkeys(each.step for each in self.revision.reports))


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_lease(engine)


def now_ms() -> int:
    return int(time.time() * 1000)


def versions(number: int, *stamps: int) -> tuple[tuple[int, bytes], ...]:
    return tuple((ms, b"%d at %d" % (number, ms)) for ms in stamps)


@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_of_more_versions_than_the_new_table_keeps_the_newest_are_copied(
    tables: Engine, kept: int
) -> None:
    copy, now = Copy(tables, Family(versions=3), Family(versions=kept)), now_ms()
    rows: dict[bytes, Versions] = {
        old_key(n): {
            b"d:v": versions(n, now, now - 5, now - 9)[: n % 3 + 1],
            b"d:w": versions(n, now - 7),
        }
        for n in range(ROWS)
    }
    copy.put(rows)
    gateway = RecordsRequests(gateway_of(tables))

    copy.run(through(gateway, tables))

    puts = [each for each in gateway.requests if isinstance(each, PutStampedRows)]
    assert max(group.columns.count(b"d:v") for put in puts for group in put.groups) == min(kept, 3)
    assert copy.copied == {
        row: {name: each[:kept] for name, each in cells.items()} for row, cells in rows.items()
    }
    assert copy.steps == ["copy rows", "check rows"]


@pytest.mark.parametrize("min_versions", [0, 1])
def test_what_the_ttl_of_the_new_table_ends_is_not_missed(
    tables: Engine, min_versions: int
) -> None:
    new = Family(versions=2, ttl=timedelta(days=10), min_versions=min_versions)
    copy, now = Copy(tables, Family(versions=3), new), now_ms()
    new_ms, old_ms = now - DAY_MS, now - 20 * DAY_MS
    copy.put(
        {
            old_key(1): {b"d:v": versions(1, new_ms), b"d:w": versions(1, new_ms - 1)},
            old_key(2): {b"d:v": versions(2, new_ms, old_ms), b"d:w": versions(2, old_ms)},
            old_key(3): {b"d:v": versions(3, old_ms, old_ms - 1)},
        }
    )

    copy.run()

    lasting: dict[bytes, Any] = {
        old_key(1): {b"d:v": versions(1, new_ms), b"d:w": versions(1, new_ms - 1)},
        old_key(2): {b"d:v": versions(2, new_ms)},
    }
    if min_versions:
        lasting[old_key(2)][b"d:w"] = versions(2, old_ms)
        lasting[old_key(3)] = {b"d:v": versions(3, old_ms)}
    assert copy.copied == lasting
    assert copy.steps == ["copy rows", "check rows"]


def test_cells_that_expire_while_they_are_copied_are_no_difference(tables: Engine) -> None:
    family = Family(ttl=timedelta(days=10))
    copy, now = Copy(tables, family, family), now_ms()
    copy.put(
        {
            old_key(n): {
                b"d:v": versions(n, now - 10 * DAY_MS + 200 * n),
                b"d:w": versions(n, now - DAY_MS),
            }
            for n in range(ROWS)
        }
    )

    copy.run()

    assert {row: cells[b"d:w"] for row, cells in copy.copied.items()} == {
        old_key(n): versions(n, now - DAY_MS) for n in range(ROWS)
    }


def test_a_comparison_that_outlasts_its_cells_is_made_again(
    tables: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = Family(ttl=timedelta(days=10))
    copy = Copy(tables, family, family)
    copy.put({old_key(n): {b"d:v": versions(n, now_ms())} for n in range(ROWS)})
    clocks = iter([0, 0])  # of the start, and of the first horizon: long ago
    monkeypatch.setattr(
        exclusive_copy.ExclusiveCopy, "_now_ms", property(lambda _: next(clocks, now_ms()))
    )

    copy.run()

    assert copy.steps == ["copy rows", "check rows", "compare rows"]
    assert len(copy.copied) == ROWS


class Damages(RecordsRequests):
    """Changes the rows of each batch that is put into the new table."""

    def __init__(self, inner: Any, change: Callable[[StampedRows], StampedRows]) -> None:
        super().__init__(inner)
        self.change = change

    def execute(self, operation: Operation[R], /) -> R:
        damaged: Any = operation
        if isinstance(operation, PutStampedRows):
            damaged = replace(operation, groups=tuple(map(self.change, operation.groups)))
        answer: R = self.inner.execute(damaged)
        return answer


def lose(group: StampedRows) -> StampedRows:
    return replace(group, rows=group.rows[1:], stamps=group.stamps[1:])


def alter(group: StampedRows) -> StampedRows:
    (key, *values), *rest = group.rows
    return replace(group, rows=((key, values[0] + b"!", *values[1:]), *rest))


def age(group: StampedRows) -> StampedRows:
    (first, *more), *rest = group.stamps
    return replace(group, stamps=((first - 1, *more), *rest))


def swap(group: StampedRows) -> StampedRows:
    (one, *values), (other, *others), *rest = group.rows
    return replace(group, rows=((one, *others), (other, *values), *rest))


def add(group: StampedRows) -> StampedRows:
    (key, *values), *_ = group.rows
    row = (b"\xff" + key[1:], *values)
    return replace(group, rows=(*group.rows, row), stamps=(*group.stamps, group.stamps[0]))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lose, "the new table does not have the row"),
        (alter, "the copy has other cells"),
        (age, "the copy has other cells"),
        (swap, "the copy has other cells"),
        (add, "rows that are no copies"),
    ],
)
def test_a_copy_that_is_not_right_is_refused_and_made_again(
    tables: Engine, damage: Callable[[StampedRows], StampedRows], reason: str
) -> None:
    copy, now = Copy(tables, Family(), Family()), now_ms()
    rows: dict[bytes, Versions] = {
        old_key(n): {b"d:v": versions(n, now), b"d:w": versions(n + 1, now - 3)}
        for n in range(ROWS)
    }
    copy.put(rows)

    with pytest.raises(RefusedRowsError, match=reason) as caught:
        copy.run(through(Damages(gateway_of(tables), damage), tables))

    assert "drop the new table" in (caught.value.fix or "")
    DropTable(f"{copy.name}_2").run(copy.revision.migration(exclusive=True), Saved())
    copy.run()
    assert copy.copied == rows


def test_rows_that_do_not_decode_are_named_also_if_their_cells_are_copied_unchanged(
    tables: Engine,
) -> None:
    copy, now = Copy(tables, Family(), Family()), now_ms()
    copy.put({old_key(n): {b"d:v": versions(n, now)} for n in range(ROWS)})
    copy.put({old_key(7): {b"d:w": ((now, b"\xff"),)}})

    with pytest.raises(RefusedRowsError, match="do not decode") as caught:
        copy.run()

    (named,) = caught.value.details["first"]
    assert repr(old_key(7)) in named


@pytest.mark.only_on("memory")
def test_a_copy_that_ends_in_any_round_is_finished_without_a_second_comparison(
    tables: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusive_copy, "_PAGES", {"most_rows": 4, "least_page_rows": 2})

    def ended(last: int | None) -> tuple[Any, list[str], int]:
        copy = Copy(tables, Family(versions=2), Family(versions=2))
        copy.put(
            {old_key(n): {b"d:v": versions(n, 10, 5), b"d:w": versions(n, 7)} for n in range(ROWS)}
        )
        sent = run_in_two_programs(copy.revision, [copy.operation], last, exclusive=True)
        return copy.copied, copy.steps, sent

    whole, steps, requests = ended(None)
    assert steps == ["copy rows", "check rows"]
    assert len(whole) == ROWS
    for last in range(0, requests, 5):
        copied, steps, _ = ended(last)
        assert copied == whole, last
        assert set(steps) <= {"copy rows", "check rows"}, last


class FailsAtPut(RecordsRequests):
    """Refuses the puts of the copies after some of them."""

    def __init__(self, inner: Any, puts: int) -> None:
        super().__init__(inner)
        self.left = puts

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, PutStampedRows):
            self.left -= 1
            if self.left < 0:
                raise RejectedError("the gateway refuses it", fix="ask its operator")
        return super().execute(operation)


def test_a_copy_that_failed_leaves_the_old_table_closed_until_the_next_run(
    tables: Engine, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusive_copy, "_PAGES", {"most_rows": 4, "least_page_rows": 2})
    copy, now = Copy(tables, Family(), Family()), now_ms()
    rows: dict[bytes, Versions] = {old_key(n): {b"d:v": versions(n, now)} for n in range(ROWS)}
    copy.put(rows)
    program = with_short_lease(backend.another(tables))
    assert len(read_by(program, copy.old)) == ROWS

    with pytest.raises(RejectedError):
        copy.run(through(FailsAtPut(gateway_of(tables), 2), tables))

    time.sleep(SHORT_LEASE_S)  # so long the program may use the record that it has read
    for write in (
        lambda: put(program, copy.old, ROWS + 1, "new"),
        lambda: put(program, copy.old, 0, "changed"),
        lambda: delete(program, copy.old, 1),
        lambda: read_by(program, copy.old),
    ):
        with pytest.raises(SchemaDriftError, match="being moved to") as caught:
            write()
        assert "run it again" in (caught.value.fix or "")
    copy.run()
    assert copy.copied == rows
    with pytest.raises(SchemaDriftError, match="moved to") as caught:
        put(with_short_lease(backend.another(tables)), copy.old, 0, "changed")
    assert "use the model whose table is" in (caught.value.fix or "")


def test_rows_that_were_refused_are_changed_by_programs_and_all_rows_copied_again(
    tables: Engine, backend: Backend
) -> None:
    copy, now = Copy(tables, Family(), Family()), now_ms()
    copy.put({old_key(n): {b"d:v": versions(n, now)} for n in range(ROWS)})
    copy.put({old_key(7): {b"d:w": ((now, b"\xff"),)}})
    with pytest.raises(RefusedRowsError, match="do not decode"):
        copy.run()

    program = with_short_lease(backend.another(tables))
    put(program, copy.old, 3, "changed")
    put(program, copy.old, ROWS, "new")
    delete(program, copy.old, 7)
    DropTable(f"{copy.name}_2").run(copy.revision.migration(exclusive=True), Saved())
    copy.run()

    values = read_by(backend.another(tables), copy.new)
    expected = {n: f"{n} at {now}" for n in range(ROWS) if n != 7}
    assert values == {**expected, 3: "changed", ROWS: "new"}


def read_by(engine: Engine, model: Any) -> dict[int, str]:
    with engine.session() as session:
        return {each.a: each.v for each in session.all(select(model).allow_full_scan())}


def put(engine: Engine, model: Any, number: int, value: str) -> None:
    with engine.session() as session:
        session.put_row(model, model.v.to(value), a=number, b=abs(ROWS - number))


def delete(engine: Engine, model: Any, number: int) -> None:
    with engine.session() as session:
        session.delete_row(model, a=number, b=abs(ROWS - number))
