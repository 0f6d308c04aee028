"""Checks of what families and tables are declared with."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final

from hbase_orm.errors import SchemaError

# HBase's own rule, for letters and digits of any script.
_TABLE: Final = re.compile(r"(?:\w+:)?\w[\w.-]*")


def check_count(option: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number from `least` to `most`.

    Raises:
        SchemaError: Names the option and what it allows.
    """
    bound = "or more" if most is None else f"to {most}"
    is_number = isinstance(value, int) and not isinstance(value, bool)
    fits = is_number and least <= value and (most is None or value <= most)  # type: ignore[operator]  # a number
    _require(option, value, fits, f"a whole number, {least} {bound}")


def check_choice(option: str, value: object, allowed: Collection[object]) -> None:
    """Refuse what is not one of the `allowed`, or equals one but is of another type.

    Raises:
        SchemaError: Names the option and what it allows.
    """
    fits = any(type(value) is type(each) and value == each for each in allowed)
    _require(option, value, fits, ", ".join(map(repr, allowed)))


def check_time_to_live(value: object) -> None:
    """Refuse what is no duration that HBase can keep.

    Raises:
        SchemaError: Names what is allowed.
    """
    second = timedelta(seconds=1)
    fits = value is None or (
        isinstance(value, timedelta) and value >= second and value % second == timedelta(0)
    )
    _require("ttl", value, fits, "a timedelta of whole seconds, more than zero, or None")


def check_splits(value: object) -> None:
    """Refuse what is neither "auto", a number of regions, nor a sequence of row keys.

    Raises:
        SchemaError: Names what is allowed.
    """
    is_sequence = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    fits = (
        value == "auto"
        or is_count
        or (is_sequence and all(isinstance(each, bytes) for each in value))  # type: ignore[attr-defined]  # a sequence
    )
    _require("splits", value, fits, '"auto", a number of regions, or a sequence of bytes')


def check_table_name(name: object) -> None:
    """Refuse what HBase does not take for a table's name.

    Raises:
        SchemaError: It is neither `name` nor `namespace:name`.
    """
    if not isinstance(name, str) or not _TABLE.fullmatch(name):
        raise SchemaError(
            "the name is not allowed for a table",
            table=name,
            fix="write name or namespace:name, of letters, digits and '_'; the name may also "
            "have '-' and '.', but not as its first character",
        )


def _require(option: str, value: object, fits: bool, allowed: str) -> None:  # noqa: FBT001 - an assertion
    if not fits:
        raise SchemaError(
            "the option is out of range", option=option, value=value, fix=f"allowed: {allowed}"
        )
