"""Engine URLs: `hbase://host[:port][,host2[:port]][/namespace]?option=value&…`.

A URL may contain a password by mistake. So errors repeat only its scheme, names of options, and
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from uuid import uuid4

from hbase_orm.errors import ConfigurationError
from hbase_orm.index.catalog.lease import LEASE_S

DEFAULT_THRIFT1_PORT: Final = 9090
DEFAULT_THRIFT2_PORT: Final = 9091
DEFAULT_TIMEOUT_S: Final = 30.0
DEFAULT_POOL: Final = 8
DEFAULT_RETRIES: Final = 3
LONGEST_LEASE_S: Final = LEASE_S
SHORTEST_S: Final = 0.001
LONGEST_TIMEOUT_S: Final = 86_400.0  # a day; sockets and locks take no more than some years
MOST_CONNECTIONS: Final = 10_000
MOST_RETRIES: Final = 1_000

# Planned options that this version lacks. They get their own error, which names them as such.
_NOT_YET: Final = frozenset({"tls", "readonly"})
MEMORY_OPTIONS: Final = frozenset({"timestamps", "repair_on_read", "clean_up", "on_drift"})
"""The options that `memory://` takes."""
_MAX_PORT: Final = 65_535
_OPTION: Final = re.compile(r"[A-Za-z_]{1,30}")
_DIGITS: Final = re.compile("[0-9]{1,18}")
_NAMESPACE: Final = re.compile(r"\w*")
_STORE: Final = re.compile(r"[\w.-]{1,100}")
_HOST: Final = re.compile(r"[\w.-]+|\[[\w.:%-]+\]")

HostPort = tuple[str, int]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The settings in a URL.

    Attributes:
        scheme: `hbase`, or `memory` for the in-process gateway.
        thrift1: The addresses of Thrift1 gateways of the same HBase.
        thrift2: The addresses of Thrift2 gateways of the same HBase; empty if there is none.
        namespace: The namespace of every table that does not name one; empty for the default.
        transport: `buffered` or `framed`.
        protocol: `binary` or `compact`.
        timeout_s: The time limit of one request in seconds, 0.001 to 86,400.
        pool: The number of connections to each kind of gateway, 1 to 10,000.
        retries: The number of further attempts of a request that may be repeated, 0 to 1,000.
        timestamps: Who sets the timestamps of plain models that do not declare it: `server`, or
            `client` with this machine's clock.
        repair_on_read: With `on`, a statement deletes stale index entries after its rows are read:
            a few at a time, and none younger than a minute. With `off` they remain.
        clean_up: With `now`, a write that changes indexed values deletes the old entries. With
            `deferred`, a thread of the engine deletes them within a tenth of a second, and the
            write needs one request less. `engine.close()` waits for this thread. A process that
            ends without `close` may leave stale entries.
        on_drift: With `refuse`, a model that contradicts the record of its table raises
            `SchemaDriftError` before anything of the table is read or written. With `warn`, it is
            used as it is declared, after one warning: rows may be misread or hidden. Models with
            indexes or a version column are refused in any case.
        lease_s: How long a catalog entry may be used after it was read, in seconds, 0.001 to 30.
            All programs that use the tables must have the same value. A change of an index's state
            waits this long for other programs.
        store: The name of the tables of `memory://name`, which all engines of this process with
            that name share; empty if the engine has tables of its own.
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
    on_drift: str = "refuse"
    lease_s: float = LONGEST_LEASE_S
    store: str = ""
    _memory: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False, compare=False)

    @property
    def servers(self) -> str:
        """The sorted addresses of the Thrift1 gateways, as one text.

        Engines with equal texts use the same tables. For `memory://` without a name every text is
        different.
        """
        if self.scheme == "memory":
            return f"memory store {self.store}" if self.store else f"memory {self._memory}"
        return ",".join(sorted(f"{host}:{port}" for host, port in self.thrift1))

    @property
    def url(self) -> str:
        """A URL with these settings, without those that have their default."""
        path = f"/{self.namespace}" if self.namespace else ""
        options = {name: getattr(self, name) for name in _PARSERS}
        given = [
            f"{name}={_hosts(value) if name == 'thrift2' else value}"
            for name, value in options.items()
            if value != type(self).__dataclass_fields__[name].default
        ]
        query = f"?{'&'.join(given)}" if given else ""
        return f"{self.scheme}://{_hosts(self.thrift1) or self.store}{path}{query}"


def _hosts(addresses: tuple[HostPort, ...]) -> str:
    return ",".join(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in addresses
    )


def parse_url(url: str) -> EngineOptions:
    """Return the settings in `url`.

    Raises:
        ConfigurationError: The scheme, a port or an option is wrong or unknown.

    Examples:
        >>> parse_url("hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091").thrift2
        (('127.0.0.1', 9091),)
    """
    if not isinstance(url, str):
        raise ConfigurationError(
            "the URL is not a str", type=type(url).__name__, fix='"hbase://127.0.0.1:9090"'
        )
    if "@" in unquote(url):  # in a password, '/', '?' and '#' would begin another part
        raise ConfigurationError(
            "the URL holds a user or password",
            fix="leave them out: hbase_orm connects to Thrift gateways without authentication",
        )
    try:
        split = urlsplit(url)
    except ValueError:
        raise ConfigurationError("the URL cannot be read", fix='"hbase://127.0.0.1:9090"') from None
    if split.scheme not in {"hbase", "memory"}:
        raise ConfigurationError(
            "the URL's scheme is not known",
            scheme=split.scheme if "://" in url else "",
            fix='write "hbase://host:9090?thrift2=host:9091", or "memory://" for unit tests',
        )
    if "#" in url:
        raise ConfigurationError(
            "the URL has a fragment, which has no meaning", fix="leave out '#' and what follows it"
        )
    if split.scheme == "memory":
        return _memory(split)
    options = _options(split.query)
    if not split.netloc:
        raise ConfigurationError("the URL names no host", fix='"hbase://127.0.0.1:9090"')
    return EngineOptions(
        thrift1=parse_hosts("URL", split.netloc, DEFAULT_THRIFT1_PORT),
        namespace=_namespace(split.path),
        **options,
    )


def shown_url(url: str) -> str:
    """Return a URL for printing; a wrong URL, which may contain a password, is not shown."""
    try:
        parse_url(url)
    except ConfigurationError as error:
        return f"(a URL that is not shown: {error.text})"
    return url


def _memory(split: SplitResult) -> EngineOptions:
    if split.netloc and not _STORE.fullmatch(split.netloc):
        raise ConfigurationError(
            "the in-process gateway has no host, and its tables no such name",
            fix='write "memory://", or "memory://name" for tables that engines share',
        )
    for name, _ in parse_qsl(split.query, keep_blank_values=True):
        if name not in MEMORY_OPTIONS:
            raise ConfigurationError(
                "the in-process gateway has no such option",
                option=_shown_name(name),
                fix='write "memory://" or "memory:///namespace"; there are: '
                f"{', '.join(sorted(MEMORY_OPTIONS))}",
            )
    options = _options(split.query)
    namespace = _namespace(split.path)
    return EngineOptions(scheme="memory", store=split.netloc, namespace=namespace, **options)


def _namespace(path: str) -> str:
    namespace = unquote(path.strip("/"))
    if not _NAMESPACE.fullmatch(namespace):
        raise ConfigurationError(
            "a namespace may have only letters, digits and underscores",
            fix="write hbase://host:9090/namespace?option=value",
        )
    return namespace


def _options(query: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name in options:
            raise ConfigurationError(
                "the URL option is given twice", option=name, fix="leave one of them out"
            )
        if name in _NOT_YET:
            raise ConfigurationError(
                "this version of hbase_orm does not support the URL option",
                option=name,
                fix=f"leave it out; the options are: {', '.join(sorted(_PARSERS))}",
            )
        if name not in _PARSERS:
            raise ConfigurationError(
                "the URL option is not known",
                option=_shown_name(name),
                fix=f"there are: {', '.join(sorted(_PARSERS))}",
            )
        options[name] = _PARSERS[name](name, text)
    return options


def _shown_name(name: str) -> str:
    """Return an unknown option's name if it looks like a name; else an empty text."""
    return name if _OPTION.fullmatch(name) else ""


