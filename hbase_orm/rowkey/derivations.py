"""Derivations: how a derived part of a row key gets its value, from other parts or at random.

Each derivation has `inputs`, the parts that the value is computed from. `compute` returns the value
of the part for the values of the inputs. If a part has few possible values, `choices` returns all
of them. A read that does not know the inputs reads the rows of each possible value.

Hashes are computed from the encoded bytes of the inputs. All other derivations are computed from
the values.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.codecs.formats import Strftime
from hbase_orm.codecs.source import Scope, literal
from hbase_orm.codecs.times import EPOCH
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.parts import Derivation
from hbase_orm.rowkey.periods import Unit
from hbase_orm.rowkey.salting import bucket_of

MICROSECONDS: Final = {"micros": 1, "millis": 1000, "seconds": 1_000_000}
_MICRO = timedelta(microseconds=1)
_MIDNIGHT = datetime(1970, 1, 1)  # noqa: DTZ001 - times of day are naive
_COUNTED_WIDTHS: Final = (2, 4, 8)
_HEX_DIGITS: Final = b"0123456789abcdef"
_ZEROS: Final[Mapping[type, Any]] = MappingProxyType(
    {datetime: EPOCH, date: EPOCH.date(), time: time(), timedelta: timedelta()}
)


@dataclass(frozen=True, slots=True)
class Hashed(Derivation):
    """A part whose bytes are computed from the encoded bytes of other parts, as a hash is.

    The bytes of the `inputs` are joined without their terminators. If `inputs` is empty, the part
    is computed from all bytes of the key after it.
    """

    @property
    def gives_bytes(self) -> bool:
        """True: the computed bytes are stored in the key unchanged."""
        return True

    def of_bytes(self, data: bytes) -> bytes:
        """Return the part's bytes, computed from the bytes `data`."""
        raise NotImplementedError

    def compute(self, *values: Any) -> bytes:
        """Return the part's bytes, computed from the values of the inputs."""
        return self.of_bytes(
            b"".join(part.bare(value) for part, value in zip(self.inputs, values, strict=True))
        )


@dataclass(frozen=True, slots=True)
class SaltOf(Hashed):
    """A salt bucket: the hash of some bytes, modulo the number of buckets.

    Attributes:
        hash_name: The name of the hash in `salting.HASHES`.
        numbers: The bytes of each bucket, in the order of the buckets.
    """

    hash_name: str = "phoenix"
    numbers: tuple[bytes, ...] = ()

    @property
    def is_one_byte(self) -> bool:
        """Whether each bucket is encoded as one byte whose value is the bucket's number."""
        return all(data == bytes((number,)) for number, data in enumerate(self.numbers[:256]))

    @property
    def spreads(self) -> bool:
        """True: the part only spreads rows over the regions."""
        return True

    def of_bytes(self, data: bytes) -> bytes:
        """Return the encoded bucket that the hash of `data` selects."""
        return self.numbers[bucket_of(data, len(self.numbers), self.hash_name)]

    def choices(self, *values: Any) -> Iterable[bytes]:
        """Return the bytes of every bucket: all are possible if the inputs are not known."""
        del values
        return self.numbers

    def admits(self, value: Any) -> bool:
        """Return whether `value` is the bytes of a bucket."""
        return value in self.numbers


