"""The layout of a row key: field values to bytes and back, compiled once for each model.

`encode` computes the parts and checks the length. `decode` returns the fields that can be decoded
from a key. Both run generated functions without a loop over parts. The parts have the information
for the planner, such as the bytes of a known part and whether the bytes sort like the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.source import MISFITS
from hbase_orm.errors import CodecError, CorruptRowError, RowKeyError
from hbase_orm.ops import MAX_ROW_KEY_BYTES
from hbase_orm.rowkey.compiler import Decoder, Encoder, compile_decoder, compile_encoder
from hbase_orm.rowkey.derivations import Hashed, OffsetOf, PeriodOf, RandomBucket
from hbase_orm.rowkey.parts import Lookup, Part
from hbase_orm.rowkey.periods import TablePeriod


@dataclass(frozen=True, slots=True)
class KeyContext:
    """The information that is needed to decode a key, besides its bytes.

    Attributes:
        start: The start of the period whose rows the table holds. None if it is unknown, or if the
            model does not have one table for each period.
        name_of: A function that takes a dictionary table and a number, and returns the name. The
            attribute is None if names cannot be looked up.
    """

    start: datetime | None = None
    name_of: Callable[[str, int], str] | None = None


class DecodedKey(dict[str, Any]):
    """The key fields that were decoded from a row key.

    Attributes:
        unrecoverable: The fields that cannot be decoded, each with the reason.
    """

    def __init__(self, values: Mapping[str, Any], unrecoverable: Mapping[str, str]) -> None:
        """Store values and reasons by field."""
        super().__init__(values)
        self.unrecoverable = dict(unrecoverable)


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """The layout of a model's row keys.

    Attributes:
        parts: The parts in the order of their bytes.
        arguments: The key fields in the order of declaration, which is the order of the values in
            the tuples that `get_many` takes.
        table_period: The declaration of a table for each period, or None.
        model: The name of the model, for error messages; None for the entries of an index.
        names: The key fields; those that are parts of the key come first, in the order of the key.
        lookups: The look-ups that are needed before a key can be encoded.
        decoded: The key fields that can be decoded from a key, in the order of `decode_parts`.
        codecs: The codecs of the key fields, by name.
        spread: The first part if it only spreads keys (a salt or a bucket), else None.
        is_random: Whether the key has a random salt, so that a row can have several keys.
        behind: The parts after `spread`; all parts if `spread` is None.
        inputs: The arguments of `encode_parts`: the key fields, then the looked-up numbers.
        encode_parts: A function that returns the row key for the values of `inputs`. It raises
            RowKeyError if a value does not fit, or the key is empty or too long.
    """

    parts: tuple[Part, ...]
    arguments: tuple[str, ...]
    table_period: TablePeriod | None = None
    model: str | None = field(default=None, repr=False, compare=False)
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    lookups: tuple[Lookup, ...] = field(init=False, repr=False, compare=False)
    decoded: tuple[str, ...] = field(init=False, repr=False, compare=False)
    codecs: Mapping[str, Codec[Any]] = field(init=False, repr=False, compare=False)
    spread: Part | None = field(init=False, repr=False, compare=False)
    is_random: bool = field(init=False, repr=False, compare=False)
    behind: tuple[Part, ...] = field(init=False, repr=False, compare=False)
    inputs: tuple[str, ...] = field(init=False, repr=False, compare=False)
    encode_parts: Encoder = field(init=False, repr=False, compare=False)
    _decode: Decoder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compile the encoder and the decoder."""
        direct = tuple(part.name for part in self.parts if part.derivation is None)
        others = tuple(name for name in self.arguments if name not in direct)
        lookups = tuple(part.lookup for part in self._all_parts() if part.lookup is not None)
        by_lookup = {part.lookup.field for part in self.parts if part.lookup is not None}
        joined = [name for name in others if name in by_lookup or self.joining(name)]
        set_ = object.__setattr__
        set_(self, "names", (*direct, *others))
        set_(self, "lookups", tuple({lookup.number: lookup for lookup in lookups}.values()))
        set_(self, "decoded", (*direct, *joined))
        codecs: dict[str, Codec[Any]] = {}
        for part in self._all_parts():
            if part.derivation is None:
                codecs.setdefault(part.name, part.codec)
        set_(self, "codecs", codecs)
        front = self.parts[0].derivation
        set_(self, "spread", self.parts[0] if front is not None and front.spreads else None)
        set_(self, "is_random", isinstance(front, RandomBucket))
        set_(self, "behind", self.parts if self.spread is None else self.parts[1:])
        set_(self, "inputs", (*self.names, *(lookup.number for lookup in self.lookups)))
        set_(self, "encode_parts", compile_encoder(self.parts, self.inputs, self._encode_checked))
        set_(self, "_decode", compile_decoder(self.parts, self.decoded, self._joined()))

    # --- what it is made of -----------------------------------------------------------------------

    @property
    def hidden(self) -> tuple[str, ...]:
        """The key fields that cannot be decoded from a key."""
        return tuple(name for name in self.names if name not in self.decoded)

    def _all_parts(self) -> Iterator[Part]:
        """Yield the parts, then the inputs of derived parts."""
        waiting = list(self.parts)
        while waiting:
            part = waiting.pop(0)
            yield part
            waiting += part.inputs

    def codec(self, name: str) -> Codec[Any] | None:
        """Return the codec of a key field, or None if no key field has this name."""
        return self.codecs.get(name)

    def part(self, name: str) -> Part | None:
        """Return the part that holds the field `name` itself, or None if no part does."""
        return next((p for p in self.parts if p.derivation is None and p.name == name), None)

    def _joined(self) -> dict[str, tuple[Part | None, Part]]:
        """Return the result of `joining` for each field that is decoded from two parts."""
        joining = {name: self.joining(name) for name in self.decoded}
        return {name: parts for name, parts in joining.items() if parts is not None}

    def joining(self, name: str) -> tuple[Part | None, Part] | None:
        """Return the two parts that a time field is decoded from: its period and its offset.

        If the table's name holds the period, None takes the place of the period part. The result is
        None if the field is not decoded from a period and an offset.
        """
        for offset in self.parts:
            of = offset.derivation
            if not isinstance(of, OffsetOf) or of.inputs[0].name != name:
                continue
            table = self.table_period
            if table is not None and (table.field, table.unit) == (name, of.unit):
                return None, offset
            for part in self.parts:
                period = part.derivation
                if (
                    isinstance(period, PeriodOf)
                    and period.inputs[0].name == name
                    and period.unit == of.unit
                ):
                    return part, offset
        return None

    # --- encoding ---------------------------------------------------------------------------------

    def encode(self, values: Mapping[str, Any]) -> bytes:
        """Return the row key for the values of `inputs`; values with other names are ignored.

        Raises:
            RowKeyError: A value is missing or does not fit, or the key is empty or too long.
        """
        lacking = next((name for name in self.inputs if name not in values), None)
        if lacking is not None:
            raise self._lacks(lacking)
        return self.encode_parts(*[values[name] for name in self.inputs])

    @property
    def _whose(self) -> dict[str, str]:  # which model, in errors
        return {} if self.model is None else {"model": self.model}

    def _lacks(self, name: str) -> RowKeyError:
        if name not in self.names:
            return RowKeyError(
                "the row key holds a number from a dictionary, which only a session can look up",
                **self._whose,
                number=name,
                fix="read or write the row in a session",
            )
        details = {**self._whose, "field": name}
        return RowKeyError("a key field has no value", **details, fix="give all of the key fields")

    def _encode_checked(self, *values: Any) -> bytes:
        key = self._encode_plainly(values)
        if not 0 < len(key) <= MAX_ROW_KEY_BYTES:
            if not key:
                details = {**self._whose, "fields": self.names}
                raise RowKeyError(
                    "the row key is empty",
                    **details,
                    fix="give the key field a value that is not empty",
                )
            raise self._too_long(key, values)
        return key

    def _encode_plainly(self, values: Sequence[Any]) -> bytes:
        """Encode the key by calls to the codecs, which raise precise errors."""
        known = self.known(values)
        try:
            pieces = [
                b"" if self._hashes_rest(part) else part.encode(self.value(part, known))
                for part in self.parts
            ]
        except CodecError as error:
            details = {**self._whose, "field": self._misfit(values), **error.details}
            raise RowKeyError(error.text, fix=error.fix, **details) from error
        first = self.parts[0]
        if self._hashes_rest(first):
            pieces[0] = first.derivation.of_bytes(b"".join(pieces))  # type: ignore[union-attr]  # a Hashed
        return b"".join(pieces)

    def keys(self, values: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return every row key that a row with these field values can have.

        Raises:
            RowKeyError: As for `encode`.
        """
        key = self.encode(values)
        spread = self.spread
        if spread is None or not isinstance(spread.derivation, RandomBucket):
            return (key,)
        rest = key[spread.codec.width_bytes or 0 :]
        return tuple(number + rest for number in spread.derivation.numbers)

    def known(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return the values of `inputs` by their names."""
        return dict(zip(self.inputs, values, strict=True))

    def value(self, part: Part, known: Mapping[str, Any]) -> Any:
        """Return a part's value from the values of the key fields and the looked-up numbers.

        Raises:
            CodecError: The part has no value for these inputs.
            KeyError: A needed value is missing.
        """
        if part.derivation is None:
            return known[part.name]
        if part.lookup is not None:
            return known[part.lookup.number]
        inputs = part.derivation.inputs
        return part.derivation.compute(*[self._input(source, known) for source in inputs])

    def _input(self, part: Part, known: Mapping[str, Any]) -> Any:
        """Return the value of an input; the value of a field is rounded as its codec stores it."""
        value = self.value(part, known)
        return value if part.derivation is not None else part.codec.normalize(value)

    def _misfit(self, values: Sequence[Any]) -> str | None:
        known = self.known(values)
        for name, codec in self.codecs.items():
            try:
                codec.encode(known[name])
            except CodecError:
                return name
        for part in sorted(self.parts, key=lambda part: part.derivation is not None):
            try:
                if not self._hashes_rest(part):
                    part.bare(self.value(part, known))
            except CodecError:
                return part.name
        return None

    def _hashes_rest(self, part: Part) -> bool:
        return isinstance(part.derivation, Hashed) and not part.derivation.inputs

    def _too_long(self, key: bytes, values: Sequence[Any]) -> RowKeyError:
        known = self.known(values)
        lengths = {
            part.name: len(part.bare(self.value(part, known)))
            for part in self.parts
            if not self._hashes_rest(part)
        }
        longest = max(lengths, key=lengths.__getitem__)
        return RowKeyError(
            "the row key is longer than HBase stores",
            **self._whose,
            fields=self.names,
            longest=longest,
            longest_bytes=lengths[longest],
            length_bytes=len(key),
            limit_bytes=MAX_ROW_KEY_BYTES,
            starts_with=key[:16],
            fix=f"shorten {longest}, or put a Digest of it in the key",
        )

    # --- decoding ---------------------------------------------------------------------------------

    def decode(self, key: bytes, context: KeyContext | None = None) -> DecodedKey:
        """Return the key fields that can be decoded from a row key, and why others cannot.

        Args:
            key: The row key.
            context: The context for names that the key holds as numbers, and for times whose period
                is in the table's name. Without it, these fields are not decoded.

        Raises:
            CorruptRowError: The key does not have this layout.
        """
        values = dict(
            zip(self.decoded, self.decode_parts(key, context or KeyContext()), strict=True)
        )
        lost = {name: self._why_hidden(name) for name in self.hidden}
        for lookup in self.lookups:
            if context is None or context.name_of is None:
                lost[lookup.field] = f"the key holds its number in {lookup.dictionary}"
        if self.table_period is not None and (context is None or context.start is None):
            name = self.table_period.field
            if self.part(name) is None:
                lost[name] = "the name of the table holds a part of it"
        return DecodedKey({n: v for n, v in values.items() if n not in lost}, lost)

    def _why_hidden(self, name: str) -> str:
        used = [part.name for part in self.parts if name in part.fields]
        return f"the key holds only {', '.join(used)}" if used else "the key does not hold it"

    def decode_parts(self, key: bytes, context: KeyContext | None = None) -> tuple[Any, ...]:
        """Return the values of the key fields that a row key holds, in the order of `decoded`.

        A value that needs a context is None if the context is not given.

        Raises:
            CorruptRowError: The key does not have this layout.
        """
        try:
            return self._decode(key, context)
        except MISFITS as error:
            raise CorruptRowError(
                "the row key does not decode as the model declares",
                fix="rows with another layout must be moved to keys of this layout first",
                **self._misfit_details(key, error),
            ) from error

    def _misfit_details(self, key: bytes, error: Exception) -> dict[str, Any]:
        """Return the details of a key's error: the part that does not decode, or the reason."""
        part = self._misfitting_part(key)
        if part is not None:
            return {**self._whose, "field": part.name, "row": key, "codec": part.codec.name}
        reason = {**error.details, "reason": error.text} if isinstance(error, CodecError) else {}
        return {**self._whose, **reason, "row": key}

    def _misfitting_part(self, key: bytes) -> Part | None:
        """Return the first part of a key that does not decode, or None if all parts decode."""
        position = 0
        for part in self.parts:
            try:
                stop = part.span(key, position)
                value = part.value_of(key[position:stop])
                if part.derivation is not None and not part.derivation.admits(value):
                    return part
            except CodecError:
                return part
            position = stop
        return None

    def split(self, key: bytes) -> list[tuple[Part, bytes]]:
        """Return the parts of a row key with their bytes, including terminators.

        Raises:
            CorruptRowError: The key does not have this layout.
        """
        pieces: list[tuple[Part, bytes]] = []
        position = 0
        try:
            for part in self.parts:
                stop = part.span(key, position)
                pieces.append((part, key[position:stop]))
                position = stop
        except CodecError as error:
            details: dict[str, Any] = {**self._whose, "row": key}
            text = "the row key does not decode as the model declares"
            raise CorruptRowError(text, **details) from error
        return pieces


def part_bytes(layout: KeyLayout, name: str) -> Callable[[bytes], bytes]:
    """Return a function from a row key to the bytes of one part, including the terminator.

    The function raises CodecError for a key that does not have the layout.
    """
    number = next(n for n, part in enumerate(layout.parts) if part.name == name)
    before, part = layout.parts[:number], layout.parts[number]

    def bytes_of(key: bytes) -> bytes:
        position = 0
        for earlier in before:
            position = earlier.span(key, position)
        return key[position : part.span(key, position)]

    return bytes_of
