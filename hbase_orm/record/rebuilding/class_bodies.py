"""Makes the bodies of model classes, with their annotations, from a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.errors import DeclarationError
from hbase_orm.model.fields.counters import Counter, Version
from hbase_orm.model.fields.dynamics import Dynamic
from hbase_orm.model.fields.fields import UNSET, Key, Mapped
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.record.declaration import RecordedColumn, RecordedModel, RecordedRows
from hbase_orm.record.declared_options import ModelOptions
from hbase_orm.record.packed_type_specs import PackedEmpty, packed_codec
from hbase_orm.record.rebuilding.recorded_codecs import (
    bytes_of,
    is_packed_bytes,
    recorded_codec,
)
from hbase_orm.record.rebuilding.supplied import Supplied
from hbase_orm.record.specifications import Spec, codec_spec, equal_codec, same_codec
from hbase_orm.record.stored_values import StoredValue
from hbase_orm.rowkey import Offset
from hbase_orm.schema import Family
from hbase_orm.schema.absent import EMPTY_TYPES

_EMPTY: Final = {kind.__name__: kind for kind in EMPTY_TYPES}


class RecordedFamily(Family):
    """A family with all options that the record has."""

    def __init__(self, recorded: FamilyDescriptor) -> None:
        """Store the options, which were checked when the family was declared."""
        super().__init__()
        self.name = recorded.name.decode()
        self._recorded = recorded

    def descriptor(self) -> FamilyDescriptor:
        """Return the family's descriptor for HBase."""
        return self._recorded


