"""Source that generated functions use instead of calls to codecs.

A codec may have its own source (`Codec.inline_encode` and the like); otherwise the source is a call
of the codec's method. `source` describes the rules for such expressions.
"""

from __future__ import annotations

from typing import Any

from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.source import Scope


def encode_source(codec: Codec[Any], value: str, scope: Scope) -> str:
    """Return the source of a value's bytes.

    Args:
        codec: The codec.
        value: The name of the variable that holds the value.
        scope: The global names of the generated function; names that the source needs are added.
    """
    special = codec.inline_encode(value, scope) if _holds(codec, "inline_encode") else None
    return special or f"{scope.bind(codec.encode, 'encode')}({value})"


def refuses_none(codec: Codec[Any]) -> bool:
    """Return whether the codec surely refuses None, as every codec with inline source does."""
    return _holds(codec, "inline_encode") and codec.inline_encode("value", Scope()) is not None


def decode_source(codec: Codec[Any], data: str, scope: Scope) -> str:
    """Return the source of the value that is decoded from the variable `data`."""
    special = codec.inline_decode(data, scope) if _holds(codec, "inline_decode") else None
    return special or f"{scope.bind(codec.decode, 'decode')}({data})"


def settled_source(codec: Codec[Any], value: str, scope: Scope) -> str:
    """Return the source of a test for values that are stored without rounding.

    The test may be false for some such values. Only for coarse codecs it also tests the range.
    """
    if not codec.coarse:
        return f"{value}.__class__ is {scope.bind(codec.python_type, 'kind')}"
    special = codec.inline_settled(value, scope) if _holds(codec, "inline_settled") else None
    return special or "False"


def _holds(codec: Codec[Any], method: str) -> bool:
    """Return whether the codec's own source for `method` is valid.

    No subclass overrides the method.

    A subclass may have another name and other constants, but no methods of its own.
    """
    for kind in type(codec).__mro__:
        own = vars(kind)
        if method in own:
            return True
        if any(_is_behaviour(member) for name, member in own.items() if not name.startswith("__")):
            return False
    return False


def _is_behaviour(member: Any) -> bool:
    return callable(member) or isinstance(member, (property, classmethod, staticmethod))
