"""The examples of the page on queries run as they are written."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

import hbase_orm
from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, key, select
from hbase_orm.ops import MutateRow, Put, RowMutation
from tests.support.recording import gateway_of, through
from tests.support.replicas import LagsBehind

PAGE = (Path(__file__).parents[2] / "docs" / "queries.md").read_text(encoding="utf-8")


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d)


def example_of(heading: str) -> str:
    """Return the first program below a heading."""
    below = PAGE.partition(f"\n## {heading}\n")[2]
    found = re.search(r"```python\n(.*?)```", below, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_related_rows_beside_everything_that_the_library_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("shop_models")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.__dict__.update({name: getattr(hbase_orm, name) for name in hbase_orm.__all__})
    declared, with_, read = example_of("Related rows").partition("with session")
    with connect("memory://") as engine, engine.session() as session:
        exec(compile(declared, "<docs>", "exec", dont_inherit=True), module.__dict__)
        models = module.__dict__
        engine.create_tables(models["Customer"], models["Order"])
        session.add(models["Customer"](customer_id=7, name="Ada"))
        session.add(models["Order"](order_id=1, customer_id=7))
        session.add(models["Order"](order_id=2, customer_id=8))
        session.flush()
        models["session"] = session
        exec(compile(with_ + read, "<docs>", "exec", dont_inherit=True), models)

    assert capsys.readouterr().out == "1 Ada\n2 unknown\n"
    assert models["Order"].__related__["before"].target is models["Order"]


def test_rows_that_do_not_decode_are_counted_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    program = compile(example_of("Rows that do not decode"), "<docs>", "exec", dont_inherit=True)
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Reading)
        at = datetime(2026, 1, 31, tzinfo=UTC)
        for minute in range(3):
            at = at.replace(minute=minute)
            session.add(Reading(host="web-1", at=at, value=minute))
        session.flush()
        (row,) = engine.row_keys(Reading, host="web-1", at=at)
        gateway_of(engine).execute(
            MutateRow("readings", RowMutation(row, (Put(b"d:value", b"?"),)))
        )
        names = {"Reading": Reading, "select": select, "session": session}
        exec(program, names)

    assert names["total"] == 1.0
    assert capsys.readouterr().out == f"1 rows do not decode\n{row!r} b'd:value' b'?'\n"


def test_a_read_from_replicas_shows_that_one_answered(capsys: pytest.CaptureFixture[str]) -> None:
    program = compile(example_of("Reads from replicas"), "<docs>", "exec", dont_inherit=True)
    with connect("memory://") as engine:
        engine.create_tables(Reading)
        lagging = LagsBehind(gateway_of(engine))
        with through(lagging, engine).session() as session:
            session.add(Reading(host="web-1", at=datetime.now(UTC), value=0.5))
            session.flush()
            names = {"Reading": Reading, "select": select, "session": session}
            exec(program, names)
            answered = capsys.readouterr().out
            lagging.fall_behind("readings")
            exec(program, names)

    assert (names["values"], answered) == ([0.5], "")
    assert capsys.readouterr().out == "a replica answered: newer values may be missing\n"


def test_the_sort_is_a_statement() -> None:
    exec(example_of("Sorting"), {"Reading": Reading, "select": select})
