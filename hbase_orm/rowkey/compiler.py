"""Generates the functions that make row keys and take them apart, one straight line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from hbase_orm.codecs.inline import decode_source, encode_source
from hbase_orm.codecs.source import Scope
from hbase_orm.errors import CodecError
from hbase_orm.rowkey.derivations import Fixed, Hashed, HashOf, SaltOf
from hbase_orm.rowkey.parts import Framing, Part
from hbase_orm.rowkey.salting import bucket_source

if TYPE_CHECKING:
    from hbase_orm.rowkey.layout import KeyLayout

Encoder = Callable[..., bytes]
Decoder = Callable[[bytes, Any], tuple[Any, ...]]


class _Writer:
    """Source lines that compute values and bytes, each once."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.scope = Scope()
        self.lines: list[str] = []
        self._values = {name: f"v{number}" for number, name in enumerate(arguments)}
        self._bytes: dict[str, str] = {}  # by the part's name, which is unique in a key
        self._derived: dict[str, str] = {}

    def assign(self, expression: str) -> str:
        """Add a line that keeps an expression's value; return its variable."""
        variable = self.scope.local("v")
        self.lines.append(f"    {variable} = {expression}")
        return variable

    def value(self, part: Part) -> str:
        """Return the variable of a part's value."""
        if part.derivation is None:
            return self._values[part.name]
        if part.lookup is not None:
            return self._values[part.lookup.number]
        if part.name not in self._derived:
            self._derived[part.name] = self._derive(part)
        return self._derived[part.name]

    def _derive(self, part: Part) -> str:
        derivation = part.derivation
        if isinstance(derivation, Hashed):
            pieces = " + ".join(self.bare(source) for source in derivation.inputs)
            return self.assign(self.hashed(derivation, pieces))
        assert derivation is not None
        arguments = ", ".join(self.value(source) for source in derivation.inputs)
        return self.assign(f"{self.scope.bind(derivation.compute, 'compute')}({arguments})")

    def hashed(self, derivation: Hashed, data: str) -> str:
        """Return an expression of what is made of the bytes that `data` says."""
        if isinstance(derivation, SaltOf) and derivation.is_one_byte:
            count = len(derivation.numbers)
            return bucket_source(data, count, derivation.hash_name, self.scope)
        if isinstance(derivation, HashOf):
            return derivation.source(data, self.scope)
        return f"{self.scope.bind(derivation.of_bytes, 'hash')}({data})"

    def bare(self, part: Part) -> str:
        """Return the variable of a part's bytes without their end."""
        if part.name not in self._bytes:
            self._bytes[part.name] = self._encode(part)
        return self._bytes[part.name]

    def _encode(self, part: Part) -> str:
        derivation = part.derivation
        if isinstance(derivation, Fixed):
            return repr(part.bare(derivation.value))
        if derivation is not None and derivation.gives_bytes:
            return self.value(part)
        value = self.value(part)
        if part.framing in {Framing.FIXED, Framing.SELF, Framing.REST}:
            return self.assign(encode_source(part.codec, value, self.scope))
        return self.assign(f"{self.scope.bind(part.bare, 'bare')}({value})")

    def whole(self, part: Part) -> str:
        """Return an expression of a part's bytes with their end."""
        return self.bare(part) + (f" + {part.end!r}" if part.end else "")


def compile_encoder(parts: Sequence[Part], inputs: Sequence[str]) -> Encoder:
    """Return a function of the values of `inputs` that returns the row key, of any length."""
    writer = _Writer(inputs)
    first = parts[0].derivation
    if isinstance(first, Hashed) and not first.inputs:  # of all that follows
        rest = writer.assign(" + ".join(writer.whole(part) for part in parts[1:]))
        result = f"{writer.hashed(first, rest)} + {rest}"
    else:
        result = " + ".join([writer.whole(part) for part in parts])
    arguments = ", ".join(f"v{number}" for number in range(len(inputs)))
    lines = [f"def encode({arguments}):", *writer.lines, f"    return {result}"]
    encoder: Encoder = writer.scope.compiled(lines, "encode")
    return encoder


