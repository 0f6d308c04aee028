"""What `UpdateRecord` writes: nothing that another operation of its revision adds or changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, RecordType, codecs, column, key, rowkey
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.record_updates import updated
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.snapshots import declaration_of
from tests.support.changed_models import FIRST, Declared, col

NULLABLE: Final = FIRST.having(weight=col(int, "w", codec=codecs.uint16(), nullable=True))

OF_OTHER_OPERATIONS: Final[dict[str, Declared]] = {
    "a codec": NULLABLE.having(size=col(int, "s", codec=codecs.int64())),
    "a qualifier": NULLABLE.having(city=col(str, "tt")),
    "a new column": NULLABLE.having(unit=col(str, "u", nullable=True)),
    "a column less": NULLABLE.without("note"),
    "a new index": replace(NULLABLE, indexes={**FIRST.indexes, "by_note": "note"}),
    "an index less": replace(NULLABLE, indexes={"by_city": "city"}),
    "another index of one name": replace(NULLABLE, indexes={**FIRST.indexes, "by_size": "note"}),
    "the name of a field": NULLABLE.renamed(note="remark"),
    "options of a family": replace(NULLABLE, family={"versions": 3}),
}


def declared(declared: Declared, kind: str = "guarded") -> Declaration:
    return declaration_of([declared.model(kind, "orders").__schema__])


def without_weight(declaration: Declaration) -> Declaration:
    """Return a declaration without the column that may be None now."""
    return edits.without_column(declaration, b"d:w")


@pytest.mark.parametrize("name", OF_OTHER_OPERATIONS)
def test_an_update_takes_what_may_be_none_and_nothing_of_other_operations(name: str) -> None:
    old, after = declared(FIRST), declared(OF_OTHER_OPERATIONS[name])

    new = updated(old, after)

    assert not new.rows[0].columns[b"d:w"].is_required
    assert new.rows[0].models["Order"].options is not None
    assert "weight" in new.rows[0].models["Order"].options.nullable
    assert without_weight(new) == without_weight(old)
    assert updated(new, after) == new


@pytest.mark.parametrize("name", OF_OTHER_OPERATIONS)
def test_an_update_that_is_undone_leaves_what_was_there(name: str) -> None:
    old, after = declared(FIRST), declared(OF_OTHER_OPERATIONS[name])

    back = updated(updated(old, after), old)

    assert back.rows[0].models == old.rows[0].models
    assert without_weight(back) == without_weight(old)


def test_a_plain_table_gets_no_guards_before_its_index_is_added() -> None:
    new = updated(declared(FIRST, "plain"), declared(FIRST, "lww"))

    assert not new.is_guarded
    assert not new.indexes


def test_codes_of_one_codec_are_joined_and_another_codec_stays() -> None:
    def with_codec(codec: Any) -> Declaration:
        return declared(FIRST.having(note=col(str, "n", nullable=True, codec=codec)))

    one, two = codecs.code({"a": b"a"}), codecs.code({"a": b"a", "b": b"b"})
    old, more, other = map(with_codec, (one, two, codecs.code({"a": b"z"})))

    assert updated(old, more) == more
    assert updated(old, other) == old


def trips(codec: Any, *, has_boats: bool) -> Declaration:
    """Return the declaration of a table of record types; later ones are boats, which have names."""

    class Trip(Model, table="trips"):
        d = Family()
        number: Key[int] = key(codecs.uint32())
        __rowkey__ = rowkey(RecordType(), number)

    class Car(Trip, record_type="C"):
        size: Mapped[int] = column(Trip.d, "s", codec=codec)

    if has_boats:

        class Boat(Trip, record_type="B"):
            size: Mapped[int] = column(Trip.d, "s", codec=codec)
            name: Mapped[str] = column(Trip.d, "n")

        assert Boat.__schema__.table == Car.__schema__.table
    return declaration_of([Trip.__schema__])


def test_a_new_record_type_has_the_codec_of_now_until_the_codec_changes() -> None:
    old = trips(codecs.uint32(), has_boats=False)
    after = trips(codecs.int64(), has_boats=True)

    new = updated(old, after)

    assert new == trips(codecs.uint32(), has_boats=True)
    later = edits.column_of(after, b"d:s")
    assert later is not None
    assert edits.with_codec(new, b"d:s", later.codec) == after


def notes(*, has_second: bool, has_text: bool = False) -> Declaration:
    """Return the declaration of a table of one model, or of a second one with other columns."""

    class Note(Model, table="notes"):
        d = Family()
        name: Key[str] = key()
        title: Mapped[str] = column(d, "t")

    class Page(Model, table="notes"):
        d = Family()
        name: Key[str] = key()
        title: Mapped[str] = column(d, "t")
        text: Mapped[str | None] = column(d, "x", default=None)
        by_text = Index(text)

    class Text(Model, table="notes"):
        d = Family()
        name: Key[str] = key()
        title: Mapped[str] = column(d, "t")
        text: Mapped[str | None] = column(d, "x", default=None)

    models = [Text if has_text else Note, *([Page] if has_second else [])]
    return declaration_of([each.__schema__ for each in models])


def test_a_further_model_has_the_columns_and_indexes_that_are_there() -> None:
    old, after = notes(has_second=False), notes(has_second=True)

    new = updated(old, after)

    page = new.rows[0].models["Page"]
    assert page.fields == {"title": b"d:t"}
    assert page.options is not None
    assert (page.options.nullable, page.options.indexes) == ((), ())
    assert (new.indexes, [*new.rows[0].columns]) == ({}, [b"d:t"])
    with_column = edits.with_columns_of(new, after, b"d:x")
    assert edits.with_index_of(with_column, after, "by_text").rows == after.rows


def test_a_model_gets_the_field_of_a_column_that_another_model_has() -> None:
    old = notes(has_second=True)
    wanted = notes(has_second=True, has_text=True)
    models = {"Note": wanted.rows[0].models["Text"], "Page": wanted.rows[0].models["Page"]}
    after = replace(wanted, rows=(replace(wanted.rows[0], models=models),))

    new = updated(old, after)

    assert new.rows[0].models["Note"].fields == {"title": b"d:t", "text": b"d:x"}
    assert updated(new, old).rows[0].models["Note"].fields == {"title": b"d:t"}
