"""Record types: the part of a row key that shows which model a row of a shared table has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.parts import Derivation


@dataclass(frozen=True, slots=True)
class RecordTypeCodec(Codec[str]):
    """The codec of the record types that share the table of a base model.

    Each record type is added when its class is created.

    Attributes:
        known: The names of the record types by their bytes in row keys.
    """

    name: ClassVar[str] = "record type"
    python_type: ClassVar[type] = str

    known: dict[bytes, str] = field(default_factory=dict, hash=False)

    @property
    def is_self_delimiting(self) -> bool:
        """True: no record type is a prefix of another."""
        return True

    def add(self, record_type: str, data: bytes) -> None:
        """Add a record type.

        Raises:
            SchemaError: One record type's bytes are a prefix of another's.
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
            CodecError: The base does not have this record type.
        """
        for data, record_type in self.known.items():
            if record_type == value:
                return data
        raise self.refuse(value, "no record type has this name", known=sorted(self.known.values()))

    def decode(self, data: bytes, /) -> str:
        """Return the record type.

        Raises:
            CodecError: The bytes are not a record type.
        """
        if data not in self.known:
            raise self.corrupt(data)
        return self.known[data]

    def end_of(self, data: bytes, position: int) -> int:
        """Return the end of the record type that begins at `position`.

        Raises:
            CodecError: No record type begins at the position.
        """
        for stored in self.known:
            if data.startswith(stored, position):
                return position + len(stored)
        raise self.corrupt(data[position:])


@dataclass(frozen=True, slots=True)
class AnyRecordType(Derivation):
    """The record type in the key layout of a base model: it may be any record type of the base."""

    def compute(self, *values: Any) -> Any:
        """Raise an error: rows belong to the models of the record types, not to their base.

        Raises:
            CodecError: Always.
        """
        del values
        raise CodecError(
            "the base of record types has no rows, and so no row keys",
            fix="use the model of one of its record types",
        )
