"""A pytest plugin: a real HBase for tests, chosen once per run, and started if needed.

Pytest loads this plugin wherever hbase-orm is installed. A test that takes the `hbase` fixture, or
has the marker `hbase`, runs on a real HBase. The first kind that is available is used:

1. the server that HBASE_ORM_TEST_URL names
2. a container of the image, through testcontainers
3. the embedded server

The report shows which kind is used, and why the kinds before it are not: after the collection, or
with pytest-xdist at the end. If no kind is available, such tests are skipped with the reasons. With
HBASE_ORM_REQUIRE_HBASE=1 they fail instead. With HBASE_ORM_REQUIRE_DOCKER=1 they fail unless HBase
runs in Docker.

    def test_the_newest_order_comes_first(hbase, table_prefix):
        engine = connect(hbase.url)
        ...

Nothing is looked for, started or imported before a test needs it: a run without such tests costs
next to nothing. With pytest-xdist all workers share one server. If a test on HBase fails, the
server's log is kept, and its path is printed at the end.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hbase_orm import Engine, Model
    from hbase_orm.testing.model_namespaces import ModelNamespaces
    from hbase_orm.testing.servers import RealHBase
    from hbase_orm.testing.shared import Share
    from hbase_orm.testing.sources import Choice

_MARKER = "hbase"
_PLUGIN = "hbase-orm-run"
_WORKER_INPUT = "hbase_orm_share"
_REUSE_TABLES = "hbase_reuse_tables"
_DROP_TABLES = "hbase_drop_tables"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the command-line options."""
    group = parser.getgroup("hbase_orm", "tests on HBase")
    group.addoption(
        "--hbase-reuse-tables",
        action="store_true",
        dest=_REUSE_TABLES,
        help="keep the tables of hbase_engine on the server that HBASE_ORM_TEST_URL names, and use "
        "them again in the next run, unless they differ from the models",
    )
    group.addoption(
        "--hbase-drop-tables",
        action="store_true",
        dest=_DROP_TABLES,
        help="drop the tables that --hbase-reuse-tables has kept, and keep none",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker `hbase` to pytest, and register `_Run`, which has the other hooks."""
    config.addinivalue_line("markers", f"{_MARKER}: needs a real HBase (the `hbase` fixture)")
    config.pluginmanager.register(_Run(config), _PLUGIN)


class _Run:
    """The pytest hooks of one process: the controller, or a worker of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        given: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = given is not None
        if given is None:
            self.folder, self.owner_pid = tempfile.mkdtemp(prefix="hbase-orm-tests-"), os.getpid()
        else:
            self.folder, self.owner_pid = given[_WORKER_INPUT]
        self.is_quiet = config.get_verbosity() < 0
        self.is_shown = False
        self.failed = False
        self.kept_log: Path | None = None
        self.why_not_kept = ""

    @cached_property
    def share(self) -> Share:
        """What the processes of this run share."""
        from hbase_orm.testing.shared import Share  # noqa: PLC0415  # only where a test needs it

        return Share(Path(self.folder), self.owner_pid)

    def share_in_use(self) -> Share | None:
        """Return what the processes of this run share; None if no test of any needed an HBase."""
        return self.share if os.listdir(self.folder) else None  # noqa: PTH208  # no Path needed

    def choice(self) -> Choice:
        """Return which HBase the tests use; the first process that needs one decides it."""
        return self.share.choice_or(_decide)

    def hbase(self) -> RealHBase:
        """Return the running HBase; start it if no process of this run has started it."""
        from hbase_orm.testing import servers  # noqa: PLC0415  # loads Docker's library

        choice = self.choice()
        running = self.share.get_or_start(lambda: servers.start(choice, self.share.owner_pid))
        return servers.RealHBase(running)

    def require(self) -> None:
        """Fail or skip the current test if the HBase that it needs is not available."""
        choice = self.choice()
        if choice.failure:
            pytest.fail(choice.failure, pytrace=False)
        if choice.source is None:
            pytest.skip(f"no HBase: {choice}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the path of the shared folder to a worker, and who stops HBase: this process."""
        node.workerinput[_WORKER_INPUT] = (self.folder, self.owner_pid)

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Return the line that names the HBase of the tests, if any of them needs one."""
        is_idle = self.is_quiet or self.config.getoption("collectonly")
        if is_idle or not any(item.get_closest_marker(_MARKER) for item in items):
            return []
        self.is_shown = True
        return [f"hbase: {self.choice()}"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark every test that uses the fixture `hbase`, so that `-m hbase` selects the test."""
        needed: dict[pytest.Item, set[str]] = {
            item: {"hbase", "hbase_engine"}.intersection(getattr(item, "fixturenames", ()))
            for item in items
        }
        if not any(needed.values()):
            return
        from hbase_orm.testing.sources import is_in_memory  # noqa: PLC0415  # see above

        no_hbase = {"hbase_engine"} if is_in_memory(os.environ) else set[str]()
        for item, fixtures in needed.items():
            if fixtures - no_hbase:
                item.add_marker(_MARKER)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Return the fields in which two objects of a model differ."""
        # Without the module there are no objects of models, and nothing is imported.
        if op != "==" or "hbase_orm.model" not in sys.modules:
            return None
        from hbase_orm.testing.differences import differences  # noqa: PLC0415  # see above

        return differences(left, right)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip or fail a test that needs an HBase, before its fixtures are set up."""
        if item.get_closest_marker(_MARKER):
            self.require()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record whether a test on HBase failed."""
        if report.failed and _MARKER in report.keywords:
            self.failed = True

    def pytest_sessionfinish(self) -> None:
        """Keep the server's log if a test on HBase failed."""
        share = None if self.is_worker or not self.failed else self.share_in_use()
        running = None if share is None else share.get()
        if running is None:
            return
        from hbase_orm.testing import servers  # noqa: PLC0415  # loads Docker's library

        if log := servers.read_log(running):
            self.kept_log = _log_path(self.config)
            self.kept_log.write_text(log)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which HBase the workers used, and the path of the server's log if it was kept."""
        share = None if self.is_shown or self.is_quiet else self.share_in_use()
        if share and (choice := share.choice()):
            terminalreporter.write_line(f"hbase: {choice}")
        if self.kept_log:
            terminalreporter.write_line(f"hbase: the server's log is kept: {self.kept_log}")
        if self.why_not_kept:
            terminalreporter.write_line(f"hbase: tables are not kept: {self.why_not_kept}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Stop the HBase that this run started."""
        if self.is_worker:
            return
        share = self.share_in_use()
        if share and (running := share.get()):
            from hbase_orm.testing import servers  # noqa: PLC0415  # loads Docker's library

            servers.stop(running)
        shutil.rmtree(self.folder, ignore_errors=True)


def _decide() -> Choice:
    from hbase_orm.testing import servers  # noqa: PLC0415  # loads Docker's library
    from hbase_orm.testing.sources import choose  # noqa: PLC0415  # only where a test needs it

    return choose(os.environ, docker=servers.docker_refusal, embedded=servers.embedded_refusal)


def _log_path(config: pytest.Config) -> Path:
    name = time.strftime("%Y%m%d-%H%M%S.log")
    cache: pytest.Cache | None = getattr(config, "cache", None)
    folder = cache.mkdir("hbase-logs") if cache else Path(tempfile.mkdtemp(prefix="hbase-logs-"))
    return folder / name


@pytest.fixture(scope="session")
def hbase(pytestconfig: pytest.Config) -> RealHBase:
    """Return the real HBase of the test run, with its `url`, `source` and `admin`.

    The first test that uses it waits until HBase has started. At the end of the run it is stopped.
    Tests share it, so each must use its own table names; see `table_prefix` and `hbase_url`.
    """
    run = pytestconfig.pluginmanager.get_plugin(_PLUGIN)
    assert isinstance(run, _Run)
    run.require()
    return run.hbase()


@pytest.fixture
def table_prefix(hbase: RealHBase) -> Iterator[str]:
    """Return a prefix for the table names of one test; drop these tables after the test."""
    prefix = f"t{uuid.uuid4().hex[:12]}_"
    yield prefix
    hbase.drop_tables(prefix)


@pytest.fixture
def hbase_url(hbase: RealHBase) -> Iterator[str]:
    """Return a URL with a namespace for one test; drop the namespace with its tables afterwards.

    Use this fixture for models with fixed table names: `connect(hbase_url)` puts their tables into
    the namespace.
    """
    namespace = f"n{uuid.uuid4().hex[:12]}"
    yield hbase.url_in(namespace)
    hbase.drop_namespace(namespace)


@pytest.fixture(scope="session")
def hbase_models() -> Sequence[type[Model]]:
    """Return the models whose tables the fixture `hbase_engine` has; a project defines its own."""
    raise pytest.UsageError(
        "hbase_engine does not know the models of this project: define the fixture hbase_models "
        'in conftest.py, with scope="session", and return them: return [Order, Customer], or '
        'return hbase_orm.models("shop.models")'
    )


@pytest.fixture(scope="session")
def _hbase_namespaces(request: pytest.FixtureRequest) -> Iterator[ModelNamespaces]:
    from hbase_orm.testing.model_namespaces import (  # noqa: PLC0415  # only where a test needs it
        ModelNamespaces,
    )

    config = request.config
    cache: pytest.Cache | None = getattr(config, "cache", None)
    namespaces = ModelNamespaces(
        lambda: request.getfixturevalue("hbase"),
        folder=lambda: cache.mkdir("hbase-tables") if cache else None,
        reuses=config.getoption(_REUSE_TABLES),
        drops_kept=config.getoption(_DROP_TABLES),
        worker=os.environ.get("PYTEST_XDIST_WORKER", ""),
    )
    yield namespaces
    run = config.pluginmanager.get_plugin(_PLUGIN)
    assert isinstance(run, _Run)
    run.why_not_kept = namespaces.why_not_kept
    namespaces.close()


@pytest.fixture
def hbase_engine(
    hbase_models: Sequence[type[Model]], _hbase_namespaces: ModelNamespaces
) -> Iterator[Engine]:
    """Return an engine for one test, with the tables of `hbase_models`, which are empty.

    The tables are made once, and their rows are deleted before each test: that takes milliseconds,
    where making and dropping tables takes seconds. With `--hbase-reuse-tables`, tables on the
    server that HBASE_ORM_TEST_URL names stay for the next run. With HBASE_ORM_TEST_URL=memory://
    each test has tables of its own in memory, and needs no HBase.
    """
    from hbase_orm import connect  # noqa: PLC0415  # only where a test needs it
    from hbase_orm.testing.emptying import empty_tables  # noqa: PLC0415  # likewise
    from hbase_orm.testing.model_namespaces import create_tables  # noqa: PLC0415  # likewise
    from hbase_orm.testing.sources import URL_VARIABLE, is_in_memory  # noqa: PLC0415  # likewise

    if is_in_memory(os.environ):
        with connect(os.environ[URL_VARIABLE]) as engine:
            create_tables(engine, hbase_models)
            empty_tables(engine)  # engines of memory://name share their tables
            yield engine
        return
    with connect(_hbase_namespaces.next(hbase_models)) as engine:
        yield engine
