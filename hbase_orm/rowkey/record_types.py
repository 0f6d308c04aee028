"""Record types: which kind of record a row is, as a part of its key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.parts import Derivation


@dataclass(frozen=True, slots=True)
class RecordTypeCodec(Codec[str]):
    """The record types of a base, as their bytes stand in keys; subclasses add theirs.

    Attributes:
        known: From the bytes to the record type.
    """

    name: ClassVar[str] = "record type"
    python_type: ClassVar[type] = str

    known: dict[bytes, str] = field(default_factory=dict, hash=False)

    @property
    def is_self_delimiting(self) -> bool:
        """True: no record type is the beginning of another."""
        return True

    def add(self, record_type: str, data: bytes) -> None:
        """Add a record type.

        Raises:
            SchemaError: Its bytes begin another's, or another's begin them.
        """
        for other in self.known:
            if other.startswith(data) or data.startswith(other):
                raise SchemaError(
                    "no record type of a base may be a prefix of another",
                    record_type=record_type,
                    other=self.known[other],
                    fix="choose other texts, e.g. all of the same length",
                )
        self.known[data] = record_type

    def encode(self, value: str, /) -> bytes:
        """Return the bytes of a record type.

        Raises:
            CodecError: The base has no such record type.
        """
        for data, record_type in self.known.items():
            if record_type == value:
                return data
        raise self.refuse(value, "no record type has this name", known=sorted(self.known.values()))

    def decode(self, data: bytes, /) -> str:
        """Return the record type.

        Raises:
            CodecError: The bytes are none.
        """
        if data not in self.known:
            raise self.corrupt(data)
        return self.known[data]

    def end_of(self, data: bytes, position: int) -> int:
        """Return where the record type that begins at `position` ends.

        Raises:
            CodecError: None begins there.
        """
        for stored in self.known:
            if data.startswith(stored, position):
                return position + len(stored)
        raise self.corrupt(data[position:])


@dataclass(frozen=True, slots=True)
class AnyRecordType(Derivation):
    """The record type in the keys of a base: any of those of its subclasses."""

    def compute(self, *values: Any) -> Any:
        """Refuse: only the models of record types have whole keys.

        Raises:
            CodecError: Always.
        """
        del values
        raise CodecError(
            "the base of record types has no rows, and so no row keys",
            fix="use the model of one of its record types",
        )
