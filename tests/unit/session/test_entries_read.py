"""Changes in place of dynamic columns are noticed, and unchanged ones are not encoded again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from hbase_orm import Dynamic, Engine, Family, Key, Model, codecs, connect, dynamic, key, select
from hbase_orm.codecs import Codec


class Counting(Codec[float]):
    """Floats that count how often one of them is encoded."""

    name: ClassVar[str] = "counting"
    python_type: ClassVar[type] = float
    encoded: ClassVar[int] = 0

    def encode(self, value: float, /) -> bytes:
        Counting.encoded += 1
        return codecs.float64().encode(value)

    def decode(self, data: bytes, /) -> float:
        return codecs.float64().decode(data)


class Levels(Model, table="levels"):
    d = Family()
    host: Key[str] = key()
    at: Dynamic[str, float] = dynamic(d, prefix="a:", codec=Counting())
    words: Dynamic[int, str] = dynamic(d, prefix="w:", name=codecs.uint16())


class Greeted(Model, table="greeted"):
    d = Family()
    host: Key[str] = key()
    words: Dynamic[str, str] = dynamic(d)

    def after_load(self) -> None:
        self.words["seen"] = "yes"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        engine.create_tables(Levels, Greeted)
        levels, greeted = Levels(host="h"), Greeted(host="h")
        levels.at.update(x=0.0, y=2.5)
        levels.words.update({1: "one", 2: "two"})
        greeted.words["a"] = "b"
        with engine.session() as session:
            session.add_all([levels, greeted])
        yield engine


def stored(engine: Engine) -> Any:
    return engine.session().get(Levels, host="h")


def test_unchanged_values_are_not_encoded(engine: Engine) -> None:
    Counting.encoded = 0
    with engine.session() as session:
        kept = session.get(Levels, host="h")

    assert kept is not None
    assert Counting.encoded == 0


def unsign(obj: Levels) -> None:
    obj.at["x"] = -0.0


def swap(obj: Levels) -> None:
    obj.at["x"], obj.at["y"] = obj.at["y"], obj.at["x"]


def rename(obj: Levels) -> None:
    obj.words[3] = obj.words.pop(2)


def replace(obj: Levels) -> None:
    obj.__dict__["words"] = {1: "one"}


def empty(obj: Levels) -> None:
    obj.at.clear()


def add(obj: Levels) -> None:
    obj.words[7] = "seven"


@pytest.mark.parametrize("change", [unsign, swap, rename, replace, empty, add])
def test_every_change_in_place_is_written(engine: Engine, change: Callable[[Any], None]) -> None:
    expected = stored(engine)
    change(expected)

    with engine.session() as session:
        change(session.get(Levels, host="h"))

    assert repr(stored(engine).to_dict()) == repr(expected.to_dict())


def test_what_is_changed_after_a_flush_is_written_too(engine: Engine) -> None:
    with engine.session() as session:
        obj: Any = session.get(Levels, host="h")
        obj.at["x"] = 1.5
        session.flush()
        obj.at["x"] = 0.0

    assert stored(engine).at["x"] == 0.0


def test_a_hook_of_loads_may_change_values(engine: Engine) -> None:
    with engine.session() as session:
        session.get(Greeted, host="h")

    values = engine.session().all(select(Greeted.words["seen"]).allow_full_scan())
    assert values == ["yes"]
