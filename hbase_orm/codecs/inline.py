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
    """Return whether the codec is sure to raise an error for None.

    A codec surely does so if its `inline_encode` returns a source. Any other codec may accept None.
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
    """Return the source of a fast test that shows that a value needs no `normalize`.

    If the test is true, `normalize` would not change the value. It could still raise an error,
    because some tests do not check the range. If the test is false, only a call of `normalize`
    shows whether the value fits and whether it changes.

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
    """Return whether the source from `method` does the same as the codec's other methods.

    A subclass may inherit `method` but override `encode`, which the inherited source ignores. So
    the result is False if a class below the one that defines `method` defines methods or
    properties.
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
