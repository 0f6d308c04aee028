"""`Model`: the class that users derive their models from.

Creating a subclass resolves its declarations into a frozen `TableSchema` and compiles its mapping.
Every mistake in a declaration raises an error at that time. An instance has its values in
`__dict__`, and the library's own data in `__state__`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, Self, dataclass_transform

from hbase_orm.codecs import Codec
from hbase_orm.errors import RowKeyError, ValidationError
from hbase_orm.model.declare.declare import (
    build_schema,
    declared,
    refuse_arrival_order,
    stamped,
    with_own_fields,
)
from hbase_orm.model.declare.indexes import with_indexes
from hbase_orm.model.declare.maps import with_dynamics
from hbase_orm.model.declare.placement import join_base, model_of_key, placement_of
from hbase_orm.model.declare.relations import relations
from hbase_orm.model.descriptions import class_html, object_html
from hbase_orm.model.fields.counters import counter, version
from hbase_orm.model.fields.deferring import check_deferred, unloaded
from hbase_orm.model.fields.dynamics import dynamic
from hbase_orm.model.fields.fields import Key, Mapped, column, key
from hbase_orm.model.fields.hooks import Hooks, hooks_of
from hbase_orm.model.fields.related import Relation, related
from hbase_orm.model.fields.related_lists import ListRelation
from hbase_orm.model.mapping.hydrators import hydrators, maker
from hbase_orm.model.mapping.mapping import Mapping as CompiledMapping
from hbase_orm.model.mapping.mapping import (
    checkers,
    compile_dehydrator,
    compile_initializer,
    compile_key_encoder,
    dehydrator_of_loaded,
)
from hbase_orm.model.model_type import ModelType
from hbase_orm.model.printing import is_shown, shown
from hbase_orm.model.refusals import (
    check_makes_objects,
    check_mapping,
    explain_arguments,
    refuse_attribute,
    refuse_object,
    refuse_unnamed,
)
from hbase_orm.model.signatures import OwnSignature, OwnText
from hbase_orm.model.state import InstanceState, SetState, pickled_state, unpickled_state
from hbase_orm.notebook import ShownOnBoth
from hbase_orm.rowkey import KeyLayout, RowKey, TablePerPeriod
from hbase_orm.rowkey.key_text import describe, layout_text
from hbase_orm.schema import NO_FIELDS, Table, TableSchema


@dataclass_transform(
    kw_only_default=True,
    eq_default=True,
    field_specifiers=(key, column, counter, dynamic, related, version),
)
class Model(metaclass=ModelType):
    """A row of a table as an object.

    Derive a class from `Model`, name its table, and declare families, key fields, columns, counters
    and indexes in its body. A class with `abstract=True` is a mixin: models inherit its fields.
    """

    __slots__ = ("__dict__", "__state__", "__weakref__")

    __rowkey__: ClassVar[RowKey]
    __codecs__: ClassVar[Mapping[type, Codec[Any]]]
    __lint__: ClassVar[Mapping[str, str]]
    __schema__: ClassVar[TableSchema]
    __mapping__: ClassVar[CompiledMapping]
    __checkers__: ClassVar[Mapping[str, Callable[[Any], Any]]]
    __related__: ClassVar[Mapping[str, Relation | ListRelation]]
    __hooks__: ClassVar[Hooks]

    __state__: InstanceState

    def __init_subclass__(
        cls,
        *,
        table: str | Table | TablePerPeriod | None = None,
        abstract: bool = False,
        record_type: str | None = None,
        timestamps: Literal["server", "client"] | None = None,
    ) -> None:
        """Resolve the declarations of a new model.

        Args:
            table: `name`, `namespace:name`, a `Table` with options, or a `TablePerPeriod`.
            abstract: Whether the class is a mixin without a table.
            record_type: The record type of the class, for a class that shares the table of its
                base.
            timestamps: Who sets the timestamps of cells: "server" or "client". None means the
                engine's option. With "client", writes can be repeated exactly, and of two writers
                the one with the later clock wins. A guarded model cannot have this option, because
                its guards set the timestamps.

        Raises:
            SchemaError: Something in the declaration is wrong.
        """
        super().__init_subclass__()
        if abstract:
            return
        schema = build_schema(cls, placement_of(cls, table, record_type))
        schema = with_indexes(cls, with_dynamics(cls, schema))
        refuse_arrival_order(schema)
        schema = stamped(schema, timestamps)
        cls.__schema__ = with_own_fields(cls, schema)
        cls.__related__ = relations(cls)
        check_deferred(cls, cls.__schema__, cls.__related__)
        if record_type is not None:
            join_base(cls)
        if vars(cls)["__doc__"] is None:
            cls.__doc__ = OwnText()  # type: ignore[assignment]  # a descriptor makes the text
        cls.__checkers__ = checkers(cls.__schema__)
        fields = tuple(declared(cls, Mapped).values())
        cls.__hooks__ = hooks_of(cls, Model, fields)
        hydrator = hydrators(cls, cls.__schema__, _set_state)
        cls.__mapping__ = CompiledMapping(
            initialize=(
                compile_initializer(cls.__schema__, fields, _set_state)
                if cls.__schema__.record_types is None
                else refuse_object
            ),
            hydrate=hydrator(NO_FIELDS, None),
            hydrator=hydrator,
            maker=maker(cls, cls.__schema__, _set_state, hydrator),
            dehydrate=compile_dehydrator(cls.__schema__),
            dehydrate_loaded=dehydrator_of_loaded(cls.__schema__),
            encode_key=compile_key_encoder(cls.__schema__),
        )

    def __init__(self, /, **values: Any) -> None:
        """Create a new object from its fields, given by keyword; nothing is sent.

        Raises:
            ValidationError: A field is missing, unknown, or does not fit.
            SchemaError: The model is abstract or the base of record types, and so has no objects.
        """
        if not hasattr(self, "__mapping__"):
            check_makes_objects(type(self))
        try:
            self.__mapping__.initialize(self, **values)
        except TypeError:
            explain_arguments(self, values)
            raise

    def _set_field(self, name: str, value: Any) -> None:
        """Check a value and set a field to it; names that begin with `_` are set without a check.

        Raises:
            ValidationError: The value does not fit, or the field is a counter, a version or a
                related object.
            RowKeyError: The field is part of the row key.
            AttributeError: The model has no such field.
        """
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        check = self.__checkers__.get(name)
        if check is None:
            refuse_attribute(self, name, value)
            return
        if isinstance(self.__schema__.fields[name], Key):
            raise RowKeyError(
                "a key field cannot be set after the object is made",
                model=type(self).__name__,
                field=name,
                fix="use session.move(obj, ...): HBase cannot rename a row",
            )
        self.__dict__[name] = check(value)
        state = getattr(self, "__state__", None)  # unset before `Model.__init__` has run
        if state is not None and state.on_change is not None:
            state.on_change(self)

    if not TYPE_CHECKING:  # type checkers that see it let every misspelt attribute be set
        __setattr__ = _set_field

    def __eq__(self, other: object) -> bool:
        """Return whether `other` has the same class and equal fields, except the version column."""
        if type(other) is not type(self):
            return NotImplemented
        version = self.__schema__.version
        mine, others = self.to_dict(), other.to_dict()
        if version is not None:
            mine[version.name] = others[version.name] = 0
        return mine == others

    def __hash__(self) -> int:
        """Return the hash of the class and the key fields."""
        values = self.__dict__
        return hash((type(self), *(values.get(name) for name in self.__schema__.layout.names)))

    def __repr__(self) -> str:
        """Return the class and its fields.

        Long values are cut, and fields that are declared with `repr=False` are left out.
        """
        if not hasattr(self, "__state__"):  # `__init__` has not run, or has failed
            return f"<{type(self).__name__} without values>"
        fields = self.__schema__.fields
        values = self.to_dict().items()
        parts = [f"{name}={shown(value)}" for name, value in values if is_shown(fields[name])]
        return f"{type(self).__name__}({', '.join(parts)})"

    _repr_html_ = ShownOnBoth(class_html, object_html)

    def __getstate__(self) -> tuple[Any, ...]:
        """Return the fields, the row and its table, but not the session.

        A copy belongs to no session.
        """
        return pickled_state(self.__dict__, self.__state__)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Restore the fields, the row and its table from the result of `__getstate__`."""
        values, own = unpickled_state(state)
        self.__dict__.update(values)
        _set_state(self, own)

    # --- hooks: a session calls those that a model defines ----------------------------------------

    def before_put(self) -> None:
        """Hook: called before each attempt to write the row; may set fields."""

    def after_put(self) -> None:
        """Hook: called after the write of the row was acknowledged."""

    def before_delete(self) -> None:
        """Hook: called before each attempt to delete the row."""

    def after_delete(self) -> None:
        """Hook: called after the delete of the row was acknowledged."""

    def after_load(self) -> None:
        """Hook: called after the object's row was read, the first time or again."""

    # --- objects and dicts ------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; fields without a value are left out.

        These fields have no value:

        - a required column whose cell the row lacks,
        - a deferred field that was not read,
        - dynamic columns that were not read.

        Properties and related objects are not fields.
        """
        values = self.__dict__ | self._entries()
        numbers = {column.name: 0 for column in self.__schema__.numbers}
        nullable = {column.name: None for column in self.__schema__.columns if column.nullable}
        fields = numbers | nullable | values
        for name in unloaded(self):
            fields.pop(name, None)
        return {name: fields[name] for name in self.__schema__.fields if name in fields}

    def _entries(self) -> dict[str, dict[Any, Any]]:
        """Return copies of the dicts of dynamic columns, without values that are None."""
        names = (each.name for each in self.__schema__.dynamics)
        maps = {name: self.__dict__[name] for name in names if name in self.__dict__}
        return {
            name: {key: value for key, value in entries.items() if value is not None}
            for name, entries in maps.items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], /) -> Self:
        """Create a new object from a dict such as `to_dict` returns.

        Counters and the version are ignored.

        Raises:
            ValidationError: A field is missing, unknown, or of the wrong type.
            SchemaError: The model is abstract or the base of record types, and so has no objects.
        """
        check_makes_objects(cls)
        check_mapping(cls, values)
        left_out = {column.name for column in cls.__schema__.numbers}
        dynamics = cls.__schema__.dynamic_by_name.keys() & values.keys()
        left_out |= dynamics
        obj = cls(**{name: value for name, value in values.items() if name not in left_out})
        for name in dynamics:
            setattr(obj, name, values[name])
        return obj

    @classmethod
    def encode_key(cls, /, *values: Never, **key: Any) -> bytes:
        """Return the row key that is computed from these key fields.

        Raises:
            RowKeyError: A field is missing, unknown or does not fit.
        """
        if values:
            refuse_unnamed(f"{cls.__name__}.encode_key", cls, values)
        schema = cls.__schema__
        check_key_arguments(schema, key)
        return schema.storage.row_of(schema.layout.encode(key))

    @classmethod
    def decode_key(cls, data: bytes, /) -> Mapping[str, Any]:
        """Return the key fields that can be decoded from a row key, as a `DecodedKey`.

        The `DecodedKey` also names the key fields that cannot be decoded. If the model is the base
        of record types, the key is decoded by the model of its record type.

        Raises:
            CorruptRowError: The bytes are not a row key of this model.
        """
        layout: KeyLayout = model_of_key(cls, data).__schema__.row_layout
        return layout.decode(data)

    @classmethod
    def describe_key(cls, data: bytes | None = None, /) -> str:
        """Return a text that shows the parts of a row key and their values.

        Args:
            data: The row key. With None, the text shows the layout of all row keys in one line,
                such as `[salt 16][host text][at millis desc]`.

        Raises:
            CorruptRowError: The bytes are not a row key of this model.
        """
        if data is None:
            return layout_text(cls.__schema__.row_layout)
        return describe(model_of_key(cls, data).__schema__.row_layout, data)


Model.__signature__ = OwnSignature(Model.__init__)  # type: ignore[attr-defined]  # for `inspect`

# The slot's own setter: `Model.__setattr__` is for users' fields.
_set_state: SetState = Model.__dict__["__state__"].__set__


def is_stale(obj: Model, /) -> bool:
    """Return whether a replica returned the object's row, so that its values may be outdated.

    Only statements with `.consistency("timeline")` read from replicas. The object stays stale until
    `session.refresh(obj)`, or another strong read of its session, reads the row again.

    Raises:
        ValidationError: The argument is not an object of a model.
    """
    if not isinstance(obj, Model):
        raise ValidationError(
            "the argument is not an object of a model",
            got=repr(obj),
            fix="for selected values, use the attribute stale of the stream or page",
        )
    return obj.__state__.is_stale


def check_key_arguments(schema: TableSchema, key: Mapping[str, Any]) -> None:
    """Raise an error if key arguments are missing or unknown.

    Raises:
        RowKeyError: A key argument is missing or unknown, or the model is the base of record types.
    """
    if schema.record_types is not None:
        kinds = [model.__name__ for model in schema.record_types.models.values()]
        raise RowKeyError(
            "the base of record types has no rows, and so no row keys",
            model=schema.model_name,
            kinds=kinds,
            fix=f"name one of its record types, or select({schema.model_name}) with conditions "
            "on its fields",
        )
    for name in schema.layout.arguments:
        if name not in key:
            raise RowKeyError(
                "a key field has no value",
                model=schema.model_name,
                field=name,
                fix=f"give all of: {', '.join(schema.layout.arguments)}",
            )
    for name in key:
        if name not in schema.layout.arguments:
            raise RowKeyError(
                "the model has no key field of this name",
                model=schema.model_name,
                field=name,
                fix=f"give only: {', '.join(schema.layout.arguments)}",
            )
