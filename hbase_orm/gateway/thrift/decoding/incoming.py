"""The bytes of one answer as they arrive; lengths are not trusted before the bytes are there.

A length inside an answer is a claim. Room is made only for bytes that have arrived, the whole
answer has a limit, and every wait is bounded by the socket's deadline: so neither a length of
2 GiB nor a gateway that sends one byte a second costs more than the bytes it really sends.
"""

from __future__ import annotations

import struct
from typing import Final, Protocol

MAX_ANSWER_BYTES: Final = 512 << 20
"""Bytes of one answer at most: more than a gateway of usual size can put together."""

CHUNK_BYTES: Final = 128 << 10
"""What is received at once unless the answer needs more."""

# A receive makes room for all it asks for, also for what does not come.
_MOST_BYTES: Final = 1 << 20

_FRAME = struct.Struct(">i")


class GarbledAnswerError(Exception):
    """An answer that no gateway sends: its bytes do not fit together."""


class Source(Protocol):
    """Where bytes come from."""

    def read(self, size: int, /) -> bytes:
        """Return at least one and at most `size` bytes, or raise."""
        ...


class Incoming:
    """The bytes of the answer that is being read.

    Attributes:
        data: What has arrived and is not yet dropped.
        position: How much of `data` has been read.
        received_bytes: What has come in of this answer, its frame's length not counted.
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
        """Start with a new answer; waits for its first bytes if it has a frame.

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
        """Finish the answer.

        Raises:
            GarbledAnswerError: More came in than the answer.
        """
        is_more = self.received_bytes < self._frame_bytes if self._is_framed else False
        if is_more or self.position < len(self.data):
            message = "bytes follow the answer"
            raise GarbledAnswerError(message)
        self.data = b""
        self.position = 0

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        start = self.position
        end = start + size
        if not start <= end <= len(self.data):
            self.need(size)
            start, end = 0, size
        self.position = end
        return self.data[start:end]

    def need(self, size: int) -> None:
        """Wait until `size` bytes can be read from `position`, which is 0 then.

        Raises:
            GarbledAnswerError: The answer cannot be so long.
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
