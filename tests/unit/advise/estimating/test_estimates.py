"""Estimates of a model: what they add up to, what would save, and what is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    column,
    connect,
    counter,
    dynamic,
    key,
)
from hbase_orm.advise.estimating import SizeEstimate, estimate
from hbase_orm.advise.estimating.changed_cells import ChangedCells
from hbase_orm.advise.estimating.samples import table_sample
from hbase_orm.advise.estimating.stored_cells import cells_of
from hbase_orm.errors import ConfigurationError, SchemaError
from tests.support.typical_models import Customer, Entity, Payment

if TYPE_CHECKING:
    from pathlib import Path


class Order(Model, table="orders"):
    details = Family("details")
    number: Key[int] = key()
    amount: Mapped[str] = column(details)
    city: Mapped[str] = column(details)


class IndexedOrder(Model, table="indexed_orders"):
    d = Family(block_encoding="FAST_DIFF", compression="SNAPPY", bloom="ROWCOL")
    number: Key[int] = key()
    city: Mapped[str] = column(d, "c")
    note: Mapped[str | None] = column(d, "n", default=None)
    by_note = Index(note)


LINES = [f"{n},{100_000_000_000 + n},Oslo" for n in range(2_000)]


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.csv"
    path.write_text("\n".join(["number,amount,city", *LINES]))
    return path


def savings(result: SizeEstimate) -> dict[str, float]:
    return {each.what: each.share for each in result.savings}


def test_the_cells_of_a_row_are_counted_to_the_byte(orders: Path) -> None:
    result = estimate(Order, rows=1e6, sample=orders)

    (family,) = result.tables[0].families
    per_row = 2 * (20 + 8 + len("details")) + len("amount") + len("city") + 12 + 4
    assert family.plain_bytes == per_row * 1e6
    assert family.memstore_bytes == family.plain_bytes
    assert (family.key_bytes, family.value_bytes) == (16e6, 16e6)
    assert family.name_bytes == (2 * 7 + 10) * 1e6
    assert family.cells == 2e6
    plain = family.files["NONE", "NONE"]
    assert 1.0 < plain.data / family.plain_bytes < 1.06
    assert plain.bloom == pytest.approx(1e6 * 9.585 / 8, rel=0.1)


def test_everything_grows_with_the_rows() -> None:
    small, large = (estimate(Order, rows=rows, sample_rows=1_000) for rows in (1e6, 1e9))

    assert large.file_bytes / small.file_bytes == pytest.approx(1000, rel=0.1)
    assert large.regions[1] == math.ceil(large.file_bytes / (10 * 2**30))
    assert small.regions == (1, 1)
    assert large.wal_bytes_per_s == pytest.approx(small.wal_bytes_per_s, rel=0.05)
    assert large.source == "made-up rows"


def test_tables_of_indexes_and_guards_are_counted() -> None:
    result = estimate(IndexedOrder, rows=1e6, sample_rows=500)

    data, index = result.tables
    assert [each.family for each in data.families] == ["_", "d"]
    assert (index.table, index.index, index.rows) == ("indexed_orders_ix_by_note", "by_note", 0)
    (guards, own) = data.families
    assert guards.plain_bytes > 1e6 * 50
    assert (own.encoding, own.compression) == ("FAST_DIFF", "GZ")
    assert own.declared_compression == "SNAPPY"
    assert any("declared with SNAPPY, and measured with GZ" in each for each in result.notes)
    assert own.file_bytes == own.files["FAST_DIFF", "GZ"].total
    assert index.file_bytes == 0  # HBase writes no file without cells


def test_a_row_of_several_families_is_one_entry_of_the_log() -> None:
    result = estimate(IndexedOrder, rows=1e6, sample_rows=500, writes_per_s=100)

    (data, _) = result.tables
    cells = sum(family.wal_bytes for family in data.families) / 1e6
    assert result.wal_bytes_per_s == pytest.approx(100 * (cells + 100))


def test_old_files_are_smaller_because_writes_have_no_numbers_any_more() -> None:
    young, old = (
        estimate(IndexedOrder, rows=1e6, sample_rows=500, is_old=is_old) for is_old in (False, True)
    )

    cells = sum(each.cells for each in young.tables[0].families)
    sizes = [
        sum(f.files["NONE", "NONE"].data for f in each.tables[0].families) for each in (young, old)
    ]
    assert sizes[0] - sizes[1] == pytest.approx(3 * cells, rel=0.1)


def test_shorter_declarations_save_what_they_say(orders: Path) -> None:
    found = savings(estimate(Order, rows=1e6, sample=orders))

    assert found["names of one letter for families and qualifiers"] == pytest.approx(
        (2 * 6 + 5 + 3) / 96, abs=0.02
    )
    assert found["numbers as int64 instead of as text"] == pytest.approx(4 / 96, abs=0.01)
    assert found['Family(block_encoding="FAST_DIFF", compression="GZ")'] > 0.8
    assert max(found.values()) == next(iter(found.values()))


class OneColumn(Model, table="one_column"):
    d = Family("d")
    number: Key[int] = key()
    a_column_with_a_long_name: Mapped[int] = column(d)


def test_one_column_is_not_packed() -> None:
    found = savings(estimate(OneColumn, rows=1e6, sample_rows=500))

    assert "columns that are read together in one column, with codecs.msgpack" not in found
    assert found["names of one letter for families and qualifiers"] > 0.3


class Everything(Model, table="everything"):
    data = Family("data", versions=3)
    number: Key[UUID] = key()
    city: Mapped[str] = column(data)
    country: Mapped[str] = column(data)
    note: Mapped[str | None] = column(data, default=None)
    views: Counter = counter(data, "views")
    tags: Dynamic[str, str] = dynamic(data, prefix="tag:")
    by_city = Index(city)


def test_what_is_not_counted_is_said(orders: Path) -> None:
    made_up = estimate(Everything, rows=1e6, sample_rows=100)
    given = estimate(Everything, rows=1e6, sample_rows=1_000, values={"note": "x"})
    of_file = estimate(Order, rows=1e6, sample=orders)

    assert made_up.notes == (
        "100 rows are too few to see how well blocks compress",
        "values are made up; real ones compress less",
        "fields with their defaults, of which None takes no cell: note",
        "not counted, as only a sample of the table has them: tags, views",
        "family data keeps 3 versions of a column, of which the newest is counted",
    )
    assert given.notes == (made_up.notes[1], *made_up.notes[3:])
    assert of_file.notes == ()


def test_only_the_cells_that_a_declaration_changes_save() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Everything)
        with engine.session() as session:
            for n in range(300):
                row = Everything(number=UUID(int=n), city="Oslo", country="Norway", note="x")
                row.tags = {"first": "1", "second": "2"}
                session.add(row)
            session.flush()
        (own, *_) = table_sample(engine, Everything, rows=1_000)
    cells = cells_of(own.rows, b"data", {})[:5]
    changed = ChangedCells.of(Everything.__schema__, cells)

    assert [each.qualifier for each in cells] == [
        b"city", b"country", b"note", b"tag:first", b"tag:second"
    ]  # fmt: skip
    assert [each.column for each in changed.with_short_names(cells)] == [
        b"d:a", b"d:b", b"d:c", b"d:tag:first", b"d:tag:second"
    ]  # fmt: skip
    assert [(each.qualifier, each.value) for each in changed.with_packed_columns(cells)] == [
        (b"p", b"\xc4\6Norway\xc4\1x"),
        (b"city", b"Oslo"),
        (b"tag:first", b"1"),
        (b"tag:second", b"2"),
    ]


def test_tables_of_indexes_and_guards_keep_their_options_and_names() -> None:
    result = estimate(Everything, rows=1e6, sample_rows=500, values={"city": lambda n: f"{n:040}"})
    saved = {each.what: each.bytes for each in result.savings}

    guards, data = result.tables[0].families
    entries = result.tables[1].families[0]
    kind = ("FAST_DIFF", "GZ")
    assert saved['Family(block_encoding="FAST_DIFF", compression="GZ")'] == pytest.approx(
        data.file_bytes - data.files[kind].total, rel=0.03
    )
    others = "FAST_DIFF and GZ for guards and index tables, by alter in the HBase shell"
    assert saved[others] == pytest.approx(
        sum(each.file_bytes - each.files[kind].total for each in (guards, entries)), rel=0.03
    )
    assert saved["names of one letter for families and qualifiers"] == pytest.approx(
        1e6 * (2 * 3 + 3 + 6), rel=0.03
    )
    keys = 8 * (data.cells + guards.cells + entries.cells)
    assert saved["row keys that are 8 bytes shorter"] == pytest.approx(keys, rel=0.1)


def test_a_real_table_is_sampled_in_all_its_parts() -> None:
    with connect("memory:///shop") as engine:
        engine.create_tables(Order)
        with engine.session() as session, session.bulk() as bulk:
            short = [Order(number=n, amount="1", city="x") for n in range(2_000)]
            long = [Order(number=n, amount="1", city="y" * 100) for n in range(2_000, 4_000)]
            bulk.add_all([*short, *long])
        result = estimate(Order, rows=4_000, sample=engine, sample_rows=400)

        whole = estimate(Order, rows=4_000, sample=engine, sample_rows=10_000)
        engine.create_tables(IndexedOrder)
        with pytest.raises(ConfigurationError, match="no rows to sample"):
            estimate(IndexedOrder, rows=10, sample=engine)

    assert 3_900 < whole.sampled <= 4_000
    assert 300 < result.sampled <= 500
    assert result.file_bytes == pytest.approx(whole.file_bytes, rel=0.1)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rows": 0}, "number of rows is impossible"),
        ({"rows": 1.5}, "number of rows is impossible"),
        ({"rows": math.nan}, "number of rows is impossible"),
        ({"rows": 1e16}, "number of rows is impossible"),
        ({"rows": 10, "sample_rows": 1}, "so many rows cannot be sampled"),
        ({"rows": 10, "writes_per_s": 0}, "rate of writes is impossible"),
        ({"rows": 10, "sample": "nothing.csv"}, "cannot be read"),
    ],
)
def test_impossible_questions_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        estimate(Order, **given)


@pytest.mark.parametrize(
    ("lines", "line", "reason"),
    [
        (["number,amount"], 1, "lacks the fields city"),
        (["number,amount,city"], 2, "no rows"),
        (["number,amount,city", "1,2,a", "1,2"], 3, "2 values"),
        (["number,amount,city", "1,2,"], 2, "city has no value"),
        (["number,amount,city", "x,2,a"], 2, "number is 'x'"),
    ],
)
def test_a_wrong_line_of_a_file_is_named(
    tmp_path: Path, lines: list[str], line: int, reason: str
) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("\n".join(lines))

    with pytest.raises(ConfigurationError, match=reason) as raised:
        estimate(Order, rows=10, sample=path)

    assert raised.value.details["line"] == line


def test_tables_of_periods_are_estimated_together() -> None:
    result = estimate(Payment, rows=1e6, sample_rows=200)

    assert Payment.__schema__.layout.table_period is not None
    (table,) = result.tables
    assert (table.table, table.rows) == (Payment.__schema__.layout.table_period.pattern, 1e6)
    with (
        connect("memory://") as engine,
        pytest.raises(SchemaError, match="a table for each period are not sampled"),
    ):
        estimate(Payment, rows=10, sample=engine)


def test_the_base_of_record_types_is_refused() -> None:
    with pytest.raises(SchemaError, match="estimate the record types"):
        estimate(Entity, rows=10)


def test_values_that_cannot_be_made_up_are_asked_for() -> None:
    with pytest.raises(ConfigurationError, match=r"give rows as a CSV file \(--sample FILE\)"):
        estimate(Customer, rows=10)
