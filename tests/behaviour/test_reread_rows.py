"""What a row that is read again does to unflushed changes.

Tests share the tables of `prepare`, so each works on rows of its own `host`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Related,
    Session,
    Version,
    codecs,
    column,
    dynamic,
    key,
    related,
    select,
    version,
)
from hbase_orm.errors import ConflictError, FlushConflictError, FlushError, ValidationError
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.ops import CheckAndMutate, MutateRow, MutateRows, Operation
from tests.support.recording import LosesAnswers, through
from tests.support.store import Store, load


class Account(Model, table="reread_accounts"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    balance: Mapped[int] = column(d, codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)
    lines: Mapped[list[int]] = column(d, codec=codecs.json(list[int]), default_factory=list[int])
    body: Mapped[str | None] = column(d, default=None, deferred=True)
    tags: Dynamic[str, str] = dynamic(e)
    revision: Version = version(d)


class Purse(Model, table="reread_purses"):
    """The same without a version."""

    d = Family()
    e = Family()
    host: Key[str] = key()
    balance: Mapped[int] = column(d, codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)
    lines: Mapped[list[int]] = column(d, codec=codecs.json(list[int]), default_factory=list[int])
    body: Mapped[str | None] = column(d, default=None, deferred=True)
    tags: Dynamic[str, str] = dynamic(e)


class Owner(Model, table="reread_owners"):
    d = Family()
    host: Key[str] = key()
    name: Mapped[str] = column(d)
    account: Related[Account] = related(host=host)


class Hooked(Model, table="reread_hooked"):
    """A hook completes what is read."""

    d = Family()
    host: Key[str] = key()
    balance: Mapped[int] = column(d, codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)
    revision: Version = version(d)

    def after_load(self) -> None:
        if self.note is None:
            self.note = f"balance {self.balance}"


@dataclass
class Line:
    """A value that a program changes by its attributes."""

    name: str
    amounts: list[int] = field(default_factory=list[int])


class Order(Model, table="reread_orders"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    line: Mapped[Line] = column(d, codec=codecs.json(Line))
    doc: Mapped[dict[str, list[int]]] = column(
        d, codec=codecs.msgpack(dict[str, list[int]]), default_factory=dict[str, list[int]]
    )
    note: Mapped[str | None] = column(d, default=None)
    parts: Dynamic[str, list[int]] = dynamic(e, codec=codecs.json(list[int]))


class Archive(Model, table="reread_archives"):
    d = Family()
    host: Key[str] = key()
    title: Mapped[str] = column(d)
    pages: Mapped[list[str]] = column(
        d, codec=codecs.json(list[str]), default_factory=list[str], deferred=True
    )


class Loose(Model, table="reread_loose"):
    d = Family()
    host: Key[str] = key()
    doc: Mapped[dict[str, Any]] = column(d, codec=codecs.json(dict[str, Any]))


MODELS = (Account, Purse, Owner, Hooked, Order, Archive, Loose)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


@pytest.fixture(params=[Account, Purse], ids=["versioned", "plain"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


def by_get(session: Session, model: Any, host: str) -> None:
    assert load(session, model, host=host) is not None


def by_get_many(session: Session, model: Any, host: str) -> None:
    assert session.get_many(model, [(host,), {"host": host}])[0] is not None


def by_query(session: Session, model: Any, host: str) -> None:
    assert session.one(select(model).where(model.host == host))


def by_query_of_all_fields(session: Session, model: Any, host: str) -> None:
    assert with_body(session, model, host)


def with_body(session: Session, model: Any, host: str) -> Any:
    """Return a row's object, read with its deferred field."""
    stmt = select(model).where(model.host == host)
    return session.one(stmt.sort_in_memory(model.body.asc(), max_rows=5))


def by_page(session: Session, model: Any, host: str) -> None:
    assert session.page(select(model).where(model.host == host), size=5).items


