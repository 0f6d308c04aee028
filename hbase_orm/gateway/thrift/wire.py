"""One Thrift connection: a socket with a deadline, and calls that check their answers.

thriftpy2's client sends every request with sequence id 0, and does not check the id of the answer.
So after a timeout, the next call would get the previous call's answer without an error. The client
here numbers its requests, and compares the number and the method name of each answer. A connection
is *in step* if every request has been answered. A connection that is not in step must be closed.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.thrift import TApplicationException, TException, TMessageType
from thriftpy2.transport import TBufferedTransport, TFramedTransport, TTransportException

from hbase_orm.errors import RejectedError
from hbase_orm.gateway.thrift.answer_sizes import AnswerSizes
from hbase_orm.gateway.thrift.deadline_socket import DeadlineSocket
from hbase_orm.gateway.thrift.decoding.answers import AnswerReader
from hbase_orm.gateway.thrift.decoding.incoming import Incoming
from hbase_orm.gateway.thrift.decoding.protocols import READERS
from hbase_orm.gateway.thrift.interfaces import HBASE1, HBASE2, NEEDED
from hbase_orm.gateway.thrift.wire_style import WireStyle

__all__ = [
    "HBASE1",
    "HBASE2",
    "OUT_OF_STEP",
    "CheckedClient",
    "Line",
    "WireStyle",
    "unsendable",
]

# A call with a batch has tens of kilobytes; thriftpy2's own 4 KiB would mean many small writes.
BUFFER_BYTES = 65_536

# Thrift's sequence id is a signed 32-bit number.
SEQUENCE_IDS = 2**31 - 1

# A call in the binary protocol: version 1 and the message's kind, then the length of its name.
_BINARY_CALL = 0x8001_0000 | TMessageType.CALL
_BINARY_REPLY = 0x8001_0000 | TMessageType.REPLY
_MESSAGE = struct.Struct(">II")
_INT32 = struct.Struct(">i")

# A TApplicationException of these types means that client and server are out of step.
OUT_OF_STEP = frozenset(
    {
        TApplicationException.INVALID_MESSAGE_TYPE,
        TApplicationException.WRONG_METHOD_NAME,
        TApplicationException.BAD_SEQUENCE_ID,
        TApplicationException.MISSING_RESULT,
    }
)

_TRANSPORTS: dict[str, Any] = {"buffered": TBufferedTransport, "framed": TFramedTransport}
_PROTOCOLS: dict[str, Any] = {"binary": TBinaryProtocol, "compact": TCompactProtocol}


UsualAnswer = Callable[[AnswerReader, bytes], Any]
"""A function that reads an answer of the usual form in one step.

Its arguments are the reader, at the beginning of the answer, and the expected bytes of the answer
before its result. It returns None for an answer of another form; then nothing of it was read.
"""


class Line:
    """One connection with all its layers: socket, transport and protocol.

    Attributes:
        is_in_step: Whether every request has been answered completely. If it is False without a
            call in progress, the line must be closed, because a later call could get an earlier
            answer.
        is_binary: Whether the line uses Thrift's binary protocol.
        timeout_s: The time limit of each call in seconds; None if `set_deadline` sets the limit.
    """

    def __init__(
        self, host: str, port: int, style: WireStyle, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Create the layers, without connecting."""
        self.socket = DeadlineSocket(host, port, clock)
        self.transport: Any = _transport(style, self.socket)
        self.protocol: Any = _PROTOCOLS[style.protocol](self.transport, decode_response=False)
        self._incoming = Incoming(self.socket, is_framed=style.transport == "framed")
        self._reader = READERS[style.protocol](self._incoming, NEEDED)
        self.is_binary = style.protocol == "binary"
        self._style = style
        self.is_in_step = True
        self.timeout_s: float | None = None
        self._clock = clock
        self._sequence_id = 0

    def set_deadline(self, deadline: float) -> None:
        """Set the time at which the following calls give up."""
        self.socket.deadline = deadline

    def open(self) -> None:
        """Connect; raise OSError on failure."""
        self.transport.open()

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        self.is_in_step = False
        self.transport.close()

    @property
    def answer_bytes(self) -> int:
        """The size of the last answer in bytes."""
        return self._incoming.received_bytes

    def is_usable(self) -> bool:
        """Return whether a call is possible: the line is open, in step, and nothing has arrived."""
        return self.is_in_step and self.socket.is_quiet()

    def exchange(self, method: str, arguments: Any, result: Any) -> Any:
        """Send one request, read its answer into the empty struct `result`, and return `result`.

        Raises:
            TApplicationException: The server could not run the method, or the answer belongs to
                another request (types BAD_SEQUENCE_ID, WRONG_METHOD_NAME).
            RejectedError: The arguments cannot be encoded.
        """
        self._begin()
        self._send(method, arguments)
        return self._end(method, result)

    def exchange_encoded(
        self, method: str, arguments: bytes, result: Any, *, usual: UsualAnswer | None = None
    ) -> Any:
        """Send one request whose arguments are already encoded in the binary protocol.

        The line must be `is_binary`. The result and the errors are the same as for `exchange`.

        Args:
            method: The method.
            arguments: Its encoded arguments.
            result: The empty struct for the answer.
            usual: A function that reads an answer of the usual form in one step.
        """
        self._begin()
        head = _head(_BINARY_CALL, method) + _INT32.pack(self._sequence_id)
        if self._style.transport == "framed":
            head = _INT32.pack(len(head) + len(arguments)) + head
        # Nothing waits in the transport's buffer: it is emptied with every request.
        self.socket.write(head + arguments)
        return self._end(method, result, usual)

    def _begin(self) -> None:
        if not self.is_in_step:
            raise TTransportException(TTransportException.NOT_OPEN, "the connection is out of step")
        if self.timeout_s is not None:
            self.set_deadline(self._clock() + self.timeout_s)
        self.is_in_step = False
        self._sequence_id = self._sequence_id % SEQUENCE_IDS + 1

    def _end(self, method: str, result: Any, usual: UsualAnswer | None = None) -> Any:
        self._incoming.begin()
        if usual is not None and self._took_usual(method, result, usual):
            answer = result
        else:
            answer = self._receive(method, result)
        self._incoming.end()
        if isinstance(answer, TApplicationException):
            self.is_in_step = answer.type not in OUT_OF_STEP
            raise answer
        self.is_in_step = True
        return answer

    def _send(self, method: str, arguments: Any) -> None:
        protocol = self.protocol
        try:
            protocol.write_message_begin(method, TMessageType.CALL, self._sequence_id)
            arguments.write(protocol)
            protocol.write_message_end()
        except (TypeError, ValueError, AttributeError, OverflowError) as exc:
            raise unsendable(method) from exc
        except TTransportException:
            raise
        except TException as exc:
            raise unsendable(method) from exc
        self.transport.flush()

    def _receive(self, method: str, result: Any) -> Any:
        reader = self._reader
        name, kind, sequence_id = reader.message_begin()
        if sequence_id != self._sequence_id:
            raise TApplicationException(
                TApplicationException.BAD_SEQUENCE_ID, "the answer belongs to another request"
            )
        if name != method.encode():
            raise TApplicationException(
                TApplicationException.WRONG_METHOD_NAME, "the answer belongs to another method"
            )
        if kind not in (TMessageType.REPLY, TMessageType.EXCEPTION):
            raise TApplicationException(
                TApplicationException.INVALID_MESSAGE_TYPE, "the received message is not an answer"
            )
        made = TApplicationException() if kind == TMessageType.EXCEPTION else result
        return reader.read_struct(made)

    def _took_usual(self, method: str, result: Any, usual: UsualAnswer) -> bool:
        """Read an answer of the usual form in one step; return whether it has this form.

        If not, nothing of it was read.
        """
        head = _head(_BINARY_REPLY, method) + _INT32.pack(self._sequence_id)
        self._incoming.need(1)
        result.success = usual(self._reader, head)
        return result.success is not None


