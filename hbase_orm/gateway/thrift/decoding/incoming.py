"""The bytes of one answer while they arrive. A length is not trusted before its bytes arrive.

Memory is allocated only for bytes that have arrived, so a wrong length of 2 GiB uses no memory. The
size of an answer is limited. All waits share one deadline, that of the socket: a gateway that sends
one byte per second cannot block a read beyond it.
"""

from __future__ import annotations

import struct
from typing import Final, Protocol

MAX_ANSWER_BYTES: Final = 512 << 20
"""The largest accepted size of an answer in bytes; usual gateways send smaller answers."""

CHUNK_BYTES: Final = 128 << 10
"""The number of bytes that one receive requests, unless more bytes are missing."""

# A receive allocates memory for all bytes that it requests, even if fewer bytes arrive.
_MOST_BYTES: Final = 1 << 20

_FRAME = struct.Struct(">i")


class GarbledAnswerError(Exception):
    """An answer is not valid: it violates the Thrift protocol, or does not fit its request."""


class Source(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at least one and at most `size` bytes, or raise an error."""
        ...


class Incoming:
    """The bytes of the answer that is being read.

    Attributes:
        data: The bytes that have arrived and are not dropped yet.
        position: The number of bytes of `data` that were read.
        received_bytes: The number of bytes of this answer that have arrived, without the 4 bytes
            in which a frame's length is sent.
    """

    def __init__(self, source: Source, *, is_framed: bool) -> None:
        """Read from `source`; each answer is one frame if `is_framed`."""
        self.data = b""
        self.position = 0
        self.received_bytes = 0
        self._source = source
        self._is_framed = is_framed
        self._frame_bytes = 0

    def begin(self) -> None:
        """Start a new answer; wait for its first bytes if it has a frame.

        Raises:
            GarbledAnswerError: The frame has an impossible length.
        """
        self.data = b""
        self.position = self.received_bytes = 0
        if not self._is_framed:
            return
        head = b""
        while len(head) < _FRAME.size:
            head += self._source.read(_FRAME.size - len(head))
        (self._frame_bytes,) = _FRAME.unpack(head)
        if not 0 < self._frame_bytes <= MAX_ANSWER_BYTES:
            message = f"a frame of {self._frame_bytes} bytes"
            raise GarbledAnswerError(message)

    def end(self) -> None:
        """Check that the answer has been read completely, and drop its bytes.

        Raises:
            GarbledAnswerError: More bytes follow the answer.
        """
        is_more = self.received_bytes < self._frame_bytes if self._is_framed else False
        if is_more or self.position < len(self.data):
            message = "bytes follow the answer"
            raise GarbledAnswerError(message)
        self.data = b""
        self.position = 0

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; wait until they have arrived."""
        start = self.position
        end = start + size
        if not start <= end <= len(self.data):
            self.need(size)
            start, end = 0, size
        self.position = end
        return self.data[start:end]

    def need(self, size: int) -> None:
        """Wait until `data` has `size` unread bytes.

        The bytes that were read before are dropped, so `position` is 0 afterwards.

        Raises:
            GarbledAnswerError: The size is negative, or the answer would be too long.
        """
        if size < 0:
            message = f"a length of {size} bytes"
            raise GarbledAnswerError(message)
        pieces = [self.data[self.position :]]
        missing = size - len(pieces[0])
        most_bytes = self._frame_bytes if self._is_framed else MAX_ANSWER_BYTES
        if missing > most_bytes - self.received_bytes:
            message = f"{size} bytes more in an answer of at most {most_bytes} bytes"
            raise GarbledAnswerError(message)
        while missing > 0:
            most = min(max(missing, CHUNK_BYTES), _MOST_BYTES, most_bytes - self.received_bytes)
            piece = self._source.read(most)
            self.received_bytes += len(piece)
            missing -= len(piece)
            pieces.append(piece)
        self.data = b"".join(pieces)
        self.position = 0
