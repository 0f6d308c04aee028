"""The declared components of a row key: the arguments of `rowkey(...)`.

A component is a key field of the model, or is derived from key fields. `assembly` converts the
declarations to parts when the names and codecs of the fields are known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal

from hbase_orm.codecs import Codec
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.salting import HASHES, MAX_BUCKETS, bucket_of

Form = Literal["byte", "text"] | Callable[[int], bytes]
_MAX_NUMBERED_BUCKETS = 10_000


class KeySource:
    """A possible argument of `rowkey(...)`: a key field or a component."""


class Component(KeySource):
    """A derived part of the row key, which is not given by the user.

    Attributes:
        of: The key fields or components that this component is computed from. Empty if it is
            computed from all bytes after it, or from nothing, as a random salt is.
    """

    kind: ClassVar[str]

    of: tuple[KeySource, ...] = ()

    def __repr__(self) -> str:
        """Return the declaration."""
        return f"{type(self).__name__}({', '.join(map(repr, self.of))})"


def sources_of(kind: str, of: KeySource | Sequence[KeySource]) -> tuple[KeySource, ...]:
    """Return the sources of a component as a tuple.

    Raises:
        SchemaError: A source is not a key field or component, or there is no source.
    """
    sources = (of,) if isinstance(of, KeySource) else of
    if (
        not isinstance(sources, Sequence)
        or isinstance(sources, (str, bytes))
        or not sources
        or not all(isinstance(source, KeySource) for source in sources)
    ):
        raise SchemaError(f"the of= of a {kind} must be key fields", of=of, fix=unquoted(of))
    return tuple(sources)


def unquoted(values: object) -> str:
    """Return the remedy for arguments that should be key fields, and may be names of fields."""
    given = [values] if isinstance(values, str) or not isinstance(values, Iterable) else values
    names = [value for value in given if isinstance(value, str) and value.isidentifier()]
    if names:
        return f"write {', '.join(names)} without quotes"
    return "name key fields that are declared before, without quotes"


def single_source(kind: str, of: KeySource) -> tuple[KeySource, ...]:
    """Return the only source of a component, as a tuple of one.

    Raises:
        SchemaError: The argument is not exactly one key field.
    """
    sources = sources_of(kind, of)
    if len(sources) > 1:
        raise SchemaError(
            f"a {kind} is computed from exactly one field", of=of, fix="name one field"
        )
    return sources


def checked_codec(kind: str, codec: Codec[Any] | None) -> Codec[Any] | None:
    """Check a component's `codec=` and return it; None means the component's default.

    Raises:
        SchemaError: The argument is not a codec.
    """
    if codec is not None and not isinstance(codec, Codec):
        raise SchemaError(
            f"the codec= of a {kind} must be a Codec instance",
            got=codec,
            fix="call the function that makes it: codec=codecs.uint16()",
        )
    return codec


class Numbered(Component):
    """A component that is a number from 0 to `bucket_count` - 1.

    Attributes:
        bucket_count: The number of different values.
        form: The encoding of a number: "byte", "text" or a function from the number to bytes.
            "byte" is for at most 256 values, "text" is decimal digits. The encodings of all numbers
            have the same width.
    """

    def __init__(self, bucket_count: int, form: Form) -> None:
        """Declare a numbered component.

        Raises:
            SchemaError: `bucket_count` is out of range. Or `form` does not give each number
                different bytes of the same width.
        """
        most = MAX_BUCKETS if form == "byte" else _MAX_NUMBERED_BUCKETS
        if (
            not isinstance(bucket_count, int)
            or isinstance(bucket_count, bool)
            or not 2 <= bucket_count <= most  # noqa: PLR2004 - one bucket spreads nothing
        ):
            raise SchemaError(
                f"the number of buckets of a {self.kind} must be 2 to {most}",
                bucket_count=bucket_count,
                fix="use about as many buckets as the table has regions; form='byte' writes one "
                "byte",
            )
        self.bucket_count = bucket_count
        self.form = form
        self.numbers = tuple(self._written(number) for number in range(bucket_count))
        if len(set(self.numbers)) < bucket_count or len({len(n) for n in self.numbers}) > 1:
            raise SchemaError(
                "form= must write different bytes of the same width for each number",
                form=form,
                written=self.numbers[:4],
                fix="pad the numbers, e.g. form=lambda n: b'%02d' % n",
            )

    def _written(self, number: int) -> bytes:
        if self.form == "byte":
            return bytes((number,))
        if self.form == "text":
            return str(number).zfill(len(str(self.bucket_count - 1))).encode()
        written = self.form(number) if callable(self.form) else None
        if not isinstance(written, bytes) or not written:
            raise SchemaError(
                "form= must be 'byte', 'text', or a function from a number to bytes",
                form=self.form,
                number=number,
                written=written,
                fix="e.g. form=lambda n: b'%02d' % n",
            )
        return written

    @property
    def width_bytes(self) -> int:
        """The width of every encoded number."""
        return len(self.numbers[0])

    def __repr__(self) -> str:
        """Return the declaration, without the fields."""
        return f"{type(self).__name__}({self.bucket_count})"


class Salt(Numbered):
    """A salt bucket at the beginning of the key: it spreads a table's writes over the regions.

    Attributes:
        bucket_count: The number of buckets: 2 to 256 if `form` is "byte", else 2 to 10,000. By
            default, a new table is pre-split between the buckets.
        of: The key fields or components whose bytes in this key are hashed, without terminators.
            None hashes everything after the salt, as Apache Phoenix does.
        hash_name: "phoenix" (Phoenix's own) or "crc32".
        form: The encoding of the bucket; see `Numbered`.
    """

    kind = "salt"

    def __init__(
        self,
        bucket_count: int,
        /,
        *,
        of: KeySource | Sequence[KeySource] | None = None,
        hash: str = "phoenix",  # noqa: A002 - the name users know from other databases
        form: Form = "byte",
    ) -> None:
        """Declare a salt.

        Raises:
            SchemaError: `bucket_count` is out of range, `of` is not a field, or the hash is
                unknown.
        """
        super().__init__(bucket_count, form)
        if hash not in HASHES:
            raise SchemaError("no hash has this name", hash=hash, known=sorted(HASHES))
        self.of = () if of is None else sources_of(self.kind, of)
        self.hash_name = hash

    def bucket(self, key_without_salt: bytes) -> int:
        """Return the bucket for the bytes `key_without_salt`, from 0 to `bucket_count` - 1."""
        return bucket_of(key_without_salt, self.bucket_count, self.hash_name)


class RandomSalt(Numbered):
    """A bucket at the beginning of the key, chosen at random when an object is first written.

    A get requests the key in every bucket. A loaded object keeps its bucket.

    Two programs that write the same new key at the same time may store two rows. So use `Salt`,
    unless each key is written only once.

    Attributes:
        bucket_count: The number of buckets: 2 to 256 if `form` is "byte", else 2 to 10,000.
        form: The encoding of the bucket; see `Numbered`.
    """

    kind = "random salt"

    def __init__(self, bucket_count: int, /, *, form: Form = "byte") -> None:
        """Declare a random salt.

        Raises:
            SchemaError: `bucket_count` is out of range.
        """
        super().__init__(bucket_count, form)


class Bucket(Numbered):
    """A number or a time, modulo the number of buckets.

    Attributes:
        bucket_count: The number of buckets: 2 to 256 if `form` is "byte", else 2 to 10,000.
        of: A key field that is a number, a time or a date, or a `Period`. For a time or a date, the
            number is what its codec stores without `desc`. For a `Period`, it is the number of
            periods since a fixed one.
        form: The encoding of the bucket; see `Numbered`.
    """

    kind = "bucket"

    def __init__(self, bucket_count: int, /, *, of: KeySource, form: Form = "byte") -> None:
        """Declare a bucket.

        Raises:
            SchemaError: `bucket_count` is out of range, or `of` is not a field.
        """
        super().__init__(bucket_count, form)
        self.of = single_source(self.kind, of)


def _check_algorithm(algorithm: str) -> int:
    try:
        return hashlib.new(algorithm, usedforsecurity=False).digest_size
    except (ValueError, TypeError):
        raise SchemaError(
            "no hash has this name",
            algorithm=algorithm,
            known=sorted(hashlib.algorithms_guaranteed),
        ) from None


class HashPrefix(Component):
    """The first bytes of a hash of fields: they spread rows, and a get can compute them.

    Attributes:
        width_bytes: The number of bytes in the key; with form "hex" the number of hex digits.
        of: The fields whose bytes in this key are hashed, without terminators.
        algorithm: The name of a hash in Python's `hashlib`.
        form: "raw" bytes, or "hex" digits in lower case.
    """

    kind = "hash prefix"

    def __init__(
        self,
        width_bytes: int,
        /,
        *,
        of: KeySource | Sequence[KeySource],
        algorithm: str = "md5",
        form: Literal["raw", "hex"] = "raw",
    ) -> None:
        """Declare a hash prefix.

        Raises:
            SchemaError: The width is larger than the hash, or the algorithm or the form is unknown.
        """
        if form not in ("raw", "hex"):
            raise SchemaError("form= must be 'raw' or 'hex'", form=form)
        most = _check_algorithm(algorithm) * (2 if form == "hex" else 1)
        if (
            not isinstance(width_bytes, int)
            or isinstance(width_bytes, bool)
            or not 1 <= width_bytes <= most
        ):
            raise SchemaError(
                f"a prefix of {algorithm} in this form can have 1 to {most} bytes",
                width_bytes=width_bytes,
                form=form,
            )
        self.width_bytes = width_bytes
        self.of = sources_of(self.kind, of)
        self.algorithm = algorithm
        self.form = form


class Digest(HashPrefix):
    """The whole hash of fields, which the row key has instead of the fields.

    It has a fixed width and cannot be decoded. So a field that is in the key only as a digest must
    also be stored in a column.

    Attributes:
        of: The fields that are hashed.
        algorithm: The name of a hash in Python's `hashlib`.
        form: "raw" bytes, or "hex" digits in lower case.
    """

    kind = "digest"

    def __init__(
        self,
        *,
        of: KeySource | Sequence[KeySource],
        algorithm: str = "md5",
        form: Literal["raw", "hex"] = "raw",
    ) -> None:
        """Declare a digest.

        Raises:
            SchemaError: The hash or the form is unknown, or `of` is not a field.
        """
        width_bytes = _check_algorithm(algorithm) * (2 if form == "hex" else 1)
        if not width_bytes:
            raise SchemaError("the hash has no fixed width", algorithm=algorithm, fix='use "md5"')
        super().__init__(width_bytes, of=of, algorithm=algorithm, form=form)


class Substitute(Component):
    """A number that stands for a name in the row key; a dictionary table assigns the numbers.

    Attributes:
        of: The key field that holds the name, a text.
        dictionary: The name of the dictionary's table.
        codec: The codec of the number; None means 8 bytes, unsigned.
    """

    kind = "substitute"

    def __init__(self, *, of: KeySource, dictionary: str, codec: Codec[int] | None = None) -> None:
        """Declare a substitute.

        Raises:
            SchemaError: `of` is not a field, or `dictionary` is not a table's name.
        """
        if not isinstance(dictionary, str) or not dictionary:
            raise SchemaError(
                "dictionary= of a substitute must be the name of a table", got=dictionary
            )
        self.of = single_source(self.kind, of)
        self.dictionary = dictionary
        self.codec = checked_codec(self.kind, codec)


class RecordType(Component):
    """The record type of a row: the text that the row's model gives as `record_type="..."`.

    It is for tables with several kinds of records.
    """

    kind = "record type"

    def __init__(self, codec: Codec[str] | None = None, /) -> None:
        """Declare the position of the record type in the row key.

        Args:
            codec: The codec of the text; None stores the text in UTF-8, without a terminator.

        Raises:
            SchemaError: The argument is not a codec.
        """
        self.codec = checked_codec(self.kind, codec)
