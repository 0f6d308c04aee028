"""A model as one engine sees it: tables in the engine's namespace, guards, functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hbase_orm.errors import ConfigurationError, RowKeyError, ValidationError
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index.entries import described_indexes, guarded_table
from hbase_orm.index.targets import MARKER_VALUE, GuardedTable
from hbase_orm.model import Model
from hbase_orm.ops import MAX_CELL_BYTES, MAX_ROW_KEY_BYTES, Row, longest_row_key_bytes
from hbase_orm.schema import TableSchema

# However long the row key, values of so few bytes in all fit; 1 KiB is for columns and overhead.
_SURELY_FITS_BYTES: Final = MAX_CELL_BYTES - MAX_ROW_KEY_BYTES - 1024


@dataclass(frozen=True, slots=True)
class BoundModel:
    """A model with the names its tables have on this engine.

    Attributes:
        model: The class.
        schema: Its description, tables in the engine's namespace.
        guarded: Its guards and indexes, or None for a plain model.
        indexes: What its index entries are, in words, by the index's name.
        longest_key_bytes: How long a row key of its table may be.
    """

    model: type[Model]
    schema: TableSchema
    guarded: GuardedTable | None
    indexes: Mapping[str, str]
    longest_key_bytes: int

    def exists(self, row: Row) -> bool:
        """Say whether a row that was read with the data families is a row of the model."""
        return self.guarded is None or self.guarded.exists(row.cells)

    def hydrate(self, row: Row) -> Any:
        """Return the row as an object of the model."""
        return self.model.__mapping__.hydrate(row)

    def cells(self, obj: Model, key: bytes) -> dict[bytes, bytes]:
        """Return the non-None cells of an object, with the marker where the model needs one.

        Args:
            obj: The object.
            key: Its row key, whose length counts for each cell.

        Raises:
            ValidationError: A field does not fit; it names model and field.
        """
        cells = self.model.__mapping__.dehydrate(obj.__dict__)
        if sum(map(len, cells.values())) > _SURELY_FITS_BYTES:
            self._check_sizes(key, cells)
        if self.schema.marker is not None:
            cells[self.schema.marker] = MARKER_VALUE
        return cells

    def _check_sizes(self, key: bytes, cells: Mapping[bytes, bytes]) -> None:
        for column in self.schema.columns:
            value = cells.get(column.column, b"")
            size = CELL_OVERHEAD_BYTES + len(key) + len(column.column) - 1 + len(value)
            if size > MAX_CELL_BYTES:
                raise ValidationError(
                    "the field's cell is larger than HBase stores",
                    model=self.schema.model_name,
                    field=column.name,
                    size_bytes=size,
                    limit_bytes=MAX_CELL_BYTES,
                    fix="split the value over several fields or rows",
                )

    def key(self, obj: Model) -> bytes:
        """Return the row key of an object.

        Raises:
            RowKeyError: A key field does not fit, or the key is empty or too long.
        """
        return self.checked_key(self.model.__mapping__.encode_key(obj.__dict__))

    def checked_key(self, key: bytes) -> bytes:
        """Return a row key that the table's name leaves room for.

        Raises:
            RowKeyError: It is too long.
        """
        if len(key) > self.longest_key_bytes:
            raise RowKeyError(
                "the row key is longer than HBase finds in a table of this name",
                model=self.schema.model_name,
                fields=self.schema.layout.names,
                table=self.schema.table,
                length_bytes=len(key),
                limit_bytes=self.longest_key_bytes,
                fix="shorten a component, or put a Digest of it in the key",
            )
        return key


def bind(model: type[Model], namespace: str, features: frozenset[Feature]) -> BoundModel:
    """Return `model` with its tables in `namespace`.

    Raises:
        ConfigurationError: Not a concrete model, or one whose indexes need a Thrift2 gateway.
    """
    schema: TableSchema | None = getattr(model, "__schema__", None)
    if schema is None:
        raise ConfigurationError("this is no model with a table", got=repr(model))
    if schema.is_guarded and Feature.CHECK_AND_MUTATE not in features:
        raise ConfigurationError(
            "a model with indexes needs a Thrift2 gateway: its rows change by check-and-mutate",
            model=schema.model_name,
            fix="add thrift2=host:9091 to the URL",
        )
    named = replace(
        schema,
        table=in_namespace(schema.table, namespace),
        indexes=tuple(
            replace(index, table=in_namespace(index.table, namespace)) for index in schema.indexes
        ),
    )
    guarded = guarded_table(named) if named.is_guarded else None
    longest = longest_row_key_bytes(named.table)
    return BoundModel(model, named, guarded, described_indexes(named), longest)


def in_namespace(table: str, namespace: str) -> str:
    """Return a table's name in `namespace`, unless it names one of its own."""
    return table if ":" in table or not namespace else f"{namespace}:{table}"
