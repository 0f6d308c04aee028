"""The fixture `hbase_engine`, in runs of pytest of their own, on tables in memory."""

from __future__ import annotations

import pytest

MODELS = """
    import pytest
    from hbase_orm import Family, Key, Mapped, Model, column, key

    class Order(Model, table="orders"):
        d = Family()
        number: Key[int] = key()
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
