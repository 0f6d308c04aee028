"""`--hbase-reuse-tables`: the tables of one run of pytest are used by the next, on HBase."""

from __future__ import annotations

import fcntl
import json
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, column, connect, key, select
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.ops import ListNamespaces
from hbase_orm.testing.model_namespaces import ModelNamespaces
from hbase_orm.testing.servers import RealHBase
from hbase_orm.testing.shared import Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.hbase


class Order(Model, table="orders"):
    d = Family()
    number: Key[int] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)


def changed_order() -> type[Model]:
    """Return the model as it was changed between two runs."""

    class Order(Model, table="orders"):
        d = Family(versions=3)
        number: Key[int] = key()
        city: Mapped[str] = column(d)
        by_city = Index(city)

    Order.__qualname__ = "Order"
    return Order


@pytest.fixture
def server(hbase: RealHBase) -> RealHBase:
    """HBase as one that a URL names, which outlives the run."""
    return RealHBase(Running(hbase.url, "url"))


@pytest.fixture
def namespaces(hbase: RealHBase) -> Callable[[], set[str]]:
    host, _, port = parse_qs(urlsplit(hbase.url).query)["thrift2"][0].rpartition(":")

    def names() -> set[str]:
        with closing(Thrift2Gateway.connect([Address(host, int(port))])) as gateway:
            return {*gateway.execute(ListNamespaces())}

    return names


@pytest.fixture(autouse=True)
def drop_what_is_kept(tmp_path: Path, hbase: RealHBase) -> Iterator[None]:
    yield
    for file in tmp_path.rglob("*.json"):
        hbase.drop_namespace(json.loads(file.read_text())["namespace"])


@contextmanager
def run(server: RealHBase, folder: Path, *, drops_kept: bool = False) -> Iterator[ModelNamespaces]:
    """Provide the namespaces of a run with `--hbase-reuse-tables`."""
    namespaces = ModelNamespaces(lambda: server, folder=folder, reuses=True, drops_kept=drops_kept)
    with closing(namespaces):
        yield namespaces


def used(
    server: RealHBase, folder: Path, model: type[Any] = Order, *, drops_kept: bool = False
) -> str:
    """Write an order in a run, whose tables must be empty; return the namespace."""
    with (
        run(server, folder, drops_kept=drops_kept) as namespaces,
        connect(namespaces.empty([model])) as engine,
    ):
        session = engine.session()
        assert session.all(select(model).allow_full_scan()) == []
        assert session.all(select(model).where(model.city == "Oslo")) == []
        session.add(model(number=1, city="Oslo"))
        session.flush()
        return engine.options.namespace


def test_tables_are_used_again_and_are_empty(
    server: RealHBase, tmp_path: Path, namespaces: Callable[[], set[str]]
) -> None:
    first = used(server, tmp_path)

    assert used(server, tmp_path) == first
    (file,) = tmp_path.glob("*.lock")
    with file.open("w") as lock:  # a run at the same time makes tables of its own
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = used(server, tmp_path)
    assert second != first
    assert second not in namespaces()
    assert first in namespaces()


def test_tables_of_changed_models_are_made_again(
    server: RealHBase, tmp_path: Path, namespaces: Callable[[], set[str]]
) -> None:
    before = used(server, tmp_path)

    after = used(server, tmp_path, changed_order())

    assert before not in namespaces()
    assert after in namespaces()


def test_tables_that_a_test_dropped_are_made_again(server: RealHBase, tmp_path: Path) -> None:
    with run(server, tmp_path) as namespaces, connect(namespaces.url_of([Order])) as engine:
        engine.drop_tables(Order)

    assert used(server, tmp_path) != engine.options.namespace


def test_tables_of_a_run_that_was_killed_early_are_made_again(
    server: RealHBase, tmp_path: Path, namespaces: Callable[[], set[str]]
) -> None:
    before = used(server, tmp_path)
    (file,) = tmp_path.glob("*.json")
    file.write_text(json.dumps({"namespace": before, "tables": []}))

    after = used(server, tmp_path)

    assert before not in namespaces()
    assert used(server, tmp_path, drops_kept=True) != after
    assert after not in namespaces()


SHOP = """
    from hbase_orm import Family, Key, Model, key

    class Order(Model, table="orders"):
        d = Family()
        number: Key[int] = key()
"""
CONFTEST = """
    import pytest
    from shop import Order

    @pytest.fixture(scope="session")
    def hbase_models():
        return [Order]
"""
TESTS = """
    from pathlib import Path

    def test_it(hbase_engine):
        Path("namespace").write_text(hbase_engine.options.namespace)
"""


def test_options_of_pytest_say_whether_tables_stay(
    pytester: pytest.Pytester,
    hbase: RealHBase,
    monkeypatch: pytest.MonkeyPatch,
    namespaces: Callable[[], set[str]],
) -> None:
    monkeypatch.setenv("HBASE_ORM_TEST_URL", hbase.url)
    for name in ("REQUIRE_HBASE", "REQUIRE_DOCKER"):
        monkeypatch.delenv(f"HBASE_ORM_{name}", raising=False)
    pytester.makepyfile(shop=SHOP, test_orders=TESTS)
    pytester.makeconftest(CONFTEST)

    def namespace(*options: str) -> str:
        pytester.runpytest("-p", "no:xdist", *options).assert_outcomes(passed=1)
        return (pytester.path / "namespace").read_text()

    kept = namespace("--hbase-reuse-tables")
    assert kept == namespace("--hbase-reuse-tables")
    assert kept in namespaces()
    dropped = namespace("--hbase-create-tables")
    assert not {kept, dropped}.intersection(namespaces())
