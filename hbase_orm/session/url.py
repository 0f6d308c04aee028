"""Engine URLs: `hbase://host[:port][,host2[:port]][/namespace]?option=value&…`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from uuid import uuid4

from hbase_orm.errors import ConfigurationError
from hbase_orm.index.catalog import LEASE_S

DEFAULT_THRIFT1_PORT: Final = 9090
DEFAULT_THRIFT2_PORT: Final = 9091
DEFAULT_TIMEOUT_S: Final = 30.0
DEFAULT_POOL: Final = 8
DEFAULT_RETRIES: Final = 3
LONGEST_LEASE_S: Final = LEASE_S

# Options of the design that this version does not have: named, so that nobody believes them on.
_NOT_YET: Final = frozenset({"tls", "readonly"})
_OF_MEMORY: Final = frozenset({"timestamps", "repair_on_read", "clean_up"})
_MAX_PORT: Final = 65_535
_NAMESPACE: Final = re.compile(r"\w*")

HostPort = tuple[str, int]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What a URL says.

    Attributes:
        scheme: `hbase`, or `memory` for the in-process gateway.
        thrift1: Equal Thrift1 gateways.
        thrift2: Equal Thrift2 gateways; empty if there is none.
        namespace: Put before the name of every table that names none; empty for the default.
        transport: `buffered` or `framed`.
        protocol: `binary` or `compact`.
        timeout_s: The deadline of one request, seconds.
        pool: Connections kept to each kind of gateway.
        retries: Further tries of a request that may be repeated.
        timestamps: Who stamps the cells of plain models that do not say it themselves: `server`, or
            `client` with this machine's clock.
        repair_on_read: `on` deletes stale index entries that a statement met, once its rows are
            read: a few at a time, and none younger than a minute. `off` leaves them.
        clean_up: `now`: a write that changes indexed values deletes the entries that are dead
            after it. `deferred`: a thread of the engine does, some at a time, within a tenth of a
            second; the write is a request shorter. `engine.close()` waits for that, and a process
            that ends without it leaves stale entries.
        lease_s: How long what was read of the catalog may be acted on, seconds, at most 30; the
            same in every program that uses the tables, for a change of an index's state waits so
            long for the others.
    """

    scheme: str = "hbase"
    thrift1: tuple[HostPort, ...] = ()
    thrift2: tuple[HostPort, ...] = ()
    namespace: str = ""
    transport: str = "buffered"
    protocol: str = "binary"
    timeout_s: float = DEFAULT_TIMEOUT_S
    pool: int = DEFAULT_POOL
    retries: int = DEFAULT_RETRIES
    timestamps: str = "server"
    repair_on_read: str = "on"
    clean_up: str = "now"
    lease_s: float = LONGEST_LEASE_S
    _memory: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False, compare=False)

    @property
    def servers(self) -> str:
        """The gateways in one order: equal for engines that certainly have the same tables."""
        if self.scheme == "memory":
            return f"memory {self._memory}"
        return ",".join(sorted(f"{host}:{port}" for host, port in self.thrift1))


def parse_url(url: str) -> EngineOptions:
    """Return what `url` says.

    Raises:
        ConfigurationError: The scheme, a port or an option is wrong or unknown.

    Examples:
        >>> parse_url("hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091").thrift2
        (('127.0.0.1', 9091),)
    """
    if not isinstance(url, str):
        raise ConfigurationError("the URL is no text", url=url, fix='"hbase://127.0.0.1:9090"')
    try:
        split = urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(
            "the URL cannot be read", url=url, reason=str(error), fix='"hbase://127.0.0.1:9090"'
        ) from None
    if split.scheme not in {"hbase", "memory"}:
        raise ConfigurationError(
            "the URL's scheme is not known",
            scheme=split.scheme,
            fix='write "hbase://host:9090?thrift2=host:9091", or "memory://" for unit tests',
        )
    if "#" in url:
        raise ConfigurationError(
            "the URL has a fragment, which says nothing",
            fragment=split.fragment,
            fix="leave out '#' and what follows it",
        )
    if split.scheme == "memory":
        return _memory(split)
    if "@" in split.netloc:  # never shown: it may hold a password
        raise ConfigurationError(
            "the URL holds a user or password",
            fix="leave it out: Thrift gateways without security take none",
        )
    options = _options(split.query)
    if not split.netloc:
        raise ConfigurationError("the URL names no host", url=url, fix='"hbase://127.0.0.1:9090"')
    return EngineOptions(
        thrift1=parse_hosts("URL", split.netloc, DEFAULT_THRIFT1_PORT),
        namespace=_namespace(split.path),
        **options,
    )


