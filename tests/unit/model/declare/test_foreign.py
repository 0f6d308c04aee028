"""Models of foreign tables, which other programs own."""

from __future__ import annotations

from datetime import datetime

import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Table,
    TablePerPeriod,
    Version,
    column,
    connect,
    key,
    rowkey,
    version,
)
from hbase_orm.errors import SchemaError


class Theirs(Model, table=Table("theirs", foreign=True)):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)


class Ours(Model, table="theirs"):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)


def test_a_model_of_a_foreign_table_has_no_indexes() -> None:
    with pytest.raises(SchemaError, match="cannot have indexes or a version column") as caught:

        class Indexed(Model, table=Table("theirs", foreign=True)):
            d = Family()
            name: Key[str] = key()
            note: Mapped[str] = column(d)
            by_note = Index(note)

    assert (caught.value.model, caught.value.table) == ("Indexed", "theirs")
    assert caught.value.fields == ["by_note"]


def test_a_model_of_a_foreign_table_has_no_version_column() -> None:
    with pytest.raises(SchemaError) as caught:

        class Versioned(Model, table=Table("theirs", foreign=True)):
            d = Family()
            name: Key[str] = key()
            revision: Version = version(d)

    assert caught.value.fields == ["revision"]


def test_foreign_is_true_or_false() -> None:
    with pytest.raises(SchemaError):
        Table("theirs", foreign="yes")  # type: ignore[arg-type]  # a wrong argument


def test_the_tables_of_periods_and_of_record_types_can_be_foreign() -> None:
    daily = TablePerPeriod("theirs_%Y%m%d", of="at", period="day", foreign=True)

    class Daily(Model, table=daily):
        d = Family()
        at: Key[datetime] = key()
        note: Mapped[str | None] = column(d, default=None)

    class Base(Model, table=Table("theirs", foreign=True)):
        d = Family()
        name: Key[str] = key()
        __rowkey__ = rowkey(name, RecordType())

    class Sub(Base, record_type="S"):
        note: Mapped[str | None] = column(Base.d, default=None)

    assert repr(daily).endswith("period='day', foreign=True)")
    assert Daily.__schema__.is_foreign
    assert Sub.__schema__.is_foreign


def test_a_table_is_foreign_to_all_of_its_models_or_to_none() -> None:
    with pytest.raises(SchemaError, match="declare their table with different options") as caught:
        connect("memory://").create_tables(Theirs, Ours)

    assert caught.value.option == "foreign"


def test_a_foreign_table_lacks_no_record() -> None:
    engine = connect("memory://")
    engine.create_tables(Theirs)

    (check,) = engine.check_tables(Theirs)

    assert not check.differences
    assert engine.alter_tables(Theirs) == []


def test_a_foreign_table_cannot_be_adopted() -> None:
    engine = connect("memory://")
    engine.create_tables(Theirs)

    with pytest.raises(SchemaError, match="a foreign table has no record"):
        engine.adopt_tables(Theirs)
