"""The names that applications import: a change here is a change of the public API."""

from __future__ import annotations

from typing import Any

import pytest

import hbase_orm
from hbase_orm import codecs, errors

PUBLIC = [
    "AlterationProgress",
    "Assignment",
    "Bucket",
    "BuildProgress",
    "Bulk",
    "CellVersion",
    "Codec",
    "Component",
    "Computed",
    "Condition",
    "Counter",
    "CounterExpr",
    "Digest",
    "Drift",
    "Dynamic",
    "DynamicExpr",
    "Engine",
    "Expr",
    "Family",
    "Finding",
    "FlushReport",
    "HashPrefix",
    "Index",
    "IndexState",
    "IndexStatus",
    "Key",
    "Mapped",
    "Model",
    "Offset",
    "Order",
    "Page",
    "Period",
    "Plan",
    "RandomSalt",
    "RecordType",
    "Related",
    "RelatedExpr",
    "RowKey",
    "RowPair",
    "Salt",
    "Select",
    "Session",
    "StoredCell",
    "Stream",
    "Substitute",
    "Table",
    "TableChange",
    "TableCheck",
    "TableDifference",
    "TablePerPeriod",
    "Verification",
    "Version",
    "codecs",
    "column",
    "connect",
    "counter",
    "dynamic",
    "errors",
    "func",
    "is_stale",
    "key",
    "models",
    "related",
    "rowkey",
    "select",
    "validators",
    "version",
]

CODECS = [
    "Codec",
    "boolean",
    "code",
    "date_",
    "decimal",
    "default_codec",
    "default_codecs",
    "digits",
    "enum",
    "float64",
    "get",
    "int8",
    "int16",
    "int32",
    "int64",
    "ipv4",
    "ipv6",
    "json",
    "micros",
    "millis",
    "millis_of_day",
    "minute_of_day",
    "msgpack",
    "names",
    "raw",
    "seconds",
    "strftime",
    "text",
    "timedelta_",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uuid",
]

SESSION = [
    *("add", "add_all", "all", "append", "arrow", "bulk", "close", "count", "delete", "delete_if"),
    *("delete_row", "delete_where", "exists", "explain", "expunge", "first", "flush", "get"),
    *("get_many", "history", "increment", "insert", "move", "one", "page", "put_if", "put_row"),
    *("refresh", "replace", "stored_cells", "stream", "to_pandas", "update"),
]

ENGINE = [
    *("add_guard_family", "adopt_tables", "alter_tables", "build_index", "check_tables", "close"),
    *("corrupt_rows", "create_tables", "decode_key", "describe_tables", "drop_index"),
    *("drop_tables", "exclusive"),
    *("finish_clean_up", "indexes", "raw", "regions", "repair_indexes", "row_keys", "sequence"),
    *("session", "table_changes", "table_state", "tables", "truncate_tables", "verify_index"),
]


def public(thing: object) -> list[str]:
    return sorted(name for name in dir(thing) if not name.startswith("_"))


def test_the_package_exports_these_names() -> None:
    assert hbase_orm.__all__ == PUBLIC


def test_the_codecs_are_these() -> None:
    assert codecs.__all__ == CODECS


def test_sessions_and_engines_have_these_methods() -> None:
    assert public(hbase_orm.Session) == SESSION
    assert public(hbase_orm.Engine) == ENGINE


def test_a_model_has_no_public_names_beyond_the_reserved_ones() -> None:
    assert public(hbase_orm.Model) == [
        *("after_delete", "after_load", "after_put", "before_delete", "before_put"),
        *("decode_key", "describe_key", "encode_key", "from_dict", "to_dict"),
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_says_what_it_is(name: str) -> None:
    assert getattr(hbase_orm, name).__doc__


def test_every_error_is_one_of_the_librarys() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind is not Any]

    assert all(issubclass(kind, errors.HBaseORMError) for kind in kinds)
    assert all(kind.__doc__ for kind in kinds)
