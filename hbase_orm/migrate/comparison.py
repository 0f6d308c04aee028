"""Compares models with the records of their tables, for a new revision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.migrate.autogenerate import compared
from hbase_orm.migrate.errors import RevisionGraphError
from hbase_orm.migrate.graph import RevisionGraph
from hbase_orm.migrate.history import history_table, read_history
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.operation import Operation
from hbase_orm.migrate.operations.tables import CreateTable
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.ops import Protocol
from hbase_orm.record.closed_tables import closed_why
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import read_record
from hbase_orm.session import Engine
from hbase_orm.session.engine import runtime_of
from hbase_orm.table_admin.listing import read_catalog


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """What models need.

    Attributes:
        operations: The steps that change the tables to what the models declare.
        before: The recorded declarations by table, of the tables that change.
        after: The models' declarations by table, of the tables that change.
    """

    operations: tuple[Operation, ...] = ()
    before: Mapping[str, Declaration] = field(default_factory=dict[str, Declaration])
    after: Mapping[str, Declaration] = field(default_factory=dict[str, Declaration])


def compare(engine: Engine, models: Sequence[type[Model]]) -> ModelComparison:
    """Compare models with the records of their tables in HBase.

    Raises:
        RecordError: A record is damaged, or of a newer release.
    """
    by_table: dict[str, list[type[Model]]] = {}
    for model in models:
        shared = base_of(model) or model
        if not shared.__schema__.is_foreign:
            by_table.setdefault(shared.__schema__.table, []).append(shared)
    runtime = runtime_of(engine)
    records = runtime.run(_records(by_table, engine.options.namespace))
    after = {
        table: declaration_of([model.__schema__ for model in dict.fromkeys(own)])
        for table, own in by_table.items()
    }
    changed = [table for table in after if records.get(table) != after[table]]
    left = _left_tables(engine, after, records)
    operations = [_filled(each, left) for each in compared(models, records)]
    before = {table: records[table] for table in changed if table in records}
    before |= dict(left.values())
    return ModelComparison(tuple(operations), before, {table: after[table] for table in changed})


def _left_tables(
    engine: Engine, declared: Mapping[str, Declaration], records: Mapping[str, Declaration]
) -> dict[str, tuple[str, Declaration]]:
    """Return by new table the table that its models had before, with its declaration.

    That is the only recorded table that no model declares any more, and whose record has a model
    of the same name.
    """
    new = {table: each for table, each in declared.items() if table not in records}
    if not new:
        return {}
    runtime, namespace = runtime_of(engine), engine.options.namespace
    known: dict[str, Declaration] = {}
    for name, each in runtime.run(read_catalog()).items():
        table = name.removeprefix(f"{namespace}:") if namespace else name
        is_usable = each.record is not None and not closed_why(each.record.current)
        if is_usable and each.record is not None and ":" not in table and table not in declared:
            known[table] = each.record.current
    left: dict[str, tuple[str, Declaration]] = {}
    for table, wanted in new.items():
        alike = [old for old, each in known.items() if _model_names(each) & _model_names(wanted)]
        if len(alike) == 1:
            left[table] = (alike[0], known[alike[0]])
    return left


def _model_names(declaration: Declaration) -> set[str]:
    return {name for rows in declaration.rows for name in rows.models}


def _filled(operation: Operation, left: Mapping[str, tuple[str, Declaration]]) -> Operation:
    """Return the operation; instead of a new table, the move of the rows of an earlier table."""
    if not isinstance(operation, CreateTable) or operation.table not in left:
        return operation
    old, declaration = left[operation.table]
    names = ", ".join(sorted(_model_names(declaration)))
    note = (
        f"The table of {names} was {old}, which no model declares any more: its rows move.\n"
        f'If this is another table, replace the line by CreateTable("{operation.table}").'
    )
    return RekeyTable(old, new_table=operation.table, comment=note)


def refuse_other_state(engine: Engine, graph: RevisionGraph) -> None:
    """Raise an error unless exactly all revisions are applied.

    Raises:
        RevisionGraphError: They are not: the records are those of another revision.
    """
    runtime = runtime_of(engine)
    history = runtime.run(read_history(history_table(engine.options.namespace)))
    applied = history.applied.keys()
    if history.position is not None or applied != graph.revisions.keys():
        raise RevisionGraphError(
            "HBase is not at the newest revision, so the records are not what the models follow",
            current=list(graph.heads_of(applied)),
            heads=list(graph.heads),
            interrupted=None if history.position is None else history.position.revision,
            fix="run 'hbase-orm upgrade' first",
        )


def _records(tables: Iterable[str], namespace: str) -> Protocol[dict[str, Declaration]]:
    records: dict[str, Declaration] = {}
    for table in tables:
        record = yield from read_record(in_namespace(table, namespace))
        if record is not None:
            records[table] = record.current
    return records
