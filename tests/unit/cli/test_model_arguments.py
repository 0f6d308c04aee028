"""Commands with models: of an argument, of a whole module, or of pyproject.toml."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Engine
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import Delete, MutateRows, RowMutation
from tests.support.operator_actions import rows_of
from tests.support.shop_processes import Clock, Process, engine_on

ORDERS = """
from hbase_orm import Family, Index, Key, Mapped, Model, RecordType, codecs, column, key, rowkey

class Order(Model, table="shop_orders"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str] = column(d)
    state: Mapped[str] = column(d)
    by_state = Index(state)
    by_customer = Index(customer)

class Invoice(Model, table="shop_invoices"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str] = column(d)
    by_customer = Index(customer)
"""
EVENTS = """
from hbase_orm import Family, Key, Mapped, Model, RecordType, column, key, rowkey

class Event(Model, table="shop_events"):
    d = Family()
    host: Key[str] = key()
    __rowkey__ = rowkey(host, RecordType())

class Login(Event, record_type="L"):
    user: Mapped[str] = column(Event.d)
"""
SINGLE = """
from hbase_orm import Family, Key, Model, key

class Item(Model, table="shop_items"):
    d = Family()
    name: Key[str] = key()
"""
SECTION = (
    '[tool.hbase-orm]\nmodels = ["shop.orders", "shop.events:Event"]\nurl = "hbase://project"\n'
)

Capture = pytest.CaptureFixture[str]


class Shop:
    """A folder with the package `shop`, and the tables that every command connects to."""

    def __init__(self, folder: Path, capture: Capture) -> None:
        self.folder = folder
        self.urls: list[str] = []
        self.gateway = MemoryGateway()
        self._capture = capture

    def connect(self, url: str) -> Engine:
        self.urls.append(url)
        return engine_on(Process(self.gateway), Clock())

    def configure(self, text: str = SECTION) -> None:
        (self.folder / "pyproject.toml").write_text(text)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        code = cli_main.run(arguments)
        shown = self._capture.readouterr()
        return code, shown.out, shown.err

    def run_json(self, *arguments: str) -> Any:
        code, out, err = self.run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    def refused(self, *arguments: str) -> str:
        code, out, err = self.run(*arguments)
        assert (code, out, err.count("\n")) == (ExitCode.USAGE, "", 1)
        return err


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Iterator[Shop]:
    (tmp_path / "shop").mkdir()
    texts = {"__init__": "", "orders": ORDERS, "events": EVENTS, "single": SINGLE}
    for name, text in texts.items():
        (tmp_path / "shop" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)  # forgets what earlier tests have listed
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)
    shop = Shop(tmp_path, capsys)
    for topic in ("index", "tables", "key", "explain"):
        monkeypatch.setattr(f"hbase_orm.cli.{topic}.connect", shop.connect)
    yield shop
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def test_a_package_stands_for_all_its_models(shop: Shop) -> None:
    shown = shop.run_json("tables", "show", "shop")

    assert [each["model"] for each in shown] == ["Event", "Order", "Invoice", "Item"]


def test_models_of_pyproject_are_used_without_an_argument(shop: Shop) -> None:
    shop.configure()

    made = shop.run_json("tables", "create")
    listed = shop.run_json("index", "list")

    assert made["made"][-1] == "shop_events"
    assert [(each["model"], each["name"]) for each in listed] == [
        ("Order", "by_state"),
        ("Order", "by_customer"),
        ("Invoice", "by_customer"),
    ]
    assert shop.urls == ["hbase://project"] * 2


def test_models_are_imported_from_the_folder_of_pyproject(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.configure()
    (shop.folder / "deep" / "inner").mkdir(parents=True)
    monkeypatch.chdir(shop.folder / "deep" / "inner")

    of_project = shop.run_json("tables", "show")
    named = shop.run_json("tables", "show", "shop.single")

    assert len(of_project) == 3
    assert [each["model"] for each in named] == ["Item"]


def test_an_argument_precedes_pyproject(shop: Shop) -> None:
    shop.configure()

    assert [each["model"] for each in shop.run_json("tables", "show", "shop.single")] == ["Item"]


@pytest.mark.parametrize(
    ("options", "environment", "url"),
    [
        (["--url", "hbase://option"], "hbase://environment", "hbase://option"),
        ([], "hbase://environment", "hbase://environment"),
        ([], "", "hbase://project"),
    ],
)
def test_the_url_is_of_the_option_then_the_environment_then_pyproject(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, options: list[str], environment: str, url: str
) -> None:
    shop.configure()
    monkeypatch.setenv("HBASE_ORM_URL", environment)

    shop.run(*options, "index", "list")

    assert shop.urls == [url]


def test_an_empty_url_means_that_nothing_is_sent(shop: Shop) -> None:
    shop.configure()

    code, out, _ = shop.run("--url", "", "key", "encode", "shop.orders:Order", "number=3")

    assert (code, shop.urls) == (0, [])
    assert "region" not in out
    assert "no URL was given" in shop.refused("--url", "", "index", "list")


def test_a_password_in_pyproject_is_not_printed(shop: Shop) -> None:
    shop.configure(SECTION.replace("hbase://", "hbase://ada:s3cret@"))

    for arguments in (["index", "list"], ["tables", "drop"], ["tables", "create", "--debug"]):
        code, out, err = shop.run(*arguments)

        assert code == ExitCode.USAGE
        assert "pyproject.toml' key='url'" in err
        assert "s3cret" not in out + err


def test_a_model_of_pyproject_that_is_not_there_is_reported_with_the_file(shop: Shop) -> None:
    shop.configure(SECTION.replace("orders", "odrers"))

    message = shop.refused("tables", "show")

    assert f"file='{shop.folder}/pyproject.toml' key='models' module='shop.odrers'" in message


@pytest.mark.parametrize(
    "command", ["tables show", "tables splits", "index list", "index verify", "explain"]
)
def test_without_models_anywhere_the_ways_to_name_them_are_shown(shop: Shop, command: str) -> None:
    message = shop.refused(*command.split())

    assert "no MODEL was given; write MODULE:CLASS" in message
    assert "[tool.hbase-orm] in pyproject.toml" in message


def test_debug_shows_the_traceback_of_a_wrong_option_in_front_of_it(shop: Shop) -> None:
    _, _, err = shop.run("index", "verify", "shop", "--since", "yesterday", "--debug")

    assert err.startswith("Traceback")


def test_a_wrong_module_is_chained_to_the_error_of_its_import(shop: Shop) -> None:
    _, _, err = shop.run("tables", "show", "shp", "--debug")

    assert "No module named 'shp'" in err


# --- exactly one ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["tables splits shop", "explain shop", "key encode shop a=1", "key decode shop a"]
)
def test_a_module_with_several_models_is_refused_where_one_is_needed(
    shop: Shop, command: str
) -> None:
    message = shop.refused(*command.split())

    assert (
        "exactly one MODEL is needed, but 'shop' has several: write one of shop.events:Event, "
        "shop.events:Login, shop.orders:Order, shop.orders:Invoice, shop.single:Item."
    ) in message


@pytest.mark.parametrize("command", ["tables splits", "explain", "key encode a=1", "key decode a"])
def test_a_project_with_several_models_is_refused_where_one_is_needed(
    shop: Shop, command: str
) -> None:
    shop.configure()

    assert "pyproject.toml has several: write one of shop.or" in shop.refused(*command.split())


def test_the_only_model_of_a_module_or_project_is_used(shop: Shop) -> None:
    shop.configure('[tool.hbase-orm]\nmodels = ["shop.single"]\n')

    encoded = shop.run_json("key", "encode", "name=a")
    decoded = shop.run_json("key", "decode", "a")

    assert encoded == shop.run_json("key", "encode", "shop.single", "name=a")
    assert encoded == shop.run_json("key", "encode", "shop.single:Item", "name=a")
    assert decoded == shop.run_json("key", "decode", "shop.single", "a")
    assert shop.run_json("explain", "--where", "name=a")["table"] == "shop_items"
    assert shop.run_json("explain", "shop.single", "--where", "name=a")["table"] == "shop_items"
    assert shop.run_json("tables", "splits")["model"] == "Item"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("key encode", "no FIELD=VALUE... was given"),
        ("key decode", "no KEY was given"),
        ("key decode shop.single a b", "exactly one KEY is expected, not 2"),
        ("tables splits shop.single shop.orders", "got unexpected extra argument (shop.orders)"),
        ("tables show shop/single.py", "neither of the form MODULE nor MODULE:CLASS"),
        ("tables show shop.single:Order", "its models are: Item"),
        ("tables show shp", "there is no module of this name [module='shp'"),
        ("explain shop.single:nothing", "Invalid value for MODULE:NAME: the module has no such"),
    ],
)
def test_wrong_arguments_are_refused(shop: Shop, command: str, said: str) -> None:
    assert said in shop.refused(*command.split())


# --- indexes --------------------------------------------------------------------------------------


def test_the_model_that_has_the_index_is_used(shop: Shop) -> None:
    shop.configure()
    shop.run("tables", "create")

    of_project = shop.run_json("index", "status", "by_state")
    of_module = shop.run_json("index", "status", "shop", "by_state")
    named = shop.run_json("index", "status", "shop.orders:Order", "by_state")

    assert of_project == of_module == named
    assert named["table"] == "shop_orders_ix_by_state"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("status by_customer", "have an index 'by_customer': write one of shop.orders:Order, sh"),
        ("drop by_customer --yes", "several models have an index 'by_customer'"),
        ("build shop by_colour", "there are: Order.by_state, Order.by_customer, Invoice.by_cust"),
        ("build", "no INDEX was given."),
        ("build shop.orders:Order", "no INDEX was given after shop.orders:Order"),
        ("build shop.orders", "no INDEX was given after shop.orders"),
        ("verify by_colour", "neither an index of the models in "),
        ("verify shop by_state more", "got unexpected extra argument (more)"),
        ("verify shop by_colour", "none of the models has an index 'by_colour'"),
    ],
)
def test_indexes_that_are_not_clear_are_refused(shop: Shop, command: str, said: str) -> None:
    shop.configure()

    assert said in shop.refused("index", *command.split())


@pytest.mark.parametrize(
    ("arguments", "indexes"),
    [
        ([], ["Order.by_state", "Order.by_customer", "Invoice.by_customer"]),
        (["shop"], ["Order.by_state", "Order.by_customer", "Invoice.by_customer"]),
        (["shop.orders:Order"], ["Order.by_state", "Order.by_customer"]),
        (["by_customer"], ["Order.by_customer", "Invoice.by_customer"]),
        (["shop", "by_customer"], ["Order.by_customer", "Invoice.by_customer"]),
    ],
)
def test_several_indexes_are_verified(shop: Shop, arguments: list[str], indexes: list[str]) -> None:
    shop.configure()
    shop.run("tables", "create")

    in_words = shop.run("index", "verify", *arguments)
    verified = shop.run_json("index", "verify", *arguments)
    one_way = shop.run_json("index", "scrutinize", *arguments)

    assert in_words[1] == "".join(f"{name}: no differences, 0 compared\n" for name in indexes)
    for shown in (verified, one_way):
        assert [f"{each['model']}.{each['index']}" for each in shown] == indexes


def test_one_named_index_is_shown_whole(shop: Shop) -> None:
    shop.configure()
    shop.run("tables", "create")

    assert shop.run_json("index", "verify", "by_state")["index"] == "by_state"
    assert shop.run("index", "verify", "shop", "by_state")[1].startswith("            from rows")


def test_a_difference_in_one_of_several_indexes_is_shown_and_fails(shop: Shop) -> None:
    shop.configure()
    shop.run("tables", "create")
    orders: Any = sys.modules["shop.orders"]
    with shop.connect("").session() as session:
        session.add(orders.Order(number=1, customer="a", state="NEW"))
    (entry,) = rows_of(shop.gateway, "shop_orders_ix_by_state")
    gone = RowMutation(entry.key, deletes=(Delete(b"d:"),))
    shop.gateway.execute(MutateRows("shop_orders_ix_by_state", (gone,)))

    code, out, _ = shop.run("index", "verify")

    assert code == ExitCode.FAILED
    assert out.startswith("Order.by_state:\n            from rows  from entries\n")
    assert "MISSING" in out
    assert out.endswith(
        "\n\nOrder.by_customer: no differences, 2 compared\n"
        "Invoice.by_customer: no differences, 0 compared\n"
    )


def test_indexes_that_are_not_built_are_left_out_with_a_note(shop: Shop) -> None:
    shop.configure()

    verified = shop.run("index", "verify", "shop.orders:Order")
    repaired = shop.run("index", "repair", "shop.orders:Order")

    assert verified == repaired
    assert verified == (
        0,
        "no index is built\n",
        "Order.by_state is ABSENT and left out\nOrder.by_customer is ABSENT and left out\n",
    )


def test_repairs_are_named_by_model_unless_one_model_was_named(shop: Shop) -> None:
    shop.configure()
    shop.run("tables", "create")

    assert [*shop.run_json("index", "repair", "shop.orders:Order")] == ["by_state", "by_customer"]
    assert [*shop.run_json("index", "repair", "by_state")] == ["Order.by_state"]
    assert [*shop.run_json("tables", "repair")] == [
        "Order.by_state",
        "Order.by_customer",
        "Invoice.by_customer",
    ]


def test_models_without_indexes_have_an_empty_list_in_words(shop: Shop) -> None:
    shop.configure()

    assert shop.run("index", "list", "shop.single") == (0, "there are no indexes\n", "")


# --- drops ----------------------------------------------------------------------------------------


def test_the_question_before_a_drop_names_the_tables_and_the_url(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.configure()
    shop.run("tables", "create")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))

    code, _, err = shop.run("tables", "drop")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    index = shop.run("index", "drop", "by_state")

    assert code == index[0] == ExitCode.FAILED
    assert "drop shop_orders, shop_invoices, shop_events with all rows, at hbase://project" in err
    assert "drop index by_state of Order, at hbase://project" in index[2]


def test_all_tables_of_a_project_are_dropped_only_after_the_question(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.configure()
    shop.run("tables", "create")

    message = shop.refused("tables", "drop", "--yes")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    unattended = shop.run("tables", "drop")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    dropped = shop.run("tables", "drop")

    assert "--yes needs a MODEL; without it, this would drop shop_orders, shop_inv" in message
    assert unattended[0] == ExitCode.USAGE
    assert "name the models, and give --yes" in unattended[2]
    assert (dropped[0], dropped[1].count("dropped ")) == (0, 6)


def test_tables_of_a_named_module_are_dropped_without_the_question(shop: Shop) -> None:
    shop.configure()
    shop.run("tables", "create")

    assert len(shop.run_json("tables", "drop", "shop", "--yes")["dropped"]) == 6


# --- help -----------------------------------------------------------------------------------------

WITH_MODELS = [
    *(["tables", name] for name in ("create", "drop", "repair", "show", "splits")),
    *(["index", name] for name in ("list", "status", "build", "verify", "scrutinize", "repair")),
    *(["index", "drop"], ["key", "decode"], ["key", "encode"], ["explain"]),
]


@pytest.mark.parametrize("command", WITH_MODELS, ids=" ".join)
def test_the_help_of_each_command_names_pyproject_and_reads_nothing(
    shop: Shop, command: list[str]
) -> None:
    shop.configure("this is no TOML")

    code, out, _ = shop.run(*command, "--help")

    assert code == 0
    assert "[tool.hbase-orm] in pyproject.toml are used" in out
    assert "MODULE" in out
    assert max(map(len, out.splitlines()[-6:])) <= 80


def test_the_help_of_all_commands_shows_the_section(shop: Shop) -> None:
    assert "[tool.hbase-orm]\n    models = [" in shop.run("--help")[1]
