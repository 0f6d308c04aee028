"""Generates functions that encode and decode row keys without a loop over the parts.

"Source" means Python source here: the source of a value is an expression that computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from hbase_orm.codecs.inline import decode_source, encode_source, settled_source
from hbase_orm.codecs.source import MISFITS, Scope, inverted, literal
from hbase_orm.errors import CodecError
from hbase_orm.ops import MAX_ROW_KEY_BYTES
from hbase_orm.rowkey.derivations import BucketOf, Fixed, Hashed, HashOf, RandomBucket, SaltOf
from hbase_orm.rowkey.parts import Framing, Part
from hbase_orm.rowkey.salting import bucket_source

Encoder = Callable[..., bytes]
Decoder = Callable[[bytes, Any], tuple[Any, ...]]

Joined = Mapping[str, tuple[Part | None, Part]]
"""For each time field, the period part and the offset part that the time is decoded from.

The period part is None if the name of the table holds the period.
"""


class _EncoderSource:
    """The source lines of an encoder, which compute each value and its bytes only once."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.scope = Scope()
        self.lines: list[str] = []
        self._values = {name: f"v{number}" for number, name in enumerate(arguments)}
        self._bytes: dict[str, str] = {}  # by the part's name, which is unique in a key
        self._derived: dict[str, str] = {}
        self._stored: dict[str, str] = {}

    def assign(self, expression: str) -> str:
        """Add a line that assigns an expression to a new variable; return the variable."""
        variable = self.scope.local("v")
        self.lines.append(f"    {variable} = {expression}")
        return variable

    def value(self, part: Part) -> str:
        """Return the variable that holds a part's value."""
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
        arguments = ", ".join(self._input(source) for source in derivation.inputs)
        return self.assign(f"{self.scope.bind(derivation.compute, 'compute')}({arguments})")

    def _input(self, part: Part) -> str:
        """Return the variable that holds an input of a derived part.

        The value of a field is rounded as it is stored. So a value that does not fit the codec
        never reaches the function that computes the part.
        """
        value = self.value(part)
        if part.derivation is not None:
            return value
        if not part.codec.coarse:
            self.bare(part)
            return value
        if part.name not in self._stored:
            settled = settled_source(part.codec, value, self.scope)
            normalize = self.scope.bind(part.codec.normalize, "normalize")
            stored = self.assign(f"{value} if {settled} else {normalize}({value})")
            self._stored[part.name] = stored
        return self._stored[part.name]

    def hashed(self, derivation: Hashed, data: str) -> str:
        """Return the source of a hash; `data` is the source of the hashed bytes."""
        if isinstance(derivation, SaltOf) and derivation.is_one_byte:
            count = len(derivation.numbers)
            return bucket_source(data, count, derivation.hash_name, self.scope)
        if isinstance(derivation, HashOf):
            return derivation.source(data, self.scope)
        return f"{self.scope.bind(derivation.of_bytes, 'hash')}({data})"

    def bare(self, part: Part) -> str:
        """Return the variable that holds a part's bytes without the terminator."""
        if part.name not in self._bytes:
            self._bytes[part.name] = self._encode(part)
        return self._bytes[part.name]

    def _encode(self, part: Part) -> str:
        derivation = part.derivation
        if isinstance(derivation, Fixed):
            return literal(part.bare(derivation.value))
        if derivation is not None and derivation.gives_bytes:
            return self.value(part)
        data = self.assign(_bare(part, self.value(part), self.scope))
        if part.is_filled:
            arguments = ", ".join(self._values.values())
            self.lines.append(f"    if not {data}: return plain({arguments})")
        return data

    def whole(self, part: Part) -> str:
        """Return the source of a part's bytes with the terminator."""
        return self.bare(part) + (f" + {literal(part.end)}" if part.end else "")


def part_source(part: Part, value: str, scope: Scope) -> str:
    """Return the source of a part's bytes with the terminator, for the variable `value`."""
    if part.is_filled:
        return f"{scope.bind(part.encode, 'encode')}({value})"
    return _bare(part, value, scope) + (f" + {literal(part.end)}" if part.end else "")


