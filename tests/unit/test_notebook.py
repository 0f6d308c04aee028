"""What notebooks show of models, objects, plans and pages: escaped, short, without colours."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Page,
    Related,
    Salt,
    codecs,
    column,
    connect,
    counter,
    dynamic,
    key,
    related,
    rowkey,
    select,
)

NOON = datetime(2024, 1, 5, 12, tzinfo=UTC)
HOSTILE = "<script>alert('1')</script>&\"'"


class Buyer(Model, table="buyers"):
    d = Family()
    id: Key[str] = key()


class Order(Model, table="orders"):
    d = Family()
    e = Family()
    city: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    total: Mapped[float] = column(d, default=0.5)
    buyer_id: Mapped[str] = column(d, default_factory=lambda: "b")
    note: Mapped[str | None] = column(e, default=None, deferred=True)
    token: Mapped[str] = column(d, default="secret-1", repr=False)
    hits: Counter = counter(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")
    buyer: Related[Buyer] = related(id=buyer_id)
    by_total = Index(total, include=[buyer_id])
    by_buyer = Index(buyer_id, total, unique=True)
    __rowkey__ = rowkey(Salt(4, of=[city]), city, at)


class Hostile(Model, table="hostile"):
    d = Family()
    id: Key[str] = key()
    text: Mapped[str] = column(d, HOSTILE, default=HOSTILE)


class Cells(HTMLParser):
    """Collects the tags and the texts of cells of a document, and checks that all tags close."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(document)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.add(tag)
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data


@pytest.fixture
def engine() -> Engine:
    engine = connect("memory://")
    engine.create_tables(Order, Hostile)
    return engine


def html_of(thing: Any) -> str:
    """Return the HTML as a notebook asks for it."""
    html = thing._repr_html_()
    assert isinstance(html, str)
    return html


def test_a_model_is_a_table_of_its_fields() -> None:
    rows = Cells(html_of(Order)).rows

    assert rows == [
        ["field", "type", "column", "codec", "notes"],
        ["city", "str", "", "text", "row key"],
        ["at", "datetime.datetime", "", "millis", "row key, descending"],
        [
            "total",
            "float",
            "d:total",
            "float64",
            "default 0.5; index by_total; unique index by_buyer",
        ],
        [
            "buyer_id",
            "str",
            "d:buyer_id",
            "text",
            "default of a function; copied by index by_total; unique index by_buyer",
        ],
        ["note", "str | None", "e:note", "text", "default None; deferred"],
        ["token", "str", "d:token", "text", "default 'secret-1'"],
        ["hits", "int", "d:hits", "bytes.int64", "counter"],
        ["tags", "dict[str, str]", "d:t_...", "text", "dynamic columns"],
        ["buyer", "Buyer", "", "", "related by id=buyer_id"],
        ["index", "declaration"],
        ["by_total", "Index(Order.total, include=[Order.buyer_id])"],
        ["by_buyer", "Index(Order.buyer_id, Order.total, unique=True)"],
    ]
    assert "table orders, row key [salt 4][city text][at millis desc]" in html_of(Order)


def test_an_object_is_a_table_of_what_its_repr_shows() -> None:
    order = Order(city="x", at=NOON, note="n" * 1000)
    order.tags["a"] = "b"

    assert Cells(html_of(order)).rows == [
        ["field", "value"],
        ["city", "x"],
        ["at", "2024-01-05 12:00:00+00:00"],
        ["total", "0.5"],
        ["buyer_id", "b"],
        ["note", "n" * 80 + "…"],
        ["hits", "0"],
        ["tags", "{'a': 'b'}"],
    ]


def test_a_page_is_a_table_of_its_results(engine: Engine) -> None:
    with engine.session() as session:
        for second in range(3):
            session.add(Order(city="x", at=NOON.replace(second=second), total=float(second)))
    with engine.session() as session:
        objects = session.page(select(Order).where(Order.city == "x"), size=2)
        values = session.page(select(Order.city, Order.total).where(Order.city == "x"), size=5)
        totals = session.page(select(Order.total).where(Order.city == "x").limit(1), size=5)

    assert [row[:3] for row in Cells(html_of(objects)).rows] == [
        ["city", "at", "total"],
        ["x", "2024-01-05 12:00:02+00:00", "2.0"],
        ["x", "2024-01-05 12:00:01+00:00", "1.0"],
    ]
    assert "2 results, more follow" in html_of(objects)
    assert Cells(html_of(values)).rows == [
        ["city", "total"],
        *[["x", total] for total in ("2.0", "1.0", "0.0")],
    ]
    assert "3 results, nothing follows" in html_of(values)
    assert Cells(html_of(totals)).rows == [["value"], ["2.0"]]
    assert "1 result, the limit is reached" in html_of(totals)


def test_a_page_shows_its_first_results_only() -> None:
    html = html_of(Page(["x" * 100_000] * 1000))

    assert len(Cells(html).rows) == 51
    assert "1000 results, nothing follows, 950 of them not shown" in html
    assert len(html) < 20_000


def test_an_empty_page_says_so() -> None:
    assert Cells(html_of(Page())).rows == []
    assert "0 results, nothing follows" in html_of(Page(stale=False))
    assert "replicas answered" in html_of(Page(stale=True))


def test_objects_of_several_models_share_a_table() -> None:
    rows = Cells(html_of(Page([Buyer(id="b"), Hostile(id="h", text="t")]))).rows

    assert rows == [["id", "text"], ["b", ""], ["h", "t"]]


def test_a_plan_is_its_tree(engine: Engine) -> None:
    with engine.session() as session:
        plan = session.explain(select(Order).where(Order.total > 1.0), analyze=True)

    html = html_of(plan)
    assert html.startswith("<pre ")
    assert "└─ scan" in html
    assert "requests: 1 scanner" in html
    assert "measured:" in html


def test_what_is_shown_is_escaped(engine: Engine) -> None:
    with engine.session() as session:
        session.add(Hostile(id=HOSTILE))
    with engine.session() as session:
        statement = select(Hostile).where(Hostile.id == HOSTILE)
        shown = [
            Hostile,
            session.one(statement),
            session.page(statement, size=1),
            session.page(select(Hostile.id, Hostile.text).where(Hostile.id == HOSTILE), size=1),
            session.page(select(Hostile.text).where(Hostile.id == HOSTILE), size=1),
            session.explain(statement),
        ]

    for thing in shown:
        html = html_of(thing)
        assert "&lt;script&gt;" in html
        assert Cells(html).tags <= {"div", "b", "table", "thead", "tbody", "tr", "td", "th", "pre"}
    assert Cells(html_of(shown[1])).rows[1:] == [["id", HOSTILE], ["text", HOSTILE]]


def test_html_has_no_colours_and_scrolls() -> None:
    for html in (html_of(Order), html_of(Order(city="x", at=NOON)), html_of(Page([1]))):
        assert not re.search(r"color|background|#[0-9a-f]{3}|rgb", html)
        assert "overflow-x:auto" in html


def test_fields_without_repr_are_not_shown() -> None:
    order = Order(city="x", at=NOON)

    assert "secret-1" not in html_of(order)
    assert "secret-1" not in html_of(Page([order]))


def test_an_object_or_a_class_without_values_is_shown() -> None:
    class Mixin(Model, abstract=True):
        n: Mapped[int] = column()

    assert Cells(html_of(Order.__new__(Order))).rows == [["field", "value"]]
    assert "abstract, fields n" in html_of(Mixin)
    assert html_of(Model)