def compile_decoder(layout: KeyLayout) -> Decoder:
    """Return a function of a row key and a context that returns the values of `decoded`."""
    scope = Scope(surplus=_refuse_surplus, refuse=_refuse_other)
    lines = ["def decode(key, context=None):"]
    wanted = _wanted(layout)
    position: int | None = 0  # None: only known at run time, in `at`
    for number, part in enumerate(layout.parts):
        at = "at" if position is None else str(position)
        if part.framing is Framing.FIXED and position is not None:
            stop = position + (part.codec.width_bytes or 0)
            taken = f"key[{position}:{stop}]"
            position = stop
        else:
            lines.append(f"    end = {scope.bind(part.span, 'span')}(key, {at})")
            taken = f"key[{at}:end]"
            position = None
        lines += _taken(part, number, taken, scope, is_wanted=part.name in wanted)
        if position is None:
            lines.append("    at = end")
    end = "at" if position is None else str(position)
    lines.append(f"    if len(key) != {end}: surplus(key, {end})")
    pieces = [_decoded(layout, name, scope) for name in layout.decoded]
    lines.append(f"    return ({''.join(f'{piece}, ' for piece in pieces)})")
    decoder: Decoder = scope.compiled(lines, "decode")
    return decoder


def _wanted(layout: KeyLayout) -> set[str]:
    """Return the names of the parts whose values are needed to give the fields back."""
    wanted = {p.name for p in layout.parts if p.derivation is None or p.lookup is not None}
    for name in layout.decoded:
        wanted |= {part.name for part in layout.joining(name) or () if part is not None}
    return wanted


def _taken(part: Part, number: int, taken: str, scope: Scope, *, is_wanted: bool) -> list[str]:
    if is_wanted:
        if part.framing not in {Framing.FIXED, Framing.REST, Framing.SELF}:
            return [f"    v{number} = {scope.bind(part.value_of, 'value')}({taken})"]
        return [
            f"    data = {taken}",
            f"    v{number} = {decode_source(part.codec, 'data', scope)}",
        ]
    if isinstance(part.derivation, Fixed):
        return [f"    if {taken} != {part.encode(part.derivation.value)!r}: refuse(key, {taken})"]
    return []


def _decoded(layout: KeyLayout, name: str, scope: Scope) -> str:
    """Return an expression of a field's value."""
    for number, part in enumerate(layout.parts):
        if part.derivation is None and part.name == name:
            return f"v{number}"
    for number, part in enumerate(layout.parts):
        if part.lookup is not None and part.lookup.field == name:
            name_of = scope.bind(_name_of, "name_of")
            return f"{name_of}(context, {part.lookup.dictionary!r}, v{number})"
    joining = layout.joining(name)
    assert joining is not None
    period, offset = joining
    at = layout.parts.index(offset)
    join = scope.bind(offset.derivation.join, "join")  # type: ignore[union-attr]  # an OffsetOf
    if period is not None:
        return f"{join}(v{layout.parts.index(period)}, v{at})"
    return f"{scope.bind(_in_table, 'in_table')}(context, {join}, v{at})"


def _name_of(context: Any, dictionary: str, number: int) -> str | None:
    if context is None or context.name_of is None:
        return None
    name: str = context.name_of(dictionary, number)
    return name


def _in_table(context: Any, join: Callable[[Any, Any], Any], offset: Any) -> Any:
    return None if context is None or context.start is None else join(context.start, offset)


def _refuse_surplus(key: bytes, end: int) -> NoReturn:
    raise CodecError("the row key does not end where its parts do", row=key, end_bytes=end)


def _refuse_other(key: bytes, found: bytes) -> NoReturn:
    raise CodecError("the row key is one of another kind of record", row=key, found=found)
