"""What revisions do to tables: each operation is a value with a `run` that may be repeated."""

from __future__ import annotations

from hbase_orm.migrate.operations.backfills import Backfill
from hbase_orm.migrate.operations.columns import (
    AddColumn,
    DropColumn,
    RenameColumn,
    UpdateRecord,
)
from hbase_orm.migrate.operations.copies import MergeTables, RekeyTable, SplitTable
from hbase_orm.migrate.operations.encodings import ChangeCodec, RenameQualifier
from hbase_orm.migrate.operations.families import AddFamily, AlterFamily, AlterTable, DropFamily
from hbase_orm.migrate.operations.indexes import AddIndex, DropIndex
from hbase_orm.migrate.operations.operation import Irreversible, Operation
from hbase_orm.migrate.operations.run_python import RunPython
from hbase_orm.migrate.operations.tables import CreateTable, DropTable
from hbase_orm.migrate.operations.values import (
    BackfillColumn,
    ClearColumn,
    TransformColumn,
)

__all__ = [
    "AddColumn",
    "AddFamily",
    "AddIndex",
    "AlterFamily",
    "AlterTable",
    "Backfill",
    "BackfillColumn",
    "ChangeCodec",
    "ClearColumn",
    "CreateTable",
    "DropColumn",
    "DropFamily",
    "DropIndex",
    "DropTable",
    "Irreversible",
    "MergeTables",
    "Operation",
    "RekeyTable",
    "RenameColumn",
    "RenameQualifier",
    "RunPython",
    "SplitTable",
    "TransformColumn",
    "UpdateRecord",
]
