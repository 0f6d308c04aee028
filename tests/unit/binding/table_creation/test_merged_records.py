"""What a record gets of a model, and what it keeps: its cells are those of the recorded codecs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hbase_orm import Dynamic, Family, Key, Mapped, Model, codecs, column, dynamic, key
from hbase_orm.binding.table_creation.merged_records import merged
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.snapshots import declaration_of


def declared(of_size: Any, of_names: Any, of_shade: Any) -> Declaration:
    class Order(Model, table="orders"):
        d = Family()
        e = Family()
        number: Key[int] = key(codecs.uint32())
        size: Mapped[int] = column(d, "s", codec=of_size)
        shade: Mapped[str] = column(d, "c", codec=of_shade)
        by_day: Dynamic[int, int] = dynamic(e, codec=codecs.int64(), name=of_names)

    return declaration_of([Order.__schema__])


RED, MORE = codecs.code({"red": b"r"}), codecs.code({"red": b"r", "blue": b"b"})


def test_another_codec_does_not_replace_the_recorded_one() -> None:
    recorded = declared(codecs.int64(), codecs.uint32(), RED)

    joined = merged(recorded, declared(codecs.uint64(), codecs.uint64(), MORE))

    assert joined.rows[0].columns == declared(codecs.int64(), codecs.uint32(), MORE).rows[0].columns


def test_a_codec_that_is_being_changed_stays() -> None:
    recorded = declared(codecs.int64(), codecs.uint32(), RED)
    (rows,) = recorded.rows
    changing = replace(rows.columns[b"d:s"], codec={"codec": "changing", "mark": "1"})
    begun = replace(rows, columns={**rows.columns, b"d:s": changing})

    joined = merged(replace(recorded, rows=(begun,)), recorded)

    assert joined.rows[0].columns[b"d:s"] == changing
