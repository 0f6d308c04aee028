"""Computes the row keys of a model's objects in one table, with or without a random salt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from hbase_orm.binding.addressing.names import KeyNames
from hbase_orm.binding.dictionaries import Dictionaries
from hbase_orm.errors import RowKeyError
from hbase_orm.model import Model
from hbase_orm.ops import Protocol, longest_row_key_bytes
from hbase_orm.schema import TableSchema

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowKeys:
    """Computes row keys from key fields. Each row has only one possible key.

    Attributes:
        model: The model's class.
        schema: The model's schema, with the name of the table.
        longest_bytes: The largest length of a row key in this table.
        names: The key fields whose values are names. Row keys hold the number of each name instead.
            None if the model has no such field.
        origin: A text that identifies the table and the servers.
    """

    model: type[Model]
    schema: TableSchema
    longest_bytes: int
    names: KeyNames | None
    origin: str

    def in_table(self, schema: TableSchema) -> Self:
        """Return a copy for another table of the model: the table that `schema` names."""
        return replace(self, schema=schema, longest_bytes=longest_row_key_bytes(schema.table))

    # --- of an object -----------------------------------------------------------------------------

    @property
    def are_computed(self) -> bool:
        """Whether row keys are computed from the fields only, without dictionary or random salt."""
        return self.names is None

    def known_of(self, obj: Model) -> bytes | None:
        """Return the row key of an object, without any request.

        None if the key holds the number of a name, and that number is not cached.

        Raises:
            RowKeyError: A key field does not fit, or the key is empty or too long.
        """
        numbered = obj.__dict__ if self.names is None else self.names.numbered(obj.__dict__)
        return None if numbered is None else self._encoded(obj, numbered)

    def of(self, obj: Model) -> Protocol[bytes]:
        """Return the row key of an object; give numbers to new names in its key fields.

        Raises:
            RowKeyError: As for `known_of`.
        """
        key = self.known_of(obj)
        if key is None and self.names is not None:
            self.check(obj.__dict__)
            key = self._encoded(obj, (yield from self.names.allocated(obj.__dict__)))
        assert key is not None
        return key

    def _encoded(self, obj: Model, values: dict[str, Any]) -> bytes:  # noqa: ARG002  # no salt
        """Return the row key of an object; `values` has its key fields and the numbers of names."""
        return self.checked(self.model.__mapping__.encode_key(values))

    def others_of(self, obj: Model, key: bytes) -> tuple[bytes, ...]:  # noqa: ARG002  # of none
        """Return an empty tuple: the row of an object has no other possible key than `key`."""
        return ()

    # --- of key fields ----------------------------------------------------------------------------

    def possible(self, values: Values) -> tuple[bytes, ...]:
        """Return all possible row keys of a row with these key fields; nothing is sent.

        The result is empty if the number of a name is not cached: call `look_up_names` or
        `allocate_names` first.

        Raises:
            RowKeyError: A key field does not fit, or the key is empty or too long.
        """
        numbered = values if self.names is None else self.names.numbered(values)
        if numbered is None:
            return ()
        return tuple(self.checked(key) for key in self.schema.layout.keys(numbered))

    def fits(self, values: Values) -> bool:
        """Return whether a row can have these key fields; nothing is sent."""
        try:
            if self.are_names_known(values):
                self.possible(values)
            else:
                self.check(values)
        except RowKeyError:
            return False
        return True

    def check(self, values: Values) -> None:
        """Raise an error for key fields that no row can have; numbers of names are not checked.

        Raises:
            RowKeyError: A key field does not fit.
        """
        sample = values if self.names is None else self.names.sample(values)
        self.checked(self.schema.layout.encode(sample))

    def checked(self, key: bytes) -> bytes:
        """Return `key` if it is not too long for the table.

        The longer the table's name, the shorter a row key must be.

        Raises:
            RowKeyError: The row key is too long.
        """
        if len(key) > self.longest_bytes:
            raise RowKeyError(
                "the row key is too long for HBase to locate in a table of this name",
                model=self.schema.model_name,
                fields=self.schema.layout.names,
                table=self.schema.table,
                length_bytes=len(key),
                limit_bytes=self.longest_bytes,
                fix="shorten a component, or put a Digest of it in the key",
            )
        return key

    # --- names with numbers -----------------------------------------------------------------------

    def are_names_known(self, values: Values) -> bool:
        """Return whether the numbers of all names in these key fields are cached."""
        return self.names is None or self.names.numbered(values) is not None

    def look_up_names(self, rows: Sequence[Values]) -> Protocol[None]:
        """Look up and cache the existing numbers of all names in the key fields of `rows`.

        Raises:
            RowKeyError: A key field does not fit; nothing was sent.
        """
        if self.names is not None:
            yield from self.names.look_up(self._unnumbered(rows))

    def allocate_names(self, rows: Sequence[Values]) -> Protocol[None]:
        """Give numbers to all names without a number in the key fields of these rows.

        Raises:
            RowKeyError: A key field does not fit; no number was given.
            ConfigurationError: A name has no number, and there is no Thrift2 gateway to give it
                one.
        """
        if self.names is not None:
            yield from self.names.allocate(self._unnumbered(rows))

    def _unnumbered(self, rows: Sequence[Values]) -> list[Values]:
        unnumbered = [values for values in rows if not self.are_names_known(values)]
        for values in unnumbered:
            self.check(values)
        return unnumbered


@dataclass(frozen=True, slots=True)
class RandomlySaltedKeys(RowKeys):
    """Computes row keys with a random salt, so that each row has several possible keys."""

    @property
    def are_computed(self) -> bool:
        """False: a key also depends on the random salt."""
        return False

    def _encoded(self, obj: Model, values: dict[str, Any]) -> bytes:
        """Return the row key of an object; a new object gets a random salt.

        A new object keeps its salt as long as its other key bytes stay the same. A loaded object
        keeps its stored row key.
        """
        state = obj.__state__
        has_names = self.names is not None
        if state.row is not None and not (has_names and state.is_foreign(self.origin)):
            return state.row.key
        key = state.salted_key
        encoded = self.model.__mapping__.encode_key(values)
        width = self._salt_bytes
        if key is None or key[width:] != encoded[width:]:
            key = state.salted_key = self.checked(encoded)
        return key

    def others_of(self, obj: Model, key: bytes) -> tuple[bytes, ...]:
        """Return the other possible row keys of an object, besides `key`."""
        return tuple(each for each in self.possible(obj.__dict__) if each != key)

    @property
    def _salt_bytes(self) -> int:
        spread = self.schema.layout.spread
        return 0 if spread is None else spread.codec.width_bytes or 0


def keys_of(
    model: type[Model], schema: TableSchema, dictionaries: Dictionaries, origin: str
) -> RowKeys:
    """Return the object that computes a model's row keys in the table that `schema` names."""
    layout = schema.layout
    kind = RandomlySaltedKeys if layout.is_random else RowKeys
    # Record types may have dictionaries that their base lacks, and may be declared after it.
    may_have_names = bool(layout.lookups) or schema.record_types is not None
    names = KeyNames(schema, dictionaries) if may_have_names else None
    return kind(model, schema, longest_row_key_bytes(schema.table), names, origin)
