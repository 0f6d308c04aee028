"""Expressions that generated functions use in place of a call of a codec.

A codec may state its expressions itself (`Codec.inline_encode` and its like); a call of the method
stands for the others. See `source` for what an expression promises.
"""

from __future__ import annotations

from typing import Any

from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.source import Scope


def encode_source(codec: Codec[Any], value: str, scope: Scope) -> str:
    """Return an expression for the bytes of a value.

    Args:
        codec: Whose bytes.
        value: The variable that holds the value.
        scope: Takes what the expression refers to.
    """
    special = codec.inline_encode(value, scope) if _holds(codec, "inline_encode") else None
    return special or f"{scope.bind(codec.encode, 'encode')}({value})"


def refuses_none(codec: Codec[Any]) -> bool:
    """Return whether the codec surely refuses None, as every codec with inline source does."""
    return _holds(codec, "inline_encode") and codec.inline_encode("value", Scope()) is not None


def decode_source(codec: Codec[Any], data: str, scope: Scope) -> str:
    """Return an expression for the value of the bytes in the variable `data`."""
    special = codec.inline_decode(data, scope) if _holds(codec, "inline_decode") else None
    return special or f"{scope.bind(codec.decode, 'decode')}({data})"


def settled_source(codec: Codec[Any], value: str, scope: Scope) -> str:
    """Return a condition for values of the codec's type that storing does not change.

    It may be false for some of them. It does not ask whether the value is in range, unless the
    codec is coarse.
    """
    if not codec.coarse:
        return f"{value}.__class__ is {scope.bind(codec.python_type, 'kind')}"
    special = codec.inline_settled(value, scope) if _holds(codec, "inline_settled") else None
    return special or "False"


def _holds(codec: Codec[Any], method: str) -> bool:
    """Return whether the source of `method` is valid for the codec: no subclass changed behaviour.

    One derived from it may have another name and other constants, but no methods of its own.
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
