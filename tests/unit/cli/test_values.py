from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

import click
import pytest

from hbase_orm.cli.values import json_value, read_value
from hbase_orm.rowkey.key_text import value_text


class Colour(Enum):
    RED = 1


VALUES = [
    ("a b=c", "a b=c"),
    (r"a\x00", b"a\x00"),
    ("true", True),
    ("false", False),
    ("-7", -7),
    ("1.5", 1.5),
    ("1.50", Decimal("1.50")),
    ("00000000-0000-0000-0000-000000000007", UUID(int=7)),
    ("10.0.0.1", IPv4Address("10.0.0.1")),
    ("::1", IPv6Address("::1")),
    ("2026-01-31T08:00:00+00:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ("2026-01-31", date(2026, 1, 31)),
    ("08:00:00.500000", time(8, 0, 0, 500_000)),
    ("90.5", timedelta(seconds=90.5)),
    ("RED", Colour.RED),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_a_value_is_read_as_its_type(text: str, value: Any) -> None:
    found = read_value("field", type(value), text)

    assert (type(found), found) == (type(value), value)


def test_a_day_is_its_midnight_where_a_time_is_expected() -> None:
    found = read_value("field", datetime, "2026-01-31")

    assert found == datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_what_json_shows_can_be_typed(text: str, value: Any) -> None:
    shown = json.loads(json.dumps(json_value(value)))

    assert shown == (value if isinstance(value, (bool, int, float)) else shown)
    assert str(shown).lower() == text.lower()


def test_nothing_is_null() -> None:
    assert json.dumps(json_value(None)) == "null"


@pytest.mark.parametrize(
    ("python_type", "text", "expected"),
    [
        (bytes, r"\xf", "bytes as HBase prints them"),
        (bool, "1", "true or false"),
        (int, "1.0", "a whole number"),
        (float, "a", "a number"),
        (Decimal, "a", "a decimal number"),
        (UUID, "7", "a UUID"),
        (IPv4Address, "::1", "an IPv4 address"),
        (IPv6Address, "10.0.0.1", "an IPv6 address"),
        (datetime, "2026-01-31T08:00:00", "ISO 8601 with an offset"),
        (datetime, "now", "ISO 8601 with an offset"),
        (date, "31.1.2026", "a date"),
        (time, "8", "a time of day"),
        (timedelta, "1e99", "a number of seconds"),
        (Colour, "1", "one of RED"),
        (dict, "{}", "cannot be typed here"),
    ],
)
def test_a_text_of_another_type_is_refused_with_what_was_expected(
    python_type: type, text: str, expected: str
) -> None:
    with pytest.raises(click.BadParameter, match="field") as caught:
        read_value("field", python_type, text)

    assert expected in caught.value.message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\n", r"'a\n'"),
        (b"\x00a", r"\x00a"),
        (7, "7"),
        (timedelta(seconds=1), "1.0 s"),
        (datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00+00:00"),
        (Decimal("1.0"), "1.0"),
        (Colour.RED, "RED"),
    ],
)
def test_a_value_is_shown_in_one_line(value: Any, text: str) -> None:
    assert value_text(value) == text
