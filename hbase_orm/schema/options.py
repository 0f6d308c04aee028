"""Checks of the options of families and tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from hbase_orm.errors import SchemaError

# HBase's own rule, for letters and digits of any script.
_TABLE: Final = re.compile(r"(?:\w+:)?\w[\w.-]*")


def check_count(option: str, value: object, least: int, most: int | None = None) -> None:
    """Raise an error unless the value is an integer from `least` to `most`.

    Raises:
        SchemaError: The value is wrong; the error names the option and the allowed values.
    """
    bound = "or more" if most is None else f"to {most}"
    is_number = isinstance(value, int) and not isinstance(value, bool)
    fits = is_number and least <= value and (most is None or value <= most)  # type: ignore[operator]  # a number
    _require(option, value, fits, f"a whole number, {least} {bound}")


def check_choice(option: str, value: object, allowed: Collection[object]) -> None:
    """Raise an error unless the value is one of `allowed`, and of the same type.

    Raises:
        SchemaError: The value is wrong; the error names the option and the allowed values.
    """
    fits = any(type(value) is type(each) and value == each for each in allowed)
    _require(option, value, fits, ", ".join(map(repr, allowed)))


def check_texts(
    option: str, value: object, reserved: Mapping[str, str], allowed: str
) -> Mapping[str, str]:
    """Return a mapping of names to texts; raise an error for any other value.

    Args:
        option: The name of the option.
        value: The value of the option; None means an empty mapping.
        reserved: The names that the mapping cannot have, each with what to do instead.
        allowed: An example of the mapping, for the error.

    Raises:
        SchemaError: The value is not a mapping of texts that are not empty, or has a reserved name.
    """
    texts = {} if value is None else value
    is_mapping = isinstance(texts, Mapping) and all(
        isinstance(text, str) and text for pair in texts.items() for text in pair
    )
    _require(option, value, is_mapping, f"a dict of texts that are not empty, such as {allowed}")
    checked: dict[str, str] = dict(texts)  # type: ignore[call-overload]  # a mapping of texts
    for name in checked:
        instead = reserved.get("hbase_orm.*" if name.startswith("hbase_orm.") else name)
        if instead is not None:
            raise SchemaError("the name is reserved", option=option, name=name, fix=instead)
    return checked


def check_time_to_live(value: object) -> None:
    """Raise an error unless the value is a duration that HBase can store.

    Raises:
        SchemaError: The value is wrong; the error names the allowed values.
    """
    second = timedelta(seconds=1)
    fits = value is None or (
        isinstance(value, timedelta) and value >= second and value % second == timedelta(0)
    )
    _require("ttl", value, fits, "a timedelta of whole seconds, more than zero, or None")


def check_splits(value: object) -> None:
    """Raise an error unless the value is "auto", a number of regions, or a sequence of row keys.

    Raises:
        SchemaError: The value is wrong; the error names the allowed values.
    """
    is_sequence = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    fits = (
        value == "auto"
        or is_count
        or (is_sequence and all(isinstance(each, bytes) for each in value))  # type: ignore[attr-defined]  # a sequence
    )
    _require("splits", value, fits, '"auto", a number of regions, or a sequence of bytes')


def check_split_keys(keys: Sequence[bytes], **where: str) -> tuple[bytes, ...]:
    """Return declared split keys; raise an error unless they are ascending, distinct and not empty.

    Args:
        keys: The split keys.
        where: What the split keys belong to, for the error.

    Raises:
        SchemaError: A split key is empty, is given twice, or follows a greater one.
    """
    keys = tuple(keys)
    if len(set(keys)) < len(keys) or b"" in keys:
        raise SchemaError(
            "split keys must be distinct and not empty",
            **where,
            splits=keys,
            fix='name each key once, or write splits="auto"',
        )
    disorder = next(((one, other) for one, other in pairwise(keys) if one > other), None)
    if disorder is not None:
        raise SchemaError(
            "split keys must be in ascending order",
            **where,
            splits=keys,
            out_of_order=disorder,
            fix="write splits=sorted(...), if no key is wrong",
        )
    return keys


def check_table_name(name: object) -> None:
    """Raise an error unless HBase allows the name for a table.

    Raises:
        SchemaError: The name is neither `name` nor `namespace:name`.
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