def _memory(split: SplitResult) -> EngineOptions:
    if split.netloc:
        raise ConfigurationError(
            "the in-process gateway has no host", host=split.netloc, fix='write "memory://"'
        )
    for name, _ in parse_qsl(split.query, keep_blank_values=True):
        if name not in _OF_MEMORY:
            raise ConfigurationError(
                "the in-process gateway has no such option",
                option=name,
                fix='write "memory://" or "memory:///namespace"; there are: '
                f"{', '.join(sorted(_OF_MEMORY))}",
            )
    options = _options(split.query)
    return EngineOptions(scheme="memory", namespace=_namespace(split.path), **options)


def _namespace(path: str) -> str:
    namespace = unquote(path.strip("/"))
    if not _NAMESPACE.fullmatch(namespace):
        raise ConfigurationError(
            "a namespace is made of letters, digits and underscores",
            namespace=namespace,
            fix="write hbase://host:9090/namespace?option=value",
        )
    return namespace


def _options(query: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name in found:
            raise ConfigurationError(
                "the URL option is given twice", option=name, fix="leave one of them out"
            )
        if name in _NOT_YET:
            raise ConfigurationError(
                "this version does not have the URL option yet",
                option=name,
                fix=f"leave it out; there are: {', '.join(sorted(_PARSERS))}",
            )
        if name not in _PARSERS:
            raise ConfigurationError(
                "the URL option is not known",
                option=name,
                fix=f"there are: {', '.join(sorted(_PARSERS))}",
            )
        found[name] = _PARSERS[name](name, text)
    return found


def parse_hosts(option: str, text: str, default_port: int) -> tuple[HostPort, ...]:
    """Return the addresses of `host[:port],host2[:port]`.

    Raises:
        ConfigurationError: A host is empty or a port is no port.
    """
    return tuple(_host(option, part, default_port) for part in text.split(","))


def _host(option: str, text: str, default_port: int) -> HostPort:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    if not host.strip("[]"):
        raise ConfigurationError(
            "a host is empty", option=option, got=text, fix="write host:port,host2:port"
        )
    if not port.isdecimal() or not 0 < int(port) <= _MAX_PORT:
        raise ConfigurationError(
            "a port is a number from 1 to 65535",
            option=option,
            got=text,
            port=port,
            fix="write host:9090",
        )
    return host.strip("[]"), int(port)


def _thrift2(name: str, text: str) -> tuple[HostPort, ...]:
    return parse_hosts(name, text, DEFAULT_THRIFT2_PORT)


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        if text not in allowed:
            raise ConfigurationError(
                "the URL option has no such value",
                option=name,
                value=text,
                fix=f"write one of: {', '.join(allowed)}",
            )
        return text

    return parse


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigurationError(
            "the URL option is a number of seconds above zero",
            option=name,
            value=text,
            fix=f"write {name}={DEFAULT_TIMEOUT_S:g}",
        )
    return seconds


def _lease(name: str, text: str) -> float:
    seconds = _seconds(name, text)
    if seconds > LONGEST_LEASE_S:
        raise ConfigurationError(
            "a lease on the catalog is not longer than what others wait for",
            option=name,
            value=text,
            fix=f"write {name}={LONGEST_LEASE_S:g} or less",
        )
    return seconds


def _count(least: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ConfigurationError(
                "the URL option is a whole number",
                option=name,
                value=text,
                least=least,
                fix=f"write {name}={least} or more",
            )
        return int(text)

    return parse


_PARSERS: Mapping[str, Callable[[str, str], Any]] = MappingProxyType(
    {
        "thrift2": _thrift2,
        "transport": _one_of("buffered", "framed"),
        "protocol": _one_of("binary", "compact"),
        "timeout_s": _seconds,
        "pool": _count(1),
        "retries": _count(0),
        "timestamps": _one_of("server", "client"),
        "repair_on_read": _one_of("on", "off"),
        "clean_up": _one_of("now", "deferred"),
        "lease_s": _lease,
    }
)
