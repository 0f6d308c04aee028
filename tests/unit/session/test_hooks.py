"""Hooks and `onupdate`: what a session calls when objects are written, deleted and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RecordType,
    Related,
    Session,
    Version,
    codecs,
    column,
    connect,
    counter,
    func,
    key,
    related,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import (
    ConnectionLostError,
    FlushError,
    RegionUnavailableError,
    SchemaError,
    ValidationError,
)
from hbase_orm.ops import CheckAndMutate, GetRows, MutateRow, MutateRows, Operation
from tests.support.recording import (
    FailsBeforeSending,
    LosesAnswers,
    RecordsRequests,
    gateway_of,
    through,
)

TICKS = count(1)


def tick() -> int:
    return next(TICKS)


class Noted(Model, abstract=True):
    """Writes down which hooks were called."""

    calls: ClassVar[list[tuple[str, str]]] = []
    broken: ClassVar[set[tuple[str, str]]] = set()
    acts: ClassVar[dict[tuple[str, str], Callable[[Any], None]]] = {}

    name: Key[str] = key()
    size: Mapped[int] = column(default=1)
    changes: Mapped[int] = column(default=0)
    loads: Mapped[int | None] = column(default=None)
    hits: Counter = counter()

    def _note(self, hook: str) -> None:
        self.calls.append((hook, self.name))
        if (hook, self.name) in self.broken:
            raise RuntimeError(hook)
        act = self.acts.get((hook, self.name))
        if act is not None:
            act(self)

    def before_put(self) -> None:
        self._note("before_put")
        self.changes += 1

    def after_put(self) -> None:
        self._note("after_put")

    def before_delete(self) -> None:
        self._note("before_delete")

    def after_delete(self) -> None:
        self._note("after_delete")

    def after_load(self) -> None:
        self._note("after_load")
        self.__dict__["_loads"] = self.__dict__.get("_loads", 0) + 1


class Plain(Noted, table="plain"):
    d = Family()
    parent: Mapped[str | None] = column(d, default=None)
    above: Related[Plain] = related(name=parent)


class Guarded(Noted, table="guarded"):
    d = Family()
    revision: Version = version(d)


class Stamped(Model, abstract=True):
    """New and changed objects know when."""

    made: Mapped[int] = column(default_factory=tick)
    changed: Mapped[int] = column(default_factory=tick, onupdate=tick)
    seen: Mapped[int | None] = column(default=None, onupdate=tick)


class Doc(Stamped, table="docs"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)


class Page(Stamped, table="pages"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    revision: Version = version(d)


class Any_(Model, table="kinds"):  # noqa: N801 - a base of record types
    d = Family()
    name: Key[str] = key(codecs.text(separator=b"\x00"))
    __rowkey__ = rowkey(RecordType(), name)


class Quiet(Any_, record_type="Q"):
    text: Mapped[str | None] = column(Any_.d, default=None)


class Loud(Any_, record_type="L"):
    text: Mapped[str | None] = column(Any_.d, default=None)

    def after_load(self) -> None:
        Noted.calls.append(("after_load", self.name))


MODELS = (Plain, Guarded, Doc, Page, Any_)
BOTH = pytest.mark.parametrize("model", [Plain, Guarded])


@pytest.fixture(autouse=True)
def calls() -> Iterator[list[tuple[str, str]]]:
    for noted in (Noted.calls, Noted.broken, Noted.acts):
        noted.clear()
    yield Noted.calls
    for noted in (Noted.calls, Noted.broken, Noted.acts):
        noted.clear()


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as made:
        made.create_tables(*MODELS)
        yield made


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    made = engine.session()
    yield made
    made.close()


def stored(engine: Engine, model: type[Any], name: str) -> dict[str, Any]:
    """Return the fields of a row, read by nobody who hears of it."""
    fields = [getattr(model, each) for each in model.__schema__.column_by_name]
    found = engine.session().one(select(*fields).where(model.name == name))
    return dict(zip(model.__schema__.column_by_name, found, strict=True))


def loaded(session: Session, model: type[Any], name: str, **values: Any) -> Any:
    """Return an object of the session that was written and is clean."""
    obj = model(name=name, **values)
    session.add(obj)
    session.flush()
    Noted.calls.clear()
    return obj


# --- writes ----------------------------------------------------------------------------------------


@BOTH
def test_a_flush_calls_the_hooks_of_what_it_writes(
    model: Any, engine: Engine, session: Session, calls: list[tuple[str, str]]
) -> None:
    obj = model(name="a")
    session.add(obj)
    assert calls == []

    session.flush()

    assert calls == [("before_put", "a"), ("after_put", "a")]
    assert stored(engine, model, "a")["changes"] == 1


@BOTH
def test_an_object_without_changes_hears_nothing(
    model: Any, session: Session, calls: list[tuple[str, str]]
) -> None:
    obj = loaded(session, model, "a")

    session.flush()
    session.add(obj)
    obj.size = obj.size
    session.flush()

    assert calls == []


@BOTH
def test_what_before_put_sets_is_written_with_the_change(
    model: Any, engine: Engine, session: Session, calls: list[tuple[str, str]]
) -> None:
    obj = loaded(session, model, "a")

    obj.size = 5
    session.flush()
    session.flush()

    assert calls == [("before_put", "a"), ("after_put", "a")]
    row = stored(engine, model, "a")
    assert (row["size"], row["changes"], obj.changes) == (5, 2, 2)


@BOTH
def test_a_flush_calls_the_hooks_of_what_it_deletes(
    model: Any, session: Session, calls: list[tuple[str, str]]
) -> None:
    session.delete(loaded(session, model, "a"))

    session.flush()

    assert calls == [("before_delete", "a"), ("after_delete", "a")]


@BOTH
def test_writes_at_once_call_the_hooks_too(
    model: Any, session: Session, calls: list[tuple[str, str]]
) -> None:
    obj = model(name="a")
    put = [("before_put", "a"), ("after_put", "a")]

    session.insert(obj)
    assert calls == put
    session.replace(obj)
    assert calls == put * 2
    obj.size = 7
    assert session.put_if(obj, model.size == 1)
    assert calls == put * 3
    assert session.delete_if(obj, model.size == 7)
    assert calls == [*put * 3, ("before_delete", "a"), ("after_delete", "a")]


@BOTH
def test_a_conditional_write_that_is_not_made_is_only_prepared(
    model: Any, session: Session, calls: list[tuple[str, str]]
) -> None:
    obj = loaded(session, model, "a")
    obj.size = 7

    assert not session.put_if(obj, model.size == 99)
    assert not session.delete_if(obj, model.size == 99)

    assert calls == [("before_put", "a"), ("before_delete", "a")]


def test_update_loads_prepares_and_tells(
    session: Session, engine: Engine, calls: list[tuple[str, str]]
) -> None:
    loaded(session, Guarded, "a")
    with engine.session() as other:
        found = other.update(Guarded, lambda obj: setattr(obj, "size", 8), name="a")

    assert calls == [("after_load", "a"), ("before_put", "a"), ("after_put", "a")]
    assert (found.size, found.changes) == (8, 2)


def test_update_brings_the_sessions_object_up_to_date_and_tells_it(
    session: Session, calls: list[tuple[str, str]]
) -> None:
    obj = loaded(session, Guarded, "a")

    found = session.update(Guarded, lambda each: setattr(each, "size", 8), name="a")

    assert found is obj
    assert calls == [
        ("after_load", "a"),
        ("before_put", "a"),
        ("after_load", "a"),
        ("after_put", "a"),
    ]
    assert obj.__dict__["_loads"] == 1


def test_an_update_that_changes_nothing_writes_nothing(
    session: Session, calls: list[tuple[str, str]]
) -> None:
    loaded(session, Guarded, "a")

    session.update(Guarded, lambda _: None, name="a")

    assert {hook for hook, _ in calls} == {"after_load"}


@BOTH
def test_bulk_prepares_each_object_and_keeps_none_to_tell(
    model: Any, engine: Engine, session: Session, calls: list[tuple[str, str]]
) -> None:
    with session.bulk() as bulk:
        bulk.add_all([model(name="a"), model(name="b")])

    assert calls == [("before_put", "a"), ("before_put", "b")]
    assert stored(engine, model, "b")["changes"] == 1


def test_writes_by_key_alone_and_of_statements_call_nothing(
    session: Session, calls: list[tuple[str, str]]
) -> None:
    loaded(session, Plain, "a")

    session.put_row(Plain, Plain.size.to(3), name="a")
    session.increment(Plain, Plain.hits.by(1), name="a")
    session.delete_where(select(Plain).where(Plain.name == "a"))
    session.delete_row(Plain, name="a")

    assert calls == []


# --- hooks that change more ------------------------------------------------------------------------


def test_what_a_hook_adds_is_written_by_the_same_flush_with_its_own_hooks(
    engine: Engine, session: Session, calls: list[tuple[str, str]]
) -> None:
    Noted.acts["before_put", "a"] = lambda _: session.add(Plain(name="b"))
    Noted.acts["before_put", "b"] = lambda _: session.add(Doc(name="c", text="x"))
    session.add(Plain(name="a"))

    report = session.flush()

    assert report.written == 3
    assert [c for c in calls if c[0] == "before_put"] == [("before_put", "a"), ("before_put", "b")]
    assert stored(engine, Doc, "c")["text"] == "x"


def test_a_hook_may_delete_what_hangs_on_the_object(
    session: Session, calls: list[tuple[str, str]]
) -> None:
    loaded(session, Plain, "child", parent="a")
    parent = loaded(session, Plain, "a")
    children = session.all(select(Plain).where(Plain.parent == "a").allow_full_scan())
    calls.clear()
    Noted.acts["before_delete", "a"] = lambda _: [session.delete(each) for each in children]  # type: ignore[assignment,func-returns-value]  # a list is no harm

    session.delete(parent)
    session.flush()

    assert ("before_delete", "child") in calls
    assert session.count(select(Plain).allow_full_scan()) == 0


def test_a_change_that_a_hook_makes_in_another_object_is_written_too(
    engine: Engine, session: Session
) -> None:
    doc = loaded(session, Doc, "d", text="x")
    Noted.acts["before_put", "a"] = lambda _: doc.labels.append("new")
    session.add(Plain(name="a"))

    session.flush()

    assert stored(engine, Doc, "d")["labels"] == ["new"]


def test_what_a_hook_takes_out_is_not_prepared(
    session: Session, calls: list[tuple[str, str]]
) -> None:
    other = Plain(name="b")
    Noted.acts["before_put", "a"] = lambda _: session.expunge(other)
    session.add_all([Plain(name="a"), other])

    assert session.flush().written == 1
    assert ("before_put", "b") not in calls


# --- hooks that raise ------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("hook", ["before_put", "before_delete"])
def test_a_hook_that_raises_before_a_write_sends_nothing_and_leaves_the_rest(
    hook: str, model: Any, engine: Engine, session: Session
) -> None:
    bad = loaded(session, model, "bad")
    good = model(name="good")
    Noted.broken.add((hook, "bad"))
    session.add(good)
    if hook == "before_put":
        bad.size = 2
    else:
        session.delete(bad)

    with pytest.raises(RuntimeError, match=hook):
        session.flush()
    assert not engine.session().exists(select(model).where(model.name == "good"))
    session.expunge(bad)
    assert session.flush().written == 1

    assert stored(engine, model, "bad")["size"] == 1
    assert stored(engine, model, "good")["size"] == 1


@BOTH
def test_a_hook_that_raises_after_a_write_leaves_everything_written_and_clean(
    model: Any, engine: Engine, session: Session
) -> None:
    Noted.broken.add(("after_put", "a"))
    session.add_all([model(name="a"), model(name="b")])

    with pytest.raises(RuntimeError, match="after_put"):
        session.flush()

    assert session.flush().written == 0
    assert stored(engine, model, "b")["size"] == 1


def test_a_failed_flush_tells_of_what_was_written_and_says_what_was_not(
    engine: Engine, calls: list[tuple[str, str]]
) -> None:
    gateway = FailsBeforeSending(gateway_of(engine), _unavailable("docs"))
    session = through(gateway, engine).session()
    session.add_all([Plain(name="a"), Doc(name="d", text="x")])

    with pytest.raises(FlushError):
        session.flush()
    assert calls == [("before_put", "a"), ("after_put", "a")]

    calls.clear()
    Noted.broken.add(("after_put", "b"))
    session.add(Plain(name="b"))
    with pytest.raises(FlushError) as caught:
        session.flush()
    assert [table for table, _, _ in caught.value.not_written] == ["docs"]
    assert isinstance(caught.value.__context__, RuntimeError)


def _unavailable(table: str) -> Callable[[Operation[Any]], Exception | None]:
    def error_of(operation: Operation[Any]) -> Exception | None:
        is_write = isinstance(operation, (MutateRows, MutateRow))
        if is_write and getattr(operation, "table", "") == table:
            return RegionUnavailableError("the region moves")
        return None

    return error_of


def test_a_hook_that_raises_when_an_object_is_loaded_leaves_the_session_usable(
    session: Session, engine: Engine
) -> None:
    loaded(session, Plain, "a")
    loaded(session, Plain, "b")
    Noted.broken.add(("after_load", "a"))

    with engine.session() as other:
        with pytest.raises(RuntimeError):
            other.get(Plain, name="a")
        with pytest.raises(RuntimeError):
            other.all(select(Plain).allow_full_scan())
        with other.stream(select(Plain).allow_full_scan()) as plains, pytest.raises(RuntimeError):
            list(plains)
        found = other.get(Plain, name="b")
        assert found is not None
        found.size = 3
    assert stored(engine, Plain, "b")["size"] == 3


# --- loading ---------------------------------------------------------------------------------------


def test_each_way_of_reading_tells_each_object_once(
    session: Session, engine: Engine, calls: list[tuple[str, str]]
) -> None:
    loaded(session, Plain, "b")
    loaded(session, Plain, "a", parent="b")
    told = [("after_load", "a")]
    one = select(Plain).where(Plain.name == "a")

    reads: list[Callable[[Session], object]] = [
        lambda s: s.get(Plain, name="a"),
        lambda s: s.get_many(Plain, [("a",), ("nobody",)]),
        lambda s: s.all(one),
        lambda s: s.first(one),
        lambda s: s.one(one),
        lambda s: list(s.stream(one)),
        lambda s: s.page(one, size=3),
        lambda s: s.all(one.sort_in_memory(Plain.size.asc(), max_rows=3)),
    ]
    for read in reads:
        calls.clear()
        with engine.session() as other:
            read(other)
        assert calls == told

    for read in (
        lambda s: s.all(one.load_related(Plain.above)),
        lambda s: list(s.stream(one.load_related(Plain.above))),
    ):
        calls.clear()
        with engine.session() as other:
            read(other)
        assert sorted(calls) == [("after_load", "a"), ("after_load", "b")]


def test_an_object_that_is_read_again_is_told_again(
    session: Session, calls: list[tuple[str, str]]
) -> None:
    obj = loaded(session, Plain, "a")

    assert session.get(Plain, name="a") is obj
    session.all(select(Plain).where(Plain.name == "a"))
    session.refresh(obj)  # type: ignore[arg-type]  # mypy narrows it to Plain | None

    assert calls == [("after_load", "a")] * 3
    assert obj.__dict__["_loads"] == 3


def test_values_counts_and_plans_tell_nothing(
    session: Session, calls: list[tuple[str, str]]
) -> None:
    loaded(session, Plain, "a")
    every = select(Plain).allow_full_scan()

    session.all(select(Plain.size).allow_full_scan())
    session.all(select(func.count(Plain.name)).where(Plain.name == "a"))
    session.page(select(Plain.size).where(Plain.name == "a"), size=3)
    assert session.exists(every)
    session.explain(every, analyze=True)

    assert calls == []


def test_rows_that_do_not_match_are_not_told(
    session: Session, engine: Engine, calls: list[tuple[str, str]]
) -> None:
    Noted.acts["after_load", "b"] = lambda obj: setattr(obj, "size", 99)
    loaded(session, Plain, "a", size=1)
    loaded(session, Plain, "b", size=2)

    with engine.session() as other:
        found = list(other.stream(select(Plain).where(Plain.size == 2).allow_full_scan()))

    assert [each.size for each in found] == [99]
    assert calls == [("after_load", "b")]


def test_a_column_that_after_load_sets_is_a_change(session: Session, engine: Engine) -> None:
    loaded(session, Plain, "a")
    Noted.acts["after_load", "a"] = lambda obj: setattr(obj, "size", 9)

    with engine.session() as other:
        assert other.get(Plain, name="a") is not None

    assert stored(engine, Plain, "a")["size"] == 9


def test_a_base_of_record_types_tells_those_kinds_that_listen(
    session: Session, engine: Engine, calls: list[tuple[str, str]]
) -> None:
    session.add_all([Quiet(name="q"), Loud(name="l")])
    session.flush()
    every = select(Any_).allow_full_scan()

    for read in (lambda s: s.all(every), lambda s: list(s.stream(every))):
        calls.clear()
        with engine.session() as other:
            assert len(read(other)) == 2
        assert calls == [("after_load", "l")]


# --- onupdate --------------------------------------------------------------------------------------

STAMPED = pytest.mark.parametrize("model", [Doc, Page])


@STAMPED
def test_new_objects_take_the_default(model: Any, engine: Engine, session: Session) -> None:
    obj = model(name="a", text="x")
    made, changed = obj.made, obj.changed

    session.add(obj)
    session.flush()

    assert (obj.made, obj.changed, obj.seen) == (made, changed, None)
    row = stored(engine, model, "a")
    assert (row["made"], row["changed"], row["seen"]) == (made, changed, None)


@STAMPED
def test_a_changed_object_is_renewed_and_agrees_with_its_row(
    model: Any, engine: Engine, session: Session
) -> None:
    obj = loaded(session, model, "a", text="x")
    before = obj.to_dict()

    obj.text = "y"
    session.flush()

    assert obj.made == before["made"]
    assert obj.changed > before["changed"]
    assert obj.seen is not None
    row = stored(engine, model, "a")
    assert (row["changed"], row["seen"]) == (obj.changed, obj.seen)
    again = obj.changed
    session.flush()
    assert obj.changed == again


@STAMPED
def test_an_idle_object_is_not_renewed(model: Any, session: Session) -> None:
    obj = loaded(session, model, "a", text="x")
    before = obj.to_dict()
    newest = next(TICKS)

    session.add(obj)
    obj.text = "x"
    assert session.flush().written == 0

    assert obj.to_dict() == before
    assert next(TICKS) == newest + 1


def test_a_change_in_place_renews(session: Session) -> None:
    obj = loaded(session, Doc, "a", text="x")
    before = obj.changed

    obj.labels.append("new")
    session.flush()

    assert obj.changed > before


@STAMPED
def test_a_value_that_the_program_sets_stays(model: Any, engine: Engine, session: Session) -> None:
    obj = loaded(session, model, "a", text="x", seen=5)

    obj.text, obj.changed, obj.seen = "y", 7_000_000, None
    session.flush()

    row = stored(engine, model, "a")
    assert (row["changed"], row["seen"]) == (7_000_000, None)


def test_the_other_ways_of_writing_a_loaded_object_renew_it(
    engine: Engine, session: Session
) -> None:
    obj = loaded(session, Page, "a", text="x")
    seen = [obj.changed]

    session.replace(obj)
    seen.append(stored(engine, Page, "a")["changed"])
    obj.text = "y"
    assert session.put_if(obj, Page.text == "x")
    seen.append(stored(engine, Page, "a")["changed"])
    session.update(Page, lambda each: setattr(each, "text", "z"), name="a")
    seen.append(stored(engine, Page, "a")["changed"])
    with engine.session() as other, other.bulk() as bulk:
        for each in other.stream(select(Page).where(Page.name == "a")):
            bulk.add(each)
    seen.append(stored(engine, Page, "a")["changed"])

    assert seen == sorted(set(seen))
    assert len(seen) == 5


def test_new_objects_in_bulk_and_inserted_take_the_default(
    engine: Engine, session: Session
) -> None:
    one, other = Doc(name="a", text="x"), Doc(name="b", text="x")
    with session.bulk() as bulk:
        bulk.add(one)
    session.insert(other)

    assert stored(engine, Doc, "a")["changed"] == one.changed
    assert stored(engine, Doc, "b")["changed"] == other.changed


@STAMPED
@pytest.mark.parametrize("is_lost", [False, True])
def test_a_flush_that_is_repeated_writes_the_same_value(
    is_lost: bool,  # noqa: FBT001 - a parameter
    model: Any,
    engine: Engine,
    session: Session,
) -> None:
    loaded(session, model, "a", text="x")
    lost: list[Operation[Any]] = []

    def is_first(operation: Operation[Any]) -> bool:
        is_write = isinstance(operation, (MutateRows, MutateRow, CheckAndMutate))
        if is_write and not lost:
            lost.append(operation)
            return True
        return False

    def error_of(operation: Operation[Any]) -> Exception | None:
        return ValidationError("refused") if is_first(operation) else None

    inner = gateway_of(engine)
    gateway: RecordsRequests = (
        LosesAnswers(inner, is_first) if is_lost else FailsBeforeSending(inner, error_of)
    )
    with through(gateway, engine).session() as other:
        obj: Any = other.get(model, name="a")
        obj.text = "y"
        try:
            other.flush()
        except (FlushError, ConnectionLostError, ValidationError):
            tried = obj.changed
            other.flush()
        else:
            tried = obj.changed  # the guarded write found out by itself
        assert obj.changed == tried

    assert lost
    row = stored(engine, model, "a")
    assert (row["text"], row["changed"]) == ("y", tried)


def test_a_value_that_does_not_fit_is_refused_and_nothing_is_sent(engine: Engine) -> None:
    class Wrong(Model, table="wrong_docs"):
        d = Family()
        name: Key[str] = key()
        text: Mapped[str] = column(d)
        changed: Mapped[int] = column(d, default=0, onupdate=lambda: "now")

    engine.create_tables(Wrong)
    gateway = RecordsRequests(gateway_of(engine))
    session = through(gateway, engine).session()
    obj = loaded(session, Wrong, "a", text="x")
    gateway.requests.clear()
    obj.text = "y"

    with pytest.raises(ValidationError) as caught:
        session.flush()

    assert (caught.value.model, caught.value.field) == ("Wrong", "changed")
    assert not [each for each in gateway.requests if not isinstance(each, GetRows)]


def test_what_before_put_sets_is_not_renewed_over(engine: Engine, session: Session) -> None:
    class Both(Stamped, table="docs"):
        d = Family()
        name: Key[str] = key()
        text: Mapped[str] = column(d)

        def before_put(self) -> None:
            self.changed = 8_000_000

    loaded(session, Doc, "a", text="x")
    obj: Any = session.get(Both, name="a")
    obj.text = "y"
    session.flush()

    row = stored(engine, Doc, "a")
    assert row["changed"] == 8_000_000
    assert row["seen"] == obj.seen is not None


# --- declarations ----------------------------------------------------------------------------------

HOOKS = ["before_put", "after_put", "before_delete", "after_delete", "after_load"]


@pytest.mark.parametrize("hook", HOOKS)
def test_the_name_of_a_hook_is_no_name_of_a_field(hook: str) -> None:
    with pytest.raises(SchemaError, match="reserved") as caught:
        type(
            "Wrong",
            (Plain,),
            {
                "__annotations__": {hook: "Mapped[int]"},
                hook: column(Plain.d),
                "__module__": __name__,
            },
            table="wrong",
        )

    assert caught.value.field == hook


async def _hook(_: object) -> None:
    """Do nothing, later."""


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("value", [3, _hook])
def test_a_hook_is_a_method(hook: str, value: object) -> None:
    with pytest.raises(
        SchemaError, match="the name is reserved for a hook, which must be a method"
    ) as caught:
        type("Wrong", (Doc,), {hook: value}, table="wrong")

    assert caught.value.name == hook


def test_a_model_without_hooks_knows_that_it_has_none() -> None:
    class Bare(Model, table="bare"):
        d = Family()
        k: Key[str] = key()

    assert not Bare.__hooks__.has_before_write
    assert not Bare.__hooks__.has_after_write
    assert not Bare.__hooks__.after_load
