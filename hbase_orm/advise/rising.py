"""What declarations tell about the values of fields: do they rise with time, and are they few?

Only what is declared counts: types, codecs, defaults, and names of fields that mean nothing else.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.numbering.sequence import Sequence
from hbase_orm.rowkey import KeyLayout
from hbase_orm.rowkey.derivations import HashOf, OffsetOf, PeriodOf
from hbase_orm.rowkey.leading import choices_of, listed_values
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.parts import Part
from hbase_orm.rowkey.record_types import RecordTypeCodec
from hbase_orm.schema import TableSchema

FEW_POINTS: Final = 8
"""So many values in front of a time still leave the writes in a few places."""

_RISING_NAMES: Final = re.compile(
    r"(.*_)?(ts|timestamp|epoch|seq|seqno|sequence)(_(ms|millis|us|s))?"
    r"|(.*_)?(created|updated|received|inserted|event|log)_(at|time)?_?(ms|millis|ts|s)"
)
_TIME_TEXTS: Final = re.compile(r"(.*_)?(ts|timestamp|date|datetime|yyyymmdd|created_at)")
_OF_THE_PAST: Final = re.compile(r"(.*_)?(born|birth|birthday|birthdate|dob)(_.*)?")
_RISING_FACTORIES: Final = frozenset({"uuid6", "uuid7", "ulid", "time", "time_ns"})


def is_rising(part: Part, schema: TableSchema) -> bool:
    """Return whether a part's values rise with time, as times and sequences do."""
    derivation = part.derivation
    if isinstance(derivation, (PeriodOf, OffsetOf)):
        return True
    return derivation is None and is_rising_field(part.name, _plain(part.codec), schema)


def is_rising_field(name: str, codec: Codec[Any], schema: TableSchema) -> bool:
    """Return whether the values of a field rise with time, and its bytes with them."""
    if not codec.ordered or _OF_THE_PAST.fullmatch(name):
        return False
    factory = getattr(schema.fields.get(name), "default_factory", None)
    if isinstance(factory, Sequence) or getattr(factory, "__name__", "") in _RISING_FACTORIES:
        return True
    kind = codec.python_type
    if issubclass(kind, (datetime, date)):
        return True
    if kind is int:
        return _RISING_NAMES.fullmatch(name) is not None
    return kind is str and _TIME_TEXTS.fullmatch(name) is not None


def rising_text(part: Part, schema: TableSchema) -> str:
    """Return what a rising part is: a time, a sequence, or what its name means."""
    factory = getattr(schema.fields.get(part.name), "default_factory", None)
    if isinstance(part.derivation, (PeriodOf, OffsetOf)):
        return f"{part.name}, a part of a time"
    if isinstance(factory, Sequence):
        return f"{part.name}, a number of a sequence"
    if issubclass(_plain(part.codec).python_type, (datetime, date)):
        return f"{part.name}, a time"
    return f"{part.name}, which rises with time by its name or default"


def few_values(part: Part, schema: TableSchema) -> int | None:
    """Return how many values a part can have, if they are listed; else None."""
    if isinstance(part.codec, RecordTypeCodec):
        return max(1, len(schema.record_types.models)) if schema.record_types else 1
    if part.derivation is not None:
        return len(choices_of(part)) or None
    return few_values_of(_plain(part.codec))


def few_values_of(codec: Codec[Any]) -> int | None:
    """Return how many values a codec can store, if they are listed; else None."""
    return len(listed_values(codec)) or None


def rising_front(layout: KeyLayout, schema: TableSchema) -> tuple[Part, int] | None:
    """Return the rising part that keys begin with, and the number of listed values before it.

    The result is None if keys begin with anything that spreads them: a salt, a bucket, a hash, a
    field whose values neither rise nor are listed, or many listed values.
    """
    points = 1
    for part in layout.parts:
        if isinstance(part.derivation, HashOf) or part is layout.spread:
            return None
        if is_rising(part, schema):
            return (part, points) if points < FEW_POINTS else None
        count = few_values(part, schema)
        if count is None:
            return None
        points *= count
    return None


def _plain(codec: Codec[Any]) -> Codec[Any]:
    """Return the codec of the values, for a part whose values may be None."""
    return codec.part.codec if isinstance(codec, OrNone) else codec
