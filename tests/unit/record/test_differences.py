"""What a user reads about each kind of difference between a model and its table's record."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import pytest

from hbase_orm import (
    Bucket,
    Counter,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Salt,
    TablePerPeriod,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
)
from hbase_orm.binding.recorded_models import compared, drift_error
from hbase_orm.errors import SchemaDriftError
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.snapshots import declaration_of


class Colour(Enum):
    RED = "red"


DATA = Family("d")


class Recorded(Model, table="differences"):
    d = DATA
    host: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    note: Mapped[str] = column(d, "n")
    size: Mapped[int] = column(d, "s")
    hits: Counter = counter(d, "h")
    __rowkey__ = rowkey(Salt(4, of=[host]), host, number)


def shown(recorded: Any, declared: Any) -> list[str]:
    record = TableRecord("", declaration_of([recorded.__schema__]))
    return [str(each) for each in compared(declared.__schema__, record)]


def changed(**changes: Any) -> type[Model]:
    """Return a model like `Recorded`, with other attributes and other annotations."""
    hints = dict(Recorded.__annotations__) | changes.pop("hints", {})
    body = {
        name: vars(Recorded)[name]
        for name in ("d", "host", "number", "note", "size", "hits", "__rowkey__")
    } | changes
    kept = {name: value for name, value in body.items() if value is not None}
    kept["__annotations__"] = {name: hint for name, hint in hints.items() if name in kept}
    kept["__module__"] = __name__
    return type("Recorded", (Model,), kept, table="differences")


def test_a_changed_component_is_named_by_its_number_and_shown_as_it_is_declared() -> None:
    class Other(Model, table="differences"):
        d = Family()
        host: Key[str] = key(codecs.text(separator=b"|"))
        number: Key[int] = key(codecs.int32(desc=True))
        note: Mapped[str] = column(d, "n")
        __rowkey__ = rowkey(Salt(8, of=[host]), host, number)

    assert shown(Recorded, Other)[:3] == [
        "row key, component 1: recorded Salt(4, of=host), declared Salt(8, of=host)",
        (
            "row key, component 2: recorded host: codecs.text(), "
            "declared host: codecs.text(separator=b'|')"
        ),
        (
            "row key, component 3: recorded number: codecs.uint32(), "
            "declared number: codecs.int32(desc=True)"
        ),
    ]


def test_keys_of_different_lengths_are_shown_whole() -> None:
    class Other(Model, table="differences"):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        note: Mapped[str] = column(d, "n")
        __rowkey__ = rowkey(
            HashPrefix(2, of=host), host, Period("day", of=at), Offset("day", of=at)
        )

    assert shown(Recorded, Other)[0] == (
        "row key: recorded rowkey(Salt(4, of=host), host, number), declared "
        'rowkey(HashPrefix(2, of=host), host, Period("day", of=at), Offset("day", of=at))'
    )


def test_the_codec_of_a_derived_component_is_shown_where_it_differs() -> None:
    class One(Model, table="differences"):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        n: Key[int] = key(codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        __rowkey__ = rowkey(Bucket(4, of=n), n, Period("day", of=at), Offset("day", of=at))

    class Other(Model, table="differences"):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        n: Key[int] = key(codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        __rowkey__ = rowkey(
            Bucket(4, of=n, form="text"),
            n,
            Period("day", of=at, codec=codecs.seconds()),
            Offset("day", of=at),
        )

    bucket, day = shown(One, Other)
    assert bucket.startswith("row key, component 1: recorded Bucket(4, of=n), declared Bucket([")
    assert day == (
        'row key, component 3: recorded Period("day", of=at, codec=codecs.millis()), declared '
        'Period("day", of=at, codec=codecs.seconds(width_bytes=8))'
    )


def test_key_fields_of_one_codec_that_changed_places_are_both_named() -> None:
    class One(Model, table="differences"):
        d = Family()
        a: Key[int] = key()
        b: Key[int] = key()
        note: Mapped[str | None] = column(d, default=None)

    class Other(Model, table="differences"):
        d = Family()
        b: Key[int] = key()
        a: Key[int] = key()
        note: Mapped[str | None] = column(d, default=None)

    assert shown(One, Other) == ["order of the key fields: recorded a, b, declared b, a"]


CHANGES: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"size": column(DATA, "s", codec=codecs.int16())},
        ["codec of column d:s: recorded codecs.int64(), declared codecs.int16()"],
    ),
    (
        {"size": column(DATA, "s"), "hints": {"size": "Mapped[Colour]"}},
        [
            (
                "codec of column d:s: recorded codecs.int64(), "
                "declared codecs.enum(..., values=codecs.text())"
            )
        ],
    ),
    (
        {"note": column(DATA, "n", default=None), "hints": {"note": "Mapped[str | None]"}},
        ["column d:n, which shows that a row exists: recorded required, declared nullable"],
    ),
    (
        {"note": None},
        ["column d:n, which shows that a row exists: recorded required, not declared"],
    ),
    (
        {"hits": column(DATA, "h"), "hints": {"hits": "Mapped[int]"}},
        ["column d:h: recorded counter, declared column"],
    ),
    (
        {"size": column(DATA, "other")},
        [
            "column d:other: not recorded, declared codecs.int64()",
            "column d:s: recorded codecs.int64(), not declared",
            "field size: recorded d:s, declared d:other",
        ],
    ),
    (
        {"d": Family("d", ttl=timedelta(days=1), versions=3, keep_deleted_cells=True)},
        [
            "versions of family d: recorded 1, declared 3",
            "ttl of family d: recorded None, declared timedelta(seconds=86400)",
            "keep_deleted_cells of family d: recorded False, declared True",
        ],
    ),
    (
        {"more": Family("more")},
        ["family more: not recorded, declared Family()"],
    ),
]


@pytest.mark.parametrize(("changes", "lines"), CHANGES, ids=[str(n) for n, _ in enumerate(CHANGES)])
def test_each_difference_is_one_line_that_names_both_sides(
    changes: dict[str, Any], lines: list[str]
) -> None:
    if isinstance(changes.get("d"), Family):
        family = changes["d"]
        columns = {"note": column(family, "n"), "size": column(family, "s")}
        changes = {**changes, **columns, "hits": counter(family, "h")}

    assert shown(Recorded, changed(**changes)) == lines


def test_a_table_for_each_period_is_no_single_table() -> None:
    class One(Model, table="differences"):
        d = Family()
        at: Key[datetime] = key()
        note: Mapped[str | None] = column(d, default=None)

    class Daily(Model, table=TablePerPeriod("differences_%Y%m%d", of="at", period="day")):
        d = Family()
        at: Key[datetime] = key()
        note: Mapped[str | None] = column(d, default=None)

    assert shown(One, Daily)[-1] == "period of the tables: recorded one table, declared day"


def test_the_error_names_the_model_the_table_and_the_way_to_go() -> None:
    engine = connect("memory://")
    engine.create_tables(Recorded)
    bare = changed(__rowkey__=rowkey(Recorded.host, Recorded.number))

    with engine.session() as session, pytest.raises(Exception) as caught:  # noqa: PT011 - shown below
        session.get(bare, host="a", number=1)

    assert str(caught.value) == (
        "the model contradicts the record of its table: it would misread or hide rows "
        "[model='Recorded' table='differences' differences=['row key: recorded rowkey(Salt(4, "
        "of=host), host, number), declared rowkey(host, number)']]; declare what the record says, "
        "or move the rows to a table of another name with the new declaration"
    )


def test_the_error_leaves_harmless_differences_out() -> None:
    class Both(Model, table="differences"):
        d = Family()
        host: Key[str] = key()
        number: Key[int] = key(codecs.uint32())
        added: Mapped[str | None] = column(d, default=None)

        __rowkey__ = rowkey(host, number)

    engine = connect("memory://")
    engine.create_tables(Recorded)

    with engine.session() as session, pytest.raises(SchemaDriftError) as caught:
        session.get(Both, host="a", number=1)

    assert [line.partition(":")[0] for line in caught.value.differences] == ["row key"]


def test_an_undecided_error_says_what_programs_without_thrift2_cannot_detect() -> None:
    error = drift_error(Recorded.__schema__, [], is_certain=False)

    assert error.fix.endswith(
        "or, if the table was made again by other means, which programs without Thrift2 cannot "
        "detect, run 'hbase-orm tables adopt'"
    )


def test_periods_of_another_length_are_another_row_key() -> None:
    class One(Model, table="differences"):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        note: Mapped[str] = column(d, "n")
        __rowkey__ = rowkey(Period("hour", every=6, of=at), Offset("hour", every=6, of=at))

    class Other(Model, table="differences"):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        note: Mapped[str] = column(d, "n")
        __rowkey__ = rowkey(Period("hour", of=at), Offset("hour", of=at))

    assert shown(One, Other) == [
        (
            'row key, component 1: recorded Period("hour", of=at, every=6, codec=codecs.millis()), '
            'declared Period("hour", of=at, codec=codecs.millis())'
        ),
        (
            'row key, component 2: recorded Offset("hour", of=at, every=6, codec=codecs.uint32()), '
            'declared Offset("hour", of=at, codec=codecs.uint32())'
        ),
    ]


def test_text_that_is_stored_backwards_is_another_codec() -> None:
    other = changed(note=column(DATA, "n", codec=codecs.text(digit_reversed=True)))

    assert shown(Recorded, other) == [
        "codec of column d:n: recorded codecs.text(), declared codecs.text(digit_reversed=True)"
    ]


def test_codes_of_another_width_in_the_key_are_named_with_their_terminators() -> None:
    def of_codes(codes: dict[str, bytes]) -> Any:
        class Coded(Model, table="differences"):
            d = Family()
            kind: Key[str] = key(codecs.code(codes))
            number: Key[int] = key(codecs.uint32())
            note: Mapped[str] = column(d, "n")

        return Coded

    assert shown(of_codes({"b": b"1"}), of_codes({"b": b"1", "c": b"22"})) == [
        (
            "row key, component 1: recorded kind: codecs.code({'b': b'1'}) without a terminator, "
            "declared kind: codecs.code({'b': b'1', 'c': b'22'}) with the terminator 0001"
        )
    ]
