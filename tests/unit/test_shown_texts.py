"""Texts for people stay short, however long the values are that they speak of."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, key, select
from hbase_orm.cli.main import run
from hbase_orm.errors import HBaseORMError, QueryError, RowNotFoundError, cut
from hbase_orm.query import plan


class Item(Model, table="items"):
    d = Family()
    name: Key[str] = key()
    n: Mapped[int] = column(d, codec=codecs.uint32())
    note: Mapped[str] = column(d, default="")


MANY = [f"item-{n:05}" for n in range(5000)]


def test_a_short_text_is_not_cut() -> None:
    assert cut("x" * 500) == "x" * 500
    assert cut("x" * 501) == "x" * 500 + "… 501 characters in all"


def test_in_shows_its_first_values() -> None:
    assert repr(Item.n.in_(range(10))) == "Item.n.in_([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])"
    assert repr(Item.n.in_(range(11))) == (
        "Item.n.in_([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 11 in all])"
    )


@pytest.mark.parametrize(
    "condition",
    [
        Item.name.in_(MANY),
        Item.note == "x" * 100_000,
        Item.note.startswith("x" * 100_000),
        Item.note.in_(["x" * 100_000] * 9),
        (Item.n == 1) & Item.name.in_(MANY) | Item.name.in_(MANY),
    ],
    ids=["many", "long", "prefix", "many long", "nested"],
)
def test_explain_cuts_each_condition(condition: Any) -> None:
    shown = plan(select(Item).where(condition, Item.n > 7).allow_full_scan(), Item.__schema__)

    lines = str(shown).splitlines()
    (checked,) = [line for line in lines if "check on the client" in line]
    assert len(checked) < 700
    assert checked.endswith("Item.n > 7")
    assert max(map(len, shown.to_dict()["client_checks"])) < 600


def test_errors_cut_what_they_show() -> None:
    wrong: Any = b"x" * 100_000
    with pytest.raises(QueryError) as refused:
        plan(select(Item).where(Item.name == wrong), Item.__schema__)
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Item)
        with pytest.raises(RowNotFoundError) as missed:
            session.one(select(Item).where(Item.name.in_(MANY)))

    for error in (refused.value, missed.value):
        assert isinstance(error, HBaseORMError)
        assert len(str(error)) < 1000
    assert refused.value.value == wrong


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["explain", "tests.unit.test_shown_texts:Item", "--where", "n=x"], "whole number. Try '"),
        (["explain", "--limit", "0"], "x>=1. Try '"),
    ],
    ids=["value", "option"],
)
def test_the_command_line_ends_its_sentences(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "says", "never"),
    [
        ("--where=n=7", "or add --allow-full-scan", "allow_full_scan"),
        ("--order-by=n", "no scan can return the rows in this order", "sort_in_memory"),
    ],
    ids=["unbounded", "order"],
)
def test_the_command_line_advises_its_own_options(
    option: str, says: str, never: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "tests.unit.test_shown_texts:Item", option]) == 2
    shown = capsys.readouterr().err
    assert says in shown
    assert never not in shown
