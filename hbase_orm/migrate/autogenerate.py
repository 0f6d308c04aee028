"""Compares models with the records of their tables, and proposes the operations of a revision.

What could be meant in two ways is proposed as a drop and an addition, with a comment that names the
other way, for a person to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Final

from hbase_orm.index.catalog.declaration_text import declaration_texts
from hbase_orm.index.catalog.entry_details import without_details
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.columns import (
    AddColumn,
    DropColumn,
    RenameColumn,
    UpdateRecord,
)
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.encodings import ChangeCodec, RenameQualifier
from hbase_orm.migrate.operations.families import (
    AddFamily,
    AlterFamily,
    AlterTable,
    DropFamily,
    with_family,
    with_options,
    with_table_options,
)
from hbase_orm.migrate.operations.indexes import AddIndex, DropIndex, entries_text
from hbase_orm.migrate.operations.operation import Operation
from hbase_orm.migrate.operations.tables import CreateTable, DropTable
from hbase_orm.migrate.record_leftovers import has_leftovers
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.record.declaration import Declaration, RecordedColumn, RecordedModel, RecordedRows
from hbase_orm.record.rebuilding.recorded_codecs import recorded_codec
from hbase_orm.record.recorded_schema import recorded_names
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.spec_notation import key_text
from hbase_orm.record.specifications import same_codec
from hbase_orm.record.stored_values import StoredValue
from hbase_orm.schema import TableSchema

Edit = Callable[[Declaration], Declaration]

_SETTINGS: Final = frozenset({"configuration", "attributes"})
_FAMILY_OPTIONS: Final = tuple(e.name for e in fields(FamilyDescriptor) if e.name != "name")


def compared(models: Sequence[type[Model]], records: Mapping[str, Declaration]) -> list[Operation]:
    """Return the operations that make tables as models declare them; empty if nothing differs.

    Args:
        models: All models of the tables.
        records: The declarations in the records of the tables that exist, by the tables' names as
            the models declare them.

    Raises:
        DeclarationError: A record has a codec that this version of the library does not have.
    """
    by_table: dict[str, dict[type[Model], TableSchema]] = {}
    for model in models:
        declaring = base_of(model) or model
        schema = declaring.__schema__
        if not schema.is_foreign:
            by_table.setdefault(schema.table, {})[declaring] = schema
    operations: list[Operation] = []
    for table, schemas in by_table.items():
        known = records.get(table)
        if known is None:
            operations.append(CreateTable(table))
        else:
            operations += TableProposal(table, known, list(schemas.values())).operations
    for table in records.keys() - by_table.keys():
        note = "No model declares this table. Delete this line if other programs use it."
        operations.append(DropTable(table, comment=note))
    return operations


class TableProposal:
    """The operations that make one table as its models declare it.

    Attributes:
        operations: The operations, in the order in which they are to be run.
    """

    def __init__(self, table: str, known: Declaration, schemas: Sequence[TableSchema]) -> None:
        """Compare the models with the declaration in the record."""
        self._table = table
        self._now = known
        self._schemas = schemas
        self._wanted = declaration_of(schemas)
        self.operations: list[Operation] = []
        if self._rekeys():
            return
        self._drop_indexes()
        self._change_table()
        self._change_families()
        self._rename_fields()
        self._move_columns()
        self._change_codecs()
        self._change_columns()
        if has_leftovers(schemas, self._now):
            self._add(UpdateRecord(table), lambda now: now)
        self._add_indexes()
        self._drop_families()

    def _add(self, operation: Operation, edit: Edit) -> None:
        self.operations.append(operation)
        self._now = edit(self._now)

    # --- tables and families ----------------------------------------------------------------------

    def _rekeys(self) -> bool:
        """Propose another table if rows have another row key; return whether one was proposed."""
        for rows in self._wanted.rows:
            if edits.counterpart(self._now, rows) is not None:
                continue
            known = _same_rows(self._now, rows)
            if known is None:
                continue
            before = key_text(known.key, _key_names(known))
            after = key_text(rows.key, _key_names(rows))
            note = (
                f"The row key changes from {before}\nto {after}.\n"
                "The rows move to another table: give the model this name."
            )
            self.operations.append(
                RekeyTable(self._table, new_table=f"{self._table}_2", comment=note)
            )
            return True
        return False

    def _change_table(self) -> None:
        """Propose other options of the table; split keys stay as HBase has them."""
        known, wanted = self._now.options, self._wanted.options
        if known is None or wanted is None:
            return
        old, new = _options(known, wanted, ("durability", "region_replication", "attributes"))
        if new:
            self._add(
                AlterTable(self._table, old=old, new=new),
                partial(with_table_options, options=new),
            )

    def _change_families(self) -> None:
        for name, family in self._wanted.families.items():
            known = self._now.families.get(name)
            if known is None:
                options = _options(FamilyDescriptor(name), family)[1]
                self._add(
                    AddFamily(self._table, name.decode(), **options),
                    partial(with_family, family=family),
                )
            elif known != family:
                old, new = _options(known, family)
                self._add(
                    AlterFamily(self._table, name.decode(), old=old, new=new),
                    partial(with_options, family=name, options=new),
                )

    def _drop_families(self) -> None:
        for name in list(self._now.families):
            if name not in self._wanted.families:
                self._add(
                    DropFamily(self._table, name.decode()),
                    partial(edits.without_family, family=name),
                )

    # --- columns ----------------------------------------------------------------------------------

    def _models(self) -> Iterator[tuple[RecordedModel, RecordedModel]]:
        """Yield the models that both sides have: as recorded now, and as declared."""
        for wanted in self._wanted.rows:
            rows = edits.counterpart(self._now, wanted)
            for name, model in wanted.models.items():
                if rows is not None and name in rows.models:
                    yield rows.models[name], model

    def _rename_fields(self) -> None:
        renamed: dict[str, str] = {}
        for known, wanted in self._models():
            places = {column: name for name, column in wanted.fields.items()}
            names = {name: places.get(column, name) for name, column in known.fields.items()}
            names |= dict(zip(edits.key_of(known), wanted.key, strict=False))
            renamed |= {old: new for old, new in names.items() if old != new}
        for old, new in renamed.items():
            self._add(
                RenameColumn(self._table, old, new),
                partial(edits.with_renamed_field, old=old, new=new),
            )

    def _move_columns(self) -> None:
        moved: dict[bytes, bytes] = {}
        now, wanted = _columns(self._now), _columns(self._wanted)
        for known, model in self._models():
            for name, column in model.fields.items():
                old = known.fields.get(name, column)
                is_free = old not in wanted and column not in now
                if old != column and is_free and _is_alike(now[old], wanted[column]):
                    moved[old] = column
        for old, new in moved.items():
            self._add(
                RenameQualifier(self._table, _text(old), _text(new)),
                partial(edits.with_renamed_column, old=old, new=new),
            )

    def _change_codecs(self) -> None:
        now, wanted = _columns(self._now), _columns(self._wanted)
        for column, known in now.items():
            new = wanted.get(column)
            if new is None or known.role != new.role or same_codec(known.codec, new.codec):
                continue
            old_codec, new_codec = (
                recorded_codec(StoredValue(each.codec, self._table)) for each in (known, new)
            )
            self._add(
                ChangeCodec(self._table, _text(column), old=old_codec, new=new_codec),
                partial(edits.with_codec, column=column, codec=new.codec),
            )

    def _change_columns(self) -> None:
        now, wanted = _columns(self._now), _columns(self._wanted)
        added = {column: each for column, each in wanted.items() if column not in now}
        dropped = {column: each for column, each in now.items() if column not in wanted}
        for column, each in added.items():
            twins = [old for old, known in dropped.items() if _is_alike(known, each)]
            note = "\n".join(
                f"If this is {_text(old)} under another name, replace both operations by\n"
                f'RenameQualifier("{self._table}", "{_text(old)}", "{_text(column)}")'
                for old in twins
            )
            self._add(
                AddColumn(self._table, _text(column), comment=note),
                partial(edits.with_columns_of, after=self._wanted, column=column),
            )
        for column in dropped:
            note = "Deletes the values. With keep_cells=True they stay, and there is a way back."
            self._add(
                DropColumn(self._table, _text(column), comment=note),
                partial(edits.without_column, column=column),
            )

    # --- indexes ----------------------------------------------------------------------------------

    def _texts(self) -> dict[str, set[str]]:
        """Return the texts of each declared index: with the record's names of fields, and its own.

        Which of them a record has depends on which program has written it last.
        """
        texts: dict[str, set[str]] = {}
        for schema in self._schemas:
            for names in (recorded_names(schema, self._now), {}):
                described = declaration_texts(schema, names)
                for index in schema.indexes:
                    text = without_details(described[index.name]).partition(": ")[2]
                    texts.setdefault(index.name, set()).add(text)
        return texts

    def _drop_indexes(self) -> None:
        texts = self._texts()
        for name, known in list(self._now.indexes.items()):
            wanted = self._wanted.indexes.get(name)
            is_same = (
                wanted is not None
                and entries_text(known) in texts.get(name, ())
                and wanted.maintained == known.maintained
            )
            if not is_same:
                note = "" if wanted is None else "Dropped here and built again below."
                self._add(
                    DropIndex(self._table, name, comment=note),
                    partial(edits.without_index, index=name),
                )

    def _add_indexes(self) -> None:
        for name in self._wanted.indexes:
            if name not in self._now.indexes:
                self._add(
                    AddIndex(self._table, name),
                    partial(edits.with_index_of, after=self._wanted, index=name),
                )


def _same_rows(declaration: Declaration, rows: RecordedRows) -> RecordedRows | None:
    """Return the recorded rows that a declared kind of rows was, under another row key."""
    return next(
        (
            each
            for each in declaration.rows
            if each.record_type == rows.record_type
            and (each.models.keys() & rows.models.keys() or len(declaration.rows) == 1)
        ),
        None,
    )


def _key_names(rows: RecordedRows) -> tuple[str, ...]:
    return next((edits.key_of(model) for model in rows.models.values()), ())


def _columns(declaration: Declaration) -> dict[bytes, RecordedColumn]:
    return {column: each for rows in declaration.rows for column, each in rows.columns.items()}


def _is_alike(one: RecordedColumn, other: RecordedColumn) -> bool:
    return one.role == other.role and same_codec(one.codec, other.codec)


def _text(column: bytes) -> str:
    return column.decode("utf-8", "backslashreplace")


def _options(
    old: Any, new: Any, names: Iterable[str] = _FAMILY_OPTIONS
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options that differ: the old and the new values."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for option in names:
        was, now = getattr(old, option), getattr(new, option)
        if was == now:
            continue
        if option in _SETTINGS:
            settings = [name for name in {**was, **now} if was.get(name) != now.get(name)]
            was = {name: was.get(name) for name in settings}
            now = {name: now.get(name) for name in settings}
        before[option], after[option] = was, now
    return before, after
