"""Which pairs of models can be moved while programs use them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from hbase_orm import (
    Counter,
    Digest,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Substitute,
    TablePerPeriod,
    Version,
    codecs,
    column,
    counter,
    dynamic,
    key,
    rowkey,
    version,
)
from hbase_orm.binding.table_moves.row_translation import row_translation
from hbase_orm.errors import (
    ConfigurationError,
)
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.moving.translation import TableMove
from hbase_orm.ops import Cell, Row
from tests.support.moved_models import (
    OLD_KEY,
    REGIONAL_KEY,
    Reading,
    RegionalReading,
    between,
    bound,
    cells,
    u32,
)


class Base(Model, abstract=True):
    d = Family()
    host: Key[str] = key()
    value: Mapped[str] = column(d)


class Good(Base, table="good"):
    pass


class RandomlySalted(Base, table="randomly_salted"):
    __rowkey__ = rowkey(RandomSalt(4), Base.host)


class Named(Base, table="named"):
    __rowkey__ = rowkey(Substitute(of=Base.host, dictionary="hosts"))


class Counting(Base, table="counting"):
    hits: Counter = counter(Base.d)


class Periods(Base, table=TablePerPeriod("periods_%Y", of="at", period="year")):
    at: Key[datetime] = key(codecs.millis())


class Packed(Model, table="packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[str] = column(d, qualifier=Offset("hour", of=at))
    __rowkey__ = rowkey(host, Period("hour", of=at))


class Typed(Model, table="typed"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[str] = column(d)
    __rowkey__ = rowkey(RecordType(), host)


class TypedHost(Typed, record_type="h"):
    pass


class Indexed(Base, table="indexed"):
    by_value = Index(Base.value)


@pytest.mark.parametrize("place", [0, 1], ids=["old", "new"])
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomlySalted, "random salt"),
        (Named, "numbers of names"),
        (Packed, "stored as a cell"),
        (Typed, "record types"),
        (TypedHost, "record types"),
    ],
)
def test_models_whose_rows_cannot_be_moved_are_refused(
    model: type[Model], reason: str, place: int
) -> None:
    pair: list[type[Model]] = [Good, Good]
    pair[place] = model

    with pytest.raises(ConfigurationError, match="cannot be moved while programs") as caught:
        between(*pair)

    assert reason in caught.value.reason
    assert (caught.value.model, bool(caught.value.fix)) == (model.__name__, True)


@pytest.mark.parametrize(
    ("pair", "reason"),
    [((Periods, Good), "table for each period"), ((Good, Periods), "decides the period")],
    ids=["from tables of periods", "to periods that old keys do not show"],
)
def test_periods_that_old_keys_do_not_show_are_refused(
    pair: tuple[type[Model], type[Model]], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match="cannot be moved while programs") as caught:
        between(*pair)

    assert reason in caught.value.reason
    assert (caught.value.model, "exclusively" in caught.value.fix) == ("Periods", True)


class Summing(Base, table="summing"):
    hits: Counter = counter(Base.d, "h")


class Hitting(Base, table="hitting"):
    hits: Mapped[int | None] = column(Base.d, default=None)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [(Good, Counting, Counting), (Hitting, Counting, Counting), (Counting, Hitting, Counting)],
    ids=["lacking before", "a column before", "a column after"],
)
def test_a_counter_of_one_model_only_is_refused(
    old: type[Model], new: type[Model], named: type[Model]
) -> None:
    with pytest.raises(ConfigurationError, match="counter in only one") as caught:
        between(old, new)

    assert (caught.value.model, caught.value.field) == (named.__name__, "hits")


def test_counters_have_their_place_in_the_other_table_and_may_be_dropped() -> None:
    assert between(Counting, Summing).old_counters == {b"d:h": b"d:hits"}
    assert between(Counting, Good).old_counters == {}


def test_rows_without_guards_are_refused() -> None:
    indexed = bound(Indexed)
    without = replace(indexed, guarded=guarded_table(indexed.schema, is_lww=True))

    with pytest.raises(ConfigurationError) as caught:
        row_translation(bound(Good), without)

    assert "no guards" in caught.value.reason
    assert "Thrift2" in caught.value.fix


class Longer(Base, table="longer"):
    extra: Mapped[str | None] = column(Base.d, default=None)


class Mapping(Base, table="mapping"):
    extra: Dynamic[str, str] = dynamic(Base.d, prefix="x_")


class Versioned(Base, table="versioned"):
    revision: Version = version()


class Unversioned(Base, table="unversioned"):
    revision: Mapped[int] = column(Base.d)


class Needing(Base, table="needing"):
    extra: Mapped[str] = column(Base.d)


class Hashed(Model, table="hashed"):
    d = Family()
    host: Key[str] = key(family=d)
    value: Mapped[str] = column(d)
    __rowkey__ = rowkey(Digest(of=host))


class LongerKey(Base, table="longer_key"):
    extra: Key[str] = key()
    __rowkey__ = rowkey(extra, Base.host)


class OtherAnchor(Model, table="other_anchor"):
    d = Family()
    host: Key[str] = key()
    extra: Mapped[str] = column(d)
    value: Mapped[str] = column(d)


@pytest.mark.parametrize(
    ("old", "new", "named", "reason", "field"),
    [
        (Good, Hashed, Hashed, "old row key cannot be computed", "host"),
        (LongerKey, Good, Good, "old row key cannot be computed", "extra"),
        (Good, LongerKey, Good, "old rows do not have", "extra"),
        (Mapping, LongerKey, Mapping, "old rows do not have", "extra"),
        (Good, Longer, Good, "no place for a column", "extra"),
        (Good, Mapping, Good, "no place for a column", "extra"),
        (Mapping, Longer, Mapping, "no place for a column", "extra"),
        (Good, Versioned, Good, "no place for a column", "revision"),
        (Unversioned, Versioned, Unversioned, "no place for a column", "revision"),
        (Versioned, Unversioned, Unversioned, "counts the writes", "revision"),
        (Needing, Good, Needing, "each row of the old table needs", "extra"),
        (Longer, OtherAnchor, Longer, "may lack the column that shows", "extra"),
    ],
)
def test_pairs_of_models_that_do_not_fit_are_refused(
    old: type[Model], new: type[Model], named: type[Model], reason: str, field: str
) -> None:
    with pytest.raises(ConfigurationError, match="cannot be moved while programs") as caught:
        between(old, new)

    error = caught.value
    assert reason in error.reason
    assert (error.model, error.table) == (named.__name__, named.__schema__.table)
    assert (error.field, bool(error.fix)) == (field, True)


def test_pairs_that_lose_only_columns_that_no_row_needs_are_allowed() -> None:
    for old in (Longer, Mapping, Versioned, Indexed):
        assert between(old, Good).old_columns(frozenset()) == frozenset()


def test_a_move_uses_the_translation() -> None:
    translation = between(Reading, RegionalReading)
    old, new = (guarded_table(bound(each).schema) for each in (Reading, RegionalReading))
    move = TableMove(old, new, translation, "new_keys")

    row = move.to_new(OLD_KEY, cells(v=u32(5), region=b"north"))

    assert row == Row(REGIONAL_KEY, {b"d:v": Cell(u32(5), 1)})
    assert move.key_columns == {b"d:region"}
