"""The catalog: states, loads, leases, and two processes at it at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

import pytest

from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    RejectedError,
    SchemaError,
)
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import (
    CATALOG_COLUMN,
    CATALOG_TABLE,
    CatalogView,
    catalog_descriptor,
    open_for_writes,
    read_entry,
)
from hbase_orm.index.catalog.entry import (
    VERSION_COLUMN,
    BuildRange,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableState,
    next_epoch,
)
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import LoaderWatch, begin_loading, finish_loading
from hbase_orm.index.catalog.registration import forget_lost, overtake, register, unregister
from hbase_orm.index.entries.guard_cell import MAX_EPOCH
from hbase_orm.index.protocol.load import LoadTicket
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    GetRows,
    MutateRows,
    Operation,
    Put,
    RowMutation,
)
from tests.support.stepping import drive

R = TypeVar("R")

INDEXES = {"by_v": "t_by_v"}
READABLE = {"by_v": CatalogIndex("t_by_v")}
TICKET = LoadTicket(100, b"n" * 8, 1)


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    gateway.execute(CreateTable(catalog_descriptor()))
    return gateway


@pytest.fixture
def new(gateway: MemoryGateway) -> MemoryGateway:
    drive(register("t", INDEXES, is_new=True), gateway)
    return gateway


def state_of(gateway: Gateway) -> tuple[TableState, int]:
    entry = drive(read_entry("t"), gateway)
    assert entry is not None
    return entry.state, entry.epoch


def begin(gateway: Gateway, now_ms: int = 100) -> LoadTicket:
    loader = TableLoader("one", "process 1")
    entry = drive(begin_loading("t", loader, now_ms=now_ms, nonce=b"n" * 8), gateway)
    assert entry.load is not None
    return entry.load


def finish(gateway: Gateway, ticket: LoadTicket) -> None:
    watch = LoaderWatch("one", lambda: 0.0, 30.0, 0.0)
    drive(finish_loading("t", ticket, watch), gateway)


def test_a_table_just_made_is_entered_as_new(new: MemoryGateway) -> None:
    assert drive(read_entry("t"), new) == CatalogEntry(1, TableState.NEW, None, READABLE)


def test_the_cell_is_json_that_says_state_load_and_indexes(new: MemoryGateway) -> None:
    begin(new)

    (row,) = new.execute(GetRows(CATALOG_TABLE, (b"t",)))
    assert row is not None
    assert json.loads(row.cells[CATALOG_COLUMN].value) == {
        "version": 2,
        "epoch": 1,
        "state": "LOADING TOGETHER",
        "load": {"t": 100, "nonce": "6e" * 8, "loaders": [["one", "process 1", 0]]},
        "indexes": {
            "by_v": {
                "state": "READABLE",
                "entries": "t_by_v",
                "table": "",
                "incarnation": 1,
                "epoch": 0,
                "manual": False,
                "build": [],
                "retired": "",
            }
        },
    }


def test_an_unknown_table_has_no_entry(gateway: MemoryGateway) -> None:
    assert drive(read_entry("t"), gateway) is None


def test_a_table_of_unknown_history_is_entered_as_readable(gateway: MemoryGateway) -> None:
    drive(register("t", INDEXES, is_new=False), gateway)

    assert state_of(gateway) == (TableState.READABLE, 1)


@pytest.mark.parametrize("is_new", [False, True])
def test_entering_a_new_table_again_changes_nothing(new: MemoryGateway, *, is_new: bool) -> None:
    drive(register("t", INDEXES, is_new=is_new), new)

    assert state_of(new) == (TableState.NEW, 1)


def test_a_known_table_with_other_indexes_is_refused(new: MemoryGateway) -> None:
    with pytest.raises(SchemaError):
        drive(register("t", {}, is_new=False), new)


def seen(gateway: Gateway) -> CatalogEntry:
    entry = drive(read_entry("t"), gateway)
    assert entry is not None
    return entry


def test_a_table_that_was_lost_is_made_again_under_a_new_epoch(new: MemoryGateway) -> None:
    begin(new)

    drive(forget_lost("t", seen(new)), new)
    drive(register("t", {}, is_new=True), new)

    number = CatalogIndex("", IndexState.ABSENT, incarnation=1)
    assert drive(read_entry("t"), new) == CatalogEntry(2, TableState.NEW, None, {"by_v": number})


def test_a_table_that_somebody_made_again_meanwhile_is_not_lost(new: MemoryGateway) -> None:
    lost = seen(new)
    drive(unregister("t"), new)
    drive(register("t", INDEXES, is_new=True, incarnations={"by_v": 2}), new)
    drive(open_for_writes("t"), new)

    drive(forget_lost("t", lost), new)

    assert state_of(new) == (TableState.READABLE, 2)


def test_a_table_whose_entry_was_lost_is_entered_above_the_epochs_of_its_rows(
    gateway: MemoryGateway,
) -> None:
    drive(register("t", INDEXES, is_new=False, has_rows=True, newest_epoch=4), gateway)

    assert seen(gateway) == CatalogEntry(
        5,
        TableState.READABLE,
        None,
        {"by_v": CatalogIndex("t_by_v", IndexState.ABSENT, incarnation=0)},
    )


def test_an_entry_of_an_earlier_time_is_overtaken_and_no_index_of_it_is_read(
    new: MemoryGateway,
) -> None:
    drive(open_for_writes("t"), new)

    drive(overtake("t", 3), new)
    drive(overtake("t", 3), new)

    found = seen(new)
    assert (found.epoch, found.indexes["by_v"].state) == (4, IndexState.WRITE_ONLY)


def test_an_entry_of_later_than_the_rows_is_left_alone(new: MemoryGateway) -> None:
    before = seen(new)

    drive(overtake("t", 0), new)

    assert seen(new) == before


def test_a_table_that_somebody_found_and_opened_is_never_new_again(new: MemoryGateway) -> None:
    drive(open_for_writes("t"), new)

    drive(register("t", INDEXES, is_new=True), new)

    assert state_of(new) == (TableState.READABLE, 1)


def test_a_dropped_table_keeps_its_epoch_for_the_next_of_its_name(new: MemoryGateway) -> None:
    drive(unregister("t"), new)
    dropped = state_of(new)

    drive(register("t", INDEXES, is_new=False, incarnations={"by_v": 2}), new)

    assert (dropped, state_of(new)) == ((TableState.DROPPED, 1), (TableState.READABLE, 2))


def test_index_tables_of_a_dropped_table_are_not_those_of_the_next(new: MemoryGateway) -> None:
    drive(unregister("t", newest_tables={"by_v": 3, "by_w": 1}), new)

    with pytest.raises(ConflictError, match="created and dropped"):
        drive(register("t", INDEXES, is_new=True, incarnations={"by_v": 3}), new)
    drive(register("t", INDEXES, is_new=True, incarnations={"by_v": 4}), new)

    numbers = {name: index.incarnation for name, index in seen(new).indexes.items()}
    assert numbers == {"by_v": 4, "by_w": 1}
    assert list(seen(new).known_indexes) == ["by_v"]


def test_an_index_that_must_be_built_goes_on_after_the_numbers_of_earlier_tables(
    new: MemoryGateway,
) -> None:
    drive(unregister("t", newest_tables={"by_v": 3}), new)

    drive(register("t", INDEXES, is_new=False, has_rows=True), new)

    assert seen(new).indexes["by_v"] == CatalogIndex("t_by_v", IndexState.ABSENT, incarnation=3)


def test_a_later_model_of_a_new_table_adds_an_index_of_earlier_tables(new: MemoryGateway) -> None:
    drive(unregister("t"), new)
    drive(register("t", {}, is_new=True), new)

    drive(register("t", INDEXES, is_new=False, incarnations={"by_v": 2}), new)

    added = CatalogIndex("t_by_v", IndexState.READABLE, "t_ix_by_v.2", 2)
    assert seen(new).indexes == {"by_v": added}


def test_an_entry_that_an_earlier_release_wrote_for_a_dropped_table_has_no_numbers(
    new: MemoryGateway,
) -> None:
    dropped = b'{"version":2,"epoch":7,"state":"DROPPED","load":null,"indexes":{}}'
    put = RowMutation(b"t", puts=(Put(CATALOG_COLUMN, dropped),))
    new.execute(MutateRows(CATALOG_TABLE, (put,)))

    drive(register("t", INDEXES, is_new=True), new)

    assert (seen(new).epoch, seen(new).indexes) == (8, READABLE)


def test_the_entry_of_a_dropped_table_has_the_form_of_earlier_releases(new: MemoryGateway) -> None:
    drive(unregister("t"), new)

    (row,) = new.execute(GetRows(CATALOG_TABLE, (b"t",)))
    assert row is not None
    content = json.loads(row.cells[CATALOG_COLUMN].value)
    assert (content["version"], content["state"]) == (2, "DROPPED")
    assert {name: index["state"] for name, index in content["indexes"].items()} == {
        "by_v": "ABSENT"
    }


def test_dropping_an_unknown_table_enters_nothing(gateway: MemoryGateway) -> None:
    assert drive(unregister("t"), gateway) is None
    assert drive(read_entry("t"), gateway) is None


@pytest.mark.parametrize(
    "protocol",
    [
        lambda: begin_loading("t", TableLoader("one"), now_ms=1, nonce=b"n" * 8),
        lambda: finish_loading("t", TICKET, LoaderWatch("one", lambda: 0.0, 30.0, 0.0)),
        lambda: open_for_writes("t"),
    ],
)
def test_an_unknown_table_can_be_neither_loaded_nor_written(
    gateway: MemoryGateway, protocol: Callable[[], object]
) -> None:
    with pytest.raises(CatalogLeaseError):
        drive(protocol(), gateway)  # type: ignore[arg-type]  # protocols of different results


# --- loading --------------------------------------------------------------------------------------


def test_a_load_of_a_new_table_gets_a_ticket(new: MemoryGateway) -> None:
    assert begin(new) == TICKET
    assert state_of(new) == (TableState.LOADING, 1)


def test_an_interrupted_load_goes_on_with_its_first_ticket(new: MemoryGateway) -> None:
    begin(new)

    assert begin(new, now_ms=999) == TICKET


def test_a_finished_load_opens_the_table(new: MemoryGateway) -> None:
    finish(new, begin(new))

    assert state_of(new) == (TableState.READABLE, 1)


def test_finishing_twice_is_no_error(new: MemoryGateway) -> None:
    ticket = begin(new)
    finish(new, ticket)

    finish(new, ticket)

    assert state_of(new) == (TableState.READABLE, 1)


def test_a_load_cannot_be_finished_with_another_ticket(new: MemoryGateway) -> None:
    begin(new)

    with pytest.raises(ConflictError):
        finish(new, LoadTicket(1, b"m" * 8, 1))


def test_a_table_that_was_opened_for_writes_cannot_be_loaded(new: MemoryGateway) -> None:
    drive(open_for_writes("t"), new)

    with pytest.raises(ConflictError):
        begin(new)


def test_a_cell_in_loading_without_a_load_is_refused(gateway: MemoryGateway) -> None:
    store(gateway, CatalogEntry(1, TableState.LOADING).encode())

    with pytest.raises(CorruptRowError):
        begin(gateway)


# --- leases ---------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_refreshed_view_permits_writes_of_its_epoch(new: MemoryGateway) -> None:
    view = CatalogView(Clock())

    drive(view.refresh("t"), new)

    assert view.permit("t") == 1
    assert repr(view) == "CatalogView(t: READABLE epoch 1)"


def test_a_view_that_never_read_permits_nothing() -> None:
    view = CatalogView(Clock())

    with pytest.raises(CatalogLeaseError):
        view.permit("t")

    assert repr(view) == "CatalogView()"


def test_a_lease_runs_from_before_the_read_was_sent(new: MemoryGateway) -> None:
    clock = Clock()
    view = CatalogView(clock, lease_s=30)
    drive(view.refresh("t"), _TakesTime(new, clock, 10))
    clock.now_s = 29.9
    assert view.is_fresh("t")

    clock.now_s = 30

    with pytest.raises(CatalogLeaseError) as caught:
        view.permit("t")
    assert caught.value.lease_s == 30


def test_a_table_that_is_being_loaded_permits_no_guarded_writes(new: MemoryGateway) -> None:
    begin(new)
    view = CatalogView(Clock())
    drive(view.refresh("t"), new)

    with pytest.raises(CatalogLeaseError) as caught:
        view.permit("t")

    assert caught.value.state == "LOADING"


# --- answers --------------------------------------------------------------------------------------


class _Wrapped:
    features = frozenset[Feature]()

    def __init__(self, inner: Gateway) -> None:
        self._inner = inner

    def close(self) -> None: ...


class _TakesTime(_Wrapped):
    def __init__(self, inner: Gateway, clock: Clock, seconds: float) -> None:
        super().__init__(inner)
        self._clock = clock
        self._seconds = seconds

    def execute(self, operation: Operation[R], /) -> R:
        self._clock.now_s += self._seconds
        return self._inner.execute(operation)


class _CutsAfterChange(_Wrapped):
    """Applies every change and loses its answer."""

    def execute(self, operation: Operation[R], /) -> R:
        answer = self._inner.execute(operation)
        if isinstance(operation, CheckAndMutate):
            raise ConnectionLostError("cut")
        return answer


class _AnotherIsFaster(_Wrapped):
    """Runs `rival` once, before the first change."""

    def __init__(self, inner: Gateway, rival: Callable[[], object]) -> None:
        super().__init__(inner)
        self._rivals = [rival]

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, CheckAndMutate) and self._rivals:
            self._rivals.pop()()
        return self._inner.execute(operation)


class _Denies(_Wrapped):
    def __init__(self, inner: Gateway, answer: bool | Exception) -> None:  # noqa: FBT001  # an answer
        super().__init__(inner)
        self._answer = answer

    def execute(self, operation: Operation[R], /) -> R:
        if not isinstance(operation, CheckAndMutate):
            return self._inner.execute(operation)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer  # type: ignore[return-value]  # CheckAndMutate is an Operation[bool]


def test_a_change_whose_answer_is_lost_is_found_done(gateway: MemoryGateway) -> None:
    cut = _CutsAfterChange(gateway)
    drive(register("t", INDEXES, is_new=True), cut)

    ticket = begin(cut)
    finish(cut, ticket)

    assert (ticket, state_of(gateway)) == (TICKET, (TableState.READABLE, 1))


def test_of_two_loads_the_second_takes_the_first_one_s_ticket(new: MemoryGateway) -> None:
    gateway = _AnotherIsFaster(new, lambda: begin(new))

    assert begin(gateway, now_ms=999) == TICKET


def test_a_load_does_not_start_when_a_writer_was_faster(new: MemoryGateway) -> None:
    gateway = _AnotherIsFaster(new, lambda: drive(open_for_writes("t"), new))

    with pytest.raises(ConflictError):
        begin(gateway)


def test_a_writer_does_not_start_when_a_load_was_faster(new: MemoryGateway) -> None:
    view = CatalogView(Clock())
    drive(view.refresh("t"), _AnotherIsFaster(new, lambda: begin(new)))

    with pytest.raises(CatalogLeaseError):
        view.permit("t")


@pytest.mark.parametrize(
    ("answer", "error"),
    [(False, ConflictError), (ConnectionLostError("cut"), ConnectionLostError)],
    ids=["refused", "cut"],
)
def test_a_change_that_never_gets_through_gives_up(
    new: MemoryGateway,
    answer: bool | Exception,  # noqa: FBT001  # an answer
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        begin(_Denies(new, answer))


def test_a_refused_change_is_not_repeated(new: MemoryGateway) -> None:
    with pytest.raises(RejectedError):
        begin(_Denies(new, RejectedError("no")))


def store(gateway: Gateway, value: bytes) -> None:
    put = RowMutation(b"t", puts=(Put(CATALOG_COLUMN, value),))
    gateway.execute(MutateRows(CATALOG_TABLE, (put,)))


def test_a_cell_of_a_time_when_indexes_had_no_states_is_read(gateway: MemoryGateway) -> None:
    index = b'{"by_v":{"state":"READABLE","entries":"t_by_v"}}'
    store(
        gateway, b'{"version":1,"epoch":3,"state":"READABLE","load":null,"indexes":' + index + b"}"
    )

    assert drive(read_entry("t"), gateway) == CatalogEntry(3, TableState.READABLE, None, READABLE)


def test_an_entry_is_read_as_it_was_written() -> None:
    build = (BuildRange(b"", b"m", b"c\x00"), BuildRange(b"m", b"", None))
    index = CatalogIndex("words", IndexState.WRITE_ONLY, "t_by_v.2", 2, 7, False, build, "t_by_v")
    entry = CatalogEntry(7, TableState.READABLE, None, {"by_v": index})

    assert CatalogEntry.decode(entry.encode()) == entry


def test_indexes_of_a_table_with_rows_and_manual_ones_are_entered_as_absent(
    gateway: MemoryGateway,
) -> None:
    drive(register("t", INDEXES, is_new=False, has_rows=True), gateway)
    drive(register("u", {"a": "1", "b": "2"}, is_new=True, manual=["b"]), gateway)

    with_rows, new = drive(read_entry("t"), gateway), drive(read_entry("u"), gateway)
    assert with_rows is not None
    assert new is not None
    assert with_rows.indexes["by_v"].state is IndexState.ABSENT
    assert [new.indexes[name].state for name in "ab"] == [IndexState.READABLE, IndexState.ABSENT]


def test_a_version_column_must_be_declared_alike() -> None:
    plain = CatalogEntry(1, TableState.READABLE, None, READABLE)

    assert plain.differing(INDEXES) == []
    assert plain.differing({**INDEXES, VERSION_COLUMN: "d:v"}) == [VERSION_COLUMN]


@pytest.mark.parametrize(
    "value",
    [
        b"\xff",
        b"[]",
        b"{}",
        b'{"version":4,"epoch":1,"state":"NEW","load":null,"indexes":{}}',
        b'{"version":1,"epoch":1,"state":"ODD","load":null,"indexes":{}}',
    ],
)
def test_a_cell_of_another_format_is_refused(gateway: MemoryGateway, value: bytes) -> None:
    store(gateway, value)

    with pytest.raises(CorruptRowError):
        drive(read_entry("t"), gateway)


def test_no_epoch_comes_after_the_last() -> None:
    assert next_epoch(MAX_EPOCH - 1) == MAX_EPOCH
    with pytest.raises(SchemaError, match="the table has used all its epochs") as refused:
        next_epoch(MAX_EPOCH)
    assert "new table" in refused.value.fix


@pytest.mark.parametrize("newest", [2_000, MAX_EPOCH])
def test_an_epoch_that_no_writer_can_have_does_not_overtake_the_catalog(
    new: MemoryGateway, newest: int
) -> None:
    before = drive(register("t", INDEXES, is_new=True), new)

    assert drive(overtake("t", newest), new) == before