def parse_hosts(option: str, text: str, default_port: int) -> tuple[HostPort, ...]:
    """Return the addresses of `host[:port],host2[:port]`.

    Raises:
        ConfigurationError: A host is empty or not valid, or a port is not valid.
    """
    parts = text.split(",")
    return tuple(_host(option, at, part, default_port) for at, part in enumerate(parts, 1))


def _host(option: str, place: int, text: str, default_port: int) -> HostPort:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    if not host.strip("[]"):
        raise ConfigurationError(
            "one of the URL's hosts is empty",
            option=option,
            address=place,
            fix="write host:port,host2:port",
        )
    if not _HOST.fullmatch(host):
        raise ConfigurationError(
            "the URL's host is neither a name nor an IP address; an IPv6 address needs brackets",
            option=option,
            address=place,
            fix="write host:9090 or [::1]:9090",
        )
    number = _whole(port)
    if number is None or not 0 < number <= _MAX_PORT:
        raise ConfigurationError(
            "the URL's port is not a number from 1 to 65535",
            option=option,
            address=place,
            fix="write host:9090",
        )
    return host.strip("[]"), number


def _whole(text: str) -> int | None:
    """Return the number of a short digit string; None for other text."""
    return int(text) if _DIGITS.fullmatch(text) else None


def _thrift2(name: str, text: str) -> tuple[HostPort, ...]:
    return parse_hosts(name, text, DEFAULT_THRIFT2_PORT)


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        if text not in allowed:
            raise ConfigurationError(
                "the URL option does not allow this value",
                option=name,
                fix=f"write one of: {', '.join(allowed)}",
            )
        return text

    return parse


