"""Which index a statement is read by, and what a plan says of it; what is found through it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Condition,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    func,
    key,
    select,
)
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import QueryError, TableDisabledError, UnboundedScanError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.upkeep.repair import MIN_AGE_MS
from hbase_orm.ops import GetRows, MutateRows, OpenScanner, Operation, Put, RowMutation
from hbase_orm.query import EmptyPlan, GetPlan, IndexPlan, Plan, Select, plan
from tests.support.index_statements import (
    ITEMS,
    STATEMENTS,
    T0,
    Job,
    add,
    check_answer,
    check_pages,
)


def planned(*conditions: Condition, using: Any = ...) -> Plan:
    stmt: Select[Job] = select(Job).where(*conditions)
    return plan(stmt if using is ... else stmt.using(using), Job.__schema__)


def index_of(*conditions: Condition) -> str | None:
    """Return the index that a statement is read by, None for another plan."""
    try:
        found = planned(*conditions)
    except UnboundedScanError:
        return None
    return found.index.name if isinstance(found, IndexPlan) else None


# --- partial indexes ------------------------------------------------------------------------------

LATE = Job.at > T0


@pytest.mark.parametrize(
    "conditions",
    [
        (Job.state == "new",),
        (Job.state.in_(["new"]),),
        (Job.state.between("new", "new"), Job.state == "new"),
        ((Job.state == "new") & (Job.size != 3),),
    ],
)
def test_a_partial_index_serves_statements_that_imply_its_condition(conditions: Any) -> None:
    assert index_of(LATE, *conditions) == "waiting"


@pytest.mark.parametrize(
    "conditions",
    [
        (),
        (Job.state == "old",),
        (Job.state != "new",),
        (Job.state.in_(["new", "old"]),),
        (Job.state >= "new",),
        (Job.state.startswith("new"),),
        ((Job.state == "new") | (Job.size == 3),),
        (~(Job.state == "new"),),
    ],
)
def test_it_serves_no_others(conditions: Any) -> None:
    assert index_of(LATE, *conditions) != "waiting"


@pytest.mark.parametrize(
    ("conditions", "is_used"),
    [
        ((Job.size > 10,), True),
        ((Job.size > 11,), True),
        ((Job.size >= 11,), True),
        ((Job.size >= 10,), False),
        ((Job.size.between(20, 30),), True),
        ((Job.size.in_([11, 12]),), True),
        ((Job.size.in_([10, 12]),), False),
        ((Job.size < 20,), False),
    ],
)
def test_ranges_within_that_of_the_condition_imply_it(conditions: Any, is_used: bool) -> None:  # noqa: FBT001 - parametrised
    has_phone = Job.phone > "0"
    found = plan(
        select(Job).where(LATE, *conditions, has_phone).using(Job.large)
        if is_used
        else select(Job).where(LATE, *conditions, has_phone),
        Job.__schema__,
    )

    assert isinstance(found, IndexPlan)
    assert (found.index.name == "large") is is_used


def test_every_alternative_must_imply_it() -> None:
    new = (Job.state == "new") & (Job.at == T0)
    old = (Job.state == "old") & (Job.at == T0)

    assert index_of(new | (Job.at == T0 + timedelta(1)) & (Job.state == "new")) == "waiting"
    assert index_of(new | old) == "by_day"


def test_plans_of_known_shapes_do_not_carry_over_to_other_values() -> None:
    with Engine(MemoryGateway(), parse_url("memory://")) as engine:
        engine.create_tables(Job)
        with engine.session() as session:
            asked = [select(Job).where(LATE, Job.state == s) for s in ("new", "old", "new")]
            found = [session.explain(stmt.allow_full_scan()) for stmt in asked]

    assert [each.kind for each in found] == ["Index", "Scan", "Index"]


def test_an_index_that_lacks_rows_is_refused_by_name() -> None:
    with pytest.raises(QueryError, match="do not fulfil its condition"):
        planned(LATE, using=Job.waiting)
    with pytest.raises(QueryError, match="is None"):
        planned(LATE, using=Job.by_ending)
    with pytest.raises(QueryError, match="is None"):
        planned(LATE, using=Job.by_label)


def test_an_index_kept_by_hand_is_read_by_name_alone() -> None:
    assert index_of(Job.state == "new") is None
    found = planned(Job.state == "new", using=Job.by_hand)
    assert isinstance(found, IndexPlan)


# --- functions, nulls, entries of dynamic columns -------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "index"),
    [
        ((func.lower(Job.mail) == "a@x.org",), "by_mail"),
        ((func.lower(Job.mail).startswith("a@"),), "by_mail"),
        ((Job.mail == "A@x.org",), "by_mail"),
        ((Job.mail > "A@x.org",), None),
        ((func.digit_reversed(Job.phone).startswith("98"),), "by_ending"),
        ((func.day(Job.at) == date(2024, 1, 3),), "by_day"),
        ((func.day(Job.at) >= date(2024, 1, 3),), "by_day"),
        ((func.day(Job.at) != date(2024, 1, 3),), None),
        ((Job.labels.contains("a"),), "by_label"),
        ((func.each(Job.labels) == "a",), "by_label"),
        ((func.each(Job.labels).in_(["a", "b"]),), "by_label"),
        ((func.each(Job.labels).between("a", "b"),), "by_label"),
        ((func.each(Job.labels) != "a",), None),
        ((~Job.labels.contains("a"),), None),
        ((Job.phone.is_null(),), "by_phone"),
        ((Job.phone.in_([None, "1"]),), "by_phone"),
        ((Job.phone != None,), "by_phone"),  # noqa: E711 - asks for a value
        ((Job.props["rack"] == 3,), "by_rack"),
        ((Job.props["other"] == 3,), None),
    ],
)
def test_conditions_are_read_by_the_index_that_holds_them(
    conditions: Any, index: str | None
) -> None:
    assert index_of(*conditions) == index


def test_a_value_that_no_entry_can_hold_is_not_looked_for() -> None:
    assert isinstance(planned(Job.props["rack"] == 70_000), EmptyPlan)


def test_of_conditions_on_several_items_the_narrowest_is_read() -> None:
    found = planned(ITEMS > "b", ITEMS == "a", ITEMS.startswith("c"))

    assert isinstance(found, IndexPlan)
    assert found.buckets[0][0].start == b"\0a\0\1"


def test_which_of_a_rows_entries_counts_is_known_of_the_row_alone() -> None:
    class Tagged(Model, table="tagged"):
        d = Family()
        n: Key[int] = key(codecs.uint16())
        mail: Mapped[str] = column(d)
        labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
        by_label = Index(func.each(labels), include=[mail], covering=True)

    asked = select(Tagged.mail).where(func.each(Tagged.labels) > "a")
    found = plan(asked, Tagged.__schema__)

    assert isinstance(found, IndexPlan)
    assert not found.is_covered


def test_a_unique_value_is_one_get_of_its_claim() -> None:
    found = planned(func.lower(Job.mail).in_(["b", "a"]))

    assert isinstance(found, IndexPlan)
    assert (found.keys, found.ranges) == ((b"a\0\1", b"b\0\1"), ())
    assert "get a\\x00\\x01" in str(found)
    assert found.requests == "1 get of 2 claims, 1 multi-get of the owners"


def test_the_row_key_is_got_rather_than_a_claim() -> None:
    found = planned(func.lower(Job.mail) == "a", Job.tenant == "t", Job.n == 3)

    assert isinstance(found, GetPlan)


def test_a_salted_index_is_read_in_every_bucket() -> None:
    found = planned(func.each(Job.labels) == "a")

    assert isinstance(found, IndexPlan)
    assert [bucket[0].start for bucket in found.buckets] == [b"\0a\0\1", b"\1a\0\1", b"\2a\0\1"]
    assert "merge 3 buckets by the key without its first byte" in str(found)


def test_values_that_entries_repeat_are_read_of_entries_alone() -> None:
    def is_covered(stmt: Select[Any]) -> bool:
        found = plan(stmt.using(Job.by_size), Job.__schema__)
        assert isinstance(found, IndexPlan)
        return found.is_covered

    large = Job.size > 3
    assert is_covered(select(Job.mail, Job.size, Job.tenant).where(large))
    assert is_covered(select(Job.mail).where(large, func.lower(Job.phone) == "x"))
    assert not is_covered(select(Job.state).where(large))
    assert not is_covered(select(Job.mail).where(large, Job.state == "new"))
    assert not is_covered(select(Job).where(large))


# --- what is found --------------------------------------------------------------------------------


class Slow(MemoryGateway):
    """Keeps what was sent, and a clock that can be put forward."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Operation[Any]] = []

    def execute(self, operation: Operation[Any], /) -> Any:
        self.sent.append(operation)
        return super().execute(operation)