@dataclass(frozen=True, slots=True)
class RecordedClass:
    """A model of a record whose class is to be made.

    Attributes:
        name: The name of the model.
        rows: The rows that the model declares.
        model: The names that the model has for fields.
        families: The families by their names.
        supplied: What the program supplies.
    """

    name: str
    rows: RecordedRows
    model: RecordedModel
    families: Mapping[bytes, Family]
    supplied: Supplied

    @property
    def options(self) -> ModelOptions:
        """The options of the model; of a model of an earlier version what its columns show."""
        if self.model.options is not None:
            return self.model.options
        columns = self.rows.columns
        optional = (
            name
            for name, column in self.model.fields.items()
            if column in columns and not columns[column].is_required
        )
        return ModelOptions(keys=self.model.key, nullable=tuple(optional))

    @property
    def keys(self) -> tuple[str, ...]:
        """The key fields in the order in which the row key mentions them."""
        declared = set(self.options.keys)
        every = (self.model.key, *self.model.later_keys)
        return next((names for names in reversed(every) if set(names) == declared), every[-1])

    @property
    def parts(self) -> list[StoredValue]:
        """The parts of the row key."""
        return [
            self.stored(spec, f"component {number} of the row key")
            for number, spec in enumerate(self.rows.key, 1)
        ]

    def stored(self, value: Any, place: str) -> StoredValue:
        """Return a value of the record, with its place for errors."""
        return StoredValue(value, self.supplied.table, f"{self.name}: {place}")

    def order(self) -> Iterator[str]:
        """Yield the fields in the order of declaration, as far as the record shows it.

        The order of the columns decides which one shows that a row exists.
        """
        waiting = list(self.model.fields)
        declared = [name for name in self.options.keys if name in self.keys]
        for name in dict.fromkeys((*declared, *self.keys)):
            if name in waiting:
                place = waiting.index(name)
                yield from waiting[:place]
                waiting = waiting[place + 1 :]
            yield name
        yield from waiting

    # --- fields -----------------------------------------------------------------------------------

    def field(self, name: str, offset: Offset | None = None) -> tuple[Any, Any]:
        """Return the declaration of a field, and its annotation.

        Args:
            name: The name of the field.
            offset: The offset that is the qualifier of the model's only column, or None.

        Raises:
            DeclarationError: The codec of the field is unknown.
            RecordError: The record is damaged.
        """
        if name in self.keys:
            return self._key(name)
        column = self.model.fields[name]
        recorded = self.rows.columns.get(column)
        if recorded is None:
            raise self.stored(column, f"column of field {name}").damage()
        family, qualifier = self._place(column)
        if recorded.role in {"counter", "version"}:
            kind = Counter if recorded.role == "counter" else Version
            return kind(family=family, qualifier=qualifier), kind
        codec = self.codec(name, recorded.codec)
        if recorded.role == "dynamic":
            return self._dynamic(name, recorded, codec)
        python_type: Any = codec.python_type
        made: Mapped[Any] = Mapped(
            family=family,
            qualifier=qualifier if offset is None else offset,
            codec=codec,
            is_deferred=name in self.options.deferred,
            **self._default(name, codec),
        )
        is_nullable = name in self.options.nullable
        return made, Mapped[python_type | None] if is_nullable else Mapped[python_type]

    def _key(self, name: str) -> tuple[Any, Any]:
        spec = _spec_of_field(self.parts, self.keys.index(name))
        if spec is None:
            raise self.stored(name, "key field").damage()
        codec = self.codec(name, spec.value)
        column = self.model.fields.get(name)
        stored: dict[str, Any] = {}
        if column is not None:
            family, qualifier = self._place(column)
            stored = {"family": family, "qualifier": qualifier, **self._default(name, codec)}
        python_type: Any = codec.python_type
        return Key(codec=codec, **stored), Key[python_type]

    def _dynamic(self, name: str, recorded: RecordedColumn, codec: Codec[Any]) -> tuple[Any, Any]:
        family, prefix = self._place(self.model.fields[name])
        names = recorded_codec(self.stored(recorded.names, f"names of {name}"))
        made: Dynamic[Any, Any] = Dynamic(family=family, prefix=prefix, name=names, codec=codec)
        key_type: Any = names.python_type
        value_type: Any = codec.python_type
        return made, Dynamic[key_type, value_type]

    def _place(self, column: bytes) -> tuple[Family, str]:
        """Return the family and the qualifier of a column."""
        name, colon, qualifier = column.partition(b":")
        family = self.families.get(name)
        if family is None or not colon:
            raise DeclarationError(
                "the record has a column of a family that it does not describe",
                table=self.supplied.table,
                model=self.name,
                column=column,
                fix="let a program that has the model's class call engine.alter_tables: it adds "
                "the family to the table and to the record",
            )
        try:
            return family, qualifier.decode()
        except UnicodeDecodeError:
            raise self.stored(column, "column").damage() from None

    def codec(self, name: str, spec: Spec) -> Codec[Any]:
        """Return the codec of a field: the supplied one, or else that of its specification.

        Raises:
            DeclarationError: The codec is unknown, or the supplied one has other bytes.
            RecordError: The specification is damaged.
        """
        place = self.stored(spec, f"codec of {name}")
        supplied = self.supplied.get(f"codec of {self.name}.{name}")
        if supplied is not None:
            if not isinstance(supplied, Codec) or not _has_bytes(supplied, spec):
                raise DeclarationError(
                    "the supplied codec is not the one that the record describes",
                    table=self.supplied.table,
                    model=self.name,
                    field=name,
                    recorded=spec,
                    supplied=supplied,
                )
            return supplied
        if name in self.options.types:
            of = self.stored(self.options.types[name], f"type of {name}")
            codec = packed_codec(str(spec.get("codec")), of)
            if equal_codec(spec, codec_spec(codec)):
                return codec  # else other models pack values that this type may not read
        try:
            return recorded_codec(place)
        except DeclarationError as error:
            missing = f"codec of {self.name}.{name}"
            raise self.supplied.lacking(missing, error.text, **_others(error)) from None

    def _default(self, name: str, codec: Codec[Any]) -> dict[str, Any]:
        """Return the arguments of a field that declare its default."""
        if self.model.options is None and name in self.options.nullable:
            return {"default": None}
        if name not in self.options.defaults:
            return {"default": UNSET}
        stored = self.stored(self.options.defaults[name], f"default of {name}")
        content = stored.members(optional=frozenset({"value", "type", "function"}))
        if "function" in content:
            return {"default_factory": self._factory(name, content["function"].typed(str))}
        if "value" not in content:
            raise stored.damage()
        data = content["value"].optional(bytes_of)
        if "type" not in content:
            return {"default": None if data is None else codec.decode(data)}
        kind = content["type"].typed(str)
        if kind not in _EMPTY or data is None:
            raise stored.damage()
        is_packed = is_packed_bytes(codec)
        return {"default_factory": PackedEmpty(kind, data) if is_packed else _EMPTY[kind]}

    def _factory(self, name: str, function: str) -> Callable[[], Any]:
        """Return the function that makes a default; if none is supplied, one that raises."""
        missing = f"default of {self.name}.{name}"
        given: Any = self.supplied.get(missing)
        if given is not None:
            factory: Callable[[], Any] = given
            return factory
        supplied, model = self.supplied, self.name

        def lacking() -> Any:
            raise supplied.lacking(
                missing,
                "a row lacks the cell of a field whose default a function makes, which is not in "
                "the record",
                model=model,
                field=name,
            )

        lacking.__name__ = function
        return lacking


def _has_bytes(codec: Codec[Any], spec: Spec) -> bool:
    own = codec_spec(codec)
    return same_codec({name: spec.get(name) for name in own}, own)


def _others(error: DeclarationError) -> dict[str, Any]:
    return {name: value for name, value in error.details.items() if name != "table"}


def _spec_of_field(parts: Sequence[StoredValue], number: int) -> StoredValue | None:
    """Return the first part of a row key, or input of a part, that is this key field."""
    for part in parts:
        content = dict(part.each())
        if "derived" not in content and content.get("field", part).value == number:
            return part
        inner = _spec_of_field(content["of"].items(), number) if "of" in content else None
        if inner is not None:
            return inner
    return None


@dataclass(slots=True)
class ClassBody:
    """The body of a class while it is made.

    Attributes:
        values: The attributes.
        annotations: The annotations.
    """

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    annotations: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, name: str, declared: tuple[Any, Any]) -> Any:
        """Add a field with its annotation; return the field."""
        self.values[name], self.annotations[name] = declared
        return declared[0]

    def fill(self, namespace: dict[str, Any]) -> None:
        """Write the body into the namespace of a class."""
        namespace |= self.values | {
            "__module__": __name__,
            "__annotations__": self.annotations,
        }
