"""What hooks of a flush note is written by the same flush, whichever hook notes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Session,
    Version,
    codecs,
    column,
    connect,
    key,
    select,
    version,
)
from hbase_orm.errors import FlushError, QueryError, RegionUnavailableError, ValidationError
from hbase_orm.ops import CheckAndMutate, MutateRow, MutateRows, Operation, PutRows
from hbase_orm.writing import hook_calls as hooks
from tests.support.recording import FailsBeforeSending, gateway_of, through


class Acting(Model, abstract=True):
    """Does in its hooks what a test says, by hook and name; writes down which were called."""

    acts: ClassVar[dict[tuple[str, str], Callable[[Any], object]]] = {}
    calls: ClassVar[list[tuple[str, str]]] = []

    name: Key[str] = key()
    size: Mapped[int] = column(codec=codecs.uint16(), default=1)
    marks: Mapped[list[str]] = column(codec=codecs.json(list[str]), default_factory=list)

    def _act(self, hook: str) -> None:
        self.calls.append((hook, self.name))
        act = self.acts.get((hook, self.name)) or self.acts.get((hook, "*"))
        if act is not None:
            act(self)

    def before_put(self) -> None:
        self._act("before_put")

    def after_put(self) -> None:
        self._act("after_put")

    def before_delete(self) -> None:
        self._act("before_delete")

    def after_delete(self) -> None:
        self._act("after_delete")

    def after_load(self) -> None:
        self._act("after_load")


class Plain(Acting, table="plain"):
    d = Family()


class Guarded(Acting, table="guarded"):
    d = Family()
    revision: Version = version(d)


class Audit(Model, table="audits"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, codec=codecs.uint16(), default=0)


BOTH = pytest.mark.parametrize("model", [Plain, Guarded])
AFTER = pytest.mark.parametrize("hook", ["after_put", "after_delete"])


@pytest.fixture(autouse=True)
def acts() -> Iterator[dict[tuple[str, str], Callable[[Any], object]]]:
    Acting.acts.clear()
    Acting.calls.clear()
    yield Acting.acts
    Acting.acts.clear()
    Acting.calls.clear()


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as made:
        made.create_tables(Plain, Guarded, Audit)
        yield made


@pytest.fixture
def session(engine: Engine) -> Session:
    return engine.session()


def names(engine: Engine, model: type[Any]) -> list[str]:
    return engine.session().all(select(model.name).allow_full_scan())


def size(engine: Engine, model: type[Any], name: str) -> int | None:
    return engine.session().first(select(model.size).where(model.name == name))


def noting(session: Session, model: type[Any], hook: str) -> Any:
    """Return an object whose write calls `hook`; let the session note that write."""
    obj = model(name="a")
    if hook == "after_delete":
        session.add(obj)
        session.flush()
        session.delete(obj)
    else:
        session.add(obj)
    return obj


def fail(_: object) -> None:
    raise RuntimeError("a hook")


# --- what after hooks note -------------------------------------------------------------------------


@BOTH
@AFTER
def test_what_an_after_hook_adds_is_written_when_the_block_ends(
    hook: str, model: Any, engine: Engine, acts: dict[Any, Any]
) -> None:
    with engine.session() as session:
        acts[hook, "a"] = lambda _: session.add(Audit(name="of a"))
        noting(session, model, hook)

    assert names(engine, Audit) == ["of a"]


@BOTH
@AFTER
def test_what_an_after_hook_adds_is_written_and_counted_by_the_flush_that_called_it(
    hook: str, model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    acts[hook, "a"] = lambda _: session.add(model(name="b"))
    acts["after_put", "b"] = lambda _: session.add(Audit(name="of b"))
    noting(session, model, hook)
    Acting.calls.clear()

    report = session.flush()

    assert report.written == 3
    assert Acting.calls[-2:] == [("before_put", "b"), ("after_put", "b")]
    assert names(engine, Audit) == ["of b"]
    assert session.flush().written == 0


@BOTH
def test_what_an_after_hook_deletes_is_deleted_by_the_same_flush(
    model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    audit = Audit(name="old")
    session.add(audit)
    session.flush()
    acts["after_put", "a"] = lambda _: session.delete(audit)
    session.add(model(name="a"))

    assert session.flush().written == 2
    assert names(engine, Audit) == []


@BOTH
def test_an_object_that_its_after_hook_changes_is_written_again(
    model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    acts["after_put", "a"] = lambda obj: setattr(obj, "size", 7)
    session.add(model(name="a"))

    assert session.flush().written == 2
    assert size(engine, model, "a") == 7


@BOTH
def test_a_change_in_place_by_an_after_hook_is_written(
    model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    other = model(name="other")
    session.add(other)
    session.flush()
    acts["after_put", "a"] = lambda obj: [
        each.marks.append("seen") for each in (obj, other) if not each.marks
    ]

    with session:
        session.add(model(name="a"))

    marks = engine.session().all(select(model.marks).allow_full_scan())
    assert marks == [["seen"], ["seen"]]


@BOTH
def test_a_deleted_object_that_its_after_hook_adds_again_is_written(
    model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    acts["after_delete", "a"] = session.add
    noting(session, model, "after_delete")

    assert session.flush().written == 2
    assert names(engine, model) == ["a"]


@BOTH
def test_an_after_hook_may_insert_and_expunge(
    model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    never = Audit(name="never")

    def act(obj: Any) -> None:
        session.insert(Audit(name="now"))
        session.add(never)
        session.expunge(never)
        session.expunge(obj)
        obj.size = 9

    acts["after_put", "a"] = act
    session.add(model(name="a"))

    assert session.flush().written == 1
    assert (names(engine, Audit), size(engine, model, "a")) == (["now"], 1)


@BOTH
def test_what_a_hook_of_a_load_adds_during_a_flush_is_written_by_it(
    model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    with engine.session() as other:
        other.add(model(name="old"))
    acts["after_load", "old"] = lambda _: session.add(Audit(name="loaded"))
    acts["before_put", "a"] = lambda _: session.get(model, name="old")
    session.add(model(name="a"))

    assert session.flush().written == 2
    assert names(engine, Audit) == ["loaded"]


def test_what_hooks_of_writes_at_once_add_waits_for_the_flush(
    engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    acts["after_put", "a"] = lambda _: session.add(Audit(name="of a"))

    session.insert(Plain(name="a"))
    before_flush = names(engine, Audit)
    session.flush()

    assert (before_flush, names(engine, Audit)) == ([], ["of a"])


# --- hooks without end -----------------------------------------------------------------------------


@BOTH
def test_after_hooks_that_add_without_end_are_refused_and_name_their_model(
    model: Any,
    session: Session,
    acts: dict[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine,
) -> None:
    monkeypatch.setattr("hbase_orm.session.flushing.MAX_ROUNDS", 20)
    acts["after_put", "*"] = lambda obj: session.add(model(name=obj.name + "x"))
    session.add(model(name="a"))

    with pytest.raises(FlushError) as caught:
        session.flush()

    ((table, row, reason),) = caught.value.not_written
    assert (table, row) == (model.__schema__.table, b"a" + b"x" * 20)
    assert isinstance(reason, ValidationError)
    assert (reason.model, reason.rounds, bool(reason.fix)) == (model.__name__, 20, True)
    assert len(caught.value.written) == len(names(engine, model)) == 20


@BOTH
def test_before_hooks_that_add_without_end_send_nothing(
    model: Any,
    session: Session,
    acts: dict[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine,
) -> None:
    monkeypatch.setattr("hbase_orm.session.flushing.MAX_ROUNDS", 20)
    acts["before_put", "*"] = lambda obj: session.add(model(name=obj.name + "x"))
    session.add(model(name="a"))

    with pytest.raises(ValidationError, match="without end") as caught:
        session.flush()

    assert caught.value.model == model.__name__
    assert names(engine, model) == []


@BOTH
def test_before_hooks_may_add_for_as_many_rounds_as_there_may_be(
    model: Any,
    session: Session,
    acts: dict[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine,
) -> None:
    monkeypatch.setattr("hbase_orm.session.flushing.MAX_ROUNDS", 20)

    def add_next(obj: Any) -> None:
        if len(obj.name) < 20:
            session.add(model(name=obj.name + "x"))

    acts["before_put", "*"] = add_next
    session.add(model(name="x"))
    session.flush()

    assert names(engine, model) == ["x" * length for length in range(1, 21)]


def test_a_long_list_may_be_deleted_link_by_link(
    session: Session, acts: dict[Any, Any], engine: Engine
) -> None:
    links = [Plain(name=f"{n:03}") for n in range(hooks.MAX_ROUNDS // 5)]
    session.add_all(links)
    session.flush()
    following = dict(zip([each.name for each in links], links[1:], strict=False))

    def delete_next(obj: Any) -> None:
        if obj.name in following:
            session.delete(following[obj.name])

    acts["after_delete", "*"] = delete_next
    session.delete(links[0])

    assert session.flush().written == len(links)
    assert names(engine, Plain) == []


# --- hooks that raise ------------------------------------------------------------------------------


@BOTH
@AFTER
def test_a_hook_that_raises_keeps_no_other_from_being_called_or_from_being_written(
    hook: str, model: Any, engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    acts[hook, "a"] = fail
    acts["after_put", "b"] = lambda _: session.add(Audit(name="of b"))
    noting(session, model, hook)
    session.add(model(name="b"))

    with pytest.raises(RuntimeError, match="a hook"), session:
        pass

    assert ("after_put", "b") in Acting.calls
    assert names(engine, Audit) == ["of b"]


def test_of_several_hooks_that_raise_the_first_is_raised_and_the_others_are_logged(
    session: Session, acts: dict[Any, Any], caplog: pytest.LogCaptureFixture
) -> None:
    acts["after_put", "a"] = fail
    acts["after_put", "b"] = lambda _: acts["missing"]
    acts["after_put", "c"] = fail
    session.add_all([Plain(name="a"), Plain(name="b"), Plain(name="c")])

    with (
        caplog.at_level(logging.ERROR, "hbase_orm.session"),
        pytest.raises(RuntimeError, match="a hook") as caught,
    ):
        session.flush()

    assert caught.value.__notes__ == ["2 more hooks raised; the log shows their exceptions"]
    logged = [each.exc_info[0] for each in caplog.records if each.exc_info]
    assert logged == [KeyError, RuntimeError]


def test_an_interrupt_in_a_hook_is_raised_at_once(session: Session, acts: dict[Any, Any]) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    acts["after_put", "a"] = interrupt
    session.add_all([Plain(name="a"), Plain(name="b")])

    with pytest.raises(KeyboardInterrupt):
        session.flush()

    assert ("after_put", "b") not in Acting.calls
    assert session.flush().written == 0


def test_what_a_hook_adds_and_does_not_fit_is_reported_beside_what_was_written(
    engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    misfit = Audit(name="of a")
    misfit.__dict__["size"] = 1_000_000
    acts["after_put", "a"] = lambda _: session.add(misfit)
    session.add(Plain(name="a"))

    with pytest.raises(FlushError) as caught:
        session.flush()
    misfit.size = 3
    session.flush()

    ((table, row, reason),) = caught.value.not_written
    assert (caught.value.written, table, row) == ([("plain", b"a")], "audits", b"of a")
    assert isinstance(reason, ValidationError)
    assert names(engine, Audit) == ["of a"]


def test_a_before_hook_of_what_an_after_hook_added_raises_and_leaves_it_pending(
    engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    acts["after_put", "a"] = lambda _: session.add(Plain(name="b"))
    acts["before_put", "b"] = fail
    session.add(Plain(name="a"))

    with pytest.raises(RuntimeError, match="a hook"):
        session.flush()
    after_first = names(engine, Plain)
    acts.clear()
    session.flush()

    assert (after_first, names(engine, Plain)) == (["a"], ["a", "b"])


@BOTH
def test_what_hooks_of_a_flush_noted_that_failed_in_part_waits_for_the_next(
    model: Any, engine: Engine, acts: dict[Any, Any]
) -> None:
    moving = RegionUnavailableError("the region moves")

    def error_of(operation: Operation[Any]) -> Exception | None:
        is_write = isinstance(operation, (MutateRows, MutateRow, PutRows, CheckAndMutate))
        return moving if is_write and not is_mended and "audits" in str(operation) else None

    is_mended = False
    session = through(FailsBeforeSending(gateway_of(engine), error_of), engine).session()
    acts["after_put", "a"] = lambda _: session.add(Audit(name="of a"))
    session.add_all([model(name="a"), Audit(name="x")])

    with pytest.raises(FlushError) as caught:
        session.flush()
    is_mended = True
    session.flush()

    assert [row for _, row, _ in caught.value.not_written] == [b"x"]
    assert names(engine, Audit) == ["of a", "x"]


# --- a hook must not flush -------------------------------------------------------------------------


def test_a_before_hook_that_flushes_is_refused_and_nothing_is_sent(
    engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    acts["before_put", "a"] = lambda _: session.flush()
    session.add(Plain(name="a"))

    with pytest.raises(QueryError, match="cannot flush"):
        session.flush()

    assert names(engine, Plain) == []


def test_an_after_hook_that_flushes_is_refused_and_all_is_written(
    engine: Engine, session: Session, acts: dict[Any, Any]
) -> None:
    def act(_: object) -> None:
        session.add(Audit(name="of a"))
        session.flush()

    acts["after_put", "a"] = act
    session.add(Plain(name="a"))

    with pytest.raises(QueryError, match="cannot flush"):
        session.flush()

    assert names(engine, Audit) == ["of a"]


def test_a_session_that_a_hook_broke_flushes_again(session: Session, acts: dict[Any, Any]) -> None:
    acts["before_put", "a"] = fail
    session.add(Plain(name="a"))
    with suppress(RuntimeError):
        session.flush()
    acts.clear()

    assert session.flush().written == 1