@pytest.fixture
def gateway() -> Slow:
    return Slow()


@pytest.fixture
def engine(gateway: Slow) -> Iterator[Engine]:
    with Engine(gateway, parse_url("memory://")) as engine:
        engine.create_tables(Job)
        yield engine


def stale_entry(gateway: Slow, index: str, key: bytes, value: bytes, timestamp_ms: int) -> None:
    put = RowMutation(key, (Put(b"d:", value, timestamp_ms),))
    gateway.execute(MutateRows(f"jobs_ix_{index}", (put,)))


def got(gateway: Slow) -> int:
    """Return how many rows of jobs were got since the last call."""
    asked = [op for op in gateway.sent if isinstance(op, GetRows) and op.table == "jobs"]
    gateway.sent.clear()
    return sum(len(op.keys) for op in asked)


@pytest.mark.parametrize("stmt", STATEMENTS, ids=lambda stmt: repr(stmt.conditions))
def test_an_index_gives_what_a_full_scan_gives(engine: Engine, stmt: Select[Any]) -> None:
    add(engine)

    check_answer(engine, stmt)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("stmt", STATEMENTS, ids=lambda stmt: repr(stmt.conditions))
def test_pages_joined_are_the_answer(engine: Engine, stmt: Select[Any], size: int) -> None:
    add(engine)

    check_pages(engine, stmt, size)


