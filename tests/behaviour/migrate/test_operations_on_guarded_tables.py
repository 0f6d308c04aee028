"""Operations on tables with indexes: rows are changed under their guards, indexes stay right."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from hbase_orm import Engine, codecs, select
from hbase_orm.errors import FlushConflictError
from hbase_orm.migrate.operations.backfills import Backfill
from hbase_orm.migrate.operations.columns import AddColumn
from hbase_orm.migrate.operations.encodings import ChangeCodec
from hbase_orm.migrate.operations.families import AlterFamily
from hbase_orm.migrate.operations.indexes import AddIndex, DropIndex
from hbase_orm.migrate.operations.operation import Operation
from hbase_orm.migrate.operations.refusals import RecordMismatchError, UnsupportedOperationError
from hbase_orm.migrate.operations.tables import CreateTable, DropTable
from hbase_orm.migrate.operations.values import BackfillColumn, TransformColumn
from tests.support.backends import Backend
from tests.support.changed_models import FIRST, Declared, Programs, col, fill, raw_cells
from tests.support.migrated_tables import Revision, contents, run_in_two_programs, with_short_waits

ROWS: Final = 12
SHOP: Final = "s"
WITHOUT_SIZE: Final = Declared(indexes={"by_city": "city"})


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


def upper(value: bytes) -> bytes:
    return value.upper()


def lower(value: bytes) -> bytes:
    return value.lower()


def programs_of(backend: Backend, engine: Engine, kind: str, declared: Declared) -> Programs:
    tables = with_short_waits(engine)
    made = Programs(kind, f"orders_{uuid4().hex[:8]}", backend.another(tables), backend, tables)
    made.old.create_tables(made.model(declared))
    fill(made, made.model(declared), SHOP, ROWS)
    return made


@pytest.fixture
def guarded(backend: Backend, engine: Engine) -> Programs:
    return programs_of(backend, engine, "guarded", FIRST)


def revision(programs: Programs, before: Declared, after: Declared) -> Revision:
    return Revision(programs.tables, (programs.model(before),), (programs.model(after),))


def found_by(programs: Programs, declared: Declared, city: str) -> list[int]:
    model = programs.model(declared)
    with programs.new().session() as session:
        return sorted(row.number for row in session.all(select(model).where(model.city == city)))


def is_sound(programs: Programs, declared: Declared) -> bool:
    model = programs.model(declared)
    return all(programs.new().verify_index(model, name).is_sound for name in declared.indexes)


def test_a_transformed_column_is_found_by_its_index(guarded: Programs) -> None:
    made = revision(guarded, FIRST, FIRST)
    operation = TransformColumn(guarded.table, "d:t", forward=upper, backward=lower)
    before = contents(guarded.tables, guarded.table).values

    made.upgrade(operation)

    assert found_by(guarded, FIRST, "S-1") == [1, 4, 7, 10]
    assert found_by(guarded, FIRST, "s-1") == []
    assert is_sound(guarded, FIRST)
    made.downgrade(operation)
    assert found_by(guarded, FIRST, "s-1") == [1, 4, 7, 10]
    after = contents(guarded.tables, guarded.table).values
    assert _without_version(after) == _without_version(before)


def _without_version(values: dict[bytes, dict[bytes, list[bytes]]]) -> Any:
    return {
        row: {column: cells[0] for column, cells in columns.items() if column != b"d:v"}
        for row, columns in values.items()
    }


def test_a_new_column_is_backfilled_under_the_guard(guarded: Programs) -> None:
    after = FIRST.having(unit=col(str, "u", default="C"))

    revision(guarded, FIRST, after).upgrade(
        AddColumn(guarded.table, "d:u"),
        BackfillColumn(guarded.table, "d:u", value=b"F", is_new_column=True),
    )

    model = guarded.model(after)
    with guarded.new().session() as session:
        rows = session.all(select(model).where(model.shop == SHOP))
    assert {row.unit for row in rows} == {"F"}
    assert {row.revision for row in rows} == {2}
    assert is_sound(guarded, after)


def test_an_index_is_added_and_dropped(backend: Backend, engine: Engine) -> None:
    programs = programs_of(backend, engine, "guarded", WITHOUT_SIZE)
    made = revision(programs, WITHOUT_SIZE, FIRST)
    operation = AddIndex(programs.table, "by_size")

    made.upgrade(operation, exclusive=True)
    first = contents(programs.tables, programs.table)
    entries = _index_rows(programs)
    (check,) = programs.new().check_tables(programs.model(FIRST))
    made.downgrade(operation)
    assert _index_rows(programs) == {}
    made.upgrade(operation, exclusive=True)

    assert [str(each) for each in check.differences] == []
    assert contents(programs.tables, programs.table).record == first.record
    assert _index_rows(programs) == entries
    assert len(entries) == ROWS
    assert is_sound(programs, FIRST)


def _index_rows(programs: Programs) -> dict[bytes, None]:
    cells = raw_cells(programs.tables, programs.table)
    return {key: None for table, key, _ in cells if "_ix_by_size" in table}


def test_a_plain_table_gets_its_first_index(backend: Backend, engine: Engine) -> None:
    programs = programs_of(backend, engine, "plain", FIRST)
    model = WITHOUT_SIZE.model("lww", programs.table)  # indexes, and no version column
    made = Revision(programs.tables, (programs.model(FIRST),), (model,))

    made.upgrade(AddIndex(programs.table, "by_city"), exclusive=True)

    with programs.new().session() as session:
        rows = session.all(select(model).where(model.city == "s-2"))
    assert sorted(row.number for row in rows) == [2, 5, 8, 11]
    assert programs.new().verify_index(model, "by_city").is_sound


def test_a_dropped_index_needs_no_class(guarded: Programs) -> None:
    made = revision(guarded, FIRST, WITHOUT_SIZE)

    made.upgrade(DropIndex(guarded.table, "by_size"))

    assert _index_rows(guarded) == {}
    (check,) = guarded.new().check_tables(guarded.model(WITHOUT_SIZE))
    assert [str(each) for each in check.differences] == []
    with pytest.raises(RecordMismatchError):
        revision(guarded, FIRST, FIRST).upgrade(DropIndex(guarded.table, "by_nothing_"))


def test_the_codec_of_an_indexed_column_is_changed_between_two_indexes(guarded: Programs) -> None:
    after = FIRST.having(size=col(int, "s", codec=codecs.int64()))
    change = ChangeCodec(guarded.table, "d:s", old=codecs.uint32(), new=codecs.int64())
    made = revision(guarded, FIRST, after)

    with pytest.raises(UnsupportedOperationError, match="DropIndex"):
        made.upgrade(change, exclusive=True)
    made.upgrade(
        DropIndex(guarded.table, "by_size"),
        change,
        AddIndex(guarded.table, "by_size"),
        exclusive=True,
    )

    assert is_sound(guarded, after)
    (check,) = guarded.new().check_tables(guarded.model(after))
    assert [str(each) for each in check.differences] == []


def test_guards_and_entries_outlive_rows_with_a_new_ttl(guarded: Programs) -> None:
    operation = AlterFamily(guarded.table, "d", new={"ttl_s": 864_000}, old={"ttl_s": None})
    after = Declared(family={"ttl": timedelta(days=10)})
    made = revision(guarded, FIRST, after)
    before = contents(guarded.tables, guarded.table)

    made.upgrade(operation)

    (check,) = guarded.new().check_tables(guarded.model(after))
    assert [str(each) for each in check.differences] == []
    made.downgrade(operation)
    assert contents(guarded.tables, guarded.table).descriptor == before.descriptor


def test_a_table_is_created_and_dropped(backend: Backend, engine: Engine) -> None:
    tables = with_short_waits(engine)
    model = FIRST.model("guarded", f"made_{uuid4().hex[:8]}")
    name = model.__schema__.table
    made = Revision(tables, (), (model,))

    made.upgrade(CreateTable(name))

    other = backend.another(tables)
    (check,) = other.check_tables(model)
    assert [str(each) for each in check.differences] == []
    made.downgrade(CreateTable(name))
    assert other.check_tables(model)[0].differences
    made.upgrade(CreateTable(name), DropTable(name), DropTable(name))


def test_a_backfill_loses_no_write_of_two_other_programs(backend: Backend, engine: Engine) -> None:
    for kind in ("plain", "guarded"):
        programs = programs_of(backend, engine, kind, FIRST)
        _transform_beside_writers(programs)
        if kind == "guarded":
            assert is_sound(programs, FIRST)


def _transform_beside_writers(programs: Programs) -> None:
    model = programs.model(FIRST)
    ended = threading.Event()
    ledgers: list[dict[int, str]] = [{}, {}]
    errors: list[BaseException] = []

    def write(writer: int) -> None:
        engine, count = programs.new(), 0
        try:
            while not ended.is_set() or count < 30:
                number = (count % (ROWS // 2)) * 2 + writer
                city = f"W{writer}-{count}"
                count += 1
                with suppress(FlushConflictError), engine.session() as session:
                    row: Any = session.get(model, shop=SHOP, number=number)
                    row.city = city
                    session.flush()
                    ledgers[writer][number] = city
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(2)]
    for thread in threads:
        thread.start()
    try:
        revision(programs, FIRST, FIRST).upgrade(
            TransformColumn(programs.table, "d:t", forward=upper),
            TransformColumn(programs.table, "d:c", forward=upper),
        )
    finally:
        ended.set()
        for thread in threads:
            thread.join()

    assert errors == []
    with programs.new().session() as session:
        rows = session.all(select(model).where(model.shop == SHOP))
    assert {row.number: row.city for row in rows} == {**ledgers[0], **ledgers[1]}
    assert {row.customer for row in rows} == {f"C{n}" for n in range(ROWS)}


def test_fields_are_backfilled_from_whole_rows(backend: Backend, engine: Engine) -> None:
    after = FIRST.having(total=col(int, "tt", nullable=True))
    for kind in ("plain", "guarded"):
        programs = programs_of(backend, engine, kind, FIRST)
        made = revision(programs, FIRST, after)

        def fill_total(row: Any) -> dict[str, Any] | None:
            if row.size == 3:
                raise ValueError("three is left")
            return {"total": row.size + row.weight, "city": row.city.upper()}

        made.upgrade(AddColumn(programs.table, "d:tt"), Backfill(programs.table, fill_total))

        model = programs.model(after)
        with programs.new().session() as session:
            rows = session.all(select(model).where(model.shop == SHOP))
        totals = {row.number: row.total for row in rows}
        assert totals == {n: None if n == 3 else 2 * n for n in range(ROWS)}
        assert {row.city[0] for row in rows if row.number != 3} == {"S"}
        if kind == "guarded":
            assert is_sound(programs, after)


ENDED: Final[dict[str, tuple[Declared, Declared, Callable[[str], list[Operation]]]]] = {
    "a transformed column": (
        FIRST,
        FIRST,
        lambda t: [TransformColumn(t, "d:t", forward=lambda value: value + value)],
    ),
    "a new index": (WITHOUT_SIZE, FIRST, lambda t: [AddIndex(t, "by_size")]),
    "an index less": (FIRST, WITHOUT_SIZE, lambda t: [DropIndex(t, "by_size")]),
    "a longer life": (
        FIRST,
        Declared(family={"ttl": timedelta(days=10)}),
        lambda t: [AlterFamily(t, "d", new={"ttl_s": 864_000}, old={"ttl_s": None})],
    ),
}


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("name", ENDED)
def test_an_operation_that_ends_before_any_request_is_finished_by_the_next_run(
    backend: Backend, engine: Engine, name: str
) -> None:
    before, after, operations = ENDED[name]

    def ended_before(last: int | None) -> tuple[Any, int]:
        programs = programs_of(backend, engine, "guarded", before)
        made = revision(programs, before, after)
        sent = run_in_two_programs(made, operations(programs.table), last, exclusive=True)
        assert is_sound(programs, after)
        now = contents(programs.tables, programs.table)
        shown = (_without_version(now.values), len(_index_rows(programs)))
        return (*shown, [each.ttl_s for each in now.descriptor.families]), sent

    whole, requests = ended_before(None)
    for last in range(0, requests, 3):
        assert ended_before(last)[0] == whole, last
