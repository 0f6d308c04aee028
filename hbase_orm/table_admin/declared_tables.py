"""The tables that models declare, each with all its models, as for `create_tables`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.shared_tables import Creation, creations
from hbase_orm.binding.table_creation.table_descriptors import bare, base_table, longest_ttl_s
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.ops import FamilyDescriptor, Protocol, TableDescriptor
from hbase_orm.schema import TableSchema
from hbase_orm.table_admin.option_drift import TtlRange


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """What models declare together about one table, or about the tables of all periods.

    Attributes:
        table: The name of the table; with a table for each period, the pattern of names.
        creations: The models, in the order of `create_tables`: models with guards come first.
    """

    table: str
    creations: tuple[Creation, ...]

    @property
    def first(self) -> BoundModel:
        """The model whose options the base table has."""
        return self.creations[0].bound

    @property
    def is_foreign(self) -> bool:
        """Whether other programs own the table, so that it has no record."""
        return self.first.schema.is_foreign

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(creation.bound.schema.model_name for creation in self.creations)

    @property
    def schemas(self) -> list[TableSchema]:
        """The schemas of the models."""
        return [creation.bound.schema for creation in self.creations]

    @property
    def families(self) -> tuple[FamilyDescriptor, ...]:
        """The data families of all models."""
        return self.creations[0].families

    @property
    def guarded(self) -> tuple[BoundModel, ...]:
        """The models whose rows have guards or index entries."""
        bounds = (creation.bound for creation in self.creations)
        return tuple(bound for bound in bounds if bound.guarded is not None)

    @property
    def is_lww(self) -> bool:
        """Whether this program writes index entries without guards, because it has no Thrift2."""
        return any(bound.guarded is not None and bound.guarded.is_lww for bound in self.guarded)

    def descriptor(self) -> TableDescriptor:
        """Return the descriptor that a new table would get, with a family for guards if needed."""
        wanted = base_table(replace(self.first.schema, families=self.families), "")
        return bare(wanted) if self.is_lww else wanted

    def in_table(self, name: str) -> DeclaredTable:
        """Return the declaration for the table `name`: the only table, or the table of a period."""
        placed = tuple(
            replace(creation, bound=creation.bound.in_table(name)) for creation in self.creations
        )
        return DeclaredTable(name, placed)

    def names(self, periods: tuple[datetime, datetime] | None) -> Protocol[list[str]]:
        """Return the names of the tables to check.

        These are the model's only table, the tables of the given periods, or, if `periods` is None,
        all tables that exist.
        """
        tables = self.first.tables
        if tables.is_only or periods is None:
            return (yield from tables.existing())
        starts = tables.starts(periods)
        return [tables.at(start)[0] for start in starts if start is not None]

    def ttl_range(self, actual: TableDescriptor) -> TtlRange:
        """Return the right TTLs of guards and index entries for an existing table."""
        declared = {family.name for family in self.families}
        others = (f for f in actual.families if f.name not in {*declared, GUARD_FAMILY})
        every = replace(self.first.schema, families=(*self.families, *others))
        least_s = max(
            (longest_ttl_s(bound.schema) for bound in self.guarded),
            key=lambda ttl_s: float("inf") if ttl_s is None else ttl_s,
            default=longest_ttl_s(every),  # indexed columns may be in any family
        )
        return TtlRange(least_s, longest_ttl_s(every))


def declared_tables(bounds: Iterable[BoundModel]) -> list[DeclaredTable]:
    """Return the tables of models, in the order of their first models.

    Raises:
        SchemaError: Two models of one table declare it differently; see `creations`.
    """
    distinct = {bound.model: bound for bound in bounds}
    by_table: dict[str, list[Creation]] = {}
    for creation in creations(distinct.values()):
        by_table.setdefault(creation.bound.schema.table, []).append(creation)
    return [DeclaredTable(table, tuple(group)) for table, group in by_table.items()]
