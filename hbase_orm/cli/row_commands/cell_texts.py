"""Values of fields as JSON, as text that `put` reads back, and as cells of a printed table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final
from uuid import UUID

from hbase_orm.cli.values import json_value
from hbase_orm.codecs.structures import Json
from hbase_orm.rowkey.key_text import value_text

_PLAIN: Final = (
    *(bool, int, float, str, bytes, Enum, date, time, timedelta),
    *(Decimal, UUID, IPv4Address, IPv6Address),
)
_ANYTHING: Final[Json[Any]] = Json(type_=Any)
_WIDEST_CELL: Final = 60


def json_of(value: Any) -> Any:
    """Return a value of a field as one that JSON can contain.

    Times, bytes, enums and the like become the texts that `put` reads. A packed dataclass becomes
    an object. NaN and infinities, which JSON does not have, become the texts nan, inf and -inf.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, _PLAIN):
        return json_value(value)
    if isinstance(value, Mapping):
        return {typed_text(name): json_of(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        is_ordered = isinstance(value, (list, tuple))
        return [json_of(each) for each in (value if is_ordered else sorted(value, key=repr))]
    try:
        return json.loads(_ANYTHING.pack(value))
    except (TypeError, ValueError):  # of a codec of the user
        return value_text(value)


def typed_text(value: Any) -> str:
    """Return a value as the text that a user types for it; None is an empty text.

    Values without such a text, for example lists, are JSON.
    """
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Enum):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return str(value.total_seconds())
    if isinstance(value, _PLAIN):
        return value_text(value)
    return json.dumps(json_of(value), ensure_ascii=False)


def cell_text(value: Any) -> str:
    """Return a value as a cell of a printed table: at most 60 characters, all of them printable."""
    text = printable(typed_text(value)[: _WIDEST_CELL + 1])
    if value is None:
        return "-"
    return text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 1]}…"


def printable(text: str) -> str:
    r"""Return a text on one line, with escapes such as `\n` for characters that do not print."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
