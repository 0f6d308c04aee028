"""`objects_of`: Hypothesis strategies for objects of models. Hypothesis must be installed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, TypeVar
from uuid import UUID

from hypothesis import reject
from hypothesis import strategies as st

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, ConfigurationError, RowKeyError, ValidationError
from hbase_orm.model import Model
from hbase_orm.model.made_values import accepts
from hbase_orm.model.refusals import check_makes_objects
from hbase_orm.rowkey.leading import listed_values

M = TypeVar("M", bound=Model)

_LONGEST: Final = 40
_PLAIN: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_WEEK: Final = timedelta(days=7)
_PLACES: Final = 2

_BY_TYPE: Final[dict[type, Callable[[], st.SearchStrategy[Any]]]] = {
    bool: st.booleans,
    float: lambda: st.floats(allow_nan=False),
    Decimal: lambda: st.decimals(-(10**6), 10**6, allow_nan=False, places=_PLACES),
    datetime: lambda: st.datetimes(
        datetime(1971, 1, 1),  # noqa: DTZ001  # Hypothesis adds the time zone
        datetime(2100, 1, 1),  # noqa: DTZ001  # likewise
        timezones=st.just(UTC),
    ),
    date: lambda: st.dates(date(1971, 1, 1), date(2100, 1, 1)),
    time: st.times,
    timedelta: lambda: st.timedeltas(-_WEEK, _WEEK),
    UUID: st.uuids,
    IPv4Address: lambda: st.ip_addresses(v=4),
    IPv6Address: lambda: st.ip_addresses(v=6),
}


def values_of(name: str, codec: Codec[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for the values that a codec can store.

    Args:
        name: The name of the field, for errors.
        codec: The codec.

    Raises:
        ConfigurationError: Nothing is known about values of the codec's type.
    """
    values = _typed(codec)
    if values is None:
        raise ConfigurationError(
            "no values of this field can be made",
            field=name,
            type=codec.python_type.__name__,
            codec=codec.name,
            fix=f"give a strategy: objects_of(…, {name}=st.builds(…))",
        )
    return values.filter(lambda value: accepts(codec, value)).map(codec.normalize)


def objects_of(model: type[M], /, **strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[M]:
    """Return a strategy for objects of a model that are not saved.

    All fields get values that they can store; nullable ones also None. What a validator of the
    model refuses is not drawn; give a strategy for a field of which it refuses most values.

    Args:
        model: The model.
        strategies: Strategies for fields, instead of those of their codecs.

    Raises:
        ConfigurationError: Values of a field cannot be made; the error names it.
        SchemaError: The model is abstract, or the base of record types.
        ValidationError: The model has no such field.

    Examples:
        >>> @given(objects_of(Order, total=st.integers(0, 100)))  # doctest: +SKIP
        ... def test_an_order_is_read_as_it_was_saved(order): ...
    """
    check_makes_objects(model)
    names = inspect.signature(model).parameters
    for name in strategies:
        if name not in names:
            raise ValidationError(
                "the model has no constructor argument of this name",
                model=model.__name__,
                field=name,
                fix=f"give only: {', '.join(names)}",
            )
    of_fields = {
        name: strategies[name] if name in strategies else _field(model, name)
        for name in names
        if name in strategies or name in model.__schema__.codecs
    }
    return st.fixed_dictionaries(of_fields).map(lambda values: _object(model, values))


def _object(model: type[M], values: dict[str, Any]) -> M:
    try:
        obj = model(**values)
        layout, known = model.__schema__.layout, obj.to_dict()
        if known.keys() >= set(layout.inputs):
            layout.encode(known)  # a row key with a number from a dictionary needs a session
    except (CodecError, RowKeyError, ValidationError):
        reject()
    return obj


def _field(model: type[Model], name: str) -> st.SearchStrategy[Any]:
    values = values_of(name, model.__schema__.codecs[name])
    stored = model.__schema__.column_by_name.get(name)
    return st.none() | values if stored is not None and stored.nullable else values


def _typed(codec: Codec[Any]) -> st.SearchStrategy[Any] | None:
    if listed := listed_values(codec):
        return st.sampled_from(listed)
    kind, width = codec.python_type, codec.width_bytes
    if kind is int:
        return st.integers(codec.minimum, codec.maximum)
    if kind is bytes:
        return st.binary(min_size=width or 1, max_size=width or _LONGEST)
    if kind is str:
        letters = st.characters(codec="utf-8") if width is None else st.sampled_from(_PLAIN)
        return st.text(letters, min_size=1, max_size=width or _LONGEST)
    # Codecs of whole structures name their type, such as list[int] or a dataclass.
    structure = getattr(codec, "type_", None)
    made = _BY_TYPE.get(kind) or (structure and (lambda: st.from_type(structure)))
    return made() if made else None