def _seconds(most: float) -> Callable[[str, str], float]:
    def parse(name: str, text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            raise _out_of_range(name, None, SHORTEST_S, most) from None
        if not SHORTEST_S <= seconds <= most:
            raise _out_of_range(name, seconds, SHORTEST_S, most)
        return seconds

    return parse


def _count(least: int, most: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        number = _whole(text)
        if number is None or not least <= number <= most:
            raise _out_of_range(name, number, least, most)
        return number

    return parse


def _out_of_range(name: str, value: float | None, least: float, most: float) -> ConfigurationError:
    details = {} if value is None else {"value": value}
    return ConfigurationError(
        "the URL option is not a number in the allowed range",
        option=name,
        **details,
        least=least,
        most=most,
        fix=f"write {name}={least:g} to {name}={most:g}",
    )


_PARSERS: Mapping[str, Callable[[str, str], Any]] = MappingProxyType(
    {
        "thrift2": _thrift2,
        "transport": _one_of("buffered", "framed"),
        "protocol": _one_of("binary", "compact"),
        "timeout_s": _seconds(LONGEST_TIMEOUT_S),
        "pool": _count(1, MOST_CONNECTIONS),
        "retries": _count(0, MOST_RETRIES),
        "timestamps": _one_of("server", "client"),
        "repair_on_read": _one_of("on", "off"),
        "clean_up": _one_of("now", "deferred"),
        "on_drift": _one_of("refuse", "warn"),
        # Other programs wait for the longest lease when they change the state of an index.
        "lease_s": _seconds(LONGEST_LEASE_S),
    }
)

OPTION_NAMES: Final = tuple(_PARSERS)
"""The names of the options that a URL may have, in the order of their documentation."""
