"""How plans print, line by line, and what they are as plain values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Salt,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.ops import KeyRange
from hbase_orm.query import Plan, Select, plan, select
from hbase_orm.query.plans.explain import range_text, tree
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema.conditions import shown


class Plain(Model, table="plain"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    by_v = Index(v)


class Salted(Model, table="ns:salted"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(3), host, n)


class Spread(Model, table="spread"):
    d = Family()
    host: Key[str] = key()
    __rowkey__ = rowkey(RandomSalt(2), host)


class Odd(Model, table="odd"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"_"))
    n: Key[int] = key(codecs.uint8())


def planned(stmt: Select[Any]) -> Plan:
    return plan(stmt, stmt.model.__schema__)


@pytest.mark.parametrize(
    ("stmt", "text"),
    [
        (
            select(Plain).where(Plain.host == "a", Plain.n == 7),
            r"""Get plain
├─ get a\x00\x01\x07
├─ check on the client: Plain.host == 'a' and Plain.n == 7
├─ order: at most one row
└─ requests: 1 get""",
        ),
        (
            select(Plain).where(Plain.host == "a", Plain.n.in_(range(6))).limit(2),
            r"""Get plain
├─ get a\x00\x01\x00
├─ get a\x00\x01\x01
├─ get a\x00\x01\x02
├─ get a\x00\x01\x03
├─ … 2 more keys
├─ check on the client: Plain.host == 'a' and Plain.n.in_([0, 1, 2, 3, 4, 5])
├─ order: n asc
├─ limit: 2
└─ requests: 1 multi-get of 6 rows""",
        ),
        (
            select(Spread).where(Spread.host == "a"),
            r"""Get spread
├─ get \x00a
├─ get \x01a
├─ check on the client: Spread.host == 'a'
├─ order: by the row key
└─ requests: 1 multi-get of 2 rows""",
        ),
        (
            select(Plain).where(Plain.host == "a").order_by(Plain.n.desc()),
            r"""Scan plain
├─ reverse scan [a\x00\x01, a\x00\x02)
├─ check on the client: Plain.host == 'a'
├─ order: n desc
└─ requests: 1 scanner, 100 to 1000 rows a call""",
        ),
        (
            select(Plain).where(Plain.host.in_(["a", "b", "c", "d", "e"])),
            r"""Scan plain
├─ scan [a\x00\x01, a\x00\x02)
├─ scan [b\x00\x01, b\x00\x02)
├─ scan [c\x00\x01, c\x00\x02)
├─ scan [d\x00\x01, d\x00\x02)
├─ … 1 more ranges
├─ check on the client: Plain.host.in_(['a', 'b', 'c', 'd', 'e'])
├─ order: host asc, n asc
└─ requests: 5 scanners, 100 to 1000 rows a call""",
        ),
        (
            select(Salted).where(Salted.host.startswith("a")).limit(30),
            r"""SaltedScan ns:salted
├─ merge 3 buckets by the key without its first part
│  ├─ scan [\x00a, \x00b)
│  ├─ …
│  └─ scan [\x02a, \x02b)
├─ check on the client: Salted.host.startswith('a')
├─ order: host asc, n asc
├─ limit: 30
└─ requests: 3 scanners, 24 to 1000 rows a call""",
        ),
        (
            select(Plain).where(Plain.v == 9).order_by(Plain.host.desc()),
            r"""Index plain
├─ index plain_ix_by_v
│  └─ reverse scan [\x09, \x0A)
├─ look up each entry's row and check it against the entry
├─ check on the client: Plain.v == 9
├─ order: host desc, n desc
└─ requests: 1 scanner, 1 multi-get for each 100 entries""",
        ),
        (
            select(Plain).where(Plain.n == 300).limit(1),
            (
                "Empty plain\n├─ nothing is sent: no stored value can equal the value of the "
                "comparison\n├─ order: none\n├─ limit: 1\n└─ requests: 0"
            ),
        ),
        (
            select(Odd).allow_full_scan(),
            """Scan odd
├─ scan the whole table
├─ order: host by its bytes
└─ requests: 1 scanner, 100 to 1000 rows a call""",
        ),
    ],
)
def test_a_plan_prints_as_a_tree(stmt: Select[Any], text: str) -> None:
    assert str(planned(stmt)) == text


def test_a_plan_is_plain_values_too() -> None:
    found = planned(select(Plain).where(Plain.host == "a").limit(3))

    assert found.to_dict() == {
        "kind": "Scan",
        "table": "plain",
        "steps": [r"scan [a\x00\x01, a\x00\x02)"],
        "columns": ["d"],
        "reads": "",
        "client_checks": ["Plain.host == 'a'"],
        "order": "n asc",
        "limit": 3,
        "after": [],
        "entries": None,
        "requests": "1 scanner, 3 to 1000 rows a call",
    }


def test_the_plan_of_two_buckets_shows_both() -> None:
    found = planned(select(Salted).where(Salted.host.in_(["a", "b"]), Salted.n == 1))
    assert found.kind == "Get"

    class Two(Model, table="two"):
        d = Family()
        n: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(Salt(2), n)

    assert planned(select(Two).where(Two.n > 5)).steps() == [
        "merge 2 buckets by the key without its first part\n"
        r"├─ scan [\x00\x06, \x01)" + "\n"
        r"└─ scan [\x01\x06, \x02)"
    ]


def test_the_base_of_plans_sends_nothing() -> None:
    bare = Plan(schema=Plain.__schema__, conditions=(), limit=None, order="none")

    assert (bare.steps(), bare.requests, bare.kind) == ([], "0", "")


def test_a_key_prints_as_in_the_shell() -> None:
    assert to_string_binary(b"a\\\x00\xff~") == r"a\x5C\x00\xFF~"
    assert range_text(KeyRange(b"a", b"b")) == "[a, b)"
    assert range_text(KeyRange()) == "the whole table"


def test_a_tree_hangs_trees() -> None:
    assert tree("head", ["one\ntwo", "three\nfour"]) == ("head\n├─ one\n│  two\n└─ three\n   four")


def test_a_condition_prints_a_datetime_as_people_write_it() -> None:
    assert shown(datetime(2013, 1, 9, 14, tzinfo=UTC)) == "2013-01-09 14:00:00+00:00"
    assert shown("a") == "'a'"
