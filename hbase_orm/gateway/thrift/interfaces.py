"""The structs and services of both Thrift interfaces, and the required fields of their answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.resources import as_file, files
from typing import Any

import happybase  # noqa: F401  # loads the module that HBASE1 names
import thriftpy2

from hbase_orm.gateway.thrift.decoding.decoded import DecodedCell, DecodedRow


def _load_interface() -> Any:
    with as_file(files("hbase_orm.gateway") / "hbase2.thrift") as path:
        return thriftpy2.load(str(path), module_name="hbase_orm_hbase2_thrift")


HBASE2: Any = _load_interface()
"""The structs and services of `hbase2.thrift`."""

HBASE1: Any = sys.modules["Hbase_thrift"]
"""The structs and the service of Thrift1, from the module that happybase loads when imported."""


_ALL_OF_A_FAMILY = (
    "name",
    "versions",
    "min_versions",
    "ttl_s",
    "block_size",
    "block_cache",
    "in_memory",
    "cache_data_on_write",
    "evict_on_close",
    "scope",
)

NEEDED: Mapping[type, tuple[str, ...]] = {
    DecodedCell: ("value", "timestamp_ms"),
    DecodedRow: ("key", "cells"),
    HBASE1.TCell: ("value", "timestamp"),
    HBASE1.TRowResult: ("row", "columns"),
    HBASE1.TRegionInfo: ("startKey", "id"),
    HBASE1.ColumnDescriptor: (
        "name",
        "maxVersions",
        "timeToLive",
        "compression",
        "bloomFilterType",
        "blockCacheEnabled",
        "inMemory",
    ),
    HBASE2.RegionLocation: ("region",),
    HBASE2.RegionInfo: ("id",),
    HBASE2.ServerName: ("host", "port"),
    HBASE2.Table: ("name",),
    HBASE2.TableName: ("qualifier",),
    HBASE2.Family: _ALL_OF_A_FAMILY,
    HBASE2.Namespace: ("name",),
}
"""For each struct class, the fields that every server sends and that this library needs."""
