"""Every ordered pair of component kinds: it makes keys that hold, or is refused with a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from hbase_orm.errors import SchemaError
from tests.support.component_pairs_page import page
from tests.support.key_components import KINDS, Keys, Kind, check_keys, pair_of

PAGE = Path(__file__).parents[3] / "docs" / "row-keys.md"


@pytest.mark.parametrize("first", KINDS, ids=repr)
def test_a_pair_makes_keys_that_hold_or_is_refused_with_a_way_out(first: Kind) -> None:
    for second in KINDS:
        made = made_or_refused(first, second)
        if isinstance(made, SchemaError):
            assert made.fix, (first, second)
        else:
            check_keys(made.layout, made.rows())


def made_or_refused(first: Kind, second: Kind) -> Keys | SchemaError:
    try:
        return pair_of(first, second)
    except SchemaError as error:
        return error


def test_there_are_enough_kinds() -> None:
    assert len(KINDS) ** 2 >= 400


def test_the_table_of_the_page_is_what_was_found() -> None:
    assert page() in PAGE.read_text(encoding="utf-8"), (
        "run python -m tests.support.component_pairs_page"
    )