def test_none_comes_before_all_values_and_behind_them_when_they_fall(engine: Engine) -> None:
    add(engine, 8)
    with engine.session() as session:
        every = select(Job.phone).using(Job.by_phone).allow_full_scan()
        rising = session.all(every.order_by(Job.phone.asc()))
        falling = session.all(every.order_by(Job.phone.desc()))

    assert rising == [None, None, None, "01", "02", "04", "05", "07"]
    assert falling == rising[::-1]


def test_the_owner_of_a_unique_value_is_found_by_two_gets(engine: Engine, gateway: Slow) -> None:
    add(engine, 5)
    with engine.session() as session:
        gateway.sent.clear()
        found = session.first(select(Job).where(func.lower(Job.mail) == "u3@x.org"))

    assert found is not None
    assert found.n == 3
    assert [op.table for op in gateway.sent if isinstance(op, GetRows)][-2:] == [
        "jobs_ix_by_mail",
        "jobs",
    ]


def test_a_value_given_up_is_nobodys(engine: Engine) -> None:
    add(engine, 5)
    with engine.session() as session:
        session.update(Job, lambda job: setattr(job, "mail", "new"), tenant="t", n=3)

        assert session.all(select(Job).where(func.lower(Job.mail) == "u3@x.org")) == []
        assert session.all(select(Job.n).where(func.lower(Job.mail).startswith("n"))) == [3]


def test_verified_entries_answer_without_their_rows(engine: Engine, gateway: Slow) -> None:
    add(engine)
    stmt = select(Job.mail, Job.size).where(Job.size >= 3)
    with engine.session() as session:
        got(gateway)
        session.all(stmt)

        assert got(gateway) == 0


def test_what_entries_repeat_is_sent_only_where_it_is_read(engine: Engine, gateway: Slow) -> None:
    add(engine)

    def columns_of(stmt: Select[Any]) -> list[tuple[bytes, ...]]:
        gateway.sent.clear()
        with engine.session() as session:
            session.all(stmt)
        opened = [op.scan for op in gateway.sent if isinstance(op, OpenScanner)]
        return [scan.columns for scan in opened if scan.table == "jobs_ix_by_size"]

    assert columns_of(select(Job).where(Job.size == 5)) == [(b"d:",)]
    assert columns_of(select(Job.mail).where(Job.size == 5)) == [()]


@pytest.mark.parametrize("flag", [b"u", b""])
def test_entries_that_are_not_verified_are_looked_up(
    engine: Engine, gateway: Slow, flag: bytes
) -> None:
    add(engine, 7)
    row = b"t\0\1\0\6"
    key = codecs.int64().encode(6) + row
    (entry,) = gateway.execute(GetRows("jobs_ix_by_size", (key,)))
    assert entry is not None
    stale_entry(gateway, "by_size", key, flag, entry.cells[b"d:"].timestamp_ms)
    with engine.session() as session:
        got(gateway)

        assert session.all(select(Job.mail).where(Job.size >= 5)) == ["U5@X.org", "U6@X.org"]
        assert got(gateway) == 1


# --- stale entries --------------------------------------------------------------------------------

OLD_MS = 1_600_000_000_000


def with_stale_entries(gateway: Slow, count: int, timestamp_ms: int = OLD_MS) -> None:
    for n in range(count):
        key = codecs.int64().encode(5) + b"a\0\1" + n.to_bytes(2)
        stale_entry(gateway, "by_size", key, b"u", timestamp_ms)


def entries_in(gateway: Slow, count: int) -> int:
    keys = tuple(codecs.int64().encode(5) + b"a\0\1" + n.to_bytes(2) for n in range(count))
    return sum(row is not None for row in gateway.execute(GetRows("jobs_ix_by_size", keys)))


def test_limits_and_pages_are_exact_beside_stale_entries(engine: Engine, gateway: Slow) -> None:
    add(engine)
    with_stale_entries(gateway, 30)
    with engine.session() as session:
        stmt = select(Job).where(Job.size == 5)

        assert [job.n for job in session.all(stmt.limit(3))] == [5, 12, 19]
        page = session.page(stmt, size=2)
        assert [job.n for job in page.items] == [5, 12]


