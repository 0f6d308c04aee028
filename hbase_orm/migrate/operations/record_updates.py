"""What `UpdateRecord` writes into a record: only what no other operation changes.

Columns, qualifiers, codecs, names of fields, families and indexes have operations of their own,
which may stand before or after `UpdateRecord` in a revision, and find their change in the record.
So all of these stay as the record has them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hbase_orm.binding.table_creation.merged_records import merged
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.indexes import entries_text
from hbase_orm.migrate.operations.option_edits import with_options_of, without_fields
from hbase_orm.record.declaration import (
    Declaration,
    RecordedColumn,
    RecordedIndex,
    RecordedModel,
    RecordedRows,
)
from hbase_orm.record.declared_options import ModelOptions
from hbase_orm.record.specifications import same_codec


def updated(recorded: Declaration, after: Declaration) -> Declaration:
    """Return `recorded` with what `after` has more and no other operation adds.

    That are codes of the same codec, columns that may be None, models and record types, what models
    declare about their fields, and columns of one kind of rows that another kind has already.
    """
    has_version = edits.needs_guards(replace(after, indexes={}))
    indexes = {
        name: own
        for name, own in after.indexes.items()
        if name in recorded.indexes and _is_same(recorded.indexes[name], own)
    }
    families = {name: each for name, each in after.families.items() if name in recorded.families}
    declared = replace(
        after,
        families=families,
        rows=tuple(_addable(recorded, after, rows) for rows in after.rows),
        is_guarded=after.is_guarded and has_version,
        indexes=indexes,
    )
    return merged(recorded, declared)


def _is_same(recorded: RecordedIndex, declared: RecordedIndex) -> bool:
    if recorded.maintained != declared.maintained:
        return False
    if recorded.spec is None or declared.spec is None:
        return entries_text(recorded) == entries_text(declared)
    return same_codec(recorded.spec, declared.spec)


def _addable(recorded: Declaration, after: Declaration, rows: RecordedRows) -> RecordedRows:
    """Return declared rows without what the operations for columns and indexes add."""
    known = edits.counterpart(recorded, rows)
    columns = {
        name: _with_recorded_codec(recorded, after, name, each)
        for name, each in rows.columns.items()
        if known is None or edits.column_of(recorded, name) is not None
    }
    models = {
        name: _addable_model(recorded, known, replace(rows, columns=columns), name)
        for name in rows.models
    }
    return replace(rows, columns=columns, models=models)


def _with_recorded_codec(
    recorded: Declaration, after: Declaration, name: bytes, declared: RecordedColumn
) -> RecordedColumn:
    """Return a column with the codec that it has until `ChangeCodec` changes it in all rows."""
    for rows in recorded.rows:
        wanted = edits.counterpart(after, rows)
        if wanted is None or name not in rows.columns or name not in wanted.columns:
            continue
        codec, later = rows.columns[name].codec, wanted.columns[name].codec
        if same_codec(later, declared.codec) and not same_codec(codec, later):
            return replace(declared, codec=codec)
    return declared


def _addable_model(
    recorded: Declaration, rows: RecordedRows | None, declared: RecordedRows, name: str
) -> RecordedModel:
    """Return a declared model with the names, columns and indexes that the record has for it."""
    new = declared.models[name]
    known = None if rows is None else rows.models.get(name)
    if rows is None or known is None:
        there = {*declared.columns, *(() if rows is None else rows.columns)}
        missing = [field for field, of in new.fields.items() if of not in there]
        fields = {field: of for field, of in new.fields.items() if field not in missing}
        model = without_fields(replace(new, fields=fields), missing)
    else:
        fields = _joined_fields(rows, declared, known, new)
        options = _joined_options(known, new, fields)
        model = replace(new, key=known.key, fields=fields, options=options)
    return _with_recorded_indexes(recorded, model, known)


def _joined_fields(
    rows: RecordedRows, declared: RecordedRows, known: RecordedModel, new: RecordedModel
) -> dict[str, bytes]:
    """Return the recorded fields, and those whose columns need not be added, renamed or dropped."""
    both, used = rows.columns.keys() & declared.columns.keys(), {*new.fields.values()}
    kept = {name: of for name, of in known.fields.items() if of in used or of not in both}
    added = {
        name: of
        for name, of in new.fields.items()
        if of in declared.columns and of not in known.fields.values() and name not in known.fields
    }
    return {**kept, **added}


def _joined_options(
    known: RecordedModel, new: RecordedModel, fields: Mapping[str, bytes]
) -> ModelOptions | None:
    own, other = known.options, new.options
    if own is None or other is None:
        return other if fields == new.fields and known.key == new.key else own
    names = [name for name, of in fields.items() if new.fields.get(name) == of]
    gone = known.fields.keys() - fields.keys()
    model = with_options_of(without_fields(known, [*names, *gone]), new, names)
    joined = model.options or own
    return replace(
        joined,
        nullable=_in_order(joined.nullable, fields),
        deferred=_in_order(joined.deferred, fields),
        parts=other.parts,
        values=other.values,
        base=other.base,
        creates_tables=other.creates_tables,
        timestamps=other.timestamps,
    )


def _in_order(names: Collection[str], fields: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return names in the order of a model's fields, which does not depend on former updates."""
    return (*(n for n in fields if n in names), *(n for n in names if n not in fields))


def _with_recorded_indexes(
    recorded: Declaration, model: RecordedModel, known: RecordedModel | None
) -> RecordedModel:
    """Return a model that declares no index which the record lacks; `AddIndex` adds it."""
    if model.options is None:
        return model
    declared = model.options.indexes
    own = () if known is None or known.options is None else known.options.indexes
    names = (*own, *(name for name in declared if name in recorded.indexes))
    return replace(model, options=replace(model.options, indexes=tuple(dict.fromkeys(names))))
