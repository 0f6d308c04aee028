"""Helpers for generated source: its global names, and expressions that several codecs share.

An expression that replaces a codec's method may do three things: return the same result, call the
method, or raise one of `MISFITS`. After such an error, the generated function calls the codecs'
methods, which raise precise errors. So an expression need not check what its operations check
anyway.
"""

from __future__ import annotations

import linecache
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from types import CodeType
from typing import Any
from weakref import finalize

MISFITS = (ValueError, OverflowError, struct.error)
"""The errors after which the codec's method is called instead of the expression.

A CodecError is a ValueError, so it is among them.
"""

INVERTED = bytes(255 - byte for byte in range(256))
"""The table with which `bytes.translate` flips every bit."""


class Scope:
    """The global names of a generated function. Names that are added begin with an underscore.

    Attributes:
        values: The global values by name.
    """

    def __init__(self, **values: Any) -> None:
        """Start with the given names."""
        self.values: dict[str, Any] = values
        self._count = 0

    def bind(self, value: Any, hint: str) -> str:
        """Add a constant or a function, and return its new name: `hint` and a number."""
        name = self.local(hint)
        self.values[name] = value
        return name

    def local(self, hint: str) -> str:
        """Return a new name for a variable of the generated function: `hint` and a number."""
        self._count += 1
        return f"_{hint}{self._count}"

    def compiled(self, lines: Sequence[str], name: str) -> Any:
        """Compile source lines, and return the function `name` that they define.

        The lines must not contain text from outside the library, except as `literal` returns it.
        """
        exec(_code("\n".join(lines)), self.values)  # noqa: S102 - only our own literals
        return self.values[name]


@lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """Return compiled source from a cache, because compiling takes 0.1 ms."""
    code = compile(source, f"<hbase_orm {next(_numbers)}>", "exec")
    for function in code.co_consts:
        if isinstance(function, CodeType):
            _show_in_tracebacks(function, source)
    return code


_numbers = count(1)  # generated source has no file: a number names it in tracebacks


def _show_in_tracebacks(code: CodeType, source: str) -> None:
    """Register the lines of generated code, so that tracebacks and debuggers can show them."""
    lines = source.splitlines(keepends=True)
    # Without a time of change linecache looks for no file.
    linecache.cache[code.co_filename] = (len(source), None, lines, code.co_filename)
    finalize(code, linecache.cache.pop, code.co_filename, None).atexit = False


def literal(value: Any) -> str:
    """Return the source of a constant: a str, bytes, a number or a bool.

    The `repr` of the built-in class is used, because that of a subclass could be any source.

    Raises:
        TypeError: The constant has another type.
    """
    for kind in (bool, int, str, bytes):
        if isinstance(value, kind):
            return kind.__repr__(value)
    raise TypeError(type(value).__name__)


def renamed(function: Any, names: Mapping[str, str]) -> Any:
    """Rename the keyword arguments of a generated function, and return the function.

    `names` maps the old names to the new names. The new names come from outside the library. They
    never become source, because they are set after the source is compiled.
    """
    code = function.__code__
    variables = tuple(names.get(name, name) for name in code.co_varnames)
    defaults = function.__kwdefaults__ or {}
    filename = f"<hbase_orm {next(_numbers)}>"
    function.__code__ = code.replace(co_varnames=variables, co_filename=filename)
    _show_in_tracebacks(function.__code__, "".join(linecache.getlines(code.co_filename)))
    function.__kwdefaults__ = {names.get(name, name): made for name, made in defaults.items()}
    return function


def plus(expression: str, number: int) -> str:
    """Return the source of the sum of an expression and a constant."""
    if not number:
        return expression
    return f"{expression} + {number}" if number > 0 else f"{expression} - {-number}"


def counted(value: str, first: int, last: int, *, desc: bool) -> str:
    """Return the source of `value - first`, or of `last - value` if descending.

    This is the number, from 0 on, that is stored for an integer between `first` and `last`.
    """
    return f"{last} - {value}" if desc else plus(value, -first)


def inverted(expression: str, scope: Scope, *, desc: bool = True) -> str:
    """Return the source of an expression's bytes, inverted if `desc`."""
    return f"{expression}.translate({scope.bind(INVERTED, 'inverted')})" if desc else expression


def either(value: str, test: str, results: Mapping[Any, Any], otherwise: str) -> str:
    """Return the source of an expression that looks up a value in `results`.

    Args:
        value: The name of the variable that holds the value.
        test: The operator that compares the value with each key of `results`: "is" or "==".
        results: The result for each known value.
        otherwise: The name of the function that is called for other values.
    """
    choices = "".join(
        f"{literal(result)} if {value} {test} {literal(key)} else "
        for key, result in results.items()
    )
    return f"({choices}{otherwise}({value}))"


def guarded(
    value: str,
    kind: type,
    expression: str,
    encode: Callable[..., bytes],
    scope: Scope,
    *conditions: str,
) -> str:
    """Return source that uses `expression` for values of exactly one class, else calls `encode`.

    Args:
        value: The name of the variable that holds the value.
        kind: The class of the values.
        expression: The source for a value of this class, if all of `conditions` are true.
        encode: The codec's method, which is called for every other value.
        scope: The global names of the generated function; names that the source needs are added.
        conditions: The sources of further tests, in this order; the expression may use variables
            that they assign.
    """
    tested = " and ".join((f"{value}.__class__ is {scope.bind(kind, 'kind')}", *conditions))
    return f"({expression} if {tested} else {scope.bind(encode, 'encode')}({value}))"
