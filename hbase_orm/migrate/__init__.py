"""Migrations: revisions of tables, applied one step after the other, with their history in HBase.

    from hbase_orm.migrate import RunPython

    revision = "3f2a"
    down_revision = "19ac"
    operations = [RunPython(fill_the_units)]

`hbase-orm upgrade` applies revisions; `Migrations` does so in a program.
"""

from __future__ import annotations

from hbase_orm.migrate.errors import (
    EditedRevisionError,
    HistoryError,
    InterruptedRevisionError,
    IrreversibleStepError,
    LockHeldError,
    LockLostError,
    MigrationStoppedError,
    RevisionFileError,
    RevisionGraphError,
    SeveralHeadsError,
    StepFailedError,
)
from hbase_orm.migrate.graph import RevisionGraph
from hbase_orm.migrate.history import AppliedRevision, MigrationHistory, Position
from hbase_orm.migrate.migrations import Current, Migrations
from hbase_orm.migrate.operations import (
    AddColumn,
    AddFamily,
    AddIndex,
    AlterFamily,
    AlterTable,
    Backfill,
    BackfillColumn,
    ChangeCodec,
    ClearColumn,
    CreateTable,
    DropColumn,
    DropFamily,
    DropIndex,
    DropTable,
    MergeTables,
    RekeyTable,
    RenameColumn,
    RenameQualifier,
    SplitTable,
    TransformColumn,
    UpdateRecord,
)
from hbase_orm.migrate.operations.operation import (
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    MigrationOptions,
    Operation,
    Progress,
)
from hbase_orm.migrate.operations.run_python import RunPython
from hbase_orm.migrate.planning import MigrationPlan, PlannedStep, RevisionStep
from hbase_orm.migrate.revisions import Direction, Revision
from hbase_orm.migrate.runner import Finished, StepProgress
from hbase_orm.migrate.scripts import Scripts

__all__ = [
    "AddColumn",
    "AddFamily",
    "AddIndex",
    "AlterFamily",
    "AlterTable",
    "AppliedRevision",
    "Backfill",
    "BackfillColumn",
    "ChangeCodec",
    "Checkpoint",
    "ClearColumn",
    "CreateTable",
    "Current",
    "Direction",
    "DropColumn",
    "DropFamily",
    "DropIndex",
    "DropTable",
    "EditedRevisionError",
    "Estimate",
    "Finished",
    "HistoryError",
    "InterruptedRevisionError",
    "Irreversible",
    "IrreversibleStepError",
    "LockHeldError",
    "LockLostError",
    "MergeTables",
    "Migration",
    "MigrationHistory",
    "MigrationOptions",
    "MigrationPlan",
    "MigrationStoppedError",
    "Migrations",
    "Operation",
    "PlannedStep",
    "Position",
    "Progress",
    "RekeyTable",
    "RenameColumn",
    "RenameQualifier",
    "Revision",
    "RevisionFileError",
    "RevisionGraph",
    "RevisionGraphError",
    "RevisionStep",
    "RunPython",
    "Scripts",
    "SeveralHeadsError",
    "SplitTable",
    "StepFailedError",
    "StepProgress",
    "TransformColumn",
    "UpdateRecord",
]
