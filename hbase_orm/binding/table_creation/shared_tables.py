"""Tables of several models: what the models declare together, and where they contradict each other.

Nothing is sent here. `engine.create_tables` calls `creations` before its first request. So a new
table gets the families of all its models, and no table is created if models contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import combinations

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import SchemaError
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.schema import ColumnSchema, TableSchema

_TABLE_OPTIONS = {
    "splits": "split_keys",
    "durability": "durability",
    "region_replication": "region_replication",
    "attributes": "attributes",
    "foreign": "is_foreign",
}
"""The attribute of a `TableSchema` for each option of `Table` that belongs to the whole table."""


@dataclass(frozen=True, slots=True)
class Creation:
    """The creation of a model's tables.

    Attributes:
        bound: The bound model.
        families: The families of the model's base table, if it is created: the model's own
            families, then those of the other models of this table.
    """

    bound: BoundModel
    families: tuple[FamilyDescriptor, ...]


def creations(bound_models: Iterable[BoundModel]) -> list[Creation]:
    """Return the creations of models' tables, in the order in which the tables are created.

    Tables are in the order of their first model. The models of one table that write guards come
    first, so that a new table has the family for the guards.

    Raises:
        SchemaError: Two models of one table declare different options of the table or of a family,
            or different codecs for one column.
    """
    by_table: dict[str, list[BoundModel]] = {}
    for bound in bound_models:
        by_table.setdefault(bound.schema.table, []).append(bound)
    ordered: list[Creation] = []
    for group in by_table.values():
        for one, other in combinations((bound.schema for bound in group), 2):
            _refuse_contradictions(one, other)
        for bound in sorted(group, key=lambda bound: not bound.schema.is_guarded):
            others = (each.schema for each in group if each is not bound)
            ordered.append(Creation(bound, _all_families([bound.schema, *others])))
    return ordered


def _all_families(schemas: Sequence[TableSchema]) -> tuple[FamilyDescriptor, ...]:
    by_name = {family.name: family for schema in schemas for family in schema.families}
    return tuple(by_name.values())


def _refuse_contradictions(one: TableSchema, other: TableSchema) -> None:
    where = {"table": one.table, "model": one.model_name, "other_model": other.model_name}
    for option, attribute in _TABLE_OPTIONS.items():
        value, other_value = getattr(one, attribute), getattr(other, attribute)
        if value != other_value:
            raise SchemaError(
                "two models declare their table with different options",
                **where,
                option=option,
                value=value,
                other_value=other_value,
                fix="declare one Table(...) and give it to both models",
            )
    _refuse_different_families(one, other, where)
    _refuse_different_codecs(one, other, where)


def _refuse_different_families(one: TableSchema, other: TableSchema, where: dict[str, str]) -> None:
    declared = {family.name: family for family in one.families}
    for family in other.families:
        known = declared.get(family.name, family)
        for option in (each.name for each in fields(FamilyDescriptor)):
            value, other_value = getattr(known, option), getattr(family, option)
            if value != other_value:
                raise SchemaError(
                    "two models of one table declare a family with different options",
                    **where,
                    family=family.name.decode(),
                    option=option,
                    value=value,
                    other_value=other_value,
                    fix="declare the family alike in both models, or in a base class of both",
                )


def _refuse_different_codecs(one: TableSchema, other: TableSchema, where: dict[str, str]) -> None:
    declared = {column.column: column for column in _columns(one)}
    for column in _columns(other):
        known = declared.get(column.column, column)
        if known.codec != column.codec:
            raise SchemaError(
                "two models of one table declare a column with different codecs: what one writes, "
                "the other does not read",
                **where,
                column=column.column.decode(),
                field=known.name,
                other_field=column.name,
                codec=known.codec.name,
                other_codec=column.codec.name,
                fix="give both fields the same codec, or one of them another qualifier",
            )


def _columns(schema: TableSchema) -> Iterator[ColumnSchema]:
    yield from schema.columns
    yield from schema.numbers
