"""The classes of all errors that this library raises, in one tree.

An error's text is static, and its details are attributes. `str()` appends the details and `fix`,
the sentence that names the remedy. The class shows what a caller may do about a failed request:

- `RetryableError`: send it again.
- `ConnectionLostError`: find out whether it was applied.
- `RejectedError`: never send it again.

This package imports nothing else of the library.
"""

from __future__ import annotations

from hbase_orm.errors.declarations import (
    ConfigurationError,
    DataLossError,
    DeclarationError,
    MigrationError,
    ModelImportError,
    RecordError,
    SchemaDriftError,
    SchemaError,
)
from hbase_orm.errors.embedded_server import (
    DiskFullError,
    JavaNotFoundError,
    JavaUnsuitableError,
    MavenNotFoundError,
    PortInUseError,
    ServerDiedError,
    ServerError,
    ServerNotRunningError,
)
from hbase_orm.errors.reads import (
    CorruptRowError,
    MissingCellError,
    MultipleRowsError,
    NotLoadedError,
    PageTokenError,
    QueryError,
    RowNotFoundError,
    StreamInterruptedError,
    UnboundedScanError,
)
from hbase_orm.errors.requests import (
    AccessDeniedError,
    CompressionMissingError,
    ConnectionLostError,
    FamilyNotFoundError,
    FeatureMissingError,
    GatewayError,
    NamespaceExistsError,
    NamespaceNotFoundError,
    RegionUnavailableError,
    RejectedError,
    RetryableError,
    ScannerExpiredError,
    ServerBusyError,
    TableDisabledError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.errors.root import (
    HBaseORMError,
    cut,
    shown,
)
from hbase_orm.errors.values import (
    CodecError,
    CounterOverflowError,
    RowKeyError,
    UnnamedKeyError,
    ValidationError,
)
from hbase_orm.errors.writes import (
    CatalogLeaseError,
    ClockError,
    ConflictError,
    DuplicateRowError,
    FlushConflictError,
    FlushError,
    FlushSchemaError,
    RowMovedError,
    TableHeldError,
    UniqueViolationError,
    VersionConflictError,
)

__all__ = [
    "AccessDeniedError",
    "CatalogLeaseError",
    "ClockError",
    "CodecError",
    "CompressionMissingError",
    "ConfigurationError",
    "ConflictError",
    "ConnectionLostError",
    "CorruptRowError",
    "CounterOverflowError",
    "DataLossError",
    "DeclarationError",
    "DiskFullError",
    "DuplicateRowError",
    "FamilyNotFoundError",
    "FeatureMissingError",
    "FlushConflictError",
    "FlushError",
    "FlushSchemaError",
    "GatewayError",
    "HBaseORMError",
    "JavaNotFoundError",
    "JavaUnsuitableError",
    "MavenNotFoundError",
    "MigrationError",
    "MissingCellError",
    "ModelImportError",
    "MultipleRowsError",
    "NamespaceExistsError",
    "NamespaceNotFoundError",
    "NotLoadedError",
    "PageTokenError",
    "PortInUseError",
    "QueryError",
    "RecordError",
    "RegionUnavailableError",
    "RejectedError",
    "RetryableError",
    "RowKeyError",
    "RowMovedError",
    "RowNotFoundError",
    "ScannerExpiredError",
    "SchemaDriftError",
    "SchemaError",
    "ServerBusyError",
    "ServerDiedError",
    "ServerError",
    "ServerNotRunningError",
    "StreamInterruptedError",
    "TableDisabledError",
    "TableExistsError",
    "TableHeldError",
    "TableNotFoundError",
    "UnboundedScanError",
    "UniqueViolationError",
    "UnnamedKeyError",
    "ValidationError",
    "VersionConflictError",
    "cut",
    "shown",
]

for _name in __all__:  # tracebacks and pickles name the package from which programs import
    globals()[_name].__module__ = __name__
