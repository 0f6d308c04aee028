"""The fixture `hbase_engine`, in runs of pytest of their own, on tables in memory."""

from __future__ import annotations

from uuid import uuid4

import pytest

MODELS = """
    import pytest
    from hbase_orm import Family, Key, Mapped, Model, column, key

    class Order(Model, table="orders"):
        d = Family()
        number: Key[int] = key()
        city: Mapped[str] = column(d)
"""
PERIODS = """
    from datetime import datetime
    from hbase_orm import Family, Key, Mapped, Model, TablePerPeriod, codecs, column, key

    class Order(Model, table=TablePerPeriod("o_%Y%m", of="at", period="month", create=True)):
        d = Family()
        at: Key[datetime] = key(codecs.seconds())
        city: Mapped[str] = column(d)
"""
CONFTEST = """
    import pytest
    from shop import Order

    @pytest.fixture(scope="session")
    def hbase_models():
        return [Order]
"""
TESTS = """
    import pytest
    from shop import Order

    @pytest.mark.parametrize("city", ["Oslo", "Rome"])
    def test_one_order(hbase_engine, city):
        with hbase_engine.session() as session:
            assert session.get(Order, number=1) is None
            session.add(Order(number=1, city=city))

    def test_differences(hbase_engine):
        with hbase_engine.session() as session:
            session.add(Order(number=1, city="Oslo"))
        assert hbase_engine.session().get(Order, number=1) == Order(number=1, city="Rome")
"""


@pytest.fixture(autouse=True)
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUIRE_HBASE", "REQUIRE_DOCKER"):
        monkeypatch.delenv(f"HBASE_ORM_{name}", raising=False)
    monkeypatch.setenv("HBASE_ORM_TEST_URL", "memory://")


def test_each_test_has_empty_tables_in_memory(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shop=MODELS)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)

    result = pytester.runpytest("-p", "no:randomly")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*Order objects differ", "*city: 'Oslo' != 'Rome'"])


def test_tables_with_a_name_are_empty_too(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HBASE_ORM_TEST_URL", f"memory://{uuid4().hex}")
    pytester.makepyfile(shop=MODELS)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)

    result = pytester.runpytest("-p", "no:randomly")

    result.assert_outcomes(passed=2, failed=1)


def test_tables_of_periods_are_made_by_the_first_write(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shop=PERIODS)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("""
        from datetime import UTC, datetime
        from hbase_orm import select
        from shop import Order

        def test_a_reading(hbase_engine):
            with hbase_engine.session() as session:
                session.add(Order(at=datetime(2026, 1, 31, tzinfo=UTC), city="Oslo"))
            assert hbase_engine.session().count(select(Order).allow_full_scan()) == 1
    """)

    result = pytester.runpytest()

    result.assert_outcomes(passed=1)


def test_a_project_is_told_to_name_its_models(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shop=MODELS)
    pytester.makepyfile(TESTS)

    result = pytester.runpytest()

    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(["*define the fixture hbase_models in conftest.py*"])


def test_what_needs_a_real_hbase_is_skipped_in_memory(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(hbase): pass")

    result = pytester.runpytest("-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*HBASE_ORM_TEST_URL names tables in memory*"])
