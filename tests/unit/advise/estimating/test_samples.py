"""Samples: which rows of a table, a file or of made-up objects stand for all others."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import Enum
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    codecs,
    column,
    connect,
    key,
    rowkey,
)
from hbase_orm.advise.estimating import estimate
from hbase_orm.advise.estimating.samples import made_up_sample, table_sample
from hbase_orm.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


class Region(Enum):
    NORTH = "n"
    SOUTH = "s"
    EAST = "e"
    WEST = "w"


class Visit(Model, table="estimated_visits"):
    d = Family(ttl=timedelta(days=1))
    number: Key[int] = key()
    page: Mapped[str] = column(d, "p")


class Scan(Model, table="estimated_scans"):
    d = Family(mob_enabled=True)
    number: Key[int] = key()
    image: Mapped[bytes] = column(d, "i")


class Person(Model, table="estimated_people"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    address: Key[IPv4Address] = key()
    region: Key[Region] = key()
    born: Mapped[date] = column(d, "b")


class Level(Model, table="estimated_levels"):
    d = Family()
    level: Key[int] = key(codecs.uint8())


class Account(Model, table="estimated_accounts"):
    d = Family()
    tenant: Key[str] = key(codecs.text(separator=b"|"))
    number: Key[int] = key(codecs.uint16())
    email: Mapped[str | None] = column(d, "e", default=None)
    by_email = Index(email, unique=True)


class Part(Model, table="estimated_parts"):
    d = Family()
    owner: Key[str] = key()
    __rowkey__ = rowkey(owner, RecordType())


class Title(Part, record_type="T"):
    name: Mapped[str] = column(Part.d, "n")


class Line(Part, record_type="L"):
    number: Key[int] = key(codecs.uint16())
    total: Mapped[int] = column(Part.d, "t", codec=codecs.uint32())


def test_rows_that_outlive_their_ttl_within_the_load_are_counted() -> None:
    result = estimate(Visit, rows=1e9, sample_rows=200)

    assert (result.sampled, result.tables[0].rows) == (200, 1e9)
    assert result.tables[0].families[0].cells == 1e9
    assert (
        "cells of family d live for 1 day, in which 86,400,000 rows are written; all 1,000,000,000 "
        "are counted"
    ) in result.notes
    assert not any("live for" in each for each in estimate(Visit, rows=1e6, sample_rows=50).notes)


def test_values_in_mob_files_are_noted() -> None:
    notes = estimate(Scan, rows=100, sample_rows=50).notes

    assert any(each.startswith("family d has MOB files: ") for each in notes)


def test_any_number_of_rows_can_be_made_up() -> None:
    result = estimate(Person, rows=1e15, sample_rows=200)

    assert result.tables[0].rows == 1e15


def test_made_up_values_of_few_differ_from_row_to_row() -> None:
    (own,) = made_up_sample(Person, {}, rows=100, of_rows=400_000, rows_per_s=1000)

    assert len({Person.decode_key(row.key)["region"] for row in own.rows}) == len(Region)


def test_row_keys_that_cannot_be_so_many_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="made-up rows have one row key") as raised:
        estimate(Level, rows=1e6)

    assert "give rows as a CSV file" in str(raised.value)


HEAD = "tenant,number,email"


@pytest.mark.parametrize(
    ("lines", "line", "reason"),
    [
        ([HEAD, "a,1,x", "b,2,y", "a,1,z"], 4, "the row key is that of line 2, too"),
        ([HEAD, "a,1,x", "b,70000,y"], 3, "number is '70000': the integer is out of range"),
        ([HEAD, "a|b,1,x"], 2, "the text contains the separator"),
        ([HEAD, "a,1,x", "", "b,2,y"], 3, "the line is empty"),
        (["Tenant;number", "a;1"], 1, "lacks the fields tenant, number: it has Tenant;number"),
        ([], 1, "it has no names"),
        (["tenant,number,number", "a,1,2"], 1, "has number more than once"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, lines: list[str], line: int, reason: str) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("\n".join(lines))

    with pytest.raises(ConfigurationError) as raised:
        estimate(Account, rows=10, sample=path)

    assert reason in raised.value.details["reason"]
    assert raised.value.details["line"] == line


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("tenant,number\nMalm\xf6,1\n".encode("latin-1"), "save the file as UTF-8"),
        (f"{HEAD}\na,1,x\nb,2,x\n".encode(), "another row already has this unique value"),
    ],
)
def test_files_that_are_no_rows_of_the_model_are_refused(
    tmp_path: Path, content: bytes, text: str
) -> None:
    path = tmp_path / "wrong.csv"
    path.write_bytes(content)

    with pytest.raises(ConfigurationError, match=text):
        estimate(Account, rows=10, sample=path)


def test_large_values_of_a_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_text(f"number,page\n1,{'x' * 200_000}\n")

    result = estimate(Visit, rows=10, sample=path)

    assert result.tables[0].families[0].value_bytes == 10 * 200_000


def test_a_sample_of_a_record_type_has_only_its_rows() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Part)
        with engine.session() as session:
            for n in range(200):
                session.add(Title(owner=f"{n:03}", name="x" * 50))
                session.add_all(Line(owner=f"{n:03}", number=m, total=m) for m in range(4))
            session.flush()
        sizes = {each: estimate(each, rows=100, sample=engine) for each in (Title, Line)}

    values = {each: of.tables[0].families[0].value_bytes for each, of in sizes.items()}
    assert values == {Title: 100 * 50, Line: 100 * 4}


def test_entries_are_counted_of_rows_that_have_them() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Account)
        with engine.session() as session:
            for n in range(200):
                email: Any = f"{n}@example.com" if n % 4 == 0 else None
                session.add(Account(tenant="a", number=n, email=email))
            session.flush()
        own, index = table_sample(engine, Account, rows=1_000)

    assert (own.share, index.share) == (1.0, 0.25)