def by_related(session: Session, model: Any, host: str) -> None:
    del model
    stmt = select(Owner).where(Owner.host == host).load_related(Owner.account)
    assert session.one(stmt).account is not None


READS = (by_get, by_get_many, by_query, by_query_of_all_fields, by_page, by_related)
Read = Callable[[Session, Any, str], None]


def change_by_another(store: Store, model: Any, host: str, **fields: Any) -> None:
    """Let another program change fields of the row."""
    with store.engine.session() as other:
        found = load(other, model, host=host)
        for name, value in fields.items():
            setattr(found, name, value)


def set_note(obj: Any) -> None:
    obj.note = "mine"


def append_line(obj: Any) -> None:
    obj.lines.append(7)


def put_tag(obj: Any) -> None:
    obj.tags["rack"] = "mine"


def set_body(obj: Any) -> None:
    obj.body = "mine"


def clear_body(obj: Any) -> None:
    obj.body = None


CHANGES = (set_note, append_line, put_tag, set_body, clear_body)


# --- the version that a change is based on ---------------------------------------------------------


@pytest.mark.parametrize("read", READS)
def test_a_query_leaves_a_change_on_the_version_that_it_is_based_on(
    store: Store, host: str, read: Read
) -> None:
    store.put(Account(host=host, balance=100), Owner(host=host, name="x"))

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        mine.balance -= 30
        change_by_another(store, Account, host, balance=10)
        read(session, Account, host)
        assert mine.revision == 1
        with pytest.raises(FlushConflictError) as caught:
            session.flush()
        assert (caught.value.loaded_version, caught.value.stored_version) == (1, 2)
        assert store.stored(Account, host=host).balance == 10
        session.refresh(mine)
        assert (mine.balance, mine.revision) == (10, 2)
        mine.balance -= 3

    assert store.stored(Account, host=host).balance == 7


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_in_any_way_stays_on_its_version(
    store: Store, host: str, change: Callable[[Any], None]
) -> None:
    store.put(Account(host=host, balance=100, body="old"))

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        change(mine)
        change_by_another(store, Account, host, balance=10)
        by_get(session, Account, host)
        by_get(session, Account, host)
        assert mine.balance == 10  # what the program did not change is brought up to date
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(mine)
        change(mine)

    found = store.stored(Account, host=host)
    assert (found.balance, found.revision) == (10, 3)


def test_a_query_leaves_a_delete_on_the_version_that_it_is_based_on(
    store: Store, host: str
) -> None:
    store.put(Account(host=host, balance=100))

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        session.delete(mine)
        change_by_another(store, Account, host, balance=10)
        by_query(session, Account, host)
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(mine)
        assert mine.balance == 10
        session.delete(mine)

    assert store.stored(Account, host=host) is None


def test_the_same_value_written_by_another_is_a_conflict_too(store: Store, host: str) -> None:
    store.put(Account(host=host, balance=100))

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        mine.balance -= 10
        change_by_another(store, Account, host, balance=90)
        by_query(session, Account, host)
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(mine)
        mine.balance -= 10

    assert store.stored(Account, host=host).balance == 80


def test_without_a_change_a_query_gives_the_new_version(store: Store, host: str) -> None:
    store.put(Account(host=host, balance=100))

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        mine.balance = 5
        mine.balance = 100
        session.add(mine)
        change_by_another(store, Account, host, note="theirs")
        by_query(session, Account, host)
        assert mine.revision == 2
        mine.balance += 1

    found = store.stored(Account, host=host)
    assert (found.balance, found.note, found.revision) == (101, "theirs", 3)


def test_a_change_that_was_written_begins_with_the_version_it_made(store: Store, host: str) -> None:
    store.put(Account(host=host, balance=100))

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        mine.balance = 1
        by_query(session, Account, host)
        session.flush()
        by_query(session, Account, host)
        mine.balance = 2

    assert (mine.revision, store.stored(Account, host=host).balance) == (3, 2)


