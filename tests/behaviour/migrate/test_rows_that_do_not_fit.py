"""What another codec or qualifier does with rows that do not fit, and with older versions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar
from uuid import uuid4

import pytest

from hbase_orm import Engine, codecs, select
from hbase_orm.errors import ConnectionLostError
from hbase_orm.gateway.base import Gateway
from hbase_orm.migrate.operations.encodings import ChangeCodec, RenameQualifier
from hbase_orm.migrate.operations.in_place import InPlaceOperation
from hbase_orm.migrate.operations.refusals import RefusedRowsError
from hbase_orm.ops import Delete, GetVersionsOfRows, MutateRow, Put, RowMutation
from hbase_orm.ops import Operation as Request
from tests.support.backends import Backend
from tests.support.changed_models import Declared, Programs, col, fill
from tests.support.migrated_tables import (
    EndError,
    Revision,
    Saved,
    contents,
    with_short_lease,
)
from tests.support.recording import LetsAnotherWork, RecordsRequests, gateway_of, through

R = TypeVar("R")

ROWS: Final = 3
SHOP: Final = "s"
HISTORY: Final = Declared(family={"versions": 5})
SMALL: Final = HISTORY.having(size=col(int, "s", codec=codecs.uint8()))
BIG: Final = HISTORY.having(size=col(int, "s", codec=codecs.int64()))
MOVED: Final = HISTORY.having(note=col(str, "nn", nullable=True))
SIZE: Final = b"d:s"
OLDER: Final = bytes(7) + b"\x01"


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


@dataclass
class Changed:
    """A table, a change of its class, and rows whose cells a test puts or deletes."""

    programs: Programs
    operation: InPlaceOperation
    revision: Revision

    def run(self, saved: Saved, engine: Engine | None = None, *, back: bool = False) -> None:
        operation = self.operation.reverse() if back else self.operation
        assert isinstance(operation, InPlaceOperation)
        operation.run(self.revision.migration(engine, back=back, exclusive=True), saved)

    @property
    def table(self) -> str:
        namespace = self.programs.tables.options.namespace
        return f"{namespace}:{self.programs.table}" if namespace else self.programs.table

    @property
    def keys(self) -> list[bytes]:
        return sorted(self.cells)

    @property
    def key(self) -> bytes:
        """The key of the first row that has a note."""
        return next(key for key in self.keys if b"d:n" in self.cells[key])

    @property
    def cells(self) -> Mapping[bytes, Mapping[bytes, tuple[tuple[int, bytes], ...]]]:
        return contents(self.programs.tables, self.programs.table).cells

    def versions(self, key: bytes, column: bytes = SIZE) -> list[bytes]:
        return [value for _, value in self.cells[key].get(column, ())]

    def put(self, key: bytes, value: bytes, *, later_ms: int = 0, column: bytes = SIZE) -> None:
        at_ms = max((at for at, _ in self.cells[key].get(column, ())), default=1) + later_ms
        self._send(RowMutation(key, puts=(Put(column, value, at_ms),)))

    def delete(self, key: bytes) -> None:
        deletes = tuple(Delete(column, cells[0][0]) for column, cells in self.cells[key].items())
        self._send(RowMutation(key, deletes=deletes))

    def _send(self, mutation: RowMutation) -> None:
        gateway_of(self.programs.tables).execute(MutateRow(self.table, mutation))


Make = Callable[[str, Declared], Changed]


@pytest.fixture
def changed(backend: Backend, engine: Engine) -> Make:
    def make(kind: str, after: Declared) -> Changed:
        tables, name = with_short_lease(engine), f"orders_{uuid4().hex[:8]}"
        old = backend.another(tables)
        programs = Programs("plain", name, old, backend, tables)
        old.create_tables(programs.model(HISTORY))
        fill(programs, programs.model(HISTORY), SHOP, ROWS)
        operations: dict[str, InPlaceOperation] = {
            "codec": ChangeCodec(
                name, "d:s", old=codecs.uint32(), new=after.columns["size"].options["codec"]
            ),
            "qualifier": RenameQualifier(name, "d:n", "d:nn"),
        }
        revision = Revision(tables, (programs.model(HISTORY),), (programs.model(after),))
        return Changed(programs, operations[kind], revision)

    return make


class Ends(RecordsRequests):
    """Ends the program before the first request that `ends` names."""

    def __init__(self, inner: Gateway, ends: Callable[[Request[Any]], bool]) -> None:
        super().__init__(inner)
        self._ends = ends
        self._has_ended = False

    def execute(self, request: Request[R], /) -> R:
        if self._has_ended or self._ends(request):
            self._has_ended = True
            if "_renew_on" in threading.current_thread().name:  # ends with its program
                raise ConnectionLostError("the program has ended")
            raise EndError
        return super().execute(request)


def number(value: int) -> bytes:
    return codecs.uint32().encode(value)


BOTH: Final = pytest.mark.parametrize(
    ("kind", "after"), [("codec", SMALL), ("qualifier", MOVED)], ids=["codec", "qualifier"]
)


def spoil(made: Changed, kind: str) -> None:
    """Put a value that does not fit: one too large, or one into the new column."""
    column, value = (SIZE, number(300)) if kind == "codec" else (b"d:nn", b"x")
    made.put(made.key, value, column=column, later_ms=5)


def repair(made: Changed, kind: str) -> None:
    if kind == "codec":
        made.put(made.key, number(3), later_ms=5)
    else:
        made.delete(made.key)


def check_is_changed(made: Changed, after: Declared) -> None:
    """Check that the table is what the new class declares, and that its rows decode."""
    model = made.programs.model(after)
    (check,) = made.programs.new().check_tables(model)
    assert [str(each) for each in check.differences] == []
    with made.programs.new().session() as session:
        assert len([*session.stream(select(model).allow_full_scan())]) == len(made.keys)


@BOTH
def test_rows_that_were_refused_are_checked_again_once_they_are_repaired(
    changed: Make, kind: str, after: Declared
) -> None:
    made, saved = changed(kind, after), Saved()
    spoil(made, kind)
    before = made.cells
    with pytest.raises(RefusedRowsError) as caught:
        made.run(saved)
    assert caught.value.rows == 1
    assert made.cells == before
    repair(made, kind)

    made.run(saved)

    check_is_changed(made, after)


@BOTH
def test_what_others_write_after_the_check_is_refused_before_any_change(
    changed: Make, kind: str, after: Declared
) -> None:
    made, saved = changed(kind, after), Saved()
    gateway = LetsAnotherWork(
        gateway_of(made.programs.tables),
        lambda _: saved.position.get("range 0", "").endswith("done"),
        partial(spoil, made, kind),
    )

    with pytest.raises(RefusedRowsError):
        made.run(saved, through(gateway, made.programs.tables))

    assert gateway.has_worked
    (check,) = made.programs.new().check_tables(made.programs.model(HISTORY))
    assert [str(each) for each in check.differences] == []
    repair(made, kind)
    made.run(saved)
    check_is_changed(made, after)


@BOTH
def test_a_run_that_goes_on_checks_what_others_wrote_since_its_check(
    changed: Make, kind: str, after: Declared
) -> None:
    made, saved = changed(kind, after), Saved()

    def ends(_: Request[Any]) -> bool:
        return saved.position.get("range 0", "").endswith("done")

    with pytest.raises(EndError):
        made.run(saved, through(Ends(gateway_of(made.programs.tables), ends), made.revision.engine))
    spoil(made, kind)

    with pytest.raises(RefusedRowsError):
        made.run(saved)

    (check,) = made.programs.new().check_tables(made.programs.model(HISTORY))
    assert [str(each) for each in check.differences] == []


@BOTH
def test_rows_that_were_refused_while_rows_change_are_read_again_once_they_are_repaired(
    changed: Make, kind: str, after: Declared
) -> None:
    """A program that does not know the exclusive use writes a row under another class."""
    made, saved = changed(kind, after), Saved()
    gateway = LetsAnotherWork(
        gateway_of(made.programs.tables),
        lambda _: saved.position.get("phase") == "change" and "range 0" in saved.position,
        partial(spoil, made, kind),
    )
    with pytest.raises(RefusedRowsError, match=r"engine\.raw"):
        made.run(saved, through(gateway, made.programs.tables))
    repair(made, kind)

    made.run(saved)

    check_is_changed(made, after)


@BOTH
def test_a_row_that_is_deleted_while_it_is_checked_is_passed_over(
    changed: Make, kind: str, after: Declared
) -> None:
    made = changed(kind, after)
    key = made.key
    gateway = LetsAnotherWork(
        gateway_of(made.programs.tables),
        lambda request: isinstance(request, GetVersionsOfRows),
        partial(made.delete, key),
    )

    made.run(Saved(), through(gateway, made.programs.tables))

    assert key not in made.keys
    check_is_changed(made, after)


def test_older_versions_that_do_not_fit_stay_as_they_are(changed: Make) -> None:
    made = changed("codec", SMALL)
    large, undecodable, plain = made.keys
    for key, value in ((large, number(300)), (undecodable, b"xyz"), (plain, number(7))):
        made.put(key, value)
        made.put(key, number(9), later_ms=5)

    made.run(Saved())

    assert made.versions(large) == [b"\x09", number(300)]
    assert made.versions(undecodable) == [b"\x09", b"xyz"]
    assert made.versions(plain) == [b"\x09", b"\x07"]


def with_history(changed: Make) -> Changed:
    """Return a table whose older values are none of the old codec, but some of the new one."""
    made = changed("codec", BIG)
    for key in made.keys:
        made.put(key, OLDER)
        made.put(key, number(9), later_ms=5)
    return made


def end_after(made: Changed, saved: Saved, changes: int, *, back: bool = False) -> None:
    """Run the operation, or its reverse, in a program that ends after some rows."""
    requests = iter(range(100))

    def ends(request: Request[Any]) -> bool:
        is_change = isinstance(request, MutateRow) and request.table == made.table
        return is_change and next(requests) >= changes

    engine = through(Ends(gateway_of(made.programs.tables), ends), made.revision.engine)
    with pytest.raises(EndError):
        made.run(saved, engine, back=back)


@pytest.mark.parametrize("changes", range(ROWS))
def test_an_interrupted_change_is_undone_to_the_very_cells_there_were(
    changed: Make, changes: int
) -> None:
    made, saved = with_history(changed), Saved()
    before = made.cells
    end_after(made, saved, changes)

    made.run(Saved({}, saved.position), back=True)

    assert made.cells == before


def test_an_interrupted_change_that_turns_twice_leaves_what_one_run_leaves(changed: Make) -> None:
    made, saved = with_history(changed), Saved()
    end_after(made, saved, 2)
    turned = Saved({}, saved.position)
    end_after(made, turned, 1, back=True)

    made.run(Saved({}, turned.position))

    assert [made.versions(key) for key in made.keys] == [[codecs.int64().encode(9), OLDER]] * ROWS
    check_is_changed(made, BIG)
