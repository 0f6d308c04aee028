"""Operations on plain tables: upgrade, downgrade and upgrade again leave equal tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

import pytest

from hbase_orm import Engine, codecs, select
from hbase_orm.errors import HBaseORMError, SchemaDriftError
from hbase_orm.migrate.operations.columns import (
    AddColumn,
    DropColumn,
    RenameColumn,
    UpdateRecord,
)
from hbase_orm.migrate.operations.encodings import ChangeCodec, RenameQualifier
from hbase_orm.migrate.operations.families import AddFamily, AlterFamily, AlterTable
from hbase_orm.migrate.operations.operation import Irreversible, Operation
from hbase_orm.migrate.operations.refusals import (
    NeedsExclusiveUseError,
    RecordMismatchError,
    RefusedRowsError,
    UnsupportedOperationError,
)
from hbase_orm.migrate.operations.rows.row_walk import RowsProgress
from hbase_orm.migrate.operations.values import BackfillColumn, TransformColumn
from tests.support.backends import Backend
from tests.support.changed_models import FIRST, Declared, Programs, col, fill
from tests.support.migrated_tables import (
    Revision,
    Saved,
    contents,
    run_in_two_programs,
    with_short_lease,
)

ROWS: Final = 7
SHOP: Final = "s"


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


@dataclass(frozen=True)
class Change:
    """A change of a declaration, and the operations that make it."""

    after: Declared
    operations: Callable[[str], Sequence[Operation]]
    is_exclusive: bool = False
    is_checked: bool = True


def upper(value: bytes) -> bytes:
    return value.upper()


def lower(value: bytes) -> bytes:
    return value.lower()


BIG: Final = codecs.int64()
OTHERWISE: Final = FIRST.without("text").having(
    size=col(int, "s", codec=BIG),
    note=col(str, "nn", nullable=True),
    weight=col(int, "w", codec=codecs.uint16(), nullable=True),
    unit=col(str, "u", nullable=True),
)


def otherwise(table: str) -> list[Operation]:
    """Return what makes a table as `OTHERWISE`, but what `UpdateRecord` does."""
    return [
        DropColumn(table, "d:x", keep_cells=True),
        ChangeCodec(table, "d:s", old=codecs.uint32(), new=BIG),
        RenameQualifier(table, "d:n", "d:nn"),
        AddColumn(table, "d:u"),
    ]


CHANGES: Final[dict[str, Change]] = {
    "a new column": Change(
        FIRST.having(unit=col(str, "u", nullable=True)), lambda t: [AddColumn(t, "d:u")]
    ),
    "a new column with a value": Change(
        FIRST.having(unit=col(str, "u", default="C")),
        lambda t: [
            AddColumn(t, "d:u"),
            BackfillColumn(t, "d:u", value=b"C", is_new_column=True),
        ],
    ),
    "a column less, whose cells stay": Change(
        FIRST.without("note"), lambda t: [DropColumn(t, "d:n", keep_cells=True)]
    ),
    "a field with another name": Change(
        FIRST.renamed(city="town"), lambda t: [RenameColumn(t, "city", "town")]
    ),
    "another codec": Change(
        FIRST.having(size=col(int, "s", codec=BIG)),
        lambda t: [ChangeCodec(t, "d:s", old=codecs.uint32(), new=BIG)],
        is_exclusive=True,
    ),
    "another qualifier": Change(
        FIRST.having(note=col(str, "nn", nullable=True)),
        lambda t: [RenameQualifier(t, "d:n", "d:nn")],
        is_exclusive=True,
    ),
    "another qualifier of the anchor": Change(
        FIRST.having(customer=col(str, "cc")),
        lambda t: [RenameQualifier(t, "d:c", "d:cc")],
        is_exclusive=True,
    ),
    "an updated record before other columns": Change(
        OTHERWISE, lambda t: [UpdateRecord(t), *otherwise(t)], is_exclusive=True
    ),
    "an updated record after other columns": Change(
        OTHERWISE, lambda t: [*otherwise(t), UpdateRecord(t)], is_exclusive=True
    ),
    "other values": Change(
        FIRST, lambda t: [TransformColumn(t, "d:t", forward=upper, backward=lower)]
    ),
    "a new family": Change(FIRST, lambda t: [AddFamily(t, "e", ttl_s=86400)], is_checked=False),
    "other options": Change(
        FIRST,
        lambda t: [
            AlterFamily(t, "d", new={"versions": 3}, old={"versions": 1}),
            AlterTable(t, new={"durability": "ASYNC_WAL"}, old={"durability": "USE_DEFAULT"}),
        ],
        is_checked=False,
    ),
}


@pytest.fixture
def programs(backend: Backend, engine: Engine) -> Programs:
    programs = Programs.on(backend, engine, "plain", f"orders_{uuid4().hex[:8]}")
    fill(programs, programs.model(FIRST), SHOP, ROWS)
    return programs


def revision(programs: Programs, after: Declared) -> Revision:
    return Revision(
        with_short_lease(programs.tables), (programs.model(FIRST),), (programs.model(after),)
    )


@pytest.mark.parametrize("name", CHANGES)
def test_upgrade_downgrade_and_upgrade_leave_equal_tables(programs: Programs, name: str) -> None:
    change = CHANGES[name]
    made = revision(programs, change.after)
    operations = change.operations(programs.table)
    options = {"exclusive": change.is_exclusive}
    before = contents(programs.tables, programs.table)

    made.upgrade(*operations, **options)
    first = contents(programs.tables, programs.table)
    made.downgrade(*operations, **options)
    back = contents(programs.tables, programs.table)
    made.upgrade(*operations, **options)
    second = contents(programs.tables, programs.table)

    assert first != before
    assert back.values == before.values
    assert back.descriptor == before.descriptor
    assert (second.descriptor, second.record, second.values) == (
        first.descriptor,
        first.record,
        first.values,
    )


@pytest.mark.parametrize("name", [name for name, each in CHANGES.items() if each.is_checked])
def test_the_new_class_agrees_with_the_table_afterwards(programs: Programs, name: str) -> None:
    change = CHANGES[name]
    model = programs.model(change.after)

    revision(programs, change.after).upgrade(
        *change.operations(programs.table), exclusive=change.is_exclusive
    )

    (check,) = programs.new().check_tables(model)
    assert [str(each) for each in check.differences] == []
    with programs.new().session() as session:
        rows = session.all(select(model).where(model.shop == SHOP))
    assert [row.size for row in sorted(rows, key=lambda row: row.number)] == list(range(ROWS))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CHANGES)
def test_an_operation_that_ends_before_any_request_is_finished_by_the_next_run(
    backend: Backend, engine: Engine, name: str
) -> None:
    change = CHANGES[name]
    whole, requests = _ended_before(backend, engine, change, None)

    for last in range(requests):
        if engine.options.scheme == "memory" or last % 17 == 0:
            assert _ended_before(backend, engine, change, last)[0] == whole, last


def _ended_before(
    backend: Backend, engine: Engine, change: Change, last: int | None
) -> tuple[Any, int]:
    """Run operations in a program that ends before a request, and then again to the end."""
    programs = Programs.on(backend, engine, "plain", f"orders_{uuid4().hex[:8]}")
    fill(programs, programs.model(FIRST), SHOP, ROWS)
    made = revision(programs, change.after)
    operations = change.operations(programs.table)
    sent = run_in_two_programs(made, operations, last, exclusive=change.is_exclusive)
    after = contents(programs.tables, programs.table)
    return (after.record, after.values, after.descriptor.families), sent


def test_a_program_of_either_class_is_refused_while_a_codec_changes(programs: Programs) -> None:
    change = CHANGES["another codec"]
    made = revision(programs, change.after)
    (operation,) = change.operations(programs.table)
    refused: list[str] = []

    def look(_: Any) -> None:
        for model in (programs.model(FIRST), programs.model(change.after)):
            try:
                with programs.new().session() as session:
                    session.get(model, shop=SHOP, number=1)
            except SchemaDriftError as error:
                refused.append(error.differences[0])

    migration = made.migration(exclusive=True)
    looking = type(migration)(
        migration.engine, migration.before, migration.after, migration.options, look
    )
    operation.run(looking, Saved())

    assert sum("codec of column d:s" in each for each in refused) >= 2


def test_what_changes_stored_bytes_needs_the_exclusive_use(programs: Programs) -> None:
    for name in ("another codec", "another qualifier"):
        change = CHANGES[name]
        with pytest.raises(NeedsExclusiveUseError):
            revision(programs, change.after).upgrade(*change.operations(programs.table))


def test_values_that_do_not_fit_refuse_another_codec_before_any_change(
    programs: Programs,
) -> None:
    with programs.old.session() as session:
        row: Any = session.get(programs.model(FIRST), shop=SHOP, number=3)
        row.size = 300
    before = contents(programs.tables, programs.table)
    change = ChangeCodec(programs.table, "d:s", old=codecs.uint32(), new=codecs.uint8())

    with pytest.raises(RefusedRowsError) as caught:
        revision(programs, FIRST).upgrade(change, exclusive=True)

    assert caught.value.rows == 1
    assert contents(programs.tables, programs.table) == before


def test_a_dry_run_shows_rows_before_and_after_and_changes_nothing(programs: Programs) -> None:
    made = revision(programs, FIRST)
    before = contents(programs.tables, programs.table)

    made.upgrade(TransformColumn(programs.table, "d:t", forward=upper), dry_run=True)

    last = made.reports[-1]
    assert isinstance(last, RowsProgress)
    assert (last.rows, last.changed, last.failed) == (ROWS, ROWS, 0)
    assert last.samples[0].before == {b"d:t": b"s-0"}
    assert last.samples[0].after == {b"d:t": b"S-0"}
    assert contents(programs.tables, programs.table) == before


def test_rows_that_do_not_decode_are_listed_and_left(programs: Programs) -> None:
    made = revision(programs, FIRST)

    def halved(value: bytes) -> bytes:
        number = int.from_bytes(value, "big")
        if number == 4:
            raise ValueError("four does not decode")
        return (number * 2).to_bytes(4, "big")

    made.upgrade(TransformColumn(programs.table, "d:s", forward=halved))

    rows_reports = [each for each in made.reports if isinstance(each, RowsProgress)]
    (failure,) = next(each.failures for each in rows_reports if each.failures)
    assert failure.reason == "four does not decode"
    with programs.new().session() as session:
        model = programs.model(FIRST)
        rows = session.all(select(model).where(model.shop == SHOP))
    assert sorted(row.size for row in rows) == [0, 2, 4, 4, 6, 10, 12]


@pytest.mark.parametrize(
    "wrong",
    [
        AddColumn("?", "d:zz"),
        ChangeCodec("?", "d:s", old=codecs.uint16(), new=BIG),
        RenameQualifier("?", "d:zz", "d:y"),
        RenameQualifier("?", "d:n", "d:t"),
        RenameColumn("?", "nobody", "somebody"),
        AlterFamily("?", "x", new={"versions": 2}),
        BackfillColumn("?", "d:zz", value=b"x"),
    ],
)
def test_a_record_that_is_not_what_the_revision_says_is_refused(
    programs: Programs, wrong: Any
) -> None:
    before = contents(programs.tables, programs.table)

    with pytest.raises(RecordMismatchError):
        revision(programs, FIRST).upgrade(replace(wrong, table=programs.table), exclusive=True)

    assert contents(programs.tables, programs.table) == before


def test_the_anchor_is_not_dropped(programs: Programs) -> None:
    with pytest.raises(UnsupportedOperationError, match="rows would be gone"):
        revision(programs, FIRST).upgrade(DropColumn(programs.table, "d:c"))


def test_a_dropped_column_loses_its_cells_and_has_no_way_back(programs: Programs) -> None:
    operation = DropColumn(programs.table, "d:n")

    revision(programs, FIRST.without("note")).upgrade(operation)

    after = contents(programs.tables, programs.table)
    assert all(b"d:n" not in columns for columns in after.cells.values())
    assert isinstance(operation.reverse(), Irreversible)


def test_with_thrift1_alone_a_column_is_backfilled_and_what_needs_more_is_refused(
    programs: Programs, backend: Backend
) -> None:
    after = FIRST.having(unit=col(str, "u", default="C"))
    made = revision(programs, after)
    engine = backend.thrift1_alone(programs.tables)

    AddColumn(programs.table, "d:u").run(made.migration(engine), Saved())
    BackfillColumn(programs.table, "d:u", value=b"C").run(made.migration(engine), Saved())

    values = contents(programs.tables, programs.table).values
    assert all(columns[b"d:u"] == [b"C"] for columns in values.values())
    for operation in (
        TransformColumn(programs.table, "d:t", forward=upper),
        AddFamily(programs.table, "e"),
        RenameQualifier(programs.table, "d:n", "d:nn"),
    ):
        with pytest.raises(HBaseORMError, match="not possible"):
            operation.run(made.migration(engine, exclusive=True), Saved())