def test_an_update_of_the_row_does_not_hide_behind_a_pending_change(
    store: Store, host: str
) -> None:
    store.put(Account(host=host, balance=100))

    def grow(row: Account) -> None:
        row.balance += 1

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        mine.balance = 50
        assert session.update(Account, grow, host=host) is mine
        assert mine.balance == 50
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(mine)

    assert store.stored(Account, host=host).balance == 101


def test_a_condition_on_the_version_of_an_object_is_that_of_its_change(
    store: Store, host: str
) -> None:
    store.put(Account(host=host, balance=100))

    with store.engine.session() as session:
        mine = load(session, Account, host=host)
        mine.balance -= 30
        change_by_another(store, Account, host, balance=10)
        by_query(session, Account, host)
        assert not session.put_if(mine, Account.revision == mine.revision)
        assert not session.delete_if(mine, Account.revision == mine.revision)
        assert session.put_if(mine, Account.balance == 10)
        assert mine.revision == 3
        mine.balance = 1

    assert store.stored(Account, host=host).balance == 1


def test_what_a_hook_changes_at_load_is_a_change(store: Store, host: str) -> None:
    store.put(Hooked(host=host, balance=100))

    with store.engine.session() as session:
        mine = load(session, Hooked, host=host)
        with store.engine.session() as other:
            other.put_row(Hooked, Hooked.balance.to(10), host=host)
        by_get(session, Hooked, host)
        assert (mine.balance, mine.note) == (10, "balance 100")
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(mine)

    found = store.stored(Hooked, host=host)
    assert (found.balance, found.note) == (10, "balance 10")


# --- outcomes that are unknown ---------------------------------------------------------------------


def test_a_query_after_a_flush_of_unknown_outcome_is_no_conflict_with_itself(
    store: Store, host: str
) -> None:
    with _after_a_lost_answer(store, host) as (session, mine):
        by_query(session, Account, host)
        session.flush()
        mine.balance = 3
        session.flush()

    found = store.stored(Account, host=host)
    assert (found.balance, mine.revision) == (3, found.revision)


def test_a_query_after_a_flush_of_unknown_outcome_hides_nobody_elses_write(
    store: Store, host: str
) -> None:
    with _after_a_lost_answer(store, host) as (session, mine):
        change_by_another(store, Account, host, note="theirs", balance=50)
        by_query(session, Account, host)
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(mine)
        assert (mine.balance, mine.note) == (50, "theirs")


@pytest.mark.parametrize("reads", [(), (by_query,), (by_get, by_query)])
@pytest.mark.parametrize("later", [1, 3, None])
def test_what_was_sent_and_not_answered_is_sent_whatever_it_is_now(
    store: Store, model: Any, host: str, later: int | None, reads: tuple[Read, ...]
) -> None:
    with _after_a_lost_answer(store, host, model) as (session, mine):
        mine.balance = later or mine.balance
        mine.note, mine.lines = "first", [1]  # as before the flush
        mine.tags.pop("rack")
        mine.tags["room"] = "first"
        for read in reads:
            read(session, model, host)
        session.flush()
        assert session.flush().written == 0
        shown = mine.balance, mine.note, mine.lines, mine.tags

    found = store.stored(model, host=host)
    assert (found.balance, found.note, found.lines, found.tags) == shown
    assert shown == (later or 2, "first", [1], {"room": "first"})


def test_a_condition_meets_what_was_sent_and_not_answered(
    store: Store, model: Any, host: str
) -> None:
    with _after_a_lost_answer(store, host, model) as (session, mine):
        mine.balance, mine.note, mine.lines = 1, "first", [1]
        mine.tags.clear()
        mine.tags["room"] = "first"
        with pytest.raises(ValidationError, match="not flushed"):
            session.move(mine, host=f"{host}-moved")
        assert session.put_if(mine, model.balance == 2)
        assert session.flush().written == 0

    found = store.stored(model, host=host)
    assert (found.balance, found.note, found.lines) == (1, "first", [1])
    assert found.tags == {"room": "first"}