def _bare(part: Part, value: str, scope: Scope) -> str:
    """Return the source of a part's bytes without the terminator."""
    if part.framing in {Framing.FIXED, Framing.SELF, Framing.REST}:
        return encode_source(part.codec, value, scope)
    data = encode_source(part.ascending, value, scope)
    if part.framing is Framing.ESCAPED:
        kept = scope.local("data")
        escaped = f"{kept}.replace(b'\\0', b'\\0\\xff')"
        data = f"({kept} if 0 not in ({kept} := {data}) else {escaped})"
    return inverted(data, scope, desc=part.is_descending)


def compile_encoder(
    parts: Sequence[Part], inputs: Sequence[str], plain: Callable[..., bytes]
) -> Encoder:
    """Return a function that takes the values of `inputs` and returns the row key.

    Args:
        parts: The parts.
        inputs: The names of the values, in the order of the arguments.
        plain: The slow encoder, with the same arguments. The compiled function calls it if a value
            does not fit, or if the key is empty or too long. It returns the key or raises an error.
    """
    writer = _EncoderSource(inputs)
    first = parts[0].derivation
    if isinstance(first, Hashed) and not first.inputs:  # a hash of all parts after it
        rest = writer.assign(" + ".join(writer.whole(part) for part in parts[1:]))
        result = f"{writer.hashed(first, rest)} + {rest}"
    else:
        result = " + ".join([writer.whole(part) for part in parts])
    arguments = ", ".join(f"v{number}" for number in range(len(inputs)))
    writer.scope.values.update(MISFITS=MISFITS, plain=plain)
    lines = [
        f"def encode({arguments}):",
        "    try:",
        *(f"    {line}" for line in writer.lines),
        f"        key = {result}",
        f"        if 0 < len(key) <= {MAX_ROW_KEY_BYTES}: return key",
        "    except MISFITS:",
        "        pass",
        f"    return plain({arguments})",
    ]
    encoder: Encoder = writer.scope.compiled(lines, "encode")
    return encoder


def compile_decoder(parts: Sequence[Part], decoded: Sequence[str], joined: Joined) -> Decoder:
    """Return a function that takes a row key and returns the values of the fields `decoded`.

    Its second argument is a `KeyContext`, or None.
    """
    scope = Scope(surplus=_refuse_surplus, refuse=_refuse_other, strange=_refuse_strange)
    lines = ["def decode(key, context=None):"]
    wanted = _wanted(parts, decoded, joined)
    position: int | None = 0  # None: only known at run time, in `at`
    for number, part in enumerate(parts):
        at = "at" if position is None else str(position)
        if part.framing is Framing.FIXED:
            width = int(part.codec.width_bytes or 0)
            end = f"at + {width}" if position is None else str(position + width)
            position = None if position is None else position + width
        else:
            lines.append(f"    end = {_end(part, at, scope)}")
            end, position = "end", None
        taken = f"key[{at}:{end}]"
        if part.name in wanted:
            whole = f"key[{at}:{end} + {len(part.end)}]"
            lines += [
                f"    data = {taken}",
                *_content(part, whole, scope),
                f"    v{number} = value",
            ]
        elif isinstance(part.derivation, Fixed):
            expected = part.bare(part.derivation.value)
            lines.append(f"    if {taken} != {literal(expected)}: refuse(key, {taken})")
        elif part.derivation is not None:
            lines += _checked(part, taken, f"key[{at}:{end} + {len(part.end)}]", scope)
        if position is None:
            lines.append(f"    at = {end}" + (f" + {len(part.end)}" if part.end else ""))
    end = "at" if position is None else str(position)
    lines.append(f"    if len(key) != {end}: surplus(key, {end})")
    pieces = [_decoded(parts, name, joined, scope) for name in decoded]
    lines.append(f"    return ({''.join(f'{piece}, ' for piece in pieces)})")
    decoder: Decoder = scope.compiled(lines, "decode")
    return decoder


def _end(part: Part, at: str, scope: Scope) -> str:
    """Return the source of the position at which a part of varying length ends.

    For text with a terminator, this is the position of the terminator.
    """
    if part.framing is Framing.REST:
        return "len(key)"
    if part.framing is Framing.SELF:
        return f"{scope.bind(part.span, 'span')}(key, {at})"
    return f"key.index({literal(part.end)}, {at})"


