"""Models that are made from a record write and read what the original models do, whatever they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import Engine, Model, connect, select
from hbase_orm.errors import QueryError
from hbase_orm.index.entries.index_entries import index_target
from hbase_orm.model.declare.placement import base_of
from hbase_orm.ops import Cell, Row
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.option_snapshots import derived_parts
from hbase_orm.record.rebuilding.models import rebuilt_models
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.rowkey.computed import Calculated
from hbase_orm.rowkey.layout import KeyContext
from tests.property.quotas import fill, short_of
from tests.property.random_models import Declared, hashed, models, row_key, rows
from tests.property.random_options import families, table_options
from tests.property.wishes import COMPONENTS, INDEXES
from tests.support.rebuilt_declarations import as_rebuilt

MODELS = 150
SEVERAL_OF_EACH = 8
AIMED = 6
many = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)


@dataclass(frozen=True)
class Case:
    """A model, some of its rows, and the models that are made from its record."""

    declared: Declared
    rows: Sequence[Mapping[str, Any]]
    declaration: Declaration
    rebuilt: Mapping[str, type[Model]]

    @property
    def pairs(self) -> list[tuple[type[Model], type[Model]]]:
        """The original models that rows are made of, and those from the record."""
        return [(model, self.rebuilt[model.__name__]) for model in self.declared.makers]

    def values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in self.declared.fields}


@st.composite
def cases(draw: st.DrawFn, wish: str = "") -> Case:
    declared = draw(models(wish=wish, family=families(), table_options=table_options()))
    schema = root(declared).__schema__
    record = TableRecord("", declaration_of([schema]))
    read = TableRecord.decode(record.encode(), schema.table).current
    assert read == record.current
    rebuilt = rebuilt_models(read, schema.table, functions=functions_of(declared))
    return Case(declared, draw(rows(declared)), read, rebuilt)


def root(declared: Declared) -> type[Model]:
    """Return the model that names the table: the base of record types, or the model itself."""
    maker = declared.makers[0]
    base: type[Model] | None = base_of(maker)
    return base or maker


def functions_of(declared: Declared) -> dict[str, Any]:
    """Return the functions of a model's computed parts, which its record cannot hold."""
    functions: dict[str, Any] = {}
    for part in derived_parts(declared.makers[0].__schema__.layout):
        if isinstance(part.derivation, Calculated):
            functions[part.name] = part.derivation.function
            if callable(part.derivation.values):
                functions[f"values of {part.name}"] = part.derivation.values
    return functions


# --- what one case must hold ----------------------------------------------------------------------


def check(case: Case) -> None:
    schemas = [model.__schema__ for model in case.rebuilt.values()]
    again = declaration_of(schemas)
    assert again == as_rebuilt(case.declaration, again)
    assert TableRecord("", declaration_of(schemas)).encode()
    for row in case.rows:
        original, rebuilt = case.pairs[row["class"]]
        check_row(case, row, original, rebuilt)
    check_in_session(case)


def check_row(
    case: Case, row: Mapping[str, Any], original: type[Model], rebuilt: type[Model]
) -> None:
    """Compare keys, cells, index entries, and what is decoded."""
    values = case.values(row)
    layouts = original.__schema__.layout, rebuilt.__schema__.layout
    numbers = {lookup.number: hashed(row[lookup.field], 255) for lookup in layouts[0].lookups}
    assert layouts[0].keys({**values, **numbers}) == layouts[1].keys({**values, **numbers})
    key = row_key(layouts[0], row)

    written, again = (kind(**values) for kind in (original, rebuilt))
    cells = original.__mapping__.dehydrate(written.__dict__)
    assert rebuilt.__mapping__.dehydrate(again.__dict__) == cells

    read = read_as(rebuilt, row, key, cells)
    assert read == read_as(original, row, key, cells)
    for one, other in zip(original.__schema__.indexes, rebuilt.__schema__.indexes, strict=True):
        entries = [
            index_target(kind.__schema__, index).entry_keys(key, cells)
            for kind, index in ((original, one), (rebuilt, other))
        ]
        assert entries[0] == entries[1]
        assert one == other


