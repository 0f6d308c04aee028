"""The layout of a row key: field values to bytes and back, compiled once a model.

`encode(values)` computes the parts, the salt from them, and checks the length; `decode` is its
inverse. Both are generated functions without a loop over parts. What a planner needs (prefixes of
a leading run of known fields, whether a part sorts) is asked of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hbase_orm.errors import CodecError, CorruptRowError, RowKeyError
from hbase_orm.ops import MAX_ROW_KEY_BYTES
from hbase_orm.rowkey.parts import FieldPart, Framing, SaltPart

Encoder = Callable[..., bytes]
Decoder = Callable[[bytes], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """How a model's row keys are made.

    Attributes:
        salt: The salt in front, if there is one.
        parts: The key fields in the order of their bytes.
        arguments: The key fields in the order of declaration: the order of `get_many`'s tuples.
        names: The key fields in the order of their bytes.
    """

    salt: SaltPart | None
    parts: tuple[FieldPart, ...]
    arguments: tuple[str, ...]
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _encode: Encoder = field(init=False, repr=False, compare=False)
    _decode: Decoder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compile the encoder and the decoder."""
        object.__setattr__(self, "names", tuple(part.name for part in self.parts))
        object.__setattr__(self, "_encode", compile_encoder(self.salt, self.parts))
        object.__setattr__(self, "_decode", compile_decoder(self.salt, self.parts))

    def encode(self, values: Mapping[str, Any]) -> bytes:
        """Return the row key of these field values (others are ignored).

        Raises:
            RowKeyError: A value is missing or does not fit, or the key is empty or too long.
        """
        try:
            return self.encode_parts(*[values[name] for name in self.names])
        except KeyError as error:
            raise RowKeyError(
                "a key field has no value", field=error.args[0], fix="give all of the key fields"
            ) from None

    def encode_parts(self, *values: Any) -> bytes:
        """Return the row key of the field values in the order of their bytes.

        Raises:
            RowKeyError: A value does not fit, or the key is empty or too long.
        """
        try:
            key = self._encode(*values)
        except CodecError as error:
            pairs = zip(self.parts, values, strict=True)
            name = next((part.name for part, value in pairs if not _fits(part, value)), None)
            raise RowKeyError(error.text, fix=error.fix, field=name, **error.details) from error
        if not 0 < len(key) <= MAX_ROW_KEY_BYTES:
            if not key:
                raise RowKeyError("the row key is empty", fields=self.names, fix="give it a value")
            raise self._too_long(key, values)
        return key

    def _too_long(self, key: bytes, values: Sequence[Any]) -> RowKeyError:
        lengths = {
            part.name: len(part.bare(value)) for part, value in zip(self.parts, values, strict=True)
        }
        longest = max(self.names, key=lengths.__getitem__)
        return RowKeyError(
            "the row key is longer than HBase stores",
            fields=self.names,
            longest=longest,
            longest_bytes=lengths[longest],
            length_bytes=len(key),
            limit_bytes=MAX_ROW_KEY_BYTES,
            starts_with=key[:16],
            fix=f"shorten {longest}, or put a Digest of it in the key",
        )

    def decode(self, key: bytes) -> dict[str, Any]:
        """Return the field values of a row key.

        Raises:
            CorruptRowError: The key was not made by this layout.
        """
        return dict(zip(self.names, self.decode_parts(key), strict=True))

    def decode_parts(self, key: bytes) -> tuple[Any, ...]:
        """Return the field values of a row key, in the order of their bytes.

        Raises:
            CorruptRowError: The key was not made by this layout.
        """
        try:
            return self._decode(key)
        except CodecError as error:
            raise CorruptRowError(
                "the row key does not decode as the model declares",
                row=key,
                codec=error.details.get("codec"),
                fix="rows of another layout must be re-keyed first",
            ) from error


def _fits(part: FieldPart, value: Any) -> bool:
    try:
        part.bare(value)
    except CodecError:
        return False
    return True


def part_bytes(layout: KeyLayout, name: str) -> Callable[[bytes], bytes]:
    """Return a function from a row key to the bytes of one of its fields, end included.

    It raises CodecError for a key that was not made by the layout.
    """
    number = layout.names.index(name)
    before, part = layout.parts[:number], layout.parts[number]
    first = 0 if layout.salt is None else 1

    def bytes_of(key: bytes) -> bytes:
        position = first
        for earlier in before:
            position = earlier.span(key, position)
        return key[position : part.span(key, position)]

    return bytes_of


def compile_encoder(salt: SaltPart | None, parts: tuple[FieldPart, ...]) -> Encoder:
    """Return a function of the parts' values that returns the row key, unchecked in length."""
    scope: dict[str, Any] = {}
    names = [f"v{number}" for number in range(len(parts))]
    lines = [f"def encode({', '.join(names)}):"]
    pieces = []
    for number, part in enumerate(parts):
        scope[f"bare{number}"] = part.codec.encode if part.framing is Framing.FIXED else part.bare
        lines.append(f"    b{number} = bare{number}(v{number})")
        end = f" + {part.end!r}" if part.end else ""
        pieces.append(f"b{number}{end}")
    if salt is None:
        lines.append(f"    return {' + '.join(pieces)}")
    else:
        scope["bucket"] = salt.bucket
        numbers = {part.name: number for number, part in enumerate(parts)}
        lines.append(f"    rest = {' + '.join(pieces)}")
        hashed = "rest" if salt.of is None else " + ".join(f"b{numbers[n]}" for n in salt.of)
        lines.append(f"    return bucket({hashed}) + rest")
    encoder: Encoder = compiled(lines, scope, "encode")
    return encoder


def compile_decoder(salt: SaltPart | None, parts: tuple[FieldPart, ...]) -> Decoder:
    """Return a function of a row key that returns the parts' values."""
    scope: dict[str, Any] = {"surplus": _refuse_surplus}
    lines = ["def decode(key):"]
    position: int | None = 0 if salt is None else 1  # None: only known at run time, in `at`
    for number, part in enumerate(parts):
        at = "at" if position is None else str(position)
        if part.framing is Framing.FIXED and position is not None:
            scope[f"decode{number}"] = part.codec.decode
            stop = position + (part.codec.width_bytes or 0)
            lines.append(f"    v{number} = decode{number}(key[{position}:{stop}])")
            position = stop
        else:
            scope[f"take{number}"] = part.take
            lines.append(f"    v{number}, at = take{number}(key, {at})")
            position = None
    end = "at" if position is None else str(position)
    lines.append(f"    if len(key) != {end}: surplus(key, {end})")
    lines.append(f"    return ({''.join(f'v{number}, ' for number in range(len(parts)))})")
    decoder: Decoder = compiled(lines, scope, "decode")
    return decoder


def compiled(lines: Sequence[str], scope: dict[str, Any], name: str) -> Any:
    """Return the function `name` defined by generated source lines."""
    exec("\n".join(lines), scope)  # noqa: S102 - the source holds only our own literals
    return scope[name]


def _refuse_surplus(key: bytes, end: int) -> None:
    raise CodecError("the row key is longer than its parts", row=key, used_bytes=end)
