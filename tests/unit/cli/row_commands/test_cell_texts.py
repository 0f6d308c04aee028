"""Values as JSON and as text that `put` reads back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Any
from uuid import UUID

import pytest

from hbase_orm.cli.row_commands.cell_texts import cell_text, json_of, typed_text
from hbase_orm.schema.typed_values import typed_value
from tests.support.meter_models import Place, Unit

TYPED = [
    "a, b\nc",
    b"a\x00\xff\\",
    True,
    -7,
    1.5,
    float("inf"),
    Decimal("1.50"),
    UUID(int=7),
    IPv4Address("10.0.0.1"),
    datetime(2026, 1, 31, 8, tzinfo=UTC),
    date(2026, 1, 31),
    time(8, 0, 0, 500_000),
    timedelta(seconds=90.5),
    Unit.VOLT,
]


@pytest.mark.parametrize("value", TYPED, ids=repr)
def test_a_text_is_read_back_as_the_same_value(value: Any) -> None:
    read = typed_value(type(value), typed_text(value))

    assert (type(read), read) == (type(value), value)


@dataclass
class Tour:
    stops: list[Place]


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        ("ü", "ü"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**70, 2**70),
        (b"\x00a", r"\x00a"),
        (Unit.VOLT, "VOLT"),
        ([1, (2.5, None)], [1, [2.5, None]]),
        (frozenset({"a"}), ["a"]),
        ({date(2026, 1, 31): [Unit.KELVIN], 7: b"\xff"}, {"2026-01-31": ["KELVIN"], "7": r"\xFF"}),
        (Place("Ulm", 3), {"town": "Ulm", "floor": 3}),
        (Tour([Place("Ulm", 3)]), {"stops": [{"town": "Ulm", "floor": 3}]}),
        (Opaque(), "<opaque>"),
    ],
    ids=repr,
)
def test_json_has_every_value(value: Any, shown: Any) -> None:
    assert json.loads(json.dumps(json_of(value), allow_nan=False)) == shown


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, "-"),
        ("", ""),
        ("a\tb\x1b[0m", r"a\tb\x1b[0m"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        (["ü"], '["ü"]'),
    ],
)
def test_a_cell_is_short_and_printable(value: Any, cell: str) -> None:
    assert cell_text(value) == cell
