"""Random rows, changes and statements on functions of fields: the answer is that of plain Python.

The indexes hold the functions' values, so rows that change move among their entries; entries that no
row has are put beside them, as a writer leaves them that dies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import (
    Condition,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    func,
    key,
    select,
)
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import QueryError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import MutateRows, Put, RowMutation
from hbase_orm.query import IndexPlan, Select
from tests.property.quotas import fill, short_of

T0 = datetime(2024, 1, 1, 22, tzinfo=UTC)
NOW_MS = 1_700_000_000_000


class Item(Model, table="items"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    text: Mapped[str | None] = column(d, default=None)
    at: Mapped[datetime | None] = column(d, default=None)
    tags: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    sizes: Mapped[frozenset[int] | None] = column(
        d, codec=codecs.json(frozenset[int]), default=None
    )
    kind: Mapped[int] = column(d, codec=codecs.uint8(), default=1)
    lowered = Index(func.lower(text).desc(), nulls=True)
    endings = Index(func.digit_reversed(text), kind)
    days = Index(func.day(at), include=[kind], covering=True)
    tagged = Index(func.each(tags), kind.desc(), salt=3)
    sized = Index(kind, (func.each(sizes), codecs.int32(desc=True)), where=kind != 0)


TEXTS = ("", "a", "A", "ab", "Ba", "aB\0")
TAGS = ("a", "ab", "b", "c\0")
TIMES = tuple(T0 + timedelta(hours=hours) for hours in (-30, 0, 1, 3, 30))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.none() | st.sampled_from(TEXTS),
    "at": st.none() | st.sampled_from(TIMES),
    "tags": st.lists(st.sampled_from(TAGS), max_size=4),
    "sizes": st.none() | st.frozensets(st.integers(-2, 2), max_size=3),
    "kind": st.integers(0, 2),
}
ROW = st.fixed_dictionaries({"n": st.integers(0, 9), **VALUES})
FULL_ROW = st.fixed_dictionaries(
    {
        "n": st.integers(0, 9),
        "text": st.sampled_from(TEXTS[1:]),
        "at": st.sampled_from(TIMES),
        "tags": st.lists(st.sampled_from(TAGS), min_size=1, max_size=4),
        "sizes": st.frozensets(st.integers(-2, 2), min_size=1, max_size=3),
        "kind": st.integers(1, 2),
    }
)
"""A row that has an entry in every index."""
Holds = Callable[[dict[str, Any]], bool]
LEAST = dict.fromkeys((index.name for index in Item.__schema__.indexes), 5)


def days() -> st.SearchStrategy[date]:
    return st.sampled_from([date(2023, 12, 31), date(2024, 1, 1), date(2024, 1, 2)])


@st.composite
def conditions(draw: st.DrawFn, about: str) -> tuple[Condition, Holds]:
    """Draw a condition, and what it means."""
    text, item = draw(st.sampled_from((*TEXTS, None))), draw(st.sampled_from((*TAGS, "d")))
    size, day = draw(st.sampled_from((-1, 0, 1, 7))), draw(days())
    low, high = sorted((item, draw(st.sampled_from(TAGS))))
    start = item[:1]
    lower: Any = func.lower(Item.text)
    backwards = func.digit_reversed(Item.text)
    tags, sizes = func.each(Item.tags), func.each(Item.sizes)
    options: dict[str, list[tuple[Condition, Holds]]] = {
        "text": [
            (lower == text, lambda r: _of(r["text"], str.lower) == text),
            (lower > (text or ""), lambda r: (_of(r["text"], str.lower) or "") > (text or "")),
            (Item.text.is_null(), lambda r: r["text"] is None),
        ],
        "ending": [
            (backwards.startswith(start), lambda r: (r["text"] or " ")[::-1].startswith(start)),
            (backwards == start, lambda r: (r["text"] or " ")[::-1] == start),
        ],
        "day": [
            (func.day(Item.at) == day, lambda r: _of(r["at"], datetime.date) == day),
            (func.day(Item.at) <= day, lambda r: r["at"] is not None and r["at"].date() <= day),
        ],
        "tags": [
            (tags == item, lambda r: item in r["tags"]),
            (Item.tags.contains(item), lambda r: item in r["tags"]),
            (tags != item, lambda r: item not in r["tags"]),
            (tags > item, lambda r: any(tag > item for tag in r["tags"])),
            (tags <= item, lambda r: any(tag <= item for tag in r["tags"])),
            (tags.between(low, high), lambda r: any(low <= t <= high for t in r["tags"])),
            (tags.in_([low, "d"]), lambda r: low in r["tags"] or "d" in r["tags"]),
            (tags.startswith(start), lambda r: any(t[:1] == start for t in r["tags"])),
        ],
        "sizes": [
            (sizes == size, lambda r: size in (r["sizes"] or ())),
            (sizes >= size, lambda r: any(s >= size for s in r["sizes"] or ())),
        ],
    }
    condition, holds = draw(st.sampled_from(options[about]))
    return (~condition, lambda r: not holds(r)) if draw(_SELDOM) else (condition, holds)


_SELDOM = st.sampled_from((False,) * 7 + (True,))


def _of(value: Any, function: Callable[[Any], Any]) -> Any:
    return None if value is None else function(value)


@st.composite
def statements(draw: st.DrawFn) -> tuple[tuple[Condition, ...], Holds]:
    about = st.sampled_from(("text", "ending", "day", "tags", "sizes", "sizes"))
    drawn = [draw(conditions(each)) for each in draw(st.lists(about, min_size=1, max_size=2))]
    if draw(st.sampled_from((False, True, True))):
        kind = draw(st.sampled_from((1, 1, 2)))
        drawn.append((Item.kind == kind, lambda row: row["kind"] == kind))
    every = tuple(holds for _, holds in drawn)
    either = draw(_SELDOM)
    asked = tuple(condition for condition, _ in drawn)
    if either and len(asked) > 1:
        return (asked[0] | asked[1],), lambda row: every[0](row) or every[1](row)
    return asked, lambda row: all(holds(row) for holds in every)


def about_row(index: str, row: dict[str, Any]) -> tuple[tuple[Condition, ...], Holds]:
    """Return a statement that an index answers, with that row among its answer."""
    lowered, turned, at, kind = row["text"].lower(), row["text"][::-1], row["at"], row["kind"]
    tag, size = row["tags"][0], min(row["sizes"])
    lower: Any = func.lower(Item.text)
    options: dict[str, tuple[tuple[Condition, ...], Holds]] = {
        "lowered": ((lower == lowered,), lambda r: _of(r["text"], str.lower) == lowered),
        "endings": (
            (func.digit_reversed(Item.text) == turned,),
            lambda r: (r["text"] or " ")[::-1] == turned,
        ),
        "days": (
            (func.day(Item.at) == at.date(),),
            lambda r: _of(r["at"], datetime.date) == at.date(),
        ),
        "tagged": ((Item.tags.contains(tag),), lambda r: tag in r["tags"]),
        "sized": (
            (Item.kind == kind, func.each(Item.sizes) == size),
            lambda r: r["kind"] == kind and size in (r["sizes"] or ()),
        ),
    }
    return options[index]


def store(engine: Engine, rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Write rows one after the other; return what the last of each key is."""
    kept: dict[int, dict[str, Any]] = {}
    for row in rows:
        with engine.session() as session:
            session.replace(Item(**row))
        kept[row["n"]] = row
    return kept