def test_stale_entries_are_counted_and_not_repaired_by_analyzing(
    engine: Engine, gateway: Slow
) -> None:
    add(engine)
    with_stale_entries(gateway, 4)
    with engine.session() as session:
        found = session.explain(select(Job).where(Job.size == 5), analyze=True)

    assert found.measured is not None
    assert (found.measured.stale, found.measured.entries) == (4, 9)
    assert entries_in(gateway, 4) == 4


def test_several_entries_of_a_row_are_none_of_them_stale(engine: Engine) -> None:
    add(engine)
    with engine.session() as session:
        found = session.explain(select(Job).where(ITEMS >= "a"), analyze=True)

    assert found.measured is not None
    assert found.measured.stale == 0
    assert found.measured.entries > found.measured.results


def test_stale_entries_are_repaired_after_the_rows_a_few_at_a_time(
    engine: Engine, gateway: Slow
) -> None:
    add(engine)
    with_stale_entries(gateway, 25)
    with engine.session() as session:
        assert len(session.all(select(Job).where(Job.size == 5))) == 5
        assert entries_in(gateway, 25) == 5

        session.all(select(Job).where(Job.size == 5))
        assert entries_in(gateway, 25) == 0


def test_young_entries_are_left_to_their_writes(engine: Engine, gateway: Slow) -> None:
    add(engine)
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    with_stale_entries(gateway, 3, now_ms - MIN_AGE_MS + 30_000)
    with engine.session() as session:
        session.all(select(Job).where(Job.size == 5))

    assert entries_in(gateway, 3) == 3


def test_an_engine_may_leave_stale_entries(gateway: Slow) -> None:
    with Engine(gateway, parse_url("memory://?repair_on_read=off")) as engine:
        engine.create_tables(Job)
        add(engine)
        with_stale_entries(gateway, 3)
        with engine.session() as session:
            session.all(select(Job).where(Job.size == 5))

        assert entries_in(gateway, 3) == 3


def test_a_repair_that_fails_is_no_failure_of_the_read(
    engine: Engine, gateway: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(engine)
    with_stale_entries(gateway, 3)
    true = Slow.execute

    def refuse(self: Slow, operation: Operation[Any], /) -> Any:
        if isinstance(operation, MutateRows):
            raise TableDisabledError("the table is disabled", table=operation.table)
        return true(self, operation)

    monkeypatch.setattr(Slow, "execute", refuse)
    with engine.session() as session:
        assert len(session.all(select(Job).where(Job.size == 5))) == 5


# --- what is refused ------------------------------------------------------------------------------

OF_ITEMS: Any = ITEMS
NUMBER: Any = Job.n
MAIL: Any = Job.mail


@pytest.mark.parametrize(
    "stmt",
    [
        lambda: select(func.lower(Job.mail)),
        lambda: select(Job.n, func.day(Job.at)),
        lambda: select(func.max(func.day(Job.at))),
        lambda: select(func.count()).group_by(func.day(Job.at)).where(Job.n == 1),
        lambda: select(Job).sort_in_memory(func.day(Job.at).desc(), max_rows=9),
        lambda: select(Job).order_by(ITEMS.asc()),
        lambda: select(Job).where(ITEMS.is_null()),
        lambda: select(Job).where(OF_ITEMS == None),  # noqa: E711 - asks for none
        lambda: select(Job).where(func.day(Job.at) == T0),
        lambda: select(Job).where(func.lower(NUMBER) == "x"),
        lambda: select(Job).where(func.each(MAIL) == "x"),
    ],
)
def test_what_functions_cannot_be_asked_is_refused_with_what_to_do(stmt: Any) -> None:
    with pytest.raises(QueryError) as caught:
        plan(stmt().allow_full_scan(), Job.__schema__)

    assert caught.value.fix


class Bare(Model, table="bare"):
    d = Family()
    n: Key[int] = key(codecs.uint16())
    mail: Mapped[str] = column(d)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    things: Mapped[list[Any]] = column(d, codec=codecs.json(list[Any]), default_factory=list)


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        (func.lower(Bare.mail) == "x", "or declare Index(func.lower(mail))"),
        (Bare.labels.contains("x"), "or declare Index(func.each(labels))"),
        (func.lower(Bare.mail) != "x", "first part of the key; or add"),
        (Bare.things.contains("x"), "first part of the key; or add"),
    ],
)
def test_an_index_of_a_function_is_advised_where_it_narrows(
    condition: Condition, advice: str
) -> None:
    with pytest.raises(UnboundedScanError) as caught:
        plan(select(Bare).where(condition), Bare.__schema__)

    assert advice in (caught.value.fix or "")
