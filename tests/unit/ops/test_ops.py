"""Key ranges, and what carries requests and answers through a protocol."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.errors import RowKeyError
from hbase_orm.ops import (
    MAX_ROW_KEY_BYTES,
    GetRows,
    KeyRange,
    Ping,
    Protocol,
    Row,
    Together,
    after_prefix,
    ask,
    ask_all,
    check_row_key_length,
)

few_bytes = st.binary(max_size=3) | st.lists(st.sampled_from(b"\x00\x01\xfe\xff"), max_size=4).map(
    bytes
)
ranges = st.builds(KeyRange, few_bytes, st.none() | few_bytes)


@given(prefix=few_bytes, key=few_bytes, tail=few_bytes)
def test_a_prefix_range_holds_exactly_the_keys_with_the_prefix(
    prefix: bytes, key: bytes, tail: bytes
) -> None:
    found = KeyRange.prefix(prefix)

    assert prefix + tail in found
    assert (key in found) is key.startswith(prefix)


@pytest.mark.parametrize(
    ("prefix", "stop"),
    [(b"", None), (b"a", b"b"), (b"a\xff", b"b"), (b"\xff\xff", None), (b"\x00", b"\x01")],
)
def test_a_prefix_range_ends_at_the_least_greater_key(prefix: bytes, stop: bytes | None) -> None:
    assert KeyRange.prefix(prefix) == KeyRange(prefix, stop)


@given(prefix=few_bytes, key=few_bytes)
def test_after_prefix_is_the_least_key_above_all_with_the_prefix(prefix: bytes, key: bytes) -> None:
    after = after_prefix(prefix)

    is_above = after is not None and key >= after
    assert is_above is (key > prefix and not key.startswith(prefix))


@given(key=few_bytes, other=few_bytes)
def test_a_single_range_holds_its_key_alone(key: bytes, other: bytes) -> None:
    assert (other in KeyRange.single(key)) is (other == key)


@given(first=ranges, second=ranges, key=few_bytes)
def test_an_intersection_holds_what_both_ranges_hold(
    first: KeyRange, second: KeyRange, key: bytes
) -> None:
    assert (key in first.intersect(second)) is (key in first and key in second)


@given(key_range=ranges, key=few_bytes)
def test_an_empty_range_holds_nothing(key_range: KeyRange, key: bytes) -> None:
    assert not (key_range.is_empty and key in key_range)


def test_a_range_without_ends_is_the_whole_table() -> None:
    assert b"" in KeyRange()
    assert b"\xff" * 9 in KeyRange()
    assert not KeyRange().is_empty


@pytest.mark.parametrize(("start", "stop"), [(b"a", b"a"), (b"b", b"a"), (b"", b"")])
def test_a_range_that_ends_before_it_begins_is_empty(start: bytes, stop: bytes) -> None:
    assert KeyRange(start, stop).is_empty


def test_the_longest_row_key_passes_and_a_longer_one_is_refused() -> None:
    check_row_key_length(bytes(MAX_ROW_KEY_BYTES))

    with pytest.raises(RowKeyError) as caught:
        check_row_key_length(bytes(MAX_ROW_KEY_BYTES + 1))

    assert caught.value.details["length_bytes"] == MAX_ROW_KEY_BYTES + 1


def test_a_prefix_longer_than_any_row_key_is_refused() -> None:
    with pytest.raises(RowKeyError):
        KeyRange.prefix(bytes(MAX_ROW_KEY_BYTES + 1))


def test_requests_are_frozen_and_compare_by_value() -> None:
    request = GetRows("t", (b"a",))

    assert request == GetRows("t", (b"a",), (), None)
    with pytest.raises(FrozenInstanceError):
        request.table = "u"  # type: ignore[misc]  # the point of the test


def test_ask_yields_its_request_and_returns_the_answer() -> None:
    def protocol() -> Protocol[int]:
        rows = yield from ask(GetRows("t", (b"a", b"b")))
        return len(rows)

    running = protocol()

    assert next(running) == GetRows("t", (b"a", b"b"))
    with pytest.raises(StopIteration) as ended:
        running.send([Row(b"a", {}), None])
    assert ended.value.value == 2


def test_ask_all_yields_its_requests_together_and_returns_the_answers_in_order() -> None:
    def protocol() -> Protocol[tuple[None, ...]]:
        return (yield from ask_all([Ping(), Ping()]))

    running = protocol()

    assert next(running) == Together((Ping(), Ping()))
    with pytest.raises(StopIteration) as ended:
        running.send((None, None))
    assert ended.value.value == (None, None)


def test_an_error_thrown_into_ask_reaches_the_protocol() -> None:
    def protocol() -> Protocol[str]:
        try:
            yield from ask(Ping())
        except ValueError:
            return "caught"
        return "answered"

    running = protocol()
    next(running)

    with pytest.raises(StopIteration) as ended:
        running.throw(ValueError())
    assert ended.value.value == "caught"
