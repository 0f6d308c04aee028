"""Versions of cells: a field's values over time, and all cells of a row including tombstones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import (
    CodecError,
    CorruptRowError,
    FeatureMissingError,
    QueryError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.model import Model
from hbase_orm.model.printing import shown
from hbase_orm.ops import GetVersions, Protocol, StoredVersion, ask
from hbase_orm.schema import EntryExpr, Expr, stored_column

T = TypeVar("T")

MAX_RAW_VERSIONS: Final = 1000


@dataclass(frozen=True, slots=True, repr=False)
class CellVersion(Generic[T]):
    """One version of a field.

    Attributes:
        value: The value.
        timestamp_ms: The timestamp of its cell, milliseconds since 1970.
    """

    value: T
    timestamp_ms: int

    def __repr__(self) -> str:
        """Return the version; a long value is cut."""
        return f"CellVersion(value={shown(self.value)}, timestamp_ms={self.timestamp_ms})"


@dataclass(frozen=True, slots=True, repr=False)
class StoredCell:
    """One stored cell or tombstone, even if ordinary reads do not return it.

    Attributes:
        column: `family:qualifier`; for the tombstone of a family the qualifier is empty.
        timestamp_ms: The timestamp, milliseconds since 1970.
        kind: "put" for a cell. Tombstones have the other kinds. "delete" deletes one version.
            "delete_column" and "delete_family" delete all cells up to the timestamp.
            "delete_family_version" deletes the family's cells with this timestamp.
        value: The bytes of a cell; empty for a tombstone.
    """

    column: bytes
    timestamp_ms: int
    kind: Literal["put", "delete", "delete_column", "delete_family", "delete_family_version"]
    value: bytes

    def __repr__(self) -> str:
        """Return the cell; a long value is cut."""
        of = f"column={self.column!r}, timestamp_ms={self.timestamp_ms}, kind={self.kind!r}"
        return f"StoredCell({of}, value={shown(self.value)})"


def history_of(
    bound: BoundModel, obj: Model, field: Expr[Any], limit: int
) -> Protocol[list[CellVersion[Any]]]:
    """Return at most `limit` versions of an object's field, newest first.

    The list is empty if a name in the row key has no number: no row can have this key.
    """
    yield from bound.keys.look_up_names([obj.__dict__])
    key = bound.keys.known_of(obj)
    return [] if key is None else (yield from versions_of(bound, key, field, limit))


def versions_of(
    bound: BoundModel, key: bytes, field: Expr[Any], limit: int
) -> Protocol[list[CellVersion[Any]]]:
    """Return at most `limit` versions of one field of the row with this key, newest first.

    Raises:
        QueryError: The field has no column or belongs to another model, or the limit is not
            positive.
        CorruptRowError: A version does not decode.
    """
    schema = bound.schema
    is_own = isinstance(field, EntryExpr) or schema.fields.get(field.name) is field
    column = stored_column(schema, field) if is_own else None
    if column is None:
        raise QueryError(
            "the field is not a column of the model",
            field=repr(field),
            model=schema.model_name,
            fix=f"use a column of {schema.model_name}: a row key has no versions",
        )
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise QueryError("limit= must be a positive integer", got=limit, fix="write limit=5")
    row, name = schema.storage.row_of(key), schema.storage.column_of(key, column.column)
    versions = yield from _versions(bound, GetVersions(schema.table, row, (name,), limit))
    try:
        return [CellVersion(column.codec.decode(v.value), v.timestamp_ms) for v in versions]
    except CodecError as error:
        raise CorruptRowError(
            "a stored version does not decode as the model declares",
            model=schema.model_name,
            field=column.name,
            row=row,
        ) from error


def stored_cells(
    bound: BoundModel, key: Mapping[str, Any], features: frozenset[Feature]
) -> Protocol[list[StoredCell]]:
    """Return all stored cells of the row with these key fields, including tombstones.

    At most `MAX_RAW_VERSIONS` versions of each column are returned. With a random salt, all rows
    with these key fields are read.

    Raises:
        RowKeyError: A key field does not fit; nothing was sent.
        FeatureMissingError: The engine has no Thrift2 gateway.
    """
    yield from bound.keys.look_up_names([key])
    keys, schema = bound.keys.possible(key), bound.schema
    if Feature.RAW_READ not in features:
        raise FeatureMissingError(
            "a read that shows tombstones needs a Thrift2 gateway",
            model=schema.model_name,
            fix="add thrift2=host:9091 to the URL",
        )
    cells: list[StoredCell] = []
    for row in map(schema.storage.row_of, keys):
        every = GetVersions(schema.table, row, schema.family_names, MAX_RAW_VERSIONS, raw=True)
        versions = yield from _versions(bound, every)
        cells += [StoredCell(*each) for each in versions]
    return cells


def _versions(bound: BoundModel, request: GetVersions) -> Protocol[Sequence[StoredVersion]]:
    """Return the versions of cells of a row; none if the table of the row's period is missing."""
    try:
        return (yield from ask(request))
    except TableNotFoundError:
        if bound.tables.is_only:
            raise
        return ()
