"""Changes of a table's declaration as pure functions: what each operation does to the record.

Every function here may be applied twice with the same result. An operation that is repeated after
a crash finds its change in the record, and leaves the record as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from hbase_orm.migrate.operations.option_edits import (
    declares_index,
    with_field_renamed,
    with_index,
    with_options_of,
    without_fields,
)
from hbase_orm.migrate.operations.option_edits import without_index as without_index_of_model
from hbase_orm.record.declaration import (
    Declaration,
    RecordedColumn,
    RecordedModel,
    RecordedRows,
)
from hbase_orm.record.specifications import Spec, same_key

CHANGING: Final = "changing"
"""The name of the codec of a column whose cells are being changed; no class declares it.

Programs of the old class and of the new class both contradict such a record, so none of them reads
the column while it has cells of both kinds.
"""


def changing(old: Spec, new: Spec, nonce: str = "") -> Spec:
    """Return the codec of a column while its cells are changed from one codec to another.

    The nonce is that of the marks of changed rows; empty if rows are not marked.
    """
    codec = {"codec": CHANGING, "from": old, "to": new}
    return {**codec, "mark": nonce} if nonce else codec


def column_of(declaration: Declaration, column: bytes) -> RecordedColumn | None:
    """Return a recorded column; None if no rows have it."""
    return next((r.columns[column] for r in declaration.rows if column in r.columns), None)


def with_codec(declaration: Declaration, column: bytes, codec: Spec) -> Declaration:
    """Return a declaration in which a column has another codec."""

    def edit(rows: RecordedRows) -> RecordedRows:
        known = rows.columns.get(column)
        if known is None:
            return rows
        return replace(rows, columns={**rows.columns, column: replace(known, codec=codec)})

    return _edited(declaration, edit)


def with_columns_of(declaration: Declaration, after: Declaration, column: bytes) -> Declaration:
    """Return a declaration with a column, and the fields for it, as another declaration has them.

    Rows that exist lack the column, so it is not required.
    """

    def edit(rows: RecordedRows) -> RecordedRows:
        wanted = counterpart(after, rows)
        if wanted is None or column not in wanted.columns:
            return rows
        new = replace(wanted.columns[column], is_required=False)
        columns = {**rows.columns, column: rows.columns.get(column, new)}
        models = {
            name: _with_field(model, wanted.models.get(name), column)
            for name, model in rows.models.items()
        }
        return replace(rows, columns=columns, models=models)

    return _edited(declaration, edit)


def counterpart(declaration: Declaration, rows: RecordedRows) -> RecordedRows | None:
    """Return the rows of a declaration that have the record type and row key of `rows`."""
    return next(
        (
            each
            for each in declaration.rows
            if each.record_type == rows.record_type and same_key(each.key, rows.key)
        ),
        None,
    )


def _with_field(model: RecordedModel, wanted: RecordedModel | None, column: bytes) -> RecordedModel:
    if wanted is None:
        return model
    new = {name: of for name, of in wanted.fields.items() if of == column}
    return with_options_of(replace(model, fields={**model.fields, **new}), wanted, new)


def without_column(declaration: Declaration, column: bytes) -> Declaration:
    """Return a declaration without a column, and without the fields for it."""

    def edit(rows: RecordedRows) -> RecordedRows:
        columns = {name: each for name, each in rows.columns.items() if name != column}
        models = {name: _without_fields_of(model, column) for name, model in rows.models.items()}
        return replace(rows, columns=columns, models=models)

    return _edited(declaration, edit)


def _without_fields_of(model: RecordedModel, column: bytes) -> RecordedModel:
    names = [name for name, of in model.fields.items() if of == column]
    fields, former = _without(model.fields, column), _without(model.former, column)
    return without_fields(replace(model, fields=fields, former=former), names)


def _without(fields: Mapping[str, bytes], column: bytes) -> dict[str, bytes]:
    return {name: of for name, of in fields.items() if of != column}


def with_renamed_column(declaration: Declaration, old: bytes, new: bytes) -> Declaration:
    """Return a declaration in which a column has another name.

    The former names of fields stand for the new column too, so that a program of the old class,
    which looks for the field in the old column, contradicts the record. A column that is already
    there under the new name is the other one of `with_column_beside`.
    """

    def edit(rows: RecordedRows) -> RecordedRows:
        if old not in rows.columns:
            return rows
        beside = rows.columns.get(new)
        is_required = rows.columns[old].is_required or (beside is not None and beside.is_required)
        renamed = replace(rows.columns[old], is_required=is_required)
        columns = {
            new if name == old else name: renamed if name == old else each
            for name, each in rows.columns.items()
            if name != new
        }
        models = {
            name: replace(
                model,
                fields=_moved(model.fields, old, new),
                former=_moved(model.former, old, new),
            )
            for name, model in rows.models.items()
        }
        anchor = new if rows.anchor == old else rows.anchor
        return replace(rows, columns=columns, models=models, anchor=anchor)

    return _edited(declaration, edit)


def _moved(fields: Mapping[str, bytes], old: bytes, new: bytes) -> dict[str, bytes]:
    return {name: new if of == old else of for name, of in fields.items()}


def with_column_beside(declaration: Declaration, old: bytes, new: bytes) -> Declaration:
    """Return a declaration with a further column that is declared as `old` is."""

    def edit(rows: RecordedRows) -> RecordedRows:
        if old not in rows.columns:
            return rows
        beside = replace(rows.columns[old], is_required=False)
        return replace(rows, columns={**rows.columns, new: beside})

    return _edited(declaration, edit)


def with_renamed_field(declaration: Declaration, old: str, new: str) -> Declaration:
    """Return a declaration in which a field of every model that has it has another name.

    The old name becomes a former name: the catalog describes indexes by the oldest name of a field,
    and programs with either name may run. A field that gets a former name back loses the other one.
    """

    def edit_model(model: RecordedModel) -> RecordedModel:
        if old in model.fields:
            column = model.fields[old]
            fields = {new if name == old else name: of for name, of in model.fields.items()}
            former = {name: of for name, of in model.former.items() if name != new}
            if model.former.get(new) != column:  # else it gets its former name back
                former[old] = column
            return with_field_renamed(replace(model, fields=fields, former=former), old, new)
        for names in (model.key, *model.later_keys):
            if old in names:
                renamed = tuple(new if name == old else name for name in names)
                known = {model.key, *model.later_keys}
                later = () if renamed in known else (renamed,)
                model = replace(model, later_keys=(*model.later_keys, *later))
                return with_field_renamed(model, old, new)
        return model

    def edit(rows: RecordedRows) -> RecordedRows:
        models = {name: edit_model(model) for name, model in rows.models.items()}
        return replace(rows, models=models)

    return _edited(declaration, edit)


def fields_named(declaration: Declaration, field: str) -> Iterator[str]:
    """Yield the names of the models that have a field of this name now, in the key or not."""
    for rows in declaration.rows:
        for name, model in rows.models.items():
            if field in model.fields or field in {*model.key, *key_of(model)}:
                yield name


def key_of(model: RecordedModel) -> tuple[str, ...]:
    """Return the names that a model has for the key fields now."""
    every = (model.key, *model.later_keys)
    declared = None if model.options is None else set(model.options.keys)
    return next((names for names in reversed(every) if set(names) == declared), every[-1])


def without_family(declaration: Declaration, family: bytes) -> Declaration:
    """Return a declaration without a family."""
    families = {name: each for name, each in declaration.families.items() if name != family}
    return replace(declaration, families=families)


def without_index(declaration: Declaration, index: str) -> Declaration:
    """Return a declaration without an index; the rows keep their guards."""

    def edit(rows: RecordedRows) -> RecordedRows:
        models = {n: without_index_of_model(model, index) for n, model in rows.models.items()}
        return replace(rows, models=models)

    indexes = {name: each for name, each in declaration.indexes.items() if name != index}
    return replace(_edited(declaration, edit), indexes=indexes)


def with_index_of(declaration: Declaration, after: Declaration, index: str) -> Declaration:
    """Return a declaration with an index as another declaration has it."""

    def edit(rows: RecordedRows) -> RecordedRows:
        wanted = counterpart(after, rows)
        if wanted is None:
            return rows
        models = {
            name: with_index(model, index)
            if declares_index(wanted.models.get(name), index)
            else model
            for name, model in rows.models.items()
        }
        return replace(rows, models=models)

    indexes = {**declaration.indexes, index: after.indexes[index]}
    return replace(_edited(declaration, edit), indexes=indexes, is_guarded=True)


def with_guards(declaration: Declaration) -> Declaration:
    """Return a declaration of rows that all programs write with guards, as long as they move."""
    if needs_guards(declaration):
        return declaration
    return replace(declaration, is_guarded=True, guards_plain_models=True)


def without_guards(declaration: Declaration) -> Declaration:
    """Return a declaration of rows that are written as their models need it."""
    if not declaration.guards_plain_models:
        return declaration
    return replace(declaration, is_guarded=False, guards_plain_models=False)


def needs_guards(declaration: Declaration) -> bool:
    """Return whether rows have guards because of the models: an index or a version column."""
    columns = (column for rows in declaration.rows for column in rows.columns.values())
    return bool(declaration.indexes) or any(column.role == "version" for column in columns)


def _edited(declaration: Declaration, edit: Callable[[RecordedRows], RecordedRows]) -> Declaration:
    return replace(declaration, rows=tuple(edit(rows) for rows in declaration.rows))