def _wanted(parts: Sequence[Part], decoded: Sequence[str], joined: Joined) -> set[str]:
    """Return the names of the parts that are needed to decode the fields `decoded`."""
    wanted = {p.name for p in parts if p.derivation is None or p.lookup is not None}
    for name in decoded:
        wanted |= {part.name for part in joined.get(name, ()) if part is not None}
    return wanted


def _content(part: Part, whole: str, scope: Scope) -> list[str]:
    """Return lines that decode a part and assign its value to the variable `value`.

    The variable `data` has the part's bytes without the terminator. `whole` is the source of the
    bytes with the terminator.
    """
    if part.framing not in {Framing.SEPARATED, Framing.ESCAPED}:
        lines = _rest(part, scope) if part.framing is Framing.REST else []
        return [*lines, f"    value = {decode_source(part.codec, 'data', scope)}"]
    lines = [f"    if not data: strange(key, {whole})"] if part.is_filled else []
    lines += [f"    data = {inverted('data', scope)}"] if part.is_descending else []
    value = decode_source(part.ascending, "data", scope)
    if part.framing is Framing.ESCAPED:
        value = f"{value} if 0 not in data else {scope.bind(part.value_of, 'value_of')}({whole})"
    return [*lines, f"    value = {value}"]


def _rest(part: Part, scope: Scope) -> list[str]:
    """Return lines that refuse bytes which the last part cannot have."""
    if not part.ending and not part.is_filled:
        return []
    check = f"{scope.bind(part.check_rest, 'check')}(data)"
    if part.is_filled or len(part.ending) > 1:
        return [f"    {check}"]
    return [f"    if {int(part.ending[0])} in data: {check}"]


def _checked(part: Part, taken: str, whole: str, scope: Scope) -> list[str]:
    """Return lines that refuse wrong bytes of a part that is not decoded to a field."""
    derivation = part.derivation
    assert derivation is not None
    if isinstance(derivation, (SaltOf, RandomBucket, BucketOf)):
        numbers = scope.bind(frozenset(derivation.numbers), "numbers")
        return [f"    if {taken} not in {numbers}: strange(key, {taken})"]
    if isinstance(derivation, HashOf) and derivation.form == "raw":  # any bytes, if enough of them
        return [f"    if len({taken}) != {literal(part.codec.width_bytes)}: strange(key, {taken})"]
    admits = scope.bind(derivation.admits, "admits")
    return [
        f"    data = {taken}",
        *_content(part, whole, scope),
        f"    if not {admits}(value): strange(key, data)",
    ]


def _decoded(parts: Sequence[Part], name: str, joined: Joined, scope: Scope) -> str:
    """Return the source of a field's decoded value."""
    for number, part in enumerate(parts):
        if part.derivation is None and part.name == name:
            return f"v{number}"
    for number, part in enumerate(parts):
        if part.lookup is not None and part.lookup.field == name:
            name_of = scope.bind(_name_of, "name_of")
            return f"{name_of}(context, {literal(part.lookup.dictionary)}, v{number})"
    period, offset = joined[name]
    at = parts.index(offset)
    join = scope.bind(offset.derivation.join, "join")  # type: ignore[union-attr]  # an OffsetOf
    if period is not None:
        return f"{join}(v{parts.index(period)}, v{at})"
    return f"{scope.bind(_in_table, 'in_table')}(context, {join}, v{at})"


def _name_of(context: Any, dictionary: str, number: int) -> str | None:
    if context is None or context.name_of is None:
        return None
    name: str = context.name_of(dictionary, number)
    return name


def _in_table(context: Any, join: Callable[[Any, Any], Any], offset: Any) -> Any:
    return None if context is None or context.start is None else join(context.start, offset)


def _refuse_surplus(key: bytes, end: int) -> NoReturn:
    raise CodecError("the row key has more bytes than its components", row=key, end_bytes=end)


def _refuse_strange(key: bytes, data: bytes) -> NoReturn:
    raise CodecError("a component has bytes that no row of the model can have", row=key, found=data)


def _refuse_other(key: bytes, data: bytes) -> NoReturn:
    raise CodecError("the row key belongs to another record type", row=key, found=data)