def read_as(
    model: type[Model], row: Mapping[str, Any], key: bytes, cells: Mapping[bytes, bytes]
) -> str:
    """Return the fields of a row as a model reads them."""
    period = model.__schema__.layout.table_period
    names = {hashed(row[lookup.field], 255): row for lookup in model.__schema__.layout.lookups}
    fields = {lookup.dictionary: lookup.field for lookup in model.__schema__.layout.lookups}
    context = KeyContext(
        None if period is None else period.unit.start(row[period.field]),
        lambda dictionary, number: names[number][fields[dictionary]],
    )
    stored = {column: Cell(value, 1) for column, value in cells.items()}
    return repr(model.__mapping__.hydrate(Row(key, stored), context).to_dict())


def check_in_session(case: Case) -> None:
    """Let both classes write one table, and read what both wrote."""
    with connect("memory://") as engine:
        create_tables(engine, case)
        with engine.session() as session:
            session.add_all(made(case, number) for number in range(0, len(case.rows), 2))
            session.flush()
        for number in range(1, len(case.rows), 2):
            with engine.session() as session:
                session.add(made(case, number))
                session.flush()
        for original, rebuilt in case.pairs:
            statements: list[str | None] = [None, *(i.name for i in rebuilt.__schema__.indexes)]
            for index in statements:
                assert answer(engine, rebuilt, index) == answer(engine, original, index)
        base = root(case.declared)
        assert answer(engine, case.rebuilt[base.__name__], None) == answer(engine, base, None)


def made(case: Case, number: int) -> Model:
    """Return a new object of every second row of the original class, of the others of the other."""
    row = case.rows[number]
    model: Callable[..., Model] = case.pairs[row["class"]][number % 2]
    return model(**case.values(row))


def create_tables(engine: Engine, case: Case) -> None:
    model = root(case.declared)
    period = model.__schema__.layout.table_period
    if period is None:
        engine.create_tables(model)
        return
    for start in {period.unit.start(row[period.field]) for row in case.rows}:
        engine.create_tables(model, periods=(start, start + timedelta(microseconds=1)))


def answer(engine: Engine, model: type[Model], index: str | None) -> list[str] | str:
    """Return all objects, read through an index if one is named; or the planner's refusal."""
    statement = select(model).allow_full_scan()
    if index is not None:
        statement = statement.using(getattr(model, index))
    try:
        with engine.session() as session:
            return [f"{type(obj).__name__} {obj.to_dict()!r}" for obj in session.all(statement)]
    except QueryError as error:
        return error.text


# --- many of them ---------------------------------------------------------------------------------


def run(max_examples: int) -> dict[str, int]:
    """Check so many models, then more of the kinds of which there were too few."""
    met: dict[str, int] = {"models": 0}

    def rebuilt_as_declared(wish: str, count: int) -> Any:
        @settings(many, max_examples=count)
        @given(case=cases(wish))
        def check_case(case: Case) -> None:
            check(case)
            met["models"] += 1
            for kind in kinds_of(case):
                met[kind] = met.get(kind, 0) + 1

        return check_case

    rebuilt_as_declared("", max_examples)()
    least = dict.fromkeys((*COMPONENTS, *INDEXES), SEVERAL_OF_EACH) | {"models": max_examples}
    fill(lambda: short_of(met, least), lambda kind: rebuilt_as_declared(wish_of(kind), AIMED))
    assert short_of(met, least) == [], met
    return met


def wish_of(kind: str) -> str:
    return kind if kind in {*COMPONENTS, *INDEXES} else ""


def kinds_of(case: Case) -> set[str]:
    """Return the components and the options of indexes that a model has, if it has rows."""
    if not case.rows:
        return set()
    options = case.declared.options.values()
    shown = {"where": "partial", "nulls": "nulls", "salt": "salted index", "covering": "covered"}
    of_indexes = {shown[name] for each in options for name in shown if is_set(each, name)}
    plain = {"plain index"} & {"" if each else "plain index" for each in options}
    every = {"index"} if case.declared.indexes else set[str]()
    return {*case.declared.components, *of_indexes, *plain, *every}


def is_set(options: Mapping[str, Any], name: str) -> bool:
    return name in options and options[name] is not False


@pytest.mark.timeout(600)
def test_rebuilt_models_write_and_read_what_the_original_ones_do() -> None:
    assert run(MODELS)["models"] >= MODELS


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_rebuilt_models_of_three_thousand_write_and_read_what_the_original_ones_do() -> None:
    assert run(20 * MODELS)["models"] >= 20 * MODELS