def test_a_delete_that_was_not_answered_and_is_taken_back_leaves_a_whole_row(
    store: Store, host: str
) -> None:
    store.put(Purse(host=host, balance=1, note="first"))
    cutting = LosesAnswers(store.sent.inner, lambda operation: isinstance(operation, MutateRows))
    session = through(cutting, store.engine).session()
    mine = with_body(session, Purse, host)
    session.delete(mine)
    with pytest.raises(FlushError) as caught:
        session.flush()
    assert len(caught.value.unknown) == 1

    cutting.loses = lambda _: False
    session.add(mine)
    session.flush()
    session.close()

    found = store.stored(Purse, host=host)
    assert (found.balance, found.note) == (1, "first")


class _after_a_lost_answer:  # noqa: N801  # a `with` block reads as a function
    """A session whose change of most fields was written, and does not know it."""

    def __init__(self, store: Store, host: str, model: Any = Account) -> None:
        made = model(host=host, balance=1, note="first", lines=[1])
        made.tags = {"room": "first"}
        store.put(made)
        self.is_cut = False
        self.cutting = LosesAnswers(store.sent.inner, self.loses)
        self.session = through(self.cutting, store.engine).session()
        self.mine = load(self.session, model, host=host)

    def loses(self, operation: Operation[Any]) -> bool:
        is_guarded = isinstance(operation, CheckAndMutate) and any(
            each.column == GUARD_COLUMN for each in operation.mutation.puts
        )
        self.is_cut |= is_guarded or isinstance(operation, (MutateRow, MutateRows))
        return self.is_cut

    def __enter__(self) -> tuple[Session, Any]:
        self.mine.balance, self.mine.note, self.mine.lines = 2, None, [1, 2]
        self.mine.tags["rack"] = self.mine.tags.pop("room")
        with pytest.raises(FlushError) as caught:
            self.session.flush()
        assert len(caught.value.unknown) == 1
        self.cutting.loses = lambda _: False
        return self.session, self.mine

    def __exit__(self, *error: object) -> None:
        self.session.close()


# --- changes of plain rows -------------------------------------------------------------------------


def test_a_change_is_sent_though_a_query_met_the_same_value(store: Store, host: str) -> None:
    store.put(Purse(host=host, balance=1))

    with store.engine.session() as session:
        mine = load(session, Purse, host=host)
        mine.balance = 2
        change_by_another(store, Purse, host, balance=2)
        by_query(session, Purse, host)
        change_by_another(store, Purse, host, balance=3)

    assert store.stored(Purse, host=host).balance == 2


def test_a_value_set_back_sends_nothing_though_a_query_met_another(store: Store, host: str) -> None:
    store.put(Purse(host=host, balance=1))

    with store.engine.session() as session:
        mine = load(session, Purse, host=host)
        mine.balance = 2
        change_by_another(store, Purse, host, balance=3)
        by_query(session, Purse, host)
        mine.balance = 1

    assert store.stored(Purse, host=host).balance == 3


def test_a_deferred_field_that_was_cleared_is_cleared_though_a_query_reads_it(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, balance=1, body="old"))

    with store.engine.session() as session:
        mine = load(session, model, host=host)
        mine.body = None
        by_query_of_all_fields(session, model, host)
        by_query(session, model, host)

    with store.engine.session() as session:
        found = with_body(session, model, host)
    assert found.body is None


def test_a_deferred_field_that_was_read_and_changed_stays_changed(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, balance=1, body="old"))

    with store.engine.session() as session:
        mine = with_body(session, model, host)
        mine.body = None
        by_query(session, model, host)
        by_query_of_all_fields(session, model, host)

    with store.engine.session() as session:
        found = with_body(session, model, host)
    assert found.body is None