@cache
def _head(version_and_kind: int, method: str) -> bytes:
    """Return the bytes of a message in the binary protocol before its sequence id."""
    name = method.encode()
    return _MESSAGE.pack(version_and_kind, len(name)) + name


class CheckedClient:
    """A Thrift client with the methods of a service; for one thread at a time.

    Attributes:
        line: The connection over which the calls are sent.
        sizes: Estimates of the sizes of results, from the answers to earlier calls.
    """

    def __init__(
        self, line: Line, service: Any, results: Mapping[str, Callable[[], Any]] | None = None
    ) -> None:
        """Create a client of `service` over `line`.

        Args:
            line: The line, which must be open before the first call.
            service: A service from a module that thriftpy2 loaded.
            results: For some methods, by name, a function that makes an empty struct for the
                answer. For other methods, the service's own class is used.
        """
        self.line = line
        self.sizes = AnswerSizes()
        self._service = service
        self._results = dict(results or {})

    @property
    def answer_bytes(self) -> int:
        """The size of the last answer in bytes."""
        return self.line.answer_bytes

    def __getattr__(self, method: str) -> Callable[..., Any]:
        """Return a function that calls the method `method` of the service."""
        if method not in self._service.thrift_services:
            message = f"the service has no method {method!r}"
            raise AttributeError(message)
        call = partial(self._call, method)
        # Found directly the next time: __getattr__ runs only for what is missing.
        self.__dict__[method] = call
        return call

    def _call(self, method: str, *positional: Any, **named: Any) -> Any:
        service = self._service
        arguments = getattr(service, f"{method}_args")()
        for specification, value in zip(arguments.thrift_spec.values(), positional, strict=False):
            setattr(arguments, specification[1], value)
        for name, value in named.items():
            setattr(arguments, name, value)
        result_type = self._results.get(method) or getattr(service, f"{method}_result")
        return self._outcome(self.line.exchange(method, arguments, result_type()))

    def call_encoded(
        self, method: str, arguments: bytes, *, usual: UsualAnswer | None = None
    ) -> Any:
        """Call a method whose arguments are already encoded in the binary protocol.

        `usual` reads an answer of the usual form in one step, if it has arrived completely.
        """
        result = (self._results.get(method) or getattr(self._service, f"{method}_result"))()
        line = self.line
        return self._outcome(line.exchange_encoded(method, arguments, result, usual=usual))

    def _outcome(self, result: Any) -> Any:
        value = getattr(result, "success", None)
        if value is not None:
            return value
        for specification in result.thrift_spec.values():
            name = specification[1]
            fault = None if name == "success" else getattr(result, name, None)
            if fault is not None:
                raise fault
        if hasattr(result, "success"):
            self.line.is_in_step = False
            raise TApplicationException(TApplicationException.MISSING_RESULT, "Missing result")
        return None


def _transport(style: WireStyle, sock: DeadlineSocket) -> Any:
    return _TRANSPORTS[style.transport](sock, BUFFER_BYTES)


def unsendable(method: str) -> RejectedError:
    """Return the error for a call of `method` whose arguments cannot be encoded."""
    return RejectedError(
        "a request holds a value of the wrong type",
        method=method,
        fix="pass bytes for keys, columns and values, and whole numbers that fit 64 bits",
    )