@dataclass(frozen=True, slots=True)
class HashOf(Hashed):
    """The first bytes of a hash, or of its hexadecimal digits.

    Attributes:
        algorithm: The name of the hash in `hashlib`.
        form: "raw" for bytes, "hex" for digits in lower case.
        width_bytes: The number of bytes in the key.
    """

    algorithm: str = "md5"
    form: str = "raw"
    width_bytes: int = 16

    @property
    def is_whole(self) -> bool:
        """Whether the part is the whole hash, so that different values have different hashes."""
        size_bytes = hashlib.new(self.algorithm, usedforsecurity=False).digest_size
        return self.width_bytes == size_bytes * (2 if self.form == "hex" else 1)

    def source(self, data: str, scope: Scope) -> str:
        """Return the Python source that computes the part's bytes in a generated function.

        Args:
            data: The source of the bytes to hash.
            scope: The global names of the function; names that the source needs are added.
        """
        known = getattr(hashlib, self.algorithm, None)
        if known is None:
            return f"{scope.bind(self.of_bytes, 'hash')}({data})"
        function = scope.bind(known, "hash")
        digest = f"{function}({data}, usedforsecurity=False)"
        whole = f"{digest}.hexdigest()" if self.form == "hex" else f"{digest}.digest()"
        cut = whole if self.is_whole else f"{whole}[:{literal(self.width_bytes)}]"
        return f"{cut}.encode()" if self.form == "hex" else cut

    def admits(self, value: Any) -> bool:
        """Return whether `value` can be part of a hash: any bytes if "raw", hex digits if "hex"."""
        return self.form == "raw" or not value.strip(_HEX_DIGITS)

    def of_bytes(self, data: bytes) -> bytes:
        """Return the first bytes of the hash, or of its hex digits."""
        digest = hashlib.new(self.algorithm, data, usedforsecurity=False)
        whole = digest.hexdigest().encode() if self.form == "hex" else digest.digest()
        return whole[: self.width_bytes]


@dataclass(frozen=True, slots=True)
class OneOfNumbers(Derivation):
    """The base of buckets that are not computed by a hash.

    Attributes:
        numbers: The bytes of each bucket, in the order of the buckets.
    """

    numbers: tuple[bytes, ...] = ()

    @property
    def gives_bytes(self) -> bool:
        """True: the encoded bucket is stored in the key unchanged."""
        return True

    @property
    def spreads(self) -> bool:
        """True: the part only spreads rows over the regions."""
        return True

    def choices(self, *values: Any) -> Iterable[bytes]:
        """Return the bytes of every bucket: all are possible if the inputs are not known."""
        del values
        return self.numbers

    def admits(self, value: Any) -> bool:
        """Return whether `value` is the bytes of a bucket."""
        return value in self.numbers


@dataclass(frozen=True, slots=True)
class RandomBucket(OneOfNumbers):
    """A bucket that is chosen at random each time a row key is computed.

    An object that was read keeps the row key of its row, and so the bucket.
    """

    def compute(self, *values: Any) -> bytes:
        """Return the bytes of a random bucket."""
        del values
        return random.choice(self.numbers)  # noqa: S311 - it spreads load, it guards nothing


@dataclass(frozen=True, slots=True)
class BucketOf(OneOfNumbers):
    """A bucket that is computed from a number or a time, modulo the number of buckets."""

    def compute(self, *values: Any) -> bytes:
        """Return the encoded bucket: an integer modulo the number of buckets.

        The integer is the number, the time in its codec's unit, or the number of the period.
        """
        source = self.inputs[0]
        if isinstance(source.derivation, PeriodOf):
            number = source.derivation.unit.number(values[0])
        else:
            number = number_of(source.codec, values[0])
        return self.numbers[number % len(self.numbers)]


def number_of(codec: Codec[Any], value: Any) -> int:
    """Return the number from which the bucket of a value is computed.

    A number is returned unchanged. Any other value is counted in the codec's units: a datetime or a
    date since 1970, a time since midnight, a timedelta from zero.

    Raises:
        CodecError: The value does not fit the codec.
    """
    if isinstance(value, int):
        codec.encode(value)
        return int(value)
    plain = replace(codec, desc=False)
    data, zero = plain.encode(value), plain.encode(_ZEROS[codec.python_type])
    return int.from_bytes(data, "big") - int.from_bytes(zero, "big")


