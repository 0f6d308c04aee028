"""The reader of a Thrift gateway's answers, which checks everything that it reads.

thriftpy2's readers do not check what they receive. A list of 2^31 elements without bytes keeps the
interpreter busy beyond every time limit. A negative length raises a SystemError. Deeply nested
structs raise a RecursionError or crash.

The reader here raises GarbledAnswerError in these cases. It takes at least one byte of the answer
for each element, and does not trust lengths (see `incoming`). It limits the depth of nesting.
Fields must have the declared types, and required fields must be present.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError, Incoming

MAX_DEPTH: Final = 16
"""How deep structs and containers may nest; HBase's own answers reach 5."""

# Thrift's types by their numbers in the binary protocol, and in thriftpy2's specifications.
STOP, BOOL, BYTE, DOUBLE, I16, I32, I64 = 0, 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15

# thriftpy2's own number for bytes that are never decoded to text; they are sent as STRING.
_BINARY: Final = 18

INTEGER_BITS: Final = {BYTE: 8, I16: 16, I32: 32, I64: 64}
_TYPES: Final = frozenset({BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST})

Needed = Mapping[type, tuple[str, ...]]
"""The required fields of each struct class."""


@dataclass(frozen=True, slots=True)
class Many:
    """A function that reads all elements of a list together.

    In a `thrift_spec`, it stands in the place of the elements' struct class.

    Attributes:
        read: The function. Its arguments are the reader, the number of elements and the remaining
            depth of nesting.
    """

    read: Callable[[AnswerReader, int, int], list[Any]]


class AnswerReader(ABC):
    """Reads messages one after another; each subclass decodes the values of one Thrift protocol."""

    def __init__(self, incoming: Incoming, needed: Needed) -> None:
        """Read from `incoming`; `needed` has the required fields of each struct class."""
        self.incoming = incoming
        self._needed = needed

    # --- how values travel ------------------------------------------------------------------------

    @abstractmethod
    def message_begin(self) -> tuple[bytes, int, int]:
        """Read the head of a message; return the method name, the kind and the sequence id."""

    @abstractmethod
    def _struct_begin(self) -> None: ...

    @abstractmethod
    def _struct_end(self) -> None: ...

    @abstractmethod
    def read_field(self) -> tuple[int, int]:
        """Read the head of a field; return its type and number. The type STOP ends the struct."""

    @abstractmethod
    def read_list_begin(self) -> tuple[int, int]:
        """Read the head of a list; return the type and the number of its elements."""

    @abstractmethod
    def read_map_begin(self) -> tuple[int, int, int]:
        """Read the head of a map; return the key type, the value type and the number of pairs."""

    @abstractmethod
    def _bool(self) -> bool: ...

    @abstractmethod
    def _integer(self, kind: int) -> int: ...

    @abstractmethod
    def _double(self) -> float: ...

    @abstractmethod
    def read_bytes(self) -> bytes:
        """Return a length-prefixed byte string."""

    # --- what they make ---------------------------------------------------------------------------

    def read_struct(self, made: Any, depth: int = MAX_DEPTH) -> Any:
        """Read a struct into the empty object `made`, and return this object.

        The fields are declared in `thrift_spec` of the object's class; other fields are skipped.

        Raises:
            GarbledAnswerError: The bytes are not such a struct, or a required field is missing.
        """
        self._struct_begin()
        specification: Mapping[int, tuple[Any, ...]] = made.thrift_spec
        # Only fields that arrive count: some structs have defaults that a server never sends.
        missing = set(self._needed.get(type(made), ()))
        depth = self._deeper(depth)
        while True:
            kind, number = self.read_field()
            if kind == STOP:
                break
            field = specification.get(number)
            if field is None:
                self.skip(kind, depth)
                continue
            self._check_type(field[0], kind)
            inner = field[2] if len(field) > 3 else None  # noqa: PLR2004 - thriftpy2's own form
            setattr(made, field[1], self._value(field[0], inner, depth))
            missing.discard(field[1])
        self._struct_end()
        if missing:
            message = f"{type(made).__name__} without {min(missing)}"
            raise GarbledAnswerError(message)
        return made

    def _value(self, kind: int, inner: Any, depth: int) -> Any:
        if kind in (STRING, _BINARY):
            return self.read_bytes()
        if kind in INTEGER_BITS:
            return self._integer(kind)
        if kind == STRUCT:
            return self.read_struct(inner(), depth)
        if kind in (LIST, SET, MAP):
            return self._map(inner, depth) if kind == MAP else self._list(inner, depth)
        return self._bool() if kind == BOOL else self._double()

    def _list(self, inner: Any, depth: int) -> list[Any]:
        element_type, size = self.read_list_begin()
        kind, of = _parts(inner)
        if size:
            self._check_type(kind, element_type)
        depth = self._deeper(depth)
        if isinstance(of, Many):
            return of.read(self, _checked(size), depth)
        return [self._value(kind, of, depth) for _ in range(_checked(size))]

    def _map(self, inner: Any, depth: int) -> dict[Any, Any]:
        key_type, value_type, size = self.read_map_begin()
        (key, of_key), (value, of_value) = _parts(inner[0]), _parts(inner[1])
        if size:
            self._check_type(key, key_type)
            self._check_type(value, value_type)
        depth = self._deeper(depth)
        return {
            self._value(key, of_key, depth): self._value(value, of_value, depth)
            for _ in range(_checked(size))
        }

    def skip(self, kind: int, depth: int) -> None:
        """Skip a value of the type `kind`, which this library does not use."""
        if kind not in _TYPES:
            message = f"a field of type {kind}"
            raise GarbledAnswerError(message)
        if kind == STRUCT:
            self._skip_struct(self._deeper(depth))
        elif kind in (LIST, SET):
            element, size = self.read_list_begin()
            for _ in range(_checked(size)):
                self.skip(element, self._deeper(depth))
        elif kind == MAP:
            key, value, size = self.read_map_begin()
            for _ in range(_checked(size)):
                self.skip(key, self._deeper(depth))
                self.skip(value, self._deeper(depth))
        else:
            self._value(kind, None, depth)

    def _skip_struct(self, depth: int) -> None:
        self._struct_begin()
        while True:
            kind, _number = self.read_field()
            if kind == STOP:
                break
            self.skip(kind, depth)
        self._struct_end()

    def _deeper(self, depth: int) -> int:
        if depth <= 0:
            message = f"more than {MAX_DEPTH} structs and containers in each other"
            raise GarbledAnswerError(message)
        return depth - 1

    def _check_type(self, declared: int, actual: int) -> None:
        if actual != (STRING if declared == _BINARY else declared):
            message = f"type {actual} in the place of type {declared}"
            raise GarbledAnswerError(message)


def _parts(inner: Any) -> tuple[int, Any]:
    """Return the type of an element, and the type's details; they are None for a simple type."""
    return (inner[0], inner[1]) if isinstance(inner, tuple) else (inner, None)


def _checked(size: int) -> int:
    if size < 0:
        message = f"{size} elements"
        raise GarbledAnswerError(message)
    return size


def text(data: bytes) -> str:
    """Decode `data` as UTF-8 text.

    Raises:
        GarbledAnswerError: The bytes are not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        message = "a name that is not UTF-8"
        raise GarbledAnswerError(message) from exc


def check_count(answers: Sized, requested: int) -> None:
    """Raise an error if an answer does not have one element for each request.

    Raises:
        GarbledAnswerError: There are more or fewer elements.
    """
    if len(answers) != requested:
        message = f"{len(answers)} results where {requested} were requested"
        raise GarbledAnswerError(message)
