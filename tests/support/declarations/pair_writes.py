"""What programs write into a pair's tables, compared with what it must leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm import Engine
from hbase_orm.errors import (
    CatalogLeaseError,
    DuplicateRowError,
    FeatureMissingError,
    HBaseORMError,
    SchemaDriftError,
    SchemaError,
)
from tests.support.declarations.cell_oracle import (
    COUNTS,
    RowId,
    is_view,
)
from tests.support.declarations.pair_reads import PairReads
from tests.support.declarations.pair_tables import (
    key_of,
    object_shown,
)
from tests.support.declarations.pair_verbs import error_of, writes_of
from tests.support.declarations.plain_models import (
    Built,
    FieldSpec,
)

RowWriter = Callable[[Engine, Built, RowId], None]


class PairWrites(PairReads):
    """Writes the tables of a pair, and compares the cells with what must be in them."""

    def _check_writes(self, engine: Engine, built: Built) -> None:
        self._check_cells()
        if not self._may_write(built):
            self.writes_refused = True
            self._check_writes_refused(engine, built)
            return
        existing = self._existing()
        self.chance.shuffle(existing)
        for row, write in zip(existing, self._each_once(built), strict=False):
            write(engine, built, row)
        for each in (f for f in built.spec.fields if f.role == "counter"):
            alone = self._new_row(built)  # a row of a counter alone
            for row in (*existing[:1], *([] if alone is None else [alone])):
                if each.of in {"", row.record_type}:
                    self._increment(engine, built, row, each)
        self._insert_new(engine, built)
        self._check_cells()

    def _each_once(self, built: Built) -> list[RowWriter]:
        """Return the kinds of writes, one for each of the first rows."""
        if built.spec.without_thrift2:
            return [self._change, self._change, self._put_row]
        whole = self._replace if self._makes_rows(built) else self._change
        return [self._insert_existing, whole, self._delete, self._put_row, self._change]

    def _makes_rows(self, built: Built) -> bool:
        """Return whether a model may write whole rows: with guards, they need the anchor."""
        return not (self.recorded.is_guarded and is_view(self.recorded, built.spec))

    def _inserts(self, built: Built) -> bool:
        """Return whether a model may insert rows: a view without the anchor must be recorded."""
        is_known = self.is_view_recorded or not is_view(self.recorded, built.spec)
        return is_known and self._makes_rows(built)

    def _insert_existing(self, engine: Engine, built: Built, row: RowId) -> None:
        error = DuplicateRowError if self._inserts(built) else SchemaDriftError
        with engine.session() as session, pytest.raises(error):
            session.insert(self._object(built, row, is_kept=False))
        self._check_cells()
        self._change(engine, built, row)

    def _insert_new(self, engine: Engine, built: Built) -> None:
        row = self._new_row(built)
        if row is None:
            return
        is_whole, has_thrift2 = self._makes_rows(built), not built.spec.without_thrift2
        obj = self._object(built, row, is_kept=is_whole)
        session = engine.session()
        if not is_whole:
            session.add(obj)
            with pytest.raises(SchemaDriftError):
                session.flush()
        elif has_thrift2 and not obj.__schema__.dynamics and self.chance.random() < 0.5:
            if self._inserts(built):
                session.insert(obj)
            else:
                with pytest.raises(SchemaDriftError, match="would not see this row"):
                    session.insert(obj)
                session.add(obj)
                session.flush()
        else:
            session.add(obj)
            session.flush()
        session.close()
        self._check_cells()

    def _replace(self, engine: Engine, built: Built, row: RowId) -> None:
        self.expected.pop((row.table, row.data), None)
        with engine.session() as session:
            session.replace(self._object(built, row))
        self._check_cells()

    def _delete(self, engine: Engine, built: Built, row: RowId) -> None:
        with engine.session() as session:
            obj: Any = session.get(built.makers[row.record_type], **key_of(built, row))
            session.delete(obj)
        self.expected.pop((row.table, row.data), None)
        self._check_cells()

    def _change(self, engine: Engine, built: Built, row: RowId) -> None:
        fields = [f for f in built.spec.fields_of(row.record_type) if f.is_plain]
        chosen = self.chance.sample(fields, min(len(fields), self.chance.choice((1, 2))))
        cells = self.expected[row.table, row.data]
        with engine.session() as session:
            obj = session.get(built.makers[row.record_type], **key_of(built, row))
            for each in chosen:
                value = self._value(each)
                if repr(value) == repr(object_shown(built, row.record_type, obj)[each.name]):
                    continue  # nothing changes: a default is not written
                setattr(obj, each.name, value)
                self._expect(cells, each, value)
            for each in built.spec.fields_of(row.record_type):
                if each.role == "dynamic":
                    getattr(obj, each.name)["new"] = each.kind.values[0]
                    cells[each.column.encode() + b"new"] = each.kind.codec().encode(
                        each.kind.values[0]
                    )
        self._check_cells()

    def _put_row(self, engine: Engine, built: Built, row: RowId) -> None:
        fields = [f for f in built.spec.fields_of(row.record_type) if f.is_plain]
        if not fields:
            return
        each, maker = self.chance.choice(fields), built.makers[row.record_type]
        value = self.chance.choice(each.kind.values)
        with engine.session() as session:
            session.put_row(maker, getattr(maker, each.name).to(value), **key_of(built, row))
        self._expect(self.expected[row.table, row.data], each, value)
        self._check_cells()

    def _increment(self, engine: Engine, built: Built, row: RowId, of: FieldSpec) -> None:
        amount, maker = self.chance.randint(1, 9), built.makers[row.record_type]
        cells = self.expected.setdefault((row.table, row.data), {})
        before = cells.get(of.column.encode())
        with engine.session() as session:
            session.increment(maker, getattr(maker, of.name).by(amount), **key_of(built, row))
        total = amount + (0 if before is None else COUNTS.decode(before))
        cells[of.column.encode()] = COUNTS.encode(total)
        self._check_cells()

    def _check_writes_refused(self, engine: Engine, built: Built) -> None:
        before = self._snapshot()
        for name, verb in writes_of(built, self.chance, self._existing()).items():
            if name.startswith("increment") and not self.recorded.is_guarded:
                continue  # there are no entries yet that could be left out
            error = error_of(verb, engine)
            typed: tuple[type[HBaseORMError], ...] = (SchemaError, FeatureMissingError)
            typed += self._also_refused(name)
            assert isinstance(error, typed), (name, error)
        after = self._snapshot()
        assert {place: after.get(place) for place in before} == before, "a refused write wrote"

    def _also_refused(self, verb: str) -> tuple[type[HBaseORMError], ...]:
        """Return the other errors by which a verb may refuse a model with other indexes.

        An insert reads the row first. The catalog has no entry for a table without guards, so
        nobody has a lease to write guards there.
        """
        errors: tuple[type[HBaseORMError], ...] = ()
        if verb.startswith("insert"):
            errors += (DuplicateRowError,)
        return errors if self.recorded.is_guarded else (*errors, CatalogLeaseError)