def leave_entries(gateway: MemoryGateway, keys: list[tuple[str, bytes]]) -> None:
    for index, data in keys:
        mutation = RowMutation(data, (Put(b"d:", b"u", NOW_MS),))
        gateway.execute(MutateRows(f"items_ix_{index}", (mutation,)))


STALE = [
    ("tagged", bytes((bucket,)) + item.encode() + b"\0\1" + bytes((255 - kind, n)))
    for bucket in range(3)
    for item in "ab"
    for kind in (0, 1)
    for n in (3, 77)
]
STALE += [("days", codecs.date_().encode(date(2024, 1, 1)) + bytes((n,))) for n in range(12)]


def checks(met: Counter[str], examples: int, index: str | None = None) -> Callable[[], None]:
    """Return a test of random rows and statements; one of them has an answer through an index."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        rows = data.draw(st.lists(ROW, min_size=6, max_size=14))
        asked = data.draw(st.lists(statements(), min_size=6, max_size=6))
        if index is not None:
            rows.append(data.draw(FULL_ROW))
            asked.append(about_row(index, rows[-1]))
        gateway = MemoryGateway()
        with Engine(gateway, parse_url("memory://")) as engine:
            engine.create_tables(Item)
            kept = store(engine, rows)
            leave_entries(gateway, data.draw(st.lists(st.sampled_from(STALE), max_size=6)))
            for conditions_asked, holds in asked:
                wanted = {n for n, row in kept.items() if holds(row)}
                ask(engine, conditions_asked, wanted, met)

    return check


def ask(
    engine: Engine, asked: tuple[Condition, ...], expected: set[int], met: Counter[str]
) -> None:
    """Ask as the planner likes, and through each index that has all the rows."""
    stmt = select(Item).where(*asked).allow_full_scan()
    named = [stmt.using(getattr(Item, index.name)) for index in Item.__schema__.indexes]
    with engine.session() as session:
        for each in (stmt, *named):
            try:
                plan = session.explain(each)
            except QueryError:
                assert each is not stmt
                continue
            found = [item.n for item in session.all(each)]
            assert sorted(found) == sorted(expected), str(plan)
            if isinstance(plan, IndexPlan):
                met[plan.index.name] += bool(found)
            if each is stmt:
                check_others(session, stmt, found)


def check_others(session: Session, stmt: Select[Item], found: list[int]) -> None:
    """Check that a limit, a count, values and pages say the same."""
    assert [item.n for item in session.all(stmt.limit(2))] == found[:2]
    assert session.count(stmt) == len(found)
    values = select(Item.n).where(*stmt.conditions).allow_full_scan()
    assert session.all(values) == found
    page = session.page(stmt, size=2)
    joined = [item.n for item in page.items]
    while page.token is not None:
        page = session.page(stmt, size=2, token=page.token)
        joined += [item.n for item in page.items]
    assert joined == found


def test_an_answer_through_functions_of_fields_is_that_of_plain_python() -> None:
    met: Counter[str] = Counter()

    checks(met, 60)()
    fill(lambda: short_of(met, LEAST), lambda index: checks(met, 5, index))

    for index in Item.__schema__.indexes:
        assert met[index.name] >= 5, met
