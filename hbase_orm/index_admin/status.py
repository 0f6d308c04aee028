"""The state of an index as `engine.indexes` and `hbase-orm index list` show it."""

from __future__ import annotations

from dataclasses import dataclass

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.index.catalog.differences import Difference, difference_of
from hbase_orm.index.catalog.entry import CatalogIndex, IndexState
from hbase_orm.index.catalog.entry_details import same_declaration
from hbase_orm.index_admin.pace import fraction_of


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of an index according to the catalog.

    Attributes:
        name: The name of the index.
        state: The state, which decides whether writes maintain the index and queries use it.
        table: The index table; empty if there is none.
        is_declared: Whether the model declares the index, and the catalog has no other declaration.
        difference: How the model's declaration differs: "not in the model" (the model declares no
            index of this name), "declared otherwise" (the index has other entries), or "another
            row key" (the model's row key is not the key of the table's rows). None if the model
            declares the index in the same way.
        is_manual: Whether only builds write the index.
        built: The finished fraction of a build, from 0 to 1; None if no build is in progress.
        epoch: The catalog's epoch since which writers maintain the index.
        declaration: The model's declaration as a text; empty if the model has no such index.
        catalog_declaration: The catalog's declaration as a text; empty if the catalog has none.
    """

    name: str
    state: IndexState
    table: str
    is_declared: bool
    is_manual: bool = False
    built: float | None = None
    epoch: int = 0
    difference: Difference | None = None
    declaration: str = ""
    catalog_declaration: str = ""


def status_of(bound: BoundModel, name: str, known: CatalogIndex | None) -> IndexStatus:
    """Return the state of an index; `known` is the catalog's entry, None if there is none."""
    declared = bound.indexes.get(name)
    if known is None:
        is_declared = declared is not None
        return IndexStatus(name, IndexState.ABSENT, "", is_declared, declaration=declared or "")
    has_table = known.state is not IndexState.ABSENT
    built = None
    if known.build:
        built = sum(map(fraction_of, known.build)) / len(known.build)
    return IndexStatus(
        name,
        known.state,
        (known.table or f"{bound.schema.table}_ix_{name}") if has_table else "",
        same_declaration(known.entries, declared),
        known.is_manual,
        built,
        known.epoch,
        difference_of(name, bound.indexes, known.entries),
        declared or "",
        known.entries,
    )
