"""Every row of the page on codecs is true, and every codec has a row."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec

PAGE = Path(__file__).parents[2] / "docs" / "codecs.md"
ROW = re.compile(
    r"\| `(?P<codec>[^|]+)` \| `(?P<type>\w+)` \| (?P<width>\w+) \| (?P<ordered>yes|no) "
    r"\| `(?P<example>[^|]+)` \| `(?P<data>[0-9a-f]+)` \|"
)
NAMED = re.compile(r"\bcodecs\.(?!md\b)(\w+)")
EQUAL = re.compile(r"`codecs\.(\w+)\(\)`\s+is `(?:codecs\.get\()?\"(\w+)\"")


class Status(Enum):
    NEW = "n"
    PAID = "p"


SCOPE: dict[str, Any] = {
    **{kind.__name__: kind for kind in (date, time, timedelta, Decimal, UUID, Status)},
    **{kind.__name__: kind for kind in (IPv4Address, IPv6Address)},
    "AT": datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC),
    "codecs": codecs,
}
ROWS = [match.groupdict() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]


def made(expression: str) -> Codec[Any]:
    name, _, arguments = expression.partition("(")
    call = f"get({name!r}, " if "." in name else f"{name}("
    codec: Codec[Any] = eval(f"codecs.{call}{arguments or ')'}", SCOPE)
    return codec


@pytest.mark.parametrize("row", ROWS, ids=[row["codec"] for row in ROWS])
def test_a_row_says_what_the_codec_does(row: dict[str, str]) -> None:
    codec = made(row["codec"])

    assert {
        "type": codec.python_type.__name__,
        "width": str(codec.width_bytes or "varies"),
        "ordered": "yes" if codec.ordered else "no",
        "data": codec.encode(eval(row["example"], SCOPE)).hex(),
    } == {name: row[name] for name in ("type", "width", "ordered", "data")}


def test_every_codec_has_a_row() -> None:
    assert {made(row["codec"]).name for row in ROWS} == set(codecs.names())


def test_no_codec_stores_none() -> None:
    assert not any(made(row["codec"]).nullable for row in ROWS)


def test_every_codec_that_a_page_names_exists() -> None:
    pages = [*sorted(PAGE.parent.glob("*.md")), PAGE.parent.parent / "README.md"]
    unknown = {
        (page.name, name)
        for page in pages
        for name in NAMED.findall(page.read_text(encoding="utf-8"))
        if not hasattr(codecs, name)
    }

    assert unknown == set()


def test_the_functions_whose_names_differ_are_those_that_the_page_names() -> None:
    named = dict(EQUAL.findall(PAGE.read_text(encoding="utf-8")))
    names = [row["codec"].partition("(")[0] for row in ROWS]
    rows = [name for name in names if "." not in name]
    differing = {name: made(name).name for name in rows if name in named}

    assert named == differing
    assert not [
        name
        for name in codecs.names()
        if "." not in name and name not in rows and name not in named.values()
    ]
