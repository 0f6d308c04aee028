"""What programs read of a pair's tables, compared with the raw cells."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import pytest

from hbase_orm import Engine, select
from hbase_orm.errors import (
    CatalogLeaseError,
    HBaseORMError,
    MissingCellError,
    QueryError,
    SchemaError,
)
from tests.support.declarations.cell_oracle import (
    MISSING,
    exists,
    index_state,
    matching,
    shown,
)
from tests.support.declarations.pair_tables import (
    PairTables,
    Rows,
    key_of,
    keys_of_objects,
    object_shown,
    targets,
    type_of,
)
from tests.support.declarations.plain_models import (
    Built,
    FieldSpec,
    IndexSpec,
)

COMPARED: Final = 2
"""The fields that conditions compare, of each class and at each read."""

BOOLEANS: Final = frozenset({"boolean"})


class PairReads(PairTables):
    """Reads the tables of a pair, and compares what it reads with the cells."""

    def _check_reads(self, engine: Engine, built: Built) -> None:
        cells = self._cells()
        rows = [
            (row, shown(built.spec, row.record_type, cells[row.table, row.data]))
            for row in self.ids
            if exists(self.recorded, row.record_type, cells.get((row.table, row.data), {}))
        ]
        self._check_gets(engine, built, rows)
        for model, types in targets(built):
            own = [(row, values) for row, values in rows if row.record_type in types]
            fields = [each for each in built.spec.fields if not each.of or types == (each.of,)]
            _check_scans(engine, built, model, own)
            _check_values(engine, model, own, fields, self._partial(own))
            self._check_conditions(engine, built, model, own, fields)
        for index in built.spec.indexes:
            self._check_index_read(engine, built, index, rows)

    def _partial(self, rows: Rows) -> set[tuple[str, bytes]]:
        """Return the rows of a plain model that lack the recorded anchor, each with that column.

        Other programs may have written them. A statement that selects the field of this column may
        pass them over, unless the record says that a view leaves the column out.
        """
        if self.recorded.is_guarded or self.is_view_recorded:
            return set()
        cells = self._cells()
        anchors = ((self.recorded.anchor(row.record_type), row) for row, _ in rows)
        return {
            (anchor.column, row.data)
            for anchor, row in anchors
            if anchor is not None and anchor.column.encode() not in cells[row.table, row.data]
        }

    def _check_gets(self, engine: Engine, built: Built, rows: Rows) -> None:
        values = dict(rows)
        with engine.session() as session:
            for row in self.ids:
                obj = session.get(built.makers[row.record_type], **key_of(built, row))
                shown_now = None if obj is None else object_shown(built, row.record_type, obj)
                assert shown_now == values.get(row), ("get", row)
        with engine.session() as session:
            for record_type, maker in built.makers.items():
                own = [row for row in self.ids if row.record_type == record_type]
                objects = session.get_many(maker, [key_of(built, row) for row in own])
                shown = [o and object_shown(built, record_type, o) for o in objects]
                assert shown == [values.get(row) for row in own], "get_many"

    def _check_conditions(
        self, engine: Engine, built: Built, model: Any, rows: Rows, fields: list[FieldSpec]
    ) -> None:
        differing = {
            name
            for index in built.spec.indexes
            if index_state(self.recorded, built.spec, index) != "kept"
            for name in index.fields
        }
        plain = [each for each in fields if each.is_plain]
        for each in self.chance.sample(plain, min(COMPARED, len(plain))):
            operators = ["==", "!="] if each.kind.name in BOOLEANS else ["==", "!=", "<", ">="]
            operator, value = self.chance.choice(operators), self.chance.choice(each.kind.values)
            of = getattr(model, each.name)
            condition = {"==": of == value, "!=": of != value}.get(operator)
            if condition is None:
                condition = of < value if operator == "<" else of >= value
            wanted = sorted(repr(r.values) for r in matching(rows, each.name, operator, value))
            stmt = select(model).where(condition).allow_full_scan()
            with engine.session() as session:
                by_scan = keys_of_objects(built, session.all(stmt.using(None)))
                assert by_scan == wanted, ("where", each.name, operator, value)
                assert session.count(stmt.using(None)) == len(wanted)
                refused = (SchemaError,) if each.name in differing else ()
                with suppress(*refused):
                    planned = keys_of_objects(built, session.all(stmt))
                    assert planned == wanted, ("where", each.name, operator, value)

    def _check_index_read(self, engine: Engine, built: Built, index: IndexSpec, rows: Rows) -> None:
        state = index_state(self.recorded, built.spec, index)
        names = [name for name, _ in index.parts]
        whole = [
            values for _, values in rows if all(values[n] not in {None, MISSING} for n in names)
        ]
        tried = self.chance.sample(whole, min(2, len(whole)))
        for values in tried:
            conditions = [getattr(built.model, name) == values[name] for name in names]
            stmt = select(built.model).where(*conditions).using(getattr(built.model, index.name))
            wanted = sorted(
                repr(row.values)
                for row, others in rows
                if all(others[name] == values[name] for name in names)
            )
            with engine.session() as session:
                if state == "kept":
                    assert keys_of_objects(built, session.all(stmt)) == wanted, ("index", index)
                    continue
                with pytest.raises((SchemaError, QueryError)):
                    session.all(stmt)

    def _check_indexes(self, engine: Engine, built: Built, *, is_first: bool) -> None:
        """Verify and repair all indexes; nothing may be wrong, and nothing may change."""
        may_write, before = self._may_write(built), self._snapshot()
        for index in built.spec.indexes:
            if index_state(self.recorded, built.spec, index) != "kept":
                continue
            try:
                verified = engine.verify_index(built.model, getattr(built.model, index.name))
            except SchemaError:
                assert not may_write, index
            else:
                assert verified.is_sound, (index, verified)
                assert not verified.stale, (index, verified)
        if built.spec.indexes:
            has_changed = not is_first or self.pair.second.spec != self.recorded
            refused: tuple[type[HBaseORMError], ...] = (SchemaError,) if has_changed else ()
            if not self.recorded.is_guarded:
                refused += (CatalogLeaseError,)
            with suppress(*refused):
                engine.repair_indexes(built.model)
        assert self._snapshot() == before, "a repair changed a good row or entry"


def _check_scans(engine: Engine, built: Built, model: Any, rows: Rows) -> None:
    stmt = select(model).allow_full_scan()
    wanted = sorted(repr((row.record_type, row.values, values)) for row, values in rows)
    keys = sorted(repr(row.values) for row, _ in rows)
    with engine.session() as session:
        objects = session.all(stmt)
        shown_now = []
        for obj in objects:
            record_type = type_of(built, obj)
            own = tuple(getattr(obj, each.name) for each in built.spec.keys_of(record_type))
            shown_now.append(repr((record_type, own, object_shown(built, record_type, obj))))
        assert sorted(shown_now) == wanted, "all"
        with session.stream(stmt) as stream:
            assert keys_of_objects(built, stream) == keys, "stream"
        assert session.count(stmt) == len(rows), "count"
        assert session.exists(stmt) == bool(rows), "exists"
        first = session.first(stmt)
        assert (first is None) == (not rows), "first"
        assert first is None or keys_of_objects(built, [first])[0] in keys, "first"


def _check_values(
    engine: Engine,
    model: Any,
    rows: Rows,
    fields: list[FieldSpec],
    partial: set[tuple[str, bytes]],
) -> None:
    """Select single fields: a row that lacks a required one is an error, no value."""
    for each in (f for f in fields if f.role != "dynamic"):
        stmt = select(getattr(model, each.name)).allow_full_scan()
        wanted = [
            values[each.name]
            for row, values in rows
            if values[each.name] is not MISSING or (each.column, row.data) not in partial
        ]
        missing = [values[each.name] for _, values in rows].count(MISSING)
        with engine.session() as session:
            if MISSING in wanted:
                with pytest.raises(MissingCellError):
                    session.all(stmt)
                continue
            with suppress(*((MissingCellError,) if missing else ())):
                values = session.all(stmt)
                assert sorted(map(repr, values)) == sorted(map(repr, wanted)), each.name
