"""Bound models: a model with its tables, guards and compiled functions in one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from hbase_orm.binding.addressing.keys import RowKeys
from hbase_orm.binding.addressing.tables import Tables
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.binding.dictionaries import LoadedNames, Numbers
from hbase_orm.binding.in_place import changes_in_maps_only
from hbase_orm.compiled import EncodedRow
from hbase_orm.errors import CorruptRowError, RowKeyError, SchemaDriftError, ValidationError
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index.entries.targets import MARKER_VALUE, GuardedTable
from hbase_orm.model import Model
from hbase_orm.model.mapping.hydrators import Hydrator
from hbase_orm.ops import MAX_CELL_BYTES, MAX_ROW_KEY_BYTES, ListedRow, Protocol, Row
from hbase_orm.query import Select, Shapes
from hbase_orm.record.differences import Difference
from hbase_orm.rowkey import DecodedKey, KeyContext, KeyLayout
from hbase_orm.schema import NO_FIELDS, Matches, TableSchema

# However long the row key, values of so few bytes in all fit; 1 KiB is for columns and overhead.
_SURELY_FITS_BYTES: Final = MAX_CELL_BYTES - MAX_ROW_KEY_BYTES - 1024

# Rows usually belong to a few periods at a time. Beyond this number the cache is emptied.
PERIODS_KEPT: Final = 400

COMPARED: Final = "record"
"""The key of the last comparison with the table's record in `BoundModel.as_catalogued`."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of the comparison of a model with a record.

    Attributes:
        record: The bytes of the record; empty if there was none or it could not be read.
        model: The model to use; None if the model is refused.
        differing: The differences.
        is_certain: Whether the table is certainly the one that the record describes.
    """

    record: bytes
    model: BoundModel | None
    differing: tuple[Difference, ...] = ()
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class BoundModel:
    """A model bound to the tables of one engine.

    Attributes:
        model: The model's class.
        schema: The model's schema, with tables in the engine's namespace.
        guarded: The description of the table for guarded writes, with its indexes. None for a plain
            model. If its `is_lww` is true, its rows have indexes but no guards.
        indexes: The declaration text of each index, by the index's name.
        tables: The object that knows the model's tables, and decides which table holds a row.
        keys: The object that computes row keys for the table that `schema` names.
        context: The values that are needed to decode a row key besides its bytes: names of numbers
            and the start of the table's period. None if no such value is needed.
        kinds: A function that returns the class of a row key's record type. None unless the model
            is the base of record types.
        is_own: A function that tests whether a row key has this record type. None unless the model
            is a record type.
        is_mutable: Whether objects hold values that a program can change in place.
        has_plain_maps: Whether these are maps of dynamic columns whose values cannot change.
        origin: A text that identifies the table and the servers. Objects with equal origins and row
            keys belong to the same row.
        defers: Whether the model has deferred columns, which are not read with its objects.
        shapes: The cache of plans, which are used again for statements of the same shape.
        matches: The cache of compiled functions that check conditions of statements.
        repairs: Whether statements and repairs may delete stale index entries; False if the model
            differs from the record of its table.
        warns_of_drift: Whether a model that contradicts the record of its table is used after a
            warning. If False, such a model is refused.
        as_catalogued: The results of `maintained_table`, `readable_model` and `usable_model` for
            the catalog entry and the record that were read last.
        declared_table: The declared name of the table; with a table for each period, the pattern of
            names.
    """

    model: type[Model]
    schema: TableSchema
    guarded: GuardedTable | None
    indexes: Mapping[str, str]
    tables: Tables
    keys: RowKeys
    context: KeyContext | None = None
    kinds: Callable[[bytes], type[Model]] | None = None
    is_own: Callable[[bytes], bool] | None = None
    is_mutable: bool = False
    origin: str = ""
    defers: bool = False
    repairs: bool = True
    warns_of_drift: bool = False
    shapes: Shapes = field(default_factory=Shapes, init=False, repr=False, compare=False)
    matches: Matches = field(init=False, repr=False, compare=False)
    as_catalogued: dict[str, Any] = field(
        default_factory=dict[str, Any], init=False, repr=False, compare=False
    )
    declared_table: str = field(init=False, repr=False, compare=False)
    has_plain_maps: bool = field(init=False, repr=False, compare=False)
    _in_periods: dict[datetime, BoundModel] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Create the empty cache `matches`, and set what follows from the schema and the tables."""
        object.__setattr__(self, "matches", Matches(self.schema))
        object.__setattr__(self, "declared_table", self.tables.declared)
        object.__setattr__(self, "has_plain_maps", changes_in_maps_only(self.schema))

    # --- the comparison with the table's record ---------------------------------------------------

    @property
    def as_compared(self) -> BoundModel:
        """The model to use according to the last comparison with the table's record.

        It is this one if there was no comparison, or if the comparison refused the model.
        """
        known = self.as_catalogued.get(COMPARED)
        return self if known is None or known.model is None else known.model

    def is_compared(self, catalog: CatalogCache) -> bool:
        """Return whether `as_compared` may be used without a request.

        That is so if the record was read less than a lease ago and permits the model, or if the
        table is foreign.
        """
        if self.schema.is_foreign:
            return True
        read = catalog.fresh(self.declared_table)
        known = self.as_catalogued.get(COMPARED)
        return (
            read is not None
            and known is not None
            and known.model is not None
            and read.record == known.record
        )

    # --- which table ------------------------------------------------------------------------------

    def with_table_of(self, values: Mapping[str, Any]) -> BoundModel:
        """Return this bound model for the table that holds the row of these field values.

        Raises:
            RowKeyError: The field of the period has no value or a wrong one.
        """
        start = None if self.tables.is_only else self.tables.start_of(values)
        return self if start is None else self.with_table_at(start)

    def with_table_of_row(self, row: Row) -> BoundModel:
        """Return this bound model for the table that a row was read from."""
        start = None if self.tables.is_only else self.tables.start_of_row(row)
        return self if start is None else self.with_table_at(start)

    def with_table_at(self, start: datetime) -> BoundModel:
        """Return this bound model for the table of the period that begins at `start`."""
        placed = self._in_periods.get(start)
        if placed is not None:
            return placed
        table, tables = self.tables.at(start)
        context = replace(self.context or KeyContext(), start=start)
        placed = replace(self.in_table(table), tables=tables, context=context)
        if len(self._in_periods) >= PERIODS_KEPT:
            self._in_periods.clear()
        self._in_periods[start] = placed
        return placed

    def in_table(self, table: str) -> BoundModel:
        """Return this bound model for the model's table that is named `table`."""
        if table == self.schema.table:
            return self
        schema = replace(self.schema, table=table)
        guarded = None if self.guarded is None else replace(self.guarded, table=table)
        return replace(self, schema=schema, guarded=guarded, keys=self.keys.in_table(schema))

    @property
    def needs_look_ups(self) -> bool:
        """Whether planning a statement may need look-ups in HBase first; see `look_ups`."""
        return self.keys.names is not None or not self.tables.is_only

    def look_ups(self, stmt: Select[Any]) -> Protocol[tuple[Numbers, list[datetime] | None]]:
        """Look up in HBase what the planner needs.

        Returns:
            Two values: the numbers of the names in the statement, by dictionary and name; and the
            starts of the periods that have a table. The starts are None if the model has one
            table, or if the statement may not scan all tables.
        """
        names = self.keys.names
        numbers = {} if names is None else (yield from names.numbers_to_plan(stmt))
        return numbers, (yield from self.tables.starts_to_plan(stmt))

    # --- rows and objects -------------------------------------------------------------------------

    def load_names(self, rows: Iterable[Row]) -> Protocol[LoadedNames | None]:
        """Look up the names whose numbers are in the keys of rows, many names with one request.

        Keep a reference to the result until objects are made from the rows: without it, the cache
        may drop the names. The result is None if the model's row keys hold no numbers of names.
        For a record type, rows of other record types are skipped.
        """
        names = self.keys.names
        return None if names is None else (yield from names.load(self._with_layouts(rows)))

    def _with_layouts(self, rows: Iterable[Row]) -> Iterator[tuple[bytes, KeyLayout]]:
        """Yield the row keys, each with the key layout of its model or record type.

        Rows of other or unknown record types are skipped.
        """
        for row in rows:
            if self.kinds is None:
                if self.is_own is None or self.is_own(row.key):
                    yield row.key, self.schema.layout
                continue
            try:
                yield row.key, self.kinds(row.key).__schema__.layout
            except CorruptRowError:
                continue  # an unknown record type: making the object raises the error

    def decode_row_key(self, data: bytes) -> Protocol[DecodedKey]:
        """Return the key fields that can be decoded from a row key; look up names for its numbers.

        Raises:
            CorruptRowError: The bytes are not a row key of this model, or a dictionary has no name
                for a number in it.
        """
        layout, names = self.schema.row_layout, self.keys.names
        held = None if names is None else (yield from names.load([(data, layout)]))
        decoded = layout.decode(data, self.context)
        del held  # so that the names stayed available for `decode`
        return decoded

    @property
    def shows_every_row(self) -> bool:
        """Whether every row of the table holds an object of the model."""
        return self.is_own is None and not self.schema.has_guards

    def exists(self, row: Row) -> bool:
        """Return whether a row holds an object of the model.

        `row` must have the cells of all data families. A row of another record type holds no object
        of the model.
        """
        if self.is_own is not None and not self.is_own(row.key):
            return False
        return self.schema.shows_row(row.columns)

    def hydrate(self, row: Row, loaded: frozenset[str] = NO_FIELDS) -> Any:
        """Return an object from a row that was read with the deferred fields in `loaded`.

        Raises:
            CorruptRowError: The row does not decode; the error names the model, the table and the
                row key.
        """
        model = self.model if self.kinds is None else self.kinds(row.key)
        mapping = model.__mapping__
        maker = mapping.maker() if isinstance(row, EncodedRow) else None
        try:
            if maker is not None:
                return maker.made(self.origin, self.context, row)
            listed = row.listed if isinstance(row, ListedRow) else None
            is_usual = listed is None and not loaded
            hydrate = mapping.hydrate if is_usual else mapping.hydrator(loaded, listed)
            obj = hydrate(row) if self.context is None else hydrate(row, self.context)
        except CorruptRowError as error:
            of_row = {"model": model.__name__, "table": self.schema.table, "row": row.key}
            error.details = {**of_row, **error.details}
            raise
        obj.__state__.origin = self.origin
        return obj

    def hydrator(self, loaded: frozenset[str]) -> Callable[[Row], Any]:
        """Return a function like `hydrate` for many rows, of any of the model's tables."""
        if self.kinds is not None or self.context is not None or not self.tables.is_only:
            return lambda row: self.with_table_of_row(row).hydrate(row, loaded)
        maker = self.model.__mapping__.maker()
        if maker is not None:
            return partial(maker.made, self.origin, None)
        hydrator, origin = self.model.__mapping__.hydrator, self.origin
        plain = hydrator(loaded, None)
        last: tuple[tuple[bytes, ...] | None, Hydrator] = (None, plain)

        def hydrate(row: Row) -> Any:
            nonlocal last
            if isinstance(row, ListedRow):
                listed, make = last
                if row.listed is not listed:
                    make = hydrator(loaded, row.listed)
                    last = row.listed, make
                obj = make(row)
            else:
                obj = plain(row)
            obj.__state__.origin = origin
            return obj

        return hydrate

    def cells(self, obj: Model, key: bytes, *, is_whole: bool = True) -> dict[bytes, bytes]:
        """Return the cells of an object's fields that are not None, with the marker if needed.

        Args:
            obj: The object.
            key: The row key, whose length counts for the size of each cell.
            is_whole: Whether the whole row is written. If only the changes of a loaded row are
                written, the object may lack required fields whose cells the row lacked.

        Raises:
            ValidationError: A value does not fit; the error names the model, the field and the row
                key.
            SchemaDriftError: A whole row cannot be written, because the model leaves out the
                column that shows that a row exists.
        """
        if is_whole and self.schema.lacks_anchor:
            raise SchemaDriftError(
                "the model leaves out the column that shows that a row exists, so it cannot write "
                "whole rows",
                model=self.schema.model_name,
                table=self.schema.table,
                row=key,
                column=None if self.schema.anchor is None else self.schema.anchor.column,
                fix="declare the column in the model, or change rows that other models wrote",
            )
        try:
            cells = self._dehydrated(obj.__dict__, is_whole=is_whole)
        except ValidationError as error:
            details = {**error.details, "row": key}
            raise ValidationError(error.text, fix=error.fix, **details) from None
        if sum(map(len, cells.values())) > _SURELY_FITS_BYTES:
            self._check_sizes(key, cells)
        if self.schema.marker is not None:
            cells[self.schema.marker] = MARKER_VALUE
        return cells

    def _dehydrated(self, values: dict[str, Any], *, is_whole: bool) -> dict[bytes, bytes]:
        mapping = self.model.__mapping__
        try:
            return mapping.dehydrate(values)
        except ValidationError:
            if is_whole:
                raise
            return mapping.dehydrate_loaded(values)

    def _check_sizes(self, key: bytes, cells: Mapping[bytes, bytes]) -> None:
        fields = {column.column: column.name for column in self.schema.columns}
        for column, value in cells.items():
            size = CELL_OVERHEAD_BYTES + len(key) + len(column) - 1 + len(value)
            if size > MAX_CELL_BYTES:
                raise ValidationError(
                    "the field's cell is larger than the largest cell that HBase stores",
                    model=self.schema.model_name,
                    field=fields.get(column, column),
                    row=key,
                    size_bytes=size,
                    limit_bytes=MAX_CELL_BYTES,
                    fix="split the value over several fields or rows",
                )

    # --- what fits --------------------------------------------------------------------------------

    def fits(self, values: Mapping[str, Any]) -> bool:
        """Return whether a row can have these key fields; nothing is sent."""
        try:
            placed = self.with_table_of(values)
        except RowKeyError:
            return False
        return placed.keys.fits(values)

    def check_values(self, values: Mapping[str, Any]) -> None:
        """Raise an error for field values that cannot be stored; numbers of names are not checked.

        Raises:
            RowKeyError: A key field does not fit.
            ValidationError: Another field does not fit.
        """
        self.keys.check(values)
        self.model.__mapping__.dehydrate(dict(values))