def test_entries_that_another_deleted_stay_deleted_unless_they_changed(
    store: Store, model: Any, host: str
) -> None:
    made = model(host=host, balance=1)
    made.tags = {"a": "1", "b": "1", "c": "1"}
    store.put(made)

    with store.engine.session() as session:
        mine = load(session, model, host=host)
        mine.tags["a"] = "mine"
        del mine.tags["b"]
        with store.engine.session() as other:
            load(other, model, host=host).tags.clear()
        by_query(session, model, host)
        assert mine.tags == {"a": "mine"}
        if model is Account:
            session.refresh(mine)
            mine.tags["a"] = "mine"

    assert store.stored(model, host=host).tags == {"a": "mine"}


def test_a_map_that_was_taken_off_an_object_comes_back_whole(
    store: Store, model: Any, host: str
) -> None:
    made = model(host=host, balance=1)
    made.tags = {"a": "1"}
    store.put(made)

    with store.engine.session() as session:
        mine = load(session, model, host=host)
        del mine.tags
        by_query(session, model, host)
        assert mine.tags == {"a": "1"}
        mine.note = "x"

    assert store.stored(model, host=host).tags == {"a": "1"}


def test_a_pending_object_whose_row_was_deleted_stays_as_it_is(store: Store, host: str) -> None:
    store.put(Purse(host=host, balance=1))

    with store.engine.session() as session:
        mine = with_body(session, Purse, host)
        mine.balance = 2
        session.delete_where(select(Purse).where(Purse.host == host))
        store.put(Purse(host=host, balance=3, note="theirs"))
        by_query(session, Purse, host)
        assert (mine.balance, mine.note) == (2, None)

    found = store.stored(Purse, host=host)
    assert (found.balance, found.note) == (2, "theirs")


# --- changes in place ------------------------------------------------------------------------------


def append_to(found: list[int]) -> None:
    found.append(9)


def put_into(found: dict[str, list[int]]) -> None:
    found["b"] = [9]


def hold_line(order: Any) -> Callable[[], None]:
    line = order.line

    def change() -> None:
        line.name = "changed"

    return change


def hold_list_of_a_line(order: Any) -> Callable[[], None]:
    return partial(append_to, order.line.amounts)


def hold_list_in_a_dict(order: Any) -> Callable[[], None]:
    return partial(append_to, order.doc["a"])


def hold_dict(order: Any) -> Callable[[], None]:
    return partial(put_into, order.doc)


def hold_values_of_a_dict(order: Any) -> Callable[[], None]:
    found = iter(order.doc.values())
    return lambda: next(found).append(9)


def hold_method(order: Any) -> Callable[[], None]:
    return partial(order.line.amounts.append, 9)


def hold_map(order: Any) -> Callable[[], None]:
    return partial(put_into, order.parts)


def hold_value_of_an_entry(order: Any) -> Callable[[], None]:
    return partial(append_to, order.parts["a"])


def hold_copy(order: Any) -> Callable[[], None]:
    found = order.to_dict()
    return lambda: found["line"].amounts.append(9)


HOLDS = (
    *(hold_line, hold_list_of_a_line, hold_list_in_a_dict, hold_dict, hold_values_of_a_dict),
    *(hold_method, hold_map, hold_value_of_an_entry, hold_copy),
)
Hold = Callable[[Any], Callable[[], None]]

# The map of dynamic columns stays the same dict: what is put into it afterwards is the object's.
REPLACED = tuple(hold for hold in HOLDS if hold is not hold_map)


def order_of(host: str, **fields: Any) -> Order:
    made = Order(host=host, line=Line("first", [1]), doc={"a": [1]}, **fields)
    made.parts = {"a": [1]}
    return made


def contents(order: Any) -> tuple[Any, ...]:
    return order.line, order.doc, order.parts


