"""One suite for every gateway.

A test marked `feature(Feature.X)` runs everywhere: where the gateway does not have the feature, it
passes only if the gateway says so with FeatureMissingError.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from hbase_orm.errors import FeatureMissingError
from tests.conformance.bench import Bench, Subject
from tests.conformance.subjects import SUBJECTS, open_subject


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "feature(feature): where a gateway lacks it, FeatureMissingError is asserted"
    )


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(name, marks=() if name == "memory" else pytest.mark.hbase) for name in SUBJECTS
    ],
)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    with open_subject(request.param, request) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_table(subject: Subject) -> Iterator[str]:
    table = subject.new_table()
    yield table
    subject.drop(table)


@pytest.fixture
def bench(subject: Subject, shared_table: str) -> Bench:
    """Return a bench on the table that all tests share; its row keys are this test's own."""
    return Bench(subject, shared_table)


@pytest.fixture
def own_bench(subject: Subject) -> Iterator[Bench]:
    """Return a bench on a table of this test alone, which it may flush and compact."""
    table = subject.new_table()
    yield Bench(subject, table)
    subject.drop(table)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    needed = {marker.args[0] for marker in pyfuncitem.iter_markers("feature")}
    given = pyfuncitem.funcargs.get("subject")
    if not needed or not isinstance(given, Subject) or needed <= given.gateway.features:
        return (yield)
    try:
        yield
    except FeatureMissingError:
        return True
    pytest.fail(f"{given.name} lacks {needed - given.gateway.features} and did not say so")
