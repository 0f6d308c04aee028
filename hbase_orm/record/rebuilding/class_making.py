"""Creates model classes: one that has its own table, or the record types of one base."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hbase_orm.errors import CodecError, DeclarationError, QueryError, RecordError, SchemaError
from hbase_orm.model import Dynamic, Model
from hbase_orm.record.declaration import NO_TYPE, Declaration
from hbase_orm.record.rebuilding.base_keys import BaseKey, base_key
from hbase_orm.record.rebuilding.class_bodies import ClassBody, RecordedClass
from hbase_orm.record.rebuilding.index_declarations import IndexBuilder
from hbase_orm.record.rebuilding.key_components import RECORD_TYPE, KeyBuilder
from hbase_orm.record.rebuilding.recorded_codecs import bytes_of, recorded_codec
from hbase_orm.record.rebuilding.verification import check_agrees
from hbase_orm.rowkey import KeySource, Offset, TablePerPeriod, rowkey
from hbase_orm.rowkey.components import Component
from hbase_orm.schema import Table

_BASE = "RecordTypes"
"""The name of a base that the record does not name."""


@dataclass(frozen=True, slots=True)
class ClassMaker:
    """Makes the classes of a record's models.

    Attributes:
        declaration: The declaration in the record.
        table: The name of the table, or the pattern of the names.
    """

    declaration: Declaration
    table: str

    def classes(self, group: Sequence[RecordedClass]) -> Iterator[tuple[str, type[Model]]]:
        """Yield the classes of one model, or of a base and its record types, by name.

        Raises:
            DeclarationError: The record lacks something, or the class is not what it describes.
            RecordError: The record is damaged.
        """
        first = group[0]
        if first.rows.record_type == NO_TYPE:
            yield first.name, self._plain(first)
            return
        name = first.options.base or _BASE
        with self._of_model(name):
            shared = base_key(group, ClassBody(dict(_families_of(first))))
            base = self._create(name, (Model,), shared.body, first, table=self._table(first))
        yield name, base
        for each in group:
            yield each.name, self._record_type(each, base, shared)

    def _plain(self, recorded: RecordedClass) -> type[Model]:
        with self._of_model(recorded.name):
            body = ClassBody(dict(_families_of(recorded)))
            keys = {
                number: body.add(name, recorded.field(name))
                for number, name in enumerate(recorded.keys)
            }
            components = _components(recorded, keys)
            self._complete(recorded, body, keys, components)
            table = self._table(recorded)
            return self._create(recorded.name, (Model,), body, recorded, table=table)

    def _record_type(
        self, recorded: RecordedClass, base: type[Model], shared: BaseKey
    ) -> type[Model]:
        with self._of_model(recorded.name):
            body = ClassBody()
            keys: dict[int, Any] = {
                number: shared.keys[number]
                if number in shared.keys
                else body.add(name, recorded.field(name))
                for number, name in enumerate(recorded.keys)
            }
            components = _components(recorded, keys, shared.known)
            self._complete(recorded, body, keys, components)
            kind = _record_type_of(recorded)
            return self._create(recorded.name, (base,), body, recorded, record_type=kind)

    def _complete(
        self,
        recorded: RecordedClass,
        body: ClassBody,
        keys: Mapping[int, Any],
        components: Sequence[KeySource],
    ) -> None:
        """Add the row key, the columns and the indexes to a body that has the key fields."""
        last = components[-1]
        offset = last if recorded.rows.packed_bytes and isinstance(last, Offset) else None
        components = components if offset is None else components[:-1]
        fields = {name: body.values.pop(name, None) for name in recorded.keys}
        for name in recorded.order():
            if name not in fields:
                body.add(name, recorded.field(name, offset))
            elif fields[name] is not None:
                body.values[name] = fields[name]
        body.values["__rowkey__"] = rowkey(*components)
        self._add_indexes(recorded, body, [keys[number] for number in range(len(keys))])

    def _add_indexes(
        self, recorded: RecordedClass, body: ClassBody, keys: Sequence[KeySource]
    ) -> None:
        fields = recorded.model.fields
        named = dict(zip(recorded.keys, keys, strict=True)) | body.values
        every = {column: named[name] for name, column in fields.items()}
        dynamics = {c: each for c, each in every.items() if isinstance(each, Dynamic)}
        columns = {c: each for c, each in every.items() if c not in dynamics}
        builder = IndexBuilder(self.table, keys, columns, dynamics)
        for name in self._indexes_of(recorded):
            body.values[name] = builder.index(name, self.declaration.indexes.get(name))

    def _indexes_of(self, recorded: RecordedClass) -> Sequence[str]:
        """Return the indexes of a model; those of an earlier version may be any of the table's."""
        if recorded.model.options is None:
            return tuple(self.declaration.indexes)
        return recorded.options.indexes

    def _table(self, recorded: RecordedClass) -> Table | TablePerPeriod:
        options, period = self.declaration.options, self.declaration.period
        if period:
            of = recorded.options.period_field or self._only_time(recorded)
            create = recorded.options.creates_tables
            return TablePerPeriod(self.table, of=of, period=period, create=create)
        if options is None:
            return Table(self.table)
        durability: Any = options.durability
        made = Table(
            self.table,
            splits=options.split_keys,
            durability=durability,
            region_replication=options.region_replication,
        )
        made.attributes |= options.attributes
        return made

    def _only_time(self, recorded: RecordedClass) -> str:
        """Return the only key field that holds times, for records that do not name the field."""
        codecs = {name: recorded.field(name)[0].codec for name in recorded.keys}
        times = [name for name, each in codecs.items() if issubclass(each.python_type, datetime)]
        if len(times) != 1:
            raise DeclarationError(
                "the record does not show which time decides in which table a row is",
                table=self.table,
                model=recorded.name,
                fields=times,
                fix="let a program that has the model's class call engine.create_tables: it "
                "completes the record",
            )
        return times[0]

    def _create(
        self,
        name: str,
        bases: tuple[type[Model], ...],
        body: ClassBody,
        recorded: RecordedClass,
        **words: Any,
    ) -> type[Model]:
        words["timestamps"] = recorded.options.timestamps or None
        model: type[Model] = types.new_class(name, bases, words, body.fill)
        if model.__schema__.record_types is None or recorded.rows.record_type == NO_TYPE:
            check_agrees(model.__schema__, recorded, self.declaration)
        return model

    @contextmanager
    def _of_model(self, name: str) -> Iterator[None]:
        """Convert errors of declarations that the record makes to `DeclarationError`."""
        try:
            yield
        except (DeclarationError, RecordError):
            raise
        except (SchemaError, CodecError, QueryError) as error:
            raise DeclarationError(
                "the record describes a model that cannot be declared",
                table=self.table,
                model=name,
                reason=str(error),
            ) from error


def _families_of(recorded: RecordedClass) -> Iterator[tuple[str, Any]]:
    """Yield the families with names of attributes that no field can have."""
    for number, family in enumerate(recorded.families.values()):
        yield f"_family_{number}", family


def _components(
    recorded: RecordedClass, keys: Mapping[int, Any], known: Mapping[str, Component] | None = None
) -> list[KeySource]:
    """Return the components of a row key.

    Args:
        recorded: The model.
        keys: The key fields by position.
        known: The components of the base of a record type, which the type's own key has too.
    """
    options = recorded.options
    builder = KeyBuilder(
        keys, iter(options.parts), options.values, recorded.supplied, dict(known or {})
    )
    return [builder.source(part) for part in recorded.parts]


def _record_type_of(recorded: RecordedClass) -> str:
    """Return the argument `record_type=` of a record type."""
    for part in recorded.parts:
        content = dict(part.each())
        if content.get("derived", part).value == "Fixed" and "value" in content:
            is_raw = recorded_codec(part).python_type is bytes
            value = content["value"]
            return bytes_of(value).decode() if is_raw else value.typed(str)
    raise recorded.stored(recorded.rows.record_type, RECORD_TYPE).damage()