@pytest.mark.parametrize("hold", HOLDS)
def test_a_value_may_be_held_without_its_object(store: Store, host: str, hold: Hold) -> None:
    store.put(order_of(host))

    with store.engine.session() as session:
        change = hold(load(session, Order, host=host))
        for _ in range(3):  # each lets go of what nobody holds
            session.flush()
        change()
        expected = order_of(host)
        hold(expected)()

    assert contents(store.stored(Order, host=host)) == contents(expected)


@pytest.mark.parametrize("hold", HOLDS)
def test_a_value_held_while_many_rows_are_read_is_still_seen(
    store: Store, host: str, hold: Hold
) -> None:
    store.put(order_of(host))

    with store.engine.session() as session:
        change = hold(load(session, Order, host=host))
        session._state.tracker.prune()  # as after a thousand loads
        change()
        expected = order_of(host)
        hold(expected)()

    assert contents(store.stored(Order, host=host)) == contents(expected)


@pytest.mark.parametrize("hold", HOLDS)
def test_a_row_read_again_as_it_was_keeps_its_values(store: Store, host: str, hold: Hold) -> None:
    store.put(order_of(host))

    with store.engine.session() as session:
        mine = load(session, Order, host=host)
        change = hold(mine)
        with store.engine.session() as other:
            load(other, Order, host=host).note = "theirs"
        by_query(session, Order, host)
        session.refresh(mine)
        assert mine.note == "theirs"
        change()
        expected = order_of(host)
        hold(expected)()

    assert contents(store.stored(Order, host=host)) == contents(expected)


@pytest.mark.parametrize("hold", REPLACED)
def test_what_was_changed_in_place_before_a_row_is_read_again_stays(
    store: Store, host: str, hold: Hold
) -> None:
    store.put(order_of(host))

    with store.engine.session() as session:
        change = hold(load(session, Order, host=host))
        change()
        change_everything(store, host)
        by_query(session, Order, host)
        expected = order_of(host)
        hold(expected)()

    was, theirs, now = order_of(host), changed_order(host), store.stored(Order, host=host)
    for name in ("line", "doc", "parts"):
        mine = getattr(expected, name)
        is_changed = mine != getattr(was, name)
        assert getattr(now, name) == (mine if is_changed else getattr(theirs, name))


def changed_order(host: str) -> Order:
    made = Order(host=host, line=Line("second", [2, 2]), doc={"a": [2]})
    made.parts = {"a": [2]}
    return made


def change_everything(store: Store, host: str) -> None:
    with store.engine.session() as other:
        found, now = load(other, Order, host=host), changed_order(host)
        found.line, found.doc, found.parts = now.line, now.doc, now.parts


@pytest.mark.parametrize("hold", REPLACED)
@pytest.mark.parametrize("how", ["query", "refresh"])
def test_a_value_that_its_object_has_lost_is_not_changed_in_silence(
    store: Store, host: str, hold: Hold, how: str
) -> None:
    store.put(order_of(host))

    with store.engine.session() as session:
        mine = load(session, Order, host=host)
        change = hold(mine)
        change_everything(store, host)
        if how == "query":
            by_query(session, Order, host)
        else:
            session.refresh(mine)
        assert contents(mine) == contents(changed_order(host))
        mine.note = "x"
        del mine
        session._state.tracker.prune()
        change()
        store.forget()
        with pytest.raises(
            ConflictError,
            match="a value was changed in place after the row was read again, but the object holds a newer value now",
        ) as caught:
            session.flush()
        assert store.sent.writes == []
        assert (caught.value.model, caught.value.row) == ("Order", Order.encode_key(host=host))
        assert caught.value.field in {"line", "doc", "parts"}
        again = load(session, Order, host=host)
        session.refresh(again)
        hold(again)()
        expected = changed_order(host)
        hold(expected)()

    assert contents(store.stored(Order, host=host)) == contents(expected)


