"""A model as one engine sees it: tables in the engine's namespace, guards, functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from hbase_orm.errors import (
    CodecError,
    CorruptRowError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.execute.run import PlacedRow
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index.targets import MARKER_VALUE, GuardedTable
from hbase_orm.model import Model
from hbase_orm.model.base import is_foreign, set_origin
from hbase_orm.ops import MAX_CELL_BYTES, MAX_ROW_KEY_BYTES, Row, longest_row_key_bytes
from hbase_orm.query import Shapes
from hbase_orm.rowkey import KeyContext
from hbase_orm.schema import NO_FIELDS, TableSchema
from hbase_orm.session.naming import Names

# Where an object of a randomly salted model keeps the key that was drawn for it.
_DRAWN: Final = "_drawn_key"

# However long the row key, values of so few bytes in all fit; 1 KiB is for columns and overhead.
_SURELY_FITS_BYTES: Final = MAX_CELL_BYTES - MAX_ROW_KEY_BYTES - 1024


# Rows come for a few periods at a time; of more, the models are made anew.
PERIODS_KEPT: Final = 400


@dataclass(frozen=True, slots=True)
class BoundModel:
    """A model with the names its tables have on this engine.

    Attributes:
        model: The class.
        schema: Its description, tables in the engine's namespace.
        guarded: Its guards and indexes, or its indexes without guards; None for a plain model.
        indexes: What its index entries are, in words, by the index's name.
        longest_key_bytes: How long a row key of its table may be.
        names: The engine's dictionaries.
        context: What decoding its keys needs besides their bytes, or None.
        kinds: Of a base of record types, from a row key to its kind's class.
        is_own: Of a record type, whether a row key in its table is one of its keys.
        is_mutable: Whether objects hold values that a program can change in place.
        origin: Its table and the servers: equal where rows are certainly the same.
        shapes: The shapes of statements that were planned before.
        as_catalogued: What was made of the model by what the catalog said last.
    """

    model: type[Model]
    schema: TableSchema
    guarded: GuardedTable | None
    indexes: Mapping[str, str]
    longest_key_bytes: int
    names: Names
    context: KeyContext | None = None
    kinds: Callable[[bytes], type[Model]] | None = None
    is_own: Callable[[bytes], bool] | None = None
    is_mutable: bool = False
    origin: str = ""
    shapes: Shapes = field(default_factory=Shapes, init=False, repr=False, compare=False)
    as_catalogued: dict[str, Any] = field(
        default_factory=dict[str, Any], init=False, repr=False, compare=False
    )
    _placed: dict[datetime, BoundModel] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    # --- which table ------------------------------------------------------------------------------

    def placed(self, values: Mapping[str, Any]) -> BoundModel:
        """Return the model with the table that holds the row of these field values.

        Raises:
            RowKeyError: The field that tells the table has no value that fits.
        """
        period = self.schema.layout.table_period
        if period is None or (self.context is not None and self.context.start is not None):
            return self
        codec = self.schema.layout.codec(period.field)
        try:
            at = values[period.field] if codec is None else codec.normalize(values[period.field])
        except CodecError as error:
            raise self._misfit(period.field, error) from error
        return self.placed_at(period.unit.start(at))

    def placed_at(self, start: datetime) -> BoundModel:
        """Return the model with the table of the period that begins at `start`."""
        period = self.schema.layout.table_period
        if period is None:
            return self
        known = self._placed.get(start)
        if known is not None:
            return known
        placed = self.in_table(period.unit.name_of(self.schema.table, start))
        placed = replace(placed, context=replace(self.context or KeyContext(), start=start))
        if len(self._placed) >= PERIODS_KEPT:
            self._placed.clear()
        self._placed[start] = placed
        return placed

    def of_row(self, row: Row) -> BoundModel:
        """Return the model with the table that a row was read from."""
        return self.placed_at(row.start) if isinstance(row, PlacedRow) else self

    def in_table(self, table: str) -> BoundModel:
        """Return the model with one of its tables."""
        if table == self.schema.table:
            return self
        longest = longest_row_key_bytes(table)
        return replace(self, schema=replace(self.schema, table=table), longest_key_bytes=longest)

    # --- rows and objects -------------------------------------------------------------------------

    def exists(self, row: Row) -> bool:
        """Say whether a row that was read with the data families is a row of the model."""
        if self.is_own is not None and not self.is_own(row.key):
            return False
        return self.guarded is None or self.guarded.exists(row.cells)

    def hydrate(self, row: Row, loaded: frozenset[str] = NO_FIELDS) -> Any:
        """Return the row as an object of the model; `loaded` deferred fields were read as well.

        Raises:
            CorruptRowError: The row does not decode; it names model and row key.
        """
        model = self.model if self.kinds is None else self.kinds(row.key)
        mapping = model.__mapping__
        hydrate = mapping.hydrator(loaded) if loaded else mapping.hydrate
        try:
            obj = hydrate(row) if self.context is None else hydrate(row, self.context)
        except CorruptRowError as error:
            if self.context is None:
                raise
            details = {"model": model.__name__, "row": row.key, **error.details}
            raise CorruptRowError(error.text, fix=error.fix, **details) from error
        set_origin(obj, self.origin)
        return obj

    def load_names(self, rows: Sequence[Row]) -> None:
        """Look up, all at once, the names that the row keys hold numbers of."""
        layout = self.schema.layout
        wanted = [(n, p) for n, p in enumerate(layout.parts) if p.lookup is not None]
        if not wanted:
            return
        pairs = []
        for row in rows:
            pieces = layout.split(row.key)
            for number, part in wanted:
                if part.lookup is not None:
                    pairs.append((part.lookup.dictionary, part.value_of(pieces[number][1])))
        self.names.load_names(pairs)

    def cells(self, obj: Model, key: bytes) -> dict[bytes, bytes]:
        """Return the non-None cells of an object, with the marker where the model needs one.

        Args:
            obj: The object.
            key: Its row key, whose length counts for each cell.

        Raises:
            ValidationError: A field does not fit; it names model, field and row key.
        """
        try:
            cells = self.model.__mapping__.dehydrate(obj.__dict__)
        except ValidationError as error:
            details = {**error.details, "row": key}
            raise ValidationError(error.text, fix=error.fix, **details) from None
        if sum(map(len, cells.values())) > _SURELY_FITS_BYTES:
            self._check_sizes(key, cells)
        if self.schema.marker is not None:
            cells[self.schema.marker] = MARKER_VALUE
        return cells

    def _check_sizes(self, key: bytes, cells: Mapping[bytes, bytes]) -> None:
        fields = {column.column: column.name for column in self.schema.columns}
        for column, value in cells.items():
            size = CELL_OVERHEAD_BYTES + len(key) + len(column) - 1 + len(value)
            if size > MAX_CELL_BYTES:
                raise ValidationError(
                    "the field's cell is larger than HBase stores",
                    model=self.schema.model_name,
                    field=fields.get(column, column),
                    row=key,
                    size_bytes=size,
                    limit_bytes=MAX_CELL_BYTES,
                    fix="split the value over several fields or rows",
                )

    # --- row keys ---------------------------------------------------------------------------------

    def key(self, obj: Model) -> bytes:
        """Return the row key of an object; names without a number get one.

        Raises:
            RowKeyError: A key field does not fit, or the key is empty or too long.
        """
        layout = self.schema.layout
        values = obj.__dict__
        if layout.lookups:
            values = {**values, **self._allocated(values)}
        if layout.is_random:
            return self._drawn(obj, values)
        return self.checked_key(self.model.__mapping__.encode_key(values))

    def known_key(self, obj: Model) -> bytes | None:
        """Return the row key of an object; None if a name in it must be looked up first.

        Raises:
            RowKeyError: As for `key`.
        """
        lookups = self.schema.layout.lookups
        if lookups and self.names.known(lookups, obj.__dict__) is None:
            return None
        return self.key(obj)

    def _drawn(self, obj: Model, values: dict[str, Any]) -> bytes:
        """Return the key under the salt that was drawn for an object, or that it was read from.

        `values` are the object's, with the numbers of its names.
        """
        row: Row | None = obj._row  # noqa: SLF001 - the model's own state
        if row is not None and not (self.schema.layout.lookups and is_foreign(obj, self.origin)):
            return row.key
        key: bytes | None = obj.__dict__.get(_DRAWN)
        encoded = self.model.__mapping__.encode_key(values)
        width = self._salt_bytes
        if key is None or key[width:] != encoded[width:]:
            key = obj.__dict__[_DRAWN] = self.checked_key(encoded)
        return key

    @property
    def _salt_bytes(self) -> int:
        spread = self.schema.layout.spread
        return 0 if spread is None else spread.codec.width_bytes or 0

    def _allocated(self, values: Mapping[str, Any]) -> Mapping[str, int]:
        lookups = self.schema.layout.lookups
        known = self.names.known(lookups, values)
        if known is not None:
            return known
        self._check_key_values(values)
        given = self.names.allocate(lookups, [values])
        return {each.number: given[each.dictionary, values[each.field]] for each in lookups}

    def keys(self, values: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return every row key that a row of these key fields can have; nothing is sent.

        None at all if a name in it has no number here: see `look_up_names`, `allocate_names`.

        Raises:
            RowKeyError: A key field does not fit, or the key is empty or too long.
        """
        layout = self.schema.layout
        if layout.lookups:
            numbers = self.names.known(layout.lookups, values)
            if numbers is None:
                return ()
            values = {**values, **numbers}
        return tuple(self.checked_key(key) for key in layout.keys(values))

    # --- names with numbers -----------------------------------------------------------------------

    def knows_names(self, values: Mapping[str, Any]) -> bool:
        """Say whether no name in these key fields needs a look-up."""
        lookups = self.schema.layout.lookups
        return not lookups or self.names.known(lookups, values) is not None

    def look_up_names(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Look up the numbers of all names in these key fields; those that have none get none.

        Raises:
            RowKeyError: A key field does not fit; nothing was sent.
        """
        lookups = self.schema.layout.lookups
        unknown = [values for values in rows if not self.knows_names(values)]
        for values in unknown:
            self._check_key_values(values)
        self.names.find((each.dictionary, row[each.field]) for each in lookups for row in unknown)

    def allocate_names(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Give a number to each name in these key fields that has none, all at once.

        Raises:
            RowKeyError: A key field does not fit; no number was given.
            ConfigurationError: A name has no number, and there is no Thrift2 gateway to get one.
        """
        unknown = [values for values in rows if not self.knows_names(values)]
        for values in unknown:
            self._check_key_values(values)
        self.names.allocate(self.schema.layout.lookups, unknown)

    def fits(self, values: Mapping[str, Any]) -> bool:
        """Say whether a row can have these key fields; nothing is sent."""
        try:
            placed = self.placed(values)
            if placed.knows_names(values):
                placed.keys(values)
            else:
                placed._check_key_values(values)  # noqa: SLF001 - one of this class
        except RowKeyError:
            return False
        return True

    def check_values(self, values: Mapping[str, Any]) -> None:
        """Refuse an object that does not fit, whatever numbers its names may get.

        Raises:
            RowKeyError: A key field does not fit.
            ValidationError: Another field does not.
        """
        self._check_key_values(values)
        self.model.__mapping__.dehydrate(dict(values))

    def _check_key_values(self, values: Mapping[str, Any]) -> None:
        layout = self.schema.layout
        for lookup in layout.lookups:
            codec = layout.codec(lookup.field)
            try:
                if codec is not None:
                    codec.encode(values[lookup.field])
            except CodecError as error:
                raise self._misfit(lookup.field, error) from error
        # Any number will do to try the other parts; 1 fits wherever a number does.
        self.checked_key(layout.encode({**values, **{each.number: 1 for each in layout.lookups}}))

    def _misfit(self, name: str, error: CodecError) -> RowKeyError:
        details = {"model": self.schema.model_name, "field": name, **error.details}
        return RowKeyError(error.text, fix=error.fix, **details)

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
