"""Python source by which generated functions encode and decode values.

If a codec returns the source of a faster expression (`Codec.inline_encode` and similar methods),
generated functions contain that expression. Otherwise they contain a call of the codec's method.
The module `source` describes the rules for such expressions.
"""

from __future__ import annotations

from typing import Any

from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.source import Scope


def encode_source(codec: Codec[Any], value: str, scope: Scope) -> str:
    """Return the source of an expression that encodes a value.

    Args:
        codec: The codec.
        value: The name of the variable that holds the value.
        scope: The global names of the generated function; names that the source needs are added.
    """
    special = codec.inline_encode(value, scope) if _holds(codec, "inline_encode") else None
    return special or f"{scope.bind(codec.encode, 'encode')}({value})"


def refuses_none(codec: Codec[Any]) -> bool:
    """Return whether it is known that the codec refuses None.

    Every codec that returns its own source does; other codecs may accept None.
    """
    return _holds(codec, "inline_encode") and codec.inline_encode("value", Scope()) is not None


def decode_source(codec: Codec[Any], data: str, scope: Scope) -> str:
    """Return the source of an expression that decodes bytes.

    Args:
        codec: The codec.
        data: The name of the variable that holds the bytes.
        scope: The global names of the generated function; names that the source needs are added.
    """
    special = codec.inline_decode(data, scope) if _holds(codec, "inline_decode") else None
    return special or f"{scope.bind(codec.decode, 'decode')}({data})"


def settled_source(codec: Codec[Any], value: str, scope: Scope) -> str:
    """Return the source of a test whether a value fits the codec and is stored unchanged.

    The test may be false for some of these values. For a codec that is not coarse it tests only the
    value's class, so it may be true for a value that is out of range.

    Args:
        codec: The codec.
        value: The name of the variable that holds the value.
        scope: The global names of the generated function; names that the source needs are added.
    """
    if not codec.coarse:
        return f"{value}.__class__ is {scope.bind(codec.python_type, 'kind')}"
    special = codec.inline_settled(value, scope) if _holds(codec, "inline_settled") else None
    return special or "False"


def _holds(codec: Codec[Any], method: str) -> bool:
    """Return whether the source that the codec's `method` returns is valid for the codec.

    It is not valid if `method` is inherited, and the codec's class or a class in between defines
    other methods or properties. These may change the encoding, and the inherited source would
    ignore that. A class may define another name and other constants.
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
