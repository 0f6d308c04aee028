"""The requests to a gateway, their answers, and ranges of keys, all in bytes.

A request is a frozen value of type `Operation[R]`, where `R` is the type of its answer. A protocol
of several requests is a generator that yields requests and receives their answers. `ask` does this
for one request, with the right types. Both drivers and the schedulers of the tests run such
protocols. This package does not depend on models or Thrift.

Columns are `b"family:qualifier"`; in reads `b"family"` means the whole family. Timestamps are
milliseconds since 1970. If the timestamp of a write is None, the server sets it.
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
