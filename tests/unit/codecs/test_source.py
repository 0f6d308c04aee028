"""Generated functions show their lines in tracebacks, and leave nothing behind when they are gone."""

from __future__ import annotations

import gc
import linecache
import traceback
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from hbase_orm import Family, Key, Mapped, Model, column, key, rowkey
from hbase_orm.codecs import Codec, source
from hbase_orm.codecs.source import Scope, renamed
from hbase_orm.ops import Cell, Row


@dataclass(frozen=True, slots=True)
class Broken(Codec[str]):
    name: ClassVar[str] = "broken"
    python_type: ClassVar[type] = str

    def encode(self, value: str, /) -> bytes:
        return value.encode()

    def decode(self, data: bytes, /) -> str:
        raise RuntimeError(data)


class Note(Model, table="notes"):
    d = Family()
    user: Key[str] = key()
    text: Mapped[str] = column(d, "t", codec=Broken())
    __rowkey__ = rowkey(user)


def generated_files() -> set[str]:
    return {name for name in linecache.cache if name.startswith("<hbase_orm ")}


def divided(scope: Scope) -> Any:
    return scope.compiled(
        ["def divided(*, _v):", "    zero = 0", "    return _v / zero"], "divided"
    )


def test_a_traceback_shows_the_generated_line_that_called_a_codec() -> None:
    row = Row(b"ann", {b"d:t": Cell(b"hello", 1)})

    with pytest.raises(RuntimeError) as raised:
        Note.__mapping__.hydrate(row)

    shown = "".join(traceback.format_exception(raised.value))
    assert "d['text'] = _decode" in shown


def test_a_traceback_shows_the_line_of_a_function_whose_arguments_are_renamed() -> None:
    function = renamed(divided(Scope()), {"_v": "amount"})

    with pytest.raises(ZeroDivisionError) as raised:
        function(amount=1)

    assert "return _v / zero" in "".join(traceback.format_exception(raised.value))


def test_the_lines_of_functions_that_are_gone_are_dropped() -> None:
    before = generated_files()
    functions = [divided(Scope()), renamed(divided(Scope()), {"_v": "amount"})]
    made = generated_files() - before

    functions.clear()
    source._code.cache_clear()
    gc.collect()

    assert made
    assert not made & generated_files()
