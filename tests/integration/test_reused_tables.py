"""`--hbase-reuse-tables`: the tables of one run of pytest are used by the next, on HBase."""

from __future__ import annotations

import fcntl
import json
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, column, connect, key, select
from hbase_orm.errors import ServerBusyError
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE, read_entry
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.ops import (
    AddFamily,
    DisableTable,
    FamilyDescriptor,
    ListNamespaces,
    MutateRow,
    Put,
    RowMutation,
)
from hbase_orm.session.engine import runtime_of
from hbase_orm.testing import empty_tables, model_namespaces
from hbase_orm.testing.emptying import read_rows, tables_of
from hbase_orm.testing.kept_namespaces import LONGEST_S
from hbase_orm.testing.model_namespaces import ModelNamespaces
from hbase_orm.testing.servers import RealHBase
from hbase_orm.testing.shared import Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hbase_orm import Engine

pytestmark = pytest.mark.hbase


class Order(Model, table="orders"):
    d = Family()
    number: Key[int] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key()


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
def drop_what_is_kept(
    tmp_path: Path, hbase: RealHBase, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setenv("HBASE_ORM_TEST_URL", hbase.url)  # for the runs of pytest in these tests
    for name in ("REQUIRE_HBASE", "REQUIRE_DOCKER"):
        monkeypatch.delenv(f"HBASE_ORM_{name}", raising=False)
    yield
    for file in tmp_path.rglob("*.json"):
        hbase.drop_namespace(json.loads(file.read_text())["name"])


@contextmanager
def run(server: RealHBase, folder: Path, *, drops_kept: bool = False) -> Iterator[ModelNamespaces]:
    """Provide the namespaces of a run with `--hbase-reuse-tables`."""
    namespaces = ModelNamespaces(
        lambda: server, folder=lambda: folder, reuses=True, drops_kept=drops_kept
    )
    with closing(namespaces):
        yield namespaces


def used(
    server: RealHBase, folder: Path, model: type[Any] = Order, *, drops_kept: bool = False
) -> set[str]:
    """Write an order in each of three tests of a run; return the namespaces that they used."""
    with run(server, folder, drops_kept=drops_kept) as namespaces:
        first, second, third = (write_an_order(namespaces.next([model]), model) for _ in range(3))
    assert first == third
    assert bool(namespaces.why_not_kept) == (first == second)
    return {first, second}


def write_an_order(url: str, model: type[Any]) -> str:
    """Write an order into tables, which must be empty; return their namespace."""
    with connect(url) as engine, engine.session() as session:
        assert session.all(select(model).allow_full_scan()) == []
        assert session.all(select(model).where(model.city == "Oslo")) == []
        session.add(model(number=1, city="Oslo"))
        return engine.options.namespace


def test_tables_are_used_again_and_are_empty(
    server: RealHBase, tmp_path: Path, namespaces: Callable[[], set[str]]
) -> None:
    first = used(server, tmp_path)

    assert len(first) == 2
    assert used(server, tmp_path) == first
    with next(tmp_path.glob("*.lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = used(server, tmp_path)  # a run at the same time makes tables of its own
    assert len(second) == 1
    assert not second & first
    assert namespaces() & (first | second) == first


def test_tables_of_changed_models_are_made_again(
    server: RealHBase, tmp_path: Path, namespaces: Callable[[], set[str]]
) -> None:
    before = used(server, tmp_path)

    after = used(server, tmp_path, changed_order())

    assert namespaces() & (before | after) == after


@pytest.mark.parametrize(
    "change",
    [
        "drop",
        *(
            pytest.param(each, marks=pytest.mark.soak)
            for each in ("disable", "truncate", "add a family", "damage")
        ),
    ],
)
def test_tables_that_are_not_as_they_were_made_are_made_again(
    server: RealHBase, tmp_path: Path, change: str
) -> None:
    with run(server, tmp_path) as namespaces, connect(namespaces.next([Order])) as engine:
        changed = engine.options.namespace
        table, runtime = f"{changed}:orders", runtime_of(engine)
        if change == "drop":
            engine.drop_tables(Order)
        elif change == "disable":
            runtime.execute(DisableTable(table))
        elif change == "truncate":  # as by a program that was killed meanwhile
            entry = runtime.run_as_is(read_entry(table))
            assert entry is not None
            truncating = replace(entry, state=TableState.TRUNCATING)
            put = Put(CATALOG_COLUMN, truncating.encode())
            runtime.execute(MutateRow(CATALOG_TABLE, RowMutation(table.encode(), (put,))))
        elif change == "add a family":
            runtime.execute(AddFamily(table, FamilyDescriptor(b"zz")))

    if change == "damage":
        for file in tmp_path.glob("*.json"):
            file.write_text("{")
        server.drop_namespace(changed)
    assert changed not in used(server, tmp_path)


def test_tables_that_tests_made_are_dropped_and_the_others_kept(
    server: RealHBase, tmp_path: Path
) -> None:
    with run(server, tmp_path) as namespaces, connect(namespaces.next([Order])) as engine:
        engine.create_tables(Parcel)
        assert engine.sequence("orders")() == 1
    with run(server, tmp_path) as namespaces, connect(namespaces.next([Order])) as again:
        assert again.options.namespace == engine.options.namespace
        tables = {table.rpartition(":")[2] for table in tables_of(again)}
        assert tables == {"orders", "orders_ix_by_city", "hbase_orm_sequences"}
        assert again.create_tables(Parcel) == [f"{again.options.namespace}:parcels"]
        assert again.sequence("orders")() == 1


@pytest.mark.parametrize("age_s", [LONGEST_S + 60, pytest.param(-60.0, marks=pytest.mark.soak)])
def test_tables_of_a_run_that_was_killed_and_old_ones_are_made_again(
    server: RealHBase, tmp_path: Path, namespaces: Callable[[], set[str]], age_s: float
) -> None:
    before = used(server, tmp_path)
    for n, file in enumerate(tmp_path.glob("*.json")):
        other: dict[str, Any] = {"state": {}} if n else {"made_at": time.time() - age_s}
        file.write_text(json.dumps(json.loads(file.read_text()) | other))

    after = used(server, tmp_path)

    assert namespaces() & (before | after) == after


def test_kept_tables_are_dropped_on_demand(
    server: RealHBase, tmp_path: Path, namespaces: Callable[[], set[str]]
) -> None:
    before = used(server, tmp_path)
    with run(server, tmp_path) as other:  # one of other models, or of another worker
        kept = ModelNamespaces(lambda: server, folder=lambda: tmp_path, reuses=True, worker="gw1")
        in_use = urlsplit(other.next([Order])).path.strip("/")
        with closing(kept):
            before.add(urlsplit(kept.next([Order])).path.strip("/"))

        after = set[str]()
        with run(server, tmp_path, drops_kept=True) as namespaces_of_run:
            after.add(write_an_order(namespaces_of_run.next([Order]), Order))

    assert namespaces() & (before | after) == {in_use, *(before & of_files(tmp_path))}
    assert len(of_files(tmp_path)) == 2
    with connect(server.url) as engine:
        rows = runtime_of(engine).run_as_is(read_rows(CATALOG_TABLE))
    assert not [row.key for row in rows if row.key.split(b":")[0].decode() in after]


def of_files(folder: Path) -> set[str]:
    """Return the namespaces that files name."""
    return {json.loads(file.read_text())["name"] for file in folder.glob("*.json")}


def test_a_failed_preparation_is_made_again_for_the_next_test(
    server: RealHBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = iter([ServerBusyError("all connections were busy")])

    def empty(engine: Engine) -> None:
        for error in prepared:
            raise error
        empty_tables(engine)

    monkeypatch.setattr(model_namespaces, "empty_tables", empty)
    with run(server, tmp_path) as namespaces:
        with pytest.raises(ServerBusyError):
            namespaces.next([Order])
        write_an_order(namespaces.next([Order]), Order)
        write_an_order(namespaces.next([Order]), Order)


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
    pytester: pytest.Pytester, namespaces: Callable[[], set[str]]
) -> None:
    pytester.makepyfile(shop=SHOP, test_orders=TESTS)
    pytester.makeconftest(CONFTEST)

    def namespace(*options: str) -> str:
        pytester.runpytest("-p", "no:xdist", *options).assert_outcomes(passed=1)
        return (pytester.path / "namespace").read_text()

    kept = namespace("--hbase-reuse-tables")
    assert kept == namespace("--hbase-reuse-tables")
    assert kept in namespaces()
    dropped = namespace("--hbase-reuse-tables", "--hbase-drop-tables")
    assert not {kept, dropped}.intersection(namespaces())


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("no:cacheprovider", "hbase: tables are not kept: pytest has no cache"),
        ("cacheprovider", "hbase: tables are not kept: pytest's cache cannot be written (*"),
    ],
)
def test_without_a_cache_tables_are_not_kept(
    pytester: pytest.Pytester, option: str, line: str
) -> None:
    pytester.makepyfile(shop=SHOP, test_orders=TESTS)
    pytester.makeconftest(CONFTEST)
    (pytester.path / "blocked").write_text("a file where the folder of the cache should be")

    result = pytester.runpytest(
        *("-p", "no:xdist", "-p", option, "-W", "ignore"),
        *("--hbase-reuse-tables", "-o", f"cache_dir={pytester.path / 'blocked'}"),
    )

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([line])