def test_a_held_map_stays_the_one_of_its_object(store: Store, host: str) -> None:
    store.put(order_of(host))

    with store.engine.session() as session:
        change = hold_map(load(session, Order, host=host))
        change_everything(store, host)
        by_query(session, Order, host)
        change()

    assert store.stored(Order, host=host).parts == {"a": [2], "b": [9]}


def test_values_that_were_replaced_and_nobody_holds_are_let_go(store: Store, host: str) -> None:
    store.put(order_of(host))

    with store.engine.session() as session:
        mine = load(session, Order, host=host)
        change_everything(store, host)
        by_query(session, Order, host)
        (watch,) = session._state.tracker._objects.values()
        before = len(watch.replaced)
        session.flush()

        assert (before, watch.replaced, mine.note) == (3, [], None)


def test_a_deferred_value_that_is_unloaded_is_not_changed_in_silence(
    store: Store, host: str
) -> None:
    store.put(Archive(host=host, title="a", pages=["1"]))

    with store.engine.session() as session:
        mine = load(session, Archive, host=host)
        session.refresh(mine, Archive.pages)
        pages = mine.pages
        by_get(session, Archive, host)  # it does not read them
        pages.append("2")
        with pytest.raises(
            ConflictError,
            match="a value was changed in place after the row was read again, but the object holds a newer value now",
        ):
            session.flush()
        session.refresh(mine, Archive.pages)
        mine.pages.append("2")

    with store.engine.session() as session:
        found = load(session, Archive, host=host)
        session.refresh(found, Archive.pages)
    assert found.pages == ["1", "2"]


def test_a_change_of_type_alone_survives_a_query(store: Store, host: str) -> None:
    store.put(Purse(host=host, balance=1), Loose(host=host, doc={"a": 1}))

    with store.engine.session() as session:
        load(session, Loose, host=host).doc["a"] = True  # equal to 1
        by_query(session, Loose, host)

    assert store.stored(Loose, host=host).doc["a"] is True


def test_objects_that_nobody_holds_are_let_go_with_their_values(store: Store, host: str) -> None:
    with store.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(order_of(f"{host}{n:05}") for n in range(3_000))
    most = 0

    with store.engine.session() as session:
        for page in range(30):
            start, stop = f"{host}{page * 100:05}", f"{host}{page * 100 + 100:05}"
            session.all(select(Order).where(Order.host >= start, Order.host < stop))
            most = max(most, len(session._state.tracker))
        session.flush()
        left = len(session._state.tracker), len(session._state.identity)

    assert most <= 1_100
    assert left == (0, 0)


def append_mine(obj: Any) -> None:
    obj.lines.append(7)


def put_mine(obj: Any) -> None:
    obj.tags["rack"] = "mine"


@pytest.mark.parametrize("change", [append_mine, put_mine])
@pytest.mark.parametrize("last", ["add", "delete"])
def test_a_superseded_object_is_not_changed_in_place_in_silence(
    store: Store, model: Any, host: str, last: str, change: Callable[[Any], None]
) -> None:
    session = store.engine.session()
    first, second = model(host=host, balance=1), model(host=host, balance=2)
    session.add(first)
    getattr(session, last)(second)
    session.flush()
    assert session.flush().written == 0
    change(first)
    store.forget()

    with pytest.raises(ValidationError, match="another object of this row"):
        session.flush()

    assert store.sent.writes == []
    if last == "add":
        session.expunge(second)
    session.add(first)
    session.flush()
    found = store.stored(model, host=host)
    assert (found.balance, found.lines, found.tags) == (1, first.lines, first.tags)
    session.close()


def test_a_superseded_object_that_nobody_holds_is_let_go(store: Store, host: str) -> None:
    with store.engine.session() as session:
        session.add_all([Purse(host=host, balance=n) for n in range(3)])
        session.flush()
        session.flush()

        assert (len(session._state.tracker), len(session._state.identity)) == (0, 0)
