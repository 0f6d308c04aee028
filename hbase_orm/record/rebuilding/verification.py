"""Compares the class of a model with the record that it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hbase_orm.errors import DeclarationError
from hbase_orm.index.catalog.declaration_text import declaration_texts
from hbase_orm.index.catalog.entry_details import without_details
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.rebuilding.class_bodies import RecordedClass
from hbase_orm.record.snapshots import rows_of
from hbase_orm.record.specifications import equal_codec
from hbase_orm.schema import TableSchema


def check_agrees(schema: TableSchema, recorded: RecordedClass, declaration: Declaration) -> None:
    """Refuse a class whose keys, cells or index entries are not those of the record.

    Raises:
        DeclarationError: Something differs; the error shows both.
    """
    rows = rows_of(schema)
    known_key = recorded.rows.key
    if len(rows.key) != len(known_key) or not all(map(equal_codec, known_key, rows.key)):
        raise _differs(recorded, "row key", recorded.rows.key, rows.key)
    for column, own in rows.columns.items():
        known = recorded.rows.columns[column]
        plain = replace(own, is_required=known.is_required, codec=known.codec, names=known.names)
        alike = equal_codec(known.codec, own.codec) and equal_codec(
            known.names or {}, own.names or {}
        )
        if plain != known or not alike:
            raise _differs(recorded, f"column {column.decode(errors='replace')}", known, own)
    for index in schema.indexes:
        entries = declaration.indexes[index.name].entries
        texts = [
            without_details(declaration_texts(schema, names)[index.name])
            for names in _names(recorded)
        ]
        if without_details(entries) not in texts:
            raise _differs(recorded, f"index {index.name}", entries, texts[-1])


def _names(recorded: RecordedClass) -> Iterator[dict[str, str]]:
    """Yield what the models of the rows call the fields, from the names that one model has.

    An index is described by the names of any of them, as they were before or as they are.
    """
    for model in recorded.rows.models.values():
        every = [(column, field) for field, column in model.names.items()]
        present = [(column, field) for field, column in model.fields.items()]
        for key in (model.key, *model.later_keys):
            for named in (every, every[::-1], present):  # the last, the first, the present names
                names = dict(zip(recorded.keys, key, strict=False))
                by_column = dict(named)
                yield names | {
                    name: by_column.get(column, name)
                    for name, column in recorded.model.fields.items()
                }


def _differs(recorded: RecordedClass, subject: str, known: Any, own: Any) -> DeclarationError:
    return DeclarationError(
        "the class that was made from the record is not what the record describes",
        table=recorded.supplied.table,
        model=recorded.name,
        subject=subject,
        recorded=known,
        made=own,
    )
