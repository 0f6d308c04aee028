"""Completes a model's schema with the record of its table: all families, and which rows exist."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.record.declaration import Declaration, RecordedRows
from hbase_orm.record.snapshots import rows_of
from hbase_orm.schema import MARKER_QUALIFIER, Existence, KnownColumns, TableSchema


def recorded_schema(schema: TableSchema, declaration: Declaration) -> TableSchema:
    """Return `schema` with the anchor, the marker and the families of the record.

    Families that the model does not declare are read and deleted too: they belong to the row.
    """
    own = {family.name for family in schema.families}
    families = (*schema.families, *(f for n, f in declaration.families.items() if n not in own))
    rows = declaration.rows_of(rows_of(schema))
    existence = None if rows is None else _existence(schema, rows, declaration)
    types = _of_types(schema, declaration)
    return replace(schema, families=families, existence=existence, type_existence=types)


def _existence(schema: TableSchema, rows: RecordedRows, declaration: Declaration) -> Existence:
    """Return what shows that a row exists: the recorded anchor or marker.

    In a plain table any cell does. If a recorded model leaves out the anchor, and the models
    require no other column together, all of them write the same marker: an insert checks that it is
    absent. A view that is not recorded writes the marker if it requires no column itself.
    """
    if not declaration.is_guarded and _may_lack_anchor(schema, rows):
        own = {c.column for c in schema.columns if c.is_required and not c.deferred}
        if _has_view(rows):
            shared = _required_by_all(rows)
            is_seen = own.issuperset(shared)  # an insert checks what all recorded models write
            marker = _marker(declaration) if schema.is_guarded or not shared else None
            return Existence(None, marker, shared if is_seen else (), is_recorded=is_seen)
        shared = tuple(column for column in _required_by_all(rows) if column in own)
        marker = _marker(declaration) if schema.is_guarded or not own else None
        return Existence(None, marker, shared, is_recorded=schema.model_name in rows.models)
    required = tuple(name for name, column in rows.columns.items() if column.is_required)
    counters = frozenset(name for name, column in rows.columns.items() if column.role == "counter")
    return Existence(
        rows.anchor,
        rows.marker,
        required,
        counters,
        declaration.is_guarded,
        _known(rows) if declaration.is_guarded and rows.anchor is None else None,
    )


def _may_lack_anchor(schema: TableSchema, rows: RecordedRows) -> bool:
    """Return whether this model, or another one that the record names, leaves out the anchor."""
    declared = {column.column for column in schema.columns}
    return _has_view(rows) or (rows.anchor is not None and rows.anchor not in declared)


def _has_view(rows: RecordedRows) -> bool:
    """Return whether a model that the record names leaves out the anchor."""
    models = rows.models.values()
    return rows.anchor is not None and any(rows.anchor not in m.names.values() for m in models)


def _required_by_all(rows: RecordedRows) -> tuple[bytes, ...]:
    """Return the columns that all recorded models require, in the record's order."""
    return tuple(
        name
        for name, column in rows.columns.items()
        if column.is_required
        and all(name in model.fields.values() for model in rows.models.values())
    )


def _marker(declaration: Declaration) -> bytes:
    return next(iter(declaration.families)) + b":" + MARKER_QUALIFIER


def _known(rows: RecordedRows) -> KnownColumns:
    """Return the columns of rows, with the marker."""
    single = {name for name, column in rows.columns.items() if column.role != "dynamic"}
    marker = () if rows.marker is None else (rows.marker,)
    return KnownColumns(frozenset((*single, *marker)), tuple(rows.columns.keys() - single))


def _of_types(schema: TableSchema, declaration: Declaration) -> dict[bytes, Existence]:
    """Return, for each record type of a base that is recorded, what shows that a row exists."""
    if schema.record_types is None:
        return {}
    known: dict[bytes, Existence] = {}
    for data, model in schema.record_types.models.items():
        rows = declaration.rows_of(rows_of(model.__schema__))
        if rows is not None:
            known[data] = _existence(model.__schema__, rows, declaration)
    return known


def recorded_names(schema: TableSchema, declaration: Declaration) -> dict[str, str]:
    """Return the recorded name of each field whose name in the model differs from it.

    The recorded name of a column's field is its name in the first recorded model that has the
    column. The recorded name of a key field is the name at the same place of the row key in the
    first recorded model.
    """
    declared = rows_of(schema)
    rows = declaration.rows_of(declared)
    if rows is None:
        return {}
    (own,) = declared.models.values()
    names: dict[str, str] = {}
    by_column: dict[bytes, str] = {}
    for model in rows.models.values():
        names = names or dict(zip(own.key, model.key, strict=False))
        for field, column in model.names.items():
            by_column.setdefault(column, field)
    names |= {field: by_column.get(column, field) for field, column in own.fields.items()}
    return {own_name: name for own_name, name in names.items() if own_name != name}
