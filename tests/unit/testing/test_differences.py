from __future__ import annotations

from hbase_orm.testing.differences import differences
from tests.unit.testing.tested_models import Order, Parcel


def test_the_fields_that_differ_are_shown() -> None:
    lines = differences(Order(number=1, city="Oslo"), Order(number=1, city="Rome", total=3))

    assert lines == [
        "Order objects differ",
        "  city: 'Oslo' != 'Rome'",
        "  total: None != 3",
        "  1 other field equal",
    ]


def test_long_values_are_cut() -> None:
    lines = differences(Order(number=1, city="a" * 500), Order(number=1, city="b"))

    assert lines is not None
    assert 100 < len(lines[1]) < 200


def test_other_values_are_left_to_pytest() -> None:
    assert differences(1, 2) is None
    assert differences(Order(number=1, city="a"), 2) is None
    assert differences(Order(number=1, city="a"), Parcel(number=1, city="a")) is None
