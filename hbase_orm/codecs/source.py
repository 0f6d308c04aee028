"""Generated source: the names it refers to, and the expressions that several codecs share.

An expression gives the same result as the codec's method, or calls it, or raises one of `MISFITS`;
the generated function then goes the plain way, in which the methods say what is wrong. So an
expression need not check what the operation it uses checks anyway.
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
"""The errors by which an expression leaves a value to the codec; a CodecError is a ValueError."""

INVERTED = bytes(255 - byte for byte in range(256))
"""Translates bytes into those with every bit flipped."""


class Scope:
    """The names that generated source refers to; those it makes begin with an underscore.

    Attributes:
        values: What they mean: the globals of the generated function.
    """

    def __init__(self, **values: Any) -> None:
        """Begin with names of the function's own."""
        self.values: dict[str, Any] = values
        self._count = 0

    def bind(self, value: Any, hint: str) -> str:
        """Return a new name, `hint` and a number, for a constant or a function."""
        name = self.local(hint)
        self.values[name] = value
        return name

    def local(self, hint: str) -> str:
        """Return a new name for a variable of the generated function."""
        self._count += 1
        return f"_{hint}{self._count}"

    def compiled(self, lines: Sequence[str], name: str) -> Any:
        """Return the function `name` that these lines define.

        No text from outside the library may stand in them, but as `literal` writes it.
        """
        exec(_code("\n".join(lines)), self.values)  # noqa: S102 - only our own literals
        return self.values[name]


@lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """Return compiled source, cached: statements of one shape share it; compiling takes 0.1 ms."""
    code = compile(source, f"<hbase_orm {next(_numbers)}>", "exec")
    for function in code.co_consts:
        if isinstance(function, CodeType):
            _show_in_tracebacks(function, source)
    return code


_numbers = count(1)  # generated source has no file: a number names it in tracebacks


def _show_in_tracebacks(code: CodeType, source: str) -> None:
    """Let tracebacks and debuggers print the lines of generated code as long as it lives."""
    lines = source.splitlines(keepends=True)
    # Without a time of change linecache looks for no file.
    linecache.cache[code.co_filename] = (len(source), None, lines, code.co_filename)
    finalize(code, linecache.cache.pop, code.co_filename, None).atexit = False


def literal(value: Any) -> str:
    """Return the source of a constant: a text, bytes, a number or a truth.

    A class derived from these may print as any source at all, so theirs is what is asked.

    Raises:
        TypeError: A constant of another type.
    """
    for kind in (bool, int, str, bytes):
        if isinstance(value, kind):
            return kind.__repr__(value)
    raise TypeError(type(value).__name__)


def renamed(function: Any, names: Mapping[str, str]) -> Any:
    """Return a generated function with other names of its keyword arguments.

    So a name that was not written by this library is never source.
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
    """Return the sum of an expression and a constant, as one writes it."""
    if not number:
        return expression
    return f"{expression} + {number}" if number > 0 else f"{expression} - {-number}"


def counted(value: str, first: int, last: int, *, desc: bool) -> str:
    """Return how far a number lies from the end of its range that sorts first."""
    return f"{last} - {value}" if desc else plus(value, -first)


def inverted(expression: str, scope: Scope, *, desc: bool = True) -> str:
    """Return the inverted bytes of an expression, or if not `desc` the bytes."""
    return f"{expression}.translate({scope.bind(INVERTED, 'inverted')})" if desc else expression


def either(value: str, test: str, results: Mapping[Any, Any], otherwise: str) -> str:
    """Return an expression that compares a value with each key of `results` by `is` or `==`."""
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
    """Return an expression for values of one class exactly, and a call of `encode` for others.

    Args:
        value: The variable that holds the value.
        kind: The class.
        expression: For values of the class for which the conditions hold.
        encode: The codec's method.
        scope: Takes what the expression refers to.
        conditions: Tried in this order after the class; the expression may use what they assign.
    """
    tested = " and ".join((f"{value}.__class__ is {scope.bind(kind, 'kind')}", *conditions))
    return f"({expression} if {tested} else {scope.bind(encode, 'encode')}({value}))"
