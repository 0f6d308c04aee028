"""Random options of families and tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from hbase_orm import Family

_SETTINGS = st.dictionaries(
    st.sampled_from(("hbase.hstore.blockingStoreFiles", "hbase.hstore.compaction.max")),
    st.sampled_from(("20", "30")),
)
_ATTRIBUTES = st.dictionaries(st.sampled_from(("OWNER", "COST_CENTRE")), st.sampled_from("ab"))

THRIFT1_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "versions": st.integers(1, 5),
    "ttl": st.none() | st.integers(1, 10**8).map(lambda seconds: timedelta(seconds=seconds)),
    "compression": st.sampled_from(("NONE", "GZ")),
    "bloom": st.sampled_from(("NONE", "ROW", "ROWCOL")),
    "block_cache": st.booleans(),
    "in_memory": st.booleans(),
}
"""What Thrift1 can set."""

# A server without the native codecs has only GZ; `memory://` refuses new_version_behavior.
FAMILY_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    **THRIFT1_OPTIONS,
    "block_encoding": st.sampled_from(("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1")),
    "block_size_bytes": st.sampled_from((1024, 8192, 65_536, 1_048_576)),
    "keep_deleted_cells": st.sampled_from((False, True, "TTL")),
    "cache_data_on_write": st.booleans(),
    "evict_on_close": st.booleans(),
    "scope": st.sampled_from((0, 1)),
    "cache_blooms_on_write": st.booleans(),
    "cache_indexes_on_write": st.booleans(),
    "prefetch_on_open": st.booleans(),
    "compress_tags": st.booleans(),
    "dfs_replication": st.integers(0, 3),
    "in_memory_compaction": st.sampled_from((None, "NONE", "BASIC", "EAGER", "ADAPTIVE")),
    "storage_policy": st.sampled_from((None, "HOT", "COLD")),
    "compaction_compression": st.sampled_from((None, "NONE", "GZ")),
    "index_block_encoding": st.sampled_from(("NONE", "PREFIX_TREE")),
    "configuration": _SETTINGS,
    "attributes": _ATTRIBUTES,
}

_TABLE_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "durability": st.sampled_from(
        ("USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL")
    ),
    "max_file_size_bytes": st.sampled_from((None, 5 * 2**30)),
    "flush_size_bytes": st.sampled_from((None, 64 * 2**20)),
    "attributes": _ATTRIBUTES,
}


@st.composite
def families(
    draw: st.DrawFn, options: dict[str, st.SearchStrategy[Any]] = FAMILY_OPTIONS
) -> Family:
    """Draw a family with any of the options."""
    drawn = draw(st.fixed_dictionaries({}, optional=options))
    if options is FAMILY_OPTIONS:
        drawn["min_versions"] = draw(st.integers(0, drawn.get("versions", 1)))
        if draw(st.booleans()):
            drawn |= {"mob_enabled": True, "mob_threshold_bytes": draw(st.integers(0, 10**6))}
        if draw(st.booleans()):
            drawn |= {"bloom": "ROWPREFIX_FIXED_LENGTH", "bloom_prefix_bytes": 4}
    return Family(**drawn)


def table_options() -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the options of a table."""
    return st.fixed_dictionaries({}, optional=_TABLE_OPTIONS)
