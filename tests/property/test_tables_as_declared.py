"""A table that was created for a model is as the model declares it, whatever the model is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings

from hbase_orm import Drift, Engine, Family, Model, TableDifference, connect
from hbase_orm.errors import ConfigurationError, FeatureMissingError
from hbase_orm.model.declare.placement import base_of
from hbase_orm.testing import RealHBase
from tests.property.random_models import Declared, models
from tests.property.random_options import THRIFT1_OPTIONS, families, table_options
from tests.support.recording import through
from tests.support.thrift1_only import engine_without_thrift2

many = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
PERIODS = (datetime(2024, 1, 30, tzinfo=UTC), datetime(2024, 2, 2, tzinfo=UTC))

with_any_options = models(family=families(), table_options=table_options())
with_options_of_thrift1 = models(family=families(THRIFT1_OPTIONS), is_split=False)


def created(engine: Engine, model: type[Model]) -> list[TableDifference]:
    """Create a model's tables, and return how they differ from what the model declares."""
    engine.create_tables(model, periods=periods_of(model))
    return differences(engine, model)


def periods_of(model: type[Model]) -> tuple[datetime, datetime] | None:
    """Return the periods to create tables for, if the model has a table for each."""
    return None if model.__schema__.layout.table_period is None else PERIODS


def differences(engine: Engine, model: type[Model]) -> list[TableDifference]:
    """Return the differences between a model's tables and the model, which are no drift."""
    checks = engine.check_tables(model)
    assert len(checks) == 1 if periods_of(model) is None else len(checks) > 1
    assert not any(check.has_drift for check in checks), checks
    return [difference for check in checks for difference in check.differences]


@many
@given(declared=with_any_options)
def test_a_created_table_is_as_declared(declared: Declared) -> None:
    model = declared.makers[0]
    with connect("memory://") as engine:
        differing = created(engine, model)

        assert differing == []
        assert engine.table_changes(model) == []


@many
@given(declared=with_options_of_thrift1)
def test_a_table_created_without_thrift2_is_as_declared(declared: Declared) -> None:
    engine, gateway = engine_without_thrift2()
    model = declared.makers[0]
    try:
        differing = created(engine, model)
    except ConfigurationError:  # an index that needs guards
        reject()
    except FeatureMissingError:  # only tables of index entries have no attributes
        if model.__schema__.is_guarded:  # Thrift2 would create them for rows with guards
            reject()
        through(gateway.inner, engine).create_tables(model, periods=periods_of(model))
        differing = differences(engine, model)

    # Only Thrift2 splits the tables of salted indexes.
    assert {each.drift for each in differing} <= {Drift.UNDECIDED, Drift.NOTE}
    assert {each.subject for each in differing} <= {"other options", "split keys"}


@many
@given(declared=with_any_options, after=families())
def test_an_altered_family_is_as_declared_and_again(declared: Declared, after: Family) -> None:
    model = declared.makers[0]
    with connect("memory://") as engine:
        created(engine, model)
        before = model.__schema__.families
        with_family(declared, after)

        changes = engine.alter_tables(model, allow_data_loss=True)

        assert bool(changes) == (model.__schema__.families != before)
        assert not any(check.differences for check in engine.check_tables(model))
        assert engine.alter_tables(model) == []


def with_family(declared: Declared, family: Family) -> None:
    """Give the models another declaration of their family."""
    descriptor = replace(family.descriptor(), name=b"d")
    base = base_of(declared.makers[0])
    for model in (*declared.makers, *([] if base is None else [base])):
        model.__schema__ = replace(model.__schema__, families=(descriptor,))


# --- on a real HBase ------------------------------------------------------------------------------


def check_on(hbase: RealHBase, count: int) -> None:
    """Create the tables of so many models on a server, compare them, alter them, compare again."""
    namespace = f"n{uuid4().hex[:12]}"
    hbase_models = models(family=families(), table_options=table_options(), is_split=False)

    @settings(many, max_examples=count, phases=[Phase.generate], database=None)
    @given(declared=hbase_models, after=families())
    def is_as_declared(declared: Declared, after: Family) -> None:
        model = declared.makers[0]
        try:
            assert created(engine, model) == []
            with_family(declared, after)
            engine.alter_tables(model, allow_data_loss=True)
            assert not any(check.differences for check in engine.check_tables(model))
        finally:
            engine.drop_tables(model)

    try:
        with connect(hbase.url_in(namespace)) as engine:
            is_as_declared()
    finally:
        hbase.drop_namespace(namespace)


@pytest.mark.hbase
@pytest.mark.timeout(300)
def test_tables_on_a_real_hbase_are_as_declared(hbase: RealHBase) -> None:
    check_on(hbase, 8)


@pytest.mark.hbase
@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_fifty_tables_on_a_real_hbase_are_as_declared(hbase: RealHBase) -> None:
    check_on(hbase, 50)
