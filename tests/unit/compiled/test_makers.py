"""What the compiled reader leaves behind: objects that are begun, memory, classes, and its threads."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import pytest

from hbase_orm import Family, Key, Mapped, Model, RowKey, column, key
from hbase_orm.codecs import Codec
from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.errors import CorruptRowError
from hbase_orm.model.mapping.projection import reader_of
from hbase_orm.ops import Cell, ListedRow, Row
from tests.property.row_replies import written
from tests.property.test_compiled_columns import encoded

pytestmark = pytest.mark.skipif(compiled_cells is None, reason="it is not used")


@dataclass(frozen=True, slots=True)
class Calling(Codec[str]):
    """Text that calls `hook` whenever it is decoded."""

    name: ClassVar[str] = "calling"
    python_type: ClassVar[type] = str
    hook: ClassVar[Callable[[bytes], None]]

    def encode(self, value: str, /) -> bytes:
        return value.encode()

    def decode(self, data: bytes, /) -> str:
        type(self).hook(data)
        return data.decode()


def nothing(data: bytes) -> None:
    """Do nothing."""


def new_model() -> Any:
    """Return a model that counts its objects, with a user's codec and a default."""

    class Note(Model, table="notes"):
        d = Family()
        name: Key[str] = key()
        count: Mapped[int] = column(d)
        text: Mapped[str] = column(d, codec=Calling())
        title: Mapped[str] = column(d, default="none")
        made: ClassVar[int] = 0

        __rowkey__ = RowKey((name,))

        def __new__(cls, *_: Any, **__: Any) -> Self:
            cls.made += 1
            return super().__new__(cls)

    return Note


def row(word: bytes = b"text", **changed: bytes) -> Row:
    """Return a row with all cells, of which some have other values; empty ones are left out."""
    cells = {b"d:count": b"\x80" + bytes(6) + b"\x07", b"d:text": word, b"d:title": word}
    cells |= {b"d:" + name.encode(): value for name, value in changed.items()}
    return Row(b"n" + word, {name: Cell(value, 5) for name, value in cells.items() if value})


@pytest.fixture(autouse=True)
def hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calling, "hook", staticmethod(nothing), raising=False)


@pytest.mark.parametrize("title", [b"title", b""])
def test_one_object_is_made_of_a_row_also_of_one_that_lacks_a_default(title: bytes) -> None:
    model = new_model()

    note = model.__mapping__.maker().made("here", None, encoded(row(title=title)))

    assert note.title == (title.decode() or "none")
    assert model.made == 1


WRONG = {"count": b"short", "text": b"\xff", "title": b"\xff"}


@pytest.mark.parametrize("changed", [{}, {"title": b""}, *({n: v} for n, v in WRONG.items())])
def test_no_memory_stays_behind_however_a_row_is_read(changed: dict[str, bytes]) -> None:
    model = new_model()
    made, read = model.__mapping__.maker().made, reader_of(model, [model.name, model.count])
    fields = [getattr(model, name) for name in ("name", "title", "count", "text")]
    read_all = reader_of(model, fields)
    data = written([row(**changed)])

    def run(times: int) -> int:
        for _ in range(times):
            rows: list[Any] = []
            compiled_cells.take_rows(data, 0, 9, rows, EncodedRow)
            compiled_cells.take_rows(data[:-3], 0, 9, rows, EncodedRow)
            for use in (partial(made, "x", None), read_all):
                with suppress(CorruptRowError, UnicodeDecodeError):
                    use(rows[0])
            assert rows[0].columns
            assert rows[0].cells
            if "count" not in changed:
                assert read(rows[0]) == ("ntext", 7)
        rows = []
        gc.collect()
        return sys.getallocatedblocks()

    before = run(50)
    assert run(2000) - before < 500


def test_a_class_that_is_not_used_any_more_is_collected() -> None:
    def used() -> weakref.ref[Any]:
        model = new_model()
        model.__mapping__.maker().made(None, None, encoded(row()))
        return weakref.ref(model)

    model = used()
    gc.collect()
    assert model() is None


class Nesting:
    """A hook that reads other rows, two levels deep, while a row is read; it often fails."""

    def __init__(self, check: Callable[[bytes], None]) -> None:
        self._check = check
        self._depth = threading.local()

    def __call__(self, data: bytes) -> None:
        level = getattr(self._depth, "level", 0)
        if level < 2:
            self._depth.level = level + 1
            try:
                self._check(data + b"+")
            finally:
                self._depth.level = level
        if data.endswith(b"1"):
            raise KeyError(data)


def test_threads_and_codecs_that_read_by_the_same_reader_disturb_no_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = new_model()
    made, read = model.__mapping__.maker().made, reader_of(model, [model.title, model.text])
    wrong = list[object]()

    def check(data: bytes) -> None:
        received = encoded(row(data))
        note = made("here", None, received)
        if (note.name, note.text, note.title) != (f"n{data.decode()}", *[data.decode()] * 2):
            wrong.append(note)
        if read(received) != (data.decode(), data.decode()):
            wrong.append(received)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(150):
            with suppress(KeyError):
                check(str(chance.random()).encode() * chance.choice((1, 3, 50)))

    monkeypatch.setattr(Calling, "hook", Nesting(check))
    with switching_often():
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


class switching_often:  # noqa: N801 - used as a function
    """Lets threads take turns after 10 microseconds."""

    def __enter__(self) -> None:
        self._before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)

    def __exit__(self, *_: object) -> None:
        sys.setswitchinterval(self._before)


def test_rows_of_all_kinds_are_equal() -> None:
    plain = Row(b"k", {b"d:a": Cell(b"1", 5)})
    listed = ListedRow(b"k", (b"d:a",), (None, b"k", b"\1", None, b"1", (5).to_bytes(8, "big")))
    rows = [plain, listed, encoded(plain)]
    assert all(one == other for one in rows for other in rows)


def test_a_copied_or_pickled_row_is_a_plain_one() -> None:
    received = encoded(row())
    copies = [copy.copy(received), copy.deepcopy(received), pickle.loads(pickle.dumps(received))]
    assert all(type(each) is Row and each == received for each in copies)


def test_the_reader_itself_is_neither_copied_nor_pickled() -> None:
    maker = new_model().__mapping__.maker()
    for make in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot pickle"):
            make(maker)


def test_a_kept_row_does_not_keep_the_answer() -> None:
    one = row(b"x" * 1000)
    data = written([one] * 50)
    received: list[EncodedRow] = []
    compiled_cells.take_rows(data, 0, 50, received, EncodedRow)
    held = sum(map(sys.getsizeof, (received[0], received[0].key, received[0].encoded)))
    assert received == [one] * 50
    assert held < len(data) / 40
    assert not any(each is data for each in gc.get_referents(*received))
