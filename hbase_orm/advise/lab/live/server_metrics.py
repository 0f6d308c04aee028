"""What RegionServers count themselves: requests and sizes of regions, by HTTP.

Thrift shows neither. Each RegionServer has a page with its metrics, `http://HOST:16030/jmx`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from hbase_orm.errors import ConfigurationError, ConnectionLostError
from hbase_orm.ops import RegionRange

_PATH: Final = "/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=Regions"
_TIMEOUT_S: Final = 10.0
_METRIC: Final = re.compile(r"Namespace_.+_region_(?P<region>[0-9a-f]{32})_metric_(?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class RegionMetrics:
    """What a RegionServer has counted of a region since it opened the region.

    Attributes:
        reads: The read requests.
        writes: The write requests.
        size_bytes: The size of the store files and of the memstore.
    """

    reads: int = 0
    writes: int = 0
    size_bytes: int = 0


def read_metrics(addresses: Iterable[str]) -> dict[str, RegionMetrics]:
    """Return the metrics of the regions of some servers, by the encoded names of the regions.

    Args:
        addresses: The addresses of the servers' pages, such as `http://host:16030`.

    Raises:
        ConfigurationError: An address is none of HTTP, or its page has no metrics.
        ConnectionLostError: A server does not answer.
    """
    every: dict[str, RegionMetrics] = {}
    for address in addresses:
        every |= _metrics_of(address, _beans(address))
    return every


def encoded_name(table: str, region: RegionRange) -> str:
    """Return the encoded name of a region: HBase's hash of table, first key and time."""
    name = b"%s,%s,%d" % (table.encode(), region.start, region.created_ms)
    return hashlib.md5(name, usedforsecurity=False).hexdigest()


def _beans(address: str) -> Any:
    if urlsplit(address).scheme not in {"http", "https"}:
        raise _refused(address, "it does not begin with http:// or https://")
    try:
        with urlopen(address.rstrip("/") + _PATH, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - checked above
            return json.loads(answer.read())
    except (URLError, TimeoutError, ConnectionError) as error:
        raise ConnectionLostError(
            "the RegionServer's page of metrics does not answer",
            address=address,
            reason=str(error),
            fix="check the address: the port is hbase.regionserver.info.port, 16030 by default",
        ) from error
    except ValueError as error:
        raise _refused(address, "its answer is no JSON") from error


def _metrics_of(address: str, answer: Any) -> Mapping[str, RegionMetrics]:
    beans = answer.get("beans") if isinstance(answer, dict) else None
    if not isinstance(beans, list):
        raise _refused(address, "its answer has no beans")
    numbers: dict[str, dict[str, int]] = {}
    for bean in beans:
        for name, value in bean.items():
            match = _METRIC.fullmatch(name)
            if match is not None and isinstance(value, int):
                numbers.setdefault(match["region"], {})[match["name"]] = value
    return {region: _region_metrics(values) for region, values in numbers.items()}


def _region_metrics(values: Mapping[str, int]) -> RegionMetrics:
    return RegionMetrics(
        reads=values.get("readRequestCount", 0),
        writes=values.get("writeRequestCount", 0),
        size_bytes=values.get("storeFileSize", 0) + values.get("memStoreSize", 0),
    )


def _refused(address: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the address is not that of a RegionServer's metrics",
        address=address,
        reason=reason,
        fix="write http://HOST:16030 for each RegionServer",
    )
