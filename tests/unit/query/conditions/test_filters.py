"""Filters: their text, and which one a condition becomes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Condition,
    Counter,
    Family,
    Key,
    Mapped,
    Model,
    RecordType,
    codecs,
    column,
    counter,
    key,
    rowkey,
)
from hbase_orm.gateway.memory.filter_language import tokenize
from hbase_orm.query.conditions.filters import (
    ANY_BYTES,
    AllOf,
    AnyOf,
    ByteTest,
    ColumnFilter,
    Filter,
    FirstKeyOnly,
    KeyOnly,
    RowKeyFilter,
)
from hbase_orm.query.planning.pushdown import MAX_FILTER_BYTES, MAX_TESTS, PushDown, push_down
from hbase_orm.schema import Comparison


class Wide(Model, table="wide"):
    d = Family()
    e = Family()
    k: Key[int] = key(codecs.uint32())
    n: Mapped[int] = column(d, codec=codecs.uint8())
    down: Mapped[int] = column(d, codec=codecs.uint8(desc=True))
    java: Mapped[int] = column(d, codec=codecs.get("bytes.int32"))
    real: Mapped[float] = column(d)
    unit: Mapped[str | None] = column(e, "u", default=None)
    kind: Mapped[str] = column(e, default="x")
    made: Mapped[str] = column(e, default_factory=lambda: "x")
    packed: Mapped[list[int]] = column(e, codec=codecs.json(list[int]))
    at: Mapped[datetime] = column(d, codec=codecs.seconds(width_bytes=4))
    stamp: Mapped[datetime] = column(d, codec=codecs.get("phoenix.timestamp"))
    cut: Mapped[str] = column(d, codec=codecs.text(separator=b"_"))
    fixed: Mapped[str] = column(d, codec=codecs.text(width_bytes=4))
    label: Mapped[str | None] = column(e, default="x")
    hits: Counter = counter(d)


def pushed(*conditions: Condition, **options: Any) -> PushDown:
    return push_down(Wide.__schema__, conditions, **options)


def text(*conditions: Condition, **options: Any) -> bytes:
    """Return the text of a filter that decides the conditions, or nothing if it leaves some."""
    found = pushed(*conditions, **options)
    return b"" if found.filter is None or found.remaining else bytes(found.filter)


def of(column: str, test: str, *, missing: str) -> bytes:
    family, qualifier = column.split(":")
    return (f"SingleColumnValueFilter('{family}', '{qualifier}', {test}, {missing}, true)").encode(
        "latin-1"
    )


# --- the language ---------------------------------------------------------------------------------

ONE = ColumnFilter(b"d:a", ByteTest("=", b"1"), passes_missing=False)
TWO = RowKeyFilter(ByteTest(">=", b"k"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (ONE, b"SingleColumnValueFilter('d', 'a', =, 'binary:1', true, true)"),
        (
            ColumnFilter(b"d:a:'", ByteTest("!=", b"", "binaryprefix"), passes_missing=True),
            b"SingleColumnValueFilter('d', 'a:''', !=, 'binaryprefix:', false, true)",
        ),
        (TWO, b"RowFilter(>=, 'binary:k')"),
        (AllOf((FirstKeyOnly(), KeyOnly())), b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"),
        (
            AllOf((TWO, AnyOf((TWO, AllOf((TWO, TWO)))))),
            b"%b AND (%b OR (%b AND %b))" % ((b"RowFilter(>=, 'binary:k')",) * 4),
        ),
    ],
)
def test_a_filter_prints_in_the_filter_language(found: Filter, expected: bytes) -> None:
    assert bytes(found) == expected


def test_every_byte_is_safe_in_a_filter() -> None:
    value = bytes(range(256)) + b"'' AND KeyOnlyFilter() '"

    tokens = tokenize(bytes(ColumnFilter(value, ByteTest("=", value), passes_missing=False)))

    family, _, qualifier = value.partition(b":")
    assert [token.data for token in tokens[2:9:2]] == [family, qualifier, b"=", b"binary:" + value]


@pytest.mark.parametrize("symbol", ["=", "!=", "<", "<=", ">", ">="])
def test_a_negated_test_negated_is_the_test(symbol: Any) -> None:
    test = ByteTest(symbol, b"x", "binaryprefix")

    assert test.negated != test
    assert test.negated.negated == test


# --- what becomes a filter ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Wide.n == 39, of("d:n", "=, 'binary:'''", missing="true")),
        (Wide.n != 65, of("d:n", "!=, 'binary:A'", missing="false")),
        (~(Wide.n == 65), of("d:n", "!=, 'binary:A'", missing="false")),
        (Wide.n > 65, of("d:n", ">, 'binary:A'", missing="true")),
        (Wide.n >= 65, of("d:n", ">=, 'binary:A'", missing="true")),
        (~(Wide.n >= 65), of("d:n", "<, 'binary:A'", missing="false")),
        (Wide.down < 65, of("d:down", ">, 'binary:\xbe'", missing="true")),
        (Wide.down >= 65, of("d:down", "<=, 'binary:\xbe'", missing="true")),
        (Wide.java == -1, of("d:java", "=, 'binary:\xff\xff\xff\xff'", missing="true")),
        (Wide.unit == "ms", of("e:u", "=, 'binary:ms'", missing="true")),
        (Wide.unit.startswith("m"), of("e:u", "=, 'binaryprefix:m'", missing="true")),
        (~Wide.unit.startswith("m"), of("e:u", "!=, 'binaryprefix:m'", missing="false")),
        (Wide.unit.startswith(""), of("e:u", ">=, 'binary:'", missing="true")),
        (Wide.unit.is_null(), of("e:u", "<, 'binary:'", missing="false")),
        (Wide.unit != None, of("e:u", ">=, 'binary:'", missing="true")),  # noqa: E711 - a condition
        (Wide.label == "x", of("e:label", "=, 'binary:x'", missing="true")),
        (
            ~((Wide.n == 65) | (Wide.kind == "y")),
            of("d:n", "!=, 'binary:A'", missing="false")
            + b" AND "
            + of("e:kind", "!=, 'binary:y'", missing="false"),
        ),
        (Wide.kind == "x", of("e:kind", "=, 'binary:x'", missing="false")),
        (Wide.kind == "y", of("e:kind", "=, 'binary:y'", missing="true")),
        (Wide.kind != "x", of("e:kind", "!=, 'binary:x'", missing="true")),
        (Wide.hits == 0, of("d:hits", "=, 'binary:" + "\0" * 8 + "'", missing="false")),
        (Wide.hits == 1, of("d:hits", "=, 'binary:" + "\0" * 7 + "\1'", missing="true")),
        (
            Wide.at > datetime(1970, 1, 1, 0, 1, 5, 500, UTC),
            of("d:at", ">, 'binary:\0\0\0A'", missing="true"),
        ),
        (
            Wide.n.in_([65, 66]),
            of("d:n", "=, 'binary:A'", missing="true")
            + b" OR "
            + of("d:n", "=, 'binary:B'", missing="true"),
        ),
        (
            Wide.unit.in_(["A", None]),
            of("e:u", "=, 'binary:A'", missing="false"),
        ),
        (
            ~Wide.n.in_([65, 66]),
            of("d:n", "!=, 'binary:A'", missing="false")
            + b" AND "
            + of("d:n", "!=, 'binary:B'", missing="false"),
        ),
        (
            Wide.n.between(65, 66) & ((Wide.n == 65) | (Wide.kind == "y")),
            of("d:n", ">=, 'binary:A'", missing="true")
            + b" AND "
            + of("d:n", "<=, 'binary:B'", missing="true")
            + b" AND ("
            + of("d:n", "=, 'binary:A'", missing="true")
            + b" OR "
            + of("e:kind", "=, 'binary:y'", missing="true")
            + b")",
        ),
    ],
    ids=repr,
)
def test_a_condition_on_a_column_becomes_a_filter(condition: Condition, expected: bytes) -> None:
    assert text(condition) == expected


def test_both_zeros_are_equal_and_nan_is_not_above_infinity() -> None:
    zero, minus = b"\x80" + bytes(7), b"\x7f" + b"\xff" * 7
    infinity = b"\xff\xf0" + bytes(6)

    assert pushed(Wide.real == 0.0).filter == AnyOf(
        tuple(ColumnFilter(b"d:real", ByteTest("=", zero), False) for zero in (zero, minus))
    )
    assert pushed(Wide.real > 0.0).filter == AllOf(
        (
            ColumnFilter(b"d:real", ByteTest(">", zero), False),
            ColumnFilter(b"d:real", ByteTest("<=", infinity), False),
        )
    )


# --- what is left to the client -------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    [
        Wide.k == 1,
        Wide.java > 1,
        Wide.stamp <= datetime(2024, 1, 1, tzinfo=UTC),
        Wide.cut == "a_b",
        Wide.cut.in_(["a", "a_b"]),
        Wide.packed == [1],
        ~(Wide.packed == [1]),
        (Wide.n == 1) | (Wide.k == 1),
        Wide.made == "y",
    ],
    ids=repr,
)
def test_what_bytes_do_not_decide_is_left_to_the_client(condition: Condition) -> None:
    assert pushed(condition).remaining == (condition,)


@pytest.mark.parametrize(
    ("condition", "missing"),
    [(Wide.java > 1, "true"), (Wide.packed == [1], "true"), (~(Wide.packed == [1]), None)],
    ids=repr,
)
def test_of_bytes_that_do_not_decide_the_absence_of_the_cell_may(
    condition: Condition, missing: str | None
) -> None:
    name = "java" if "java" in repr(condition) else "packed"
    column = Wide.__schema__.column_by_name[name].column
    expected = None if missing is None else ColumnFilter(column, ANY_BYTES, passes_missing=False)

    assert pushed(condition).filter == expected


def test_a_part_that_the_server_decides_is_sent_without_the_other() -> None:
    found = pushed((Wide.n == 65) & (Wide.k > 1), Wide.java < 0)

    assert found.filter is not None
    assert bytes(found.filter).startswith(of("d:n", "=, 'binary:A'", missing="true"))
    assert len(found.remaining) == 2


def test_a_beginning_that_padding_may_be_is_not_told_by_bytes_alone() -> None:
    begins = Wide.fixed.startswith("a")
    test = ByteTest("=", b"a", "binaryprefix")

    assert pushed(begins) == PushDown(
        ColumnFilter(b"d:fixed", test, passes_missing=False), (begins,)
    )
    assert pushed(~begins).filter is None


def test_a_default_that_a_function_makes_may_match_whatever_is_asked() -> None:
    assert pushed(Wide.made == "y").filter == ColumnFilter(
        b"e:made", ByteTest("=", b"y"), passes_missing=True
    )


def test_a_column_that_the_scan_does_not_read_is_not_tested() -> None:
    assert pushed(Wide.n == 1, columns=(b"e", b"d:down")).filter is None
    assert pushed(Wide.n == 1, columns=(b"e", b"d:n")).filter is not None
    assert pushed(Wide.n == 1, columns=(b"d",)).filter is not None


@pytest.mark.parametrize(
    "conditions",
    [
        [(Wide.n == 300) | (Wide.n < 0)],
        [Wide.n == 1, (Wide.n > 255) | (Wide.n == 256)],
        [(Wide.n.in_([])) & (Wide.k == 1)],
        [Comparison(Wide.n, "<", None)],
        [Wide.real > float("-nan")],  # noqa: PLW0177 - a condition
    ],
    ids=repr,
)
def test_what_no_row_fulfils_is_known_before_anything_is_sent(conditions: list[Condition]) -> None:
    assert pushed(*conditions).is_empty


def test_more_tests_than_the_bound_are_left_to_the_client() -> None:
    most = Wide.n.in_(range(MAX_TESTS))
    too_many = Wide.n.in_(range(MAX_TESTS + 1))

    assert not pushed(most).remaining
    assert pushed(too_many).filter is None
    assert pushed(most, Wide.down == 1).remaining
    long = "x" * (MAX_FILTER_BYTES // 2)
    assert len(pushed(Wide.unit == long, Wide.kind == long).remaining) == 1


# --- reverse scans and shared tables --------------------------------------------------------------


def test_a_reverse_scan_of_several_families_needs_them_all() -> None:
    expected = of("d:n", "=, 'binary:A'", missing="true")

    assert text(Wide.n == 65, reverse=True) == expected + b" AND RowFilter(>=, 'binary:')"
    assert text(Wide.n == 65, reverse=True, columns=(b"d",)) == expected


class Base(Model, table="records"):
    d = Family()
    k: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(RecordType(), k)
    name: Mapped[str] = column(d, default="x")
    other: Mapped[str] = column(d, default="x")


class Sub(Base, record_type="S"):
    other: Mapped[str] = column(Base.d, default="y")


def test_a_column_that_a_record_type_reads_otherwise_is_left_to_the_client() -> None:
    schema = Base.__schema__

    assert push_down(schema, [Base.name == "x"]).filter is not None
    assert push_down(schema, [Base.other == "x"]).filter is None
