"""Split algorithms and the notation of row keys against the real Java classes (`make vectors`)."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from hbase_orm.errors import RowKeyError, SchemaError
from hbase_orm.rowkey.notation import from_string_binary, to_string_binary
from hbase_orm.rowkey.split_algorithms import (
    bytes_split,
    decimal_string_split,
    guide_hex_split,
    hex_string_split,
    uniform_split,
)
from tests.vectors.generator import SPLITS, cached_splits, folder, run_program

REQUIRED = os.environ.get("HBASE_ORM_REQUIRE_VECTORS") == "1"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a Java class.

    Attributes:
        number: Of regions, or of keys.
        texts: The ends; or the text or bytes in hex that a notation is made of.
        keys: What it returned; None if it threw.
    """

    number: int
    texts: tuple[str, ...]
    keys: tuple[bytes, ...] | None


@pytest.fixture(scope="module")
def lines() -> list[str]:
    if not cached_splits().exists():
        missing = "the Java vectors are not there: run `make vectors`"
        if REQUIRED:
            pytest.fail(missing)
        pytest.skip(missing)
    return cached_splits().read_text(encoding="ascii").splitlines()


@pytest.fixture(scope="module")
def calls(lines: list[str]) -> dict[str, list[Call]]:
    found = defaultdict(list)
    for line in lines:
        read = json.loads(line)
        keys = None if read["keys"] is None else tuple(map(bytes.fromhex, read["keys"]))
        found[read["call"]].append(Call(read["number"], tuple(read["texts"]), keys))
    return found


def ends(call: Call) -> tuple[bytes, bytes]:
    first, last = call.texts
    return bytes.fromhex(first), bytes.fromhex(last)


OURS: Mapping[str, Callable[[Call], tuple[bytes, ...]]] = {
    "hex_string_split": lambda call: hex_string_split(call.number, *call.texts),
    "decimal_string_split": lambda call: decimal_string_split(call.number, *call.texts),
    "uniform_split": lambda call: uniform_split(call.number, *ends(call)),
    "bytes_split": lambda call: bytes_split(*ends(call), call.number),
    "bytes_split_inclusive": lambda call: bytes_split(*ends(call), call.number, inclusive=True),
}


def outcome(name: str, call: Call) -> tuple[bytes, ...] | None:
    try:
        return OURS[name](call)
    except SchemaError:
        return None


@pytest.mark.parametrize("name", OURS)
def test_an_algorithm_returns_what_java_returns_and_refuses_what_java_refuses(
    name: str, calls: dict[str, list[Call]]
) -> None:
    differing = [call for call in calls[name] if outcome(name, call) != call.keys]

    assert differing == []
    assert Counter(call.keys is None for call in calls[name]).keys() == {True, False}


def test_the_guides_hex_splits_are_returned_wherever_its_arithmetic_makes_sense(
    calls: dict[str, list[Call]],
) -> None:
    sensible = [
        call
        for call in calls["guide_hex_split"]
        if call.keys is not None
        and len(call.texts[1]) <= len(b"%016x" % 0)
        and int(call.texts[1], 16) - int(call.texts[0], 16) >= call.number
    ]

    differing = [
        call for call in sensible if guide_hex_split(call.number, *call.texts) != call.keys
    ]

    assert differing == []
    assert len(sensible) > len(calls["guide_hex_split"]) // 4


def test_a_key_is_shown_as_java_shows_it(calls: dict[str, list[Call]]) -> None:
    differing = [
        call
        for call in calls["to_string_binary"]
        if (to_string_binary(bytes.fromhex(call.texts[0])).encode(),) != call.keys
    ]

    assert differing == []


def read(text: str) -> tuple[bytes, ...] | None:
    try:
        return (from_string_binary(text),)
    except RowKeyError:
        return None


def test_a_shown_key_is_read_as_java_reads_it_or_refused(calls: dict[str, list[Call]]) -> None:
    texts = {call: bytes.fromhex(call.texts[0]).decode() for call in calls["from_string_binary"]}

    differing = [call for call, text in texts.items() if read(text) not in {call.keys, None}]
    refused = {text: call.keys for call, text in texts.items() if read(text) is None}

    assert differing == []
    assert 0 < len(refused) < len(texts)
    # Only what Java either throws at or reads as a key that it would not show so.
    assert [t for t, keys in refused.items() if keys and to_string_binary(keys[0]) == t] == []


def test_java_still_returns_what_is_cached(lines: list[str]) -> None:
    assert run_program(folder() / "jars", SPLITS).splitlines() == lines
