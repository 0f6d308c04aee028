"""Makes the description of a move from the records of its two tables.

The classes of a program may be views with fewer fields, or may not know the other table at all. So
every program makes the models of both tables from the records, and all get the same translation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.bound_tables import bind
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.binding.dictionaries import Dictionaries
from hbase_orm.binding.maintained_indexes import kept_indexes
from hbase_orm.binding.table_creation.period_tables import make_period_of_move
from hbase_orm.binding.table_moves.period_moves import MakeTable, PeriodMoves
from hbase_orm.binding.table_moves.row_translation import row_translation
from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.index.entries.targets import GuardedTable
from hbase_orm.moving.layouts import RowTranslation
from hbase_orm.moving.translation import TableMove
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.rebuilding.models import rebuilt_models
from hbase_orm.record.recorded_schema import recorded_schema
from hbase_orm.record.specifications import same_key

Moves = TableMove | PeriodMoves


@dataclass(frozen=True, slots=True)
class MovedModels:
    """The models of a move's tables, made from their declarations.

    Attributes:
        old: The bound model of the old table.
        new: The bound model of the new table.
        translation: The translation of rows between them.
        keeps_keys: Whether each row has the same key in both tables, and there is one new table.
        make_table: Creates the table of a period.
    """

    old: BoundModel
    new: BoundModel
    translation: RowTranslation
    keeps_keys: bool
    make_table: MakeTable

    def move(self, old_entry: CatalogEntry, new_entry: CatalogEntry, new_key_table: str) -> Moves:
        """Return the move, with the indexes that the catalog's entries make writers maintain.

        Args:
            old_entry: The catalog's entry of the old table.
            new_entry: The catalog's entry of the new table.
            new_key_table: The index table of new keys; empty if each row keeps its key.

        Raises:
            SchemaError: The record and the catalog have different indexes.
            ConfigurationError: The tables cannot be moved row by row.
        """
        old, new = kept_indexes(self.old, old_entry), kept_indexes(self.new, new_entry)
        return self._move(old, new, new_key_table)

    def declared_move(self, new_key_table: str) -> Moves:
        """Return the move with all indexes that the models declare.

        Raises:
            ConfigurationError: The tables cannot be moved row by row.
        """
        assert self.old.guarded is not None
        assert self.new.guarded is not None
        return self._move(self.old.guarded, self.new.guarded, new_key_table)

    def _move(self, old: GuardedTable, new: GuardedTable, new_key_table: str) -> Moves:
        if self.new.tables.is_only:
            return TableMove(old, new, self.translation, new_key_table or None)
        models = self.old, self.new
        return PeriodMoves(models, (old, new), new_key_table, self.make_table)


def moved_models(
    old: Declaration,
    new: Declaration,
    tables: tuple[str, str],
    catalog: CatalogCache,
    features: frozenset[Feature],
) -> MovedModels:
    """Return the models of two declarations, and the translation between their rows.

    Args:
        old: The declaration of the old table's rows.
        new: The declaration of the new table's rows.
        tables: The names of the old and the new table, with their namespaces.
        catalog: The cache of the catalog.
        features: The features that the gateways support.

    Raises:
        DeclarationError: A declaration lacks what is needed, such as a function.
        ConfigurationError: Rows of such tables cannot be moved while programs use them.
    """
    old_table, new_table = tables
    before = _whole_model(old, old_table, catalog, features)
    after = _whole_model(new, new_table, catalog, features)
    translation = row_translation(before, after)
    # The rows of one period are no range of the old keys.
    keeps_keys = after.tables.is_only and same_key(old.rows[0].key, new.rows[0].key)
    make_table = partial(make_period_of_move, features=features, known=set[str]())
    return MovedModels(before, after, translation, keeps_keys, make_table)


def _whole_model(
    declaration: Declaration, table: str, catalog: CatalogCache, features: frozenset[Feature]
) -> BoundModel:
    """Return the bound model of a table that has all its columns and indexes."""
    if len(declaration.rows) != 1:
        raise ConfigurationError(
            "rows with several record types or row keys cannot be moved while programs use them",
            table=table,
            fix="run the migration with --exclusive",
        )
    models = rebuilt_models(declaration, table)
    (rows,) = declaration.rows
    names = set(declaration.indexes)
    whole = [
        model
        for name, model in models.items()
        if {index.name for index in model.__schema__.indexes} == names
        and rows.columns.keys() <= set(rows.models[name].fields.values())
    ]
    model = next(iter(whole), None)
    if model is None:
        raise ConfigurationError(
            "no single model has all columns and indexes of the table",
            table=table,
            models=list(models),
            fix="declare one model with all of them and call create_tables, or run the migration "
            "with --exclusive",
        )
    namespace = ""  # the names of the tables have theirs
    bound = bind(model, namespace, features, Dictionaries(catalog, features, namespace))
    if not declaration.guards_plain_models:
        return bound
    schema = recorded_schema(bound.schema, declaration)
    # Also without Thrift2: such programs read rows wherever they are, and write none.
    return replace(bound, schema=schema, guarded=guarded_table(schema))