def check_numbered(codec: Codec[Any], name: str) -> None:
    """Raise an error if no bucket can be computed from a field with this codec.

    Raises:
        SchemaError: The codec stores neither integers nor times as a number of units. The error
            names the field and the codec.
    """
    is_int = issubclass(codec.python_type, int) and codec.python_type is not bool
    is_counted = codec.python_type in _ZEROS and not isinstance(codec, Strftime)
    if not is_int and not (is_counted and codec.width_bytes in _COUNTED_WIDTHS):
        raise SchemaError(
            "a bucket is computed as a number modulo n, but the field is not a number",
            field=name,
            codec=codec.name,
            fix=f"write Salt(n, of={name}), which hashes the value",
        )


@dataclass(frozen=True, slots=True)
class PeriodOf(Derivation):
    """The start of the period that contains a time."""

    unit: Unit = None  # type: ignore[assignment]  # always given

    def compute(self, *values: Any) -> datetime:
        """Return the start of the period, in UTC."""
        return self.unit.start(values[0])

    def admits(self, value: Any) -> bool:
        """Return whether a period starts at the decoded time `value`."""
        return bool(self.unit.start(value) == value)


@dataclass(frozen=True, slots=True)
class OffsetOf(Derivation):
    """The time since the start of its period.

    Attributes:
        unit: The period.
        resolution_micros: The unit of an offset that is a number, in microseconds.
        python_type: The type of the part's codec: int, timedelta, time or datetime.
        sorts: Whether the part's bytes sort like the times of one period.
        repeating: The part's codec if its bytes also hold units of the period itself, else None. An
            example is the day if the period is an hour.
    """

    unit: Unit = None  # type: ignore[assignment]  # always given
    resolution_micros: int = 1000
    python_type: type = int
    sorts: bool = True
    repeating: Codec[Any] | None = None

    def compute(self, *values: Any) -> Any:
        """Return the offset as a `python_type`; for datetime, return the time itself.

        Raises:
            CodecError: The time is finer than the resolution.
        """
        at: datetime = values[0]
        if self.python_type is datetime:
            return at
        past = at - self.unit.start(at)
        if self.python_type is timedelta:
            return past
        if self.python_type is time:
            return (_MIDNIGHT + past).time()
        number, rest = divmod(past // _MICRO, self.resolution_micros)
        if rest:
            raise CodecError(
                "the time has a finer resolution than its offset in the row key",
                value=at,
                resolution_micros=self.resolution_micros,
                fix="give Offset a finer resolution, or the field a coarser codec",
            )
        return number

    def join(self, start: datetime, offset: Any) -> datetime:
        """Return the time at `offset` after the start of its period.

        Raises:
            CodecError: The offset is longer than the period, or holds units of another period.
        """
        try:
            at = start + self._past(offset)
        except OverflowError:
            at = None
        if at is None or self.unit.start(at) != start or not self._agrees(at, offset):
            raise CodecError("the offset is longer than its period", start=start, offset=offset)
        return at

    def _agrees(self, at: datetime, offset: Any) -> bool:
        codec = self.repeating
        return codec is None or codec.encode(at) == codec.encode(offset)

    def _past(self, offset: Any) -> timedelta:
        if isinstance(offset, datetime):
            return offset - self.unit.start(offset)
        if isinstance(offset, timedelta):
            return offset
        if isinstance(offset, time):
            return datetime.combine(_MIDNIGHT, offset) - _MIDNIGHT
        micros: int = offset * self.resolution_micros
        return micros * _MICRO


@dataclass(frozen=True, slots=True)
class NumberOfName(Derivation):
    """The number that a dictionary table assigns to a name.

    The number is looked up before the key is computed.

    Attributes:
        dictionary: The name of the dictionary table.
    """

    dictionary: str = ""


@dataclass(frozen=True, slots=True)
class Fixed(Derivation):
    """A value that is the same in every row key of a model, such as its record type."""

    value: Any = None

    def compute(self, *values: Any) -> Any:
        """Return the value."""
        del values
        return self.value

    def admits(self, value: Any) -> bool:
        """Return whether a decoded value is the fixed value."""
        return bool(value == self.value)
