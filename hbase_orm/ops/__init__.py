"""What crosses the gateway: requests, answers and the ranges they speak of, all in bytes.

A request is a frozen value that names its answer's type: `Operation[R]`. Protocols of more than
one request are generators that yield requests and are sent answers (`ask` types one exchange), so
the blocking driver, an asyncio driver and an exhaustive scheduler run the same code, each by
`ProtocolRun`. This package knows neither models nor Thrift.

Columns are `b"family:qualifier"`; in reads a bare `b"family"` asks for the whole family.
Timestamps are milliseconds since the epoch; None in a write leaves the timestamp to the server.
"""

from __future__ import annotations

from hbase_orm.ops.admin import (
    AddFamily,
    CreateNamespace,
    CreateTable,
    DescribeTable,
    DisableTable,
    DropNamespace,
    DropTable,
    EnableTable,
    FamilyDescriptor,
    ListNamespaces,
    ListRegions,
    ListTables,
    Ping,
    RegionRange,
    TableDescriptor,
)
from hbase_orm.ops.operation import (
    Nested,
    Operation,
    Protocol,
    RenewTimeLimit,
    SideBySide,
    Sleep,
    Together,
)
from hbase_orm.ops.protocol import (
    ProtocolRun,
    RetryPolicy,
    ask,
    ask_all,
    ask_all_with_retry,
    ask_with_retry,
    retry,
    run_all,
    run_protocol,
)
from hbase_orm.ops.ranges import (
    MAX_CELL_BYTES,
    MAX_ROW_KEY_BYTES,
    KeyRange,
    after_prefix,
    check_row_key_length,
    longest_row_key_bytes,
    merged,
)
from hbase_orm.ops.requests import (
    Append,
    CheckAndMutate,
    CloseScanner,
    Delete,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    MutateRow,
    MutateRows,
    OpenScanner,
    Put,
    PutRows,
    RowMutation,
    Scan,
)
from hbase_orm.ops.rows import (
    Cell,
    Row,
    ScannerId,
    StoredVersion,
)
from hbase_orm.ops.scanner import (
    ResumableScan,
    fetch_once,
    first_rows,
)

__all__ = [
    "MAX_CELL_BYTES",
    "MAX_ROW_KEY_BYTES",
    "AddFamily",
    "Append",
    "Cell",
    "CheckAndMutate",
    "CloseScanner",
    "CreateNamespace",
    "CreateTable",
    "Delete",
    "DescribeTable",
    "DisableTable",
    "DropNamespace",
    "DropTable",
    "EnableTable",
    "FamilyDescriptor",
    "FetchRows",
    "GetRows",
    "GetVersions",
    "GetVersionsOfRows",
    "Increment",
    "KeyRange",
    "ListNamespaces",
    "ListRegions",
    "ListTables",
    "MutateRow",
    "MutateRows",
    "Nested",
    "OpenScanner",
    "Operation",
    "Ping",
    "Protocol",
    "ProtocolRun",
    "Put",
    "PutRows",
    "RegionRange",
    "RenewTimeLimit",
    "ResumableScan",
    "RetryPolicy",
    "Row",
    "RowMutation",
    "Scan",
    "ScannerId",
    "SideBySide",
    "Sleep",
    "StoredVersion",
    "TableDescriptor",
    "Together",
    "after_prefix",
    "ask",
    "ask_all",
    "ask_all_with_retry",
    "ask_with_retry",
    "check_row_key_length",
    "fetch_once",
    "first_rows",
    "longest_row_key_bytes",
    "merged",
    "retry",
    "run_all",
    "run_protocol",
]
