"""Whether a replica answered a read: found in the answers, wherever the requests are made."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from hbase_orm.errors import RegionUnavailableError
from hbase_orm.execute import Emit, Staleness, stream
from hbase_orm.ops import (
    Cell,
    FetchRows,
    GetRows,
    Operation,
    Row,
    ScannerId,
    SideBySide,
    StaleRow,
    ask,
)

CELLS = {b"d:a": Cell(b"1", 7)}
FRESH, STALE, MISSING = Row(b"a", CELLS), StaleRow(b"b", CELLS), StaleRow(b"c", {})
GET = GetRows("t", (b"a",), is_timeline=True)
FETCH = FetchRows(ScannerId(1, None), 5)


def reading(request: Operation[list[Any]]) -> Generator[Any, Any, None]:
    """Emit the answer to a request."""
    yield Emit((yield from ask(request)))


def side_by_side() -> Generator[Any, Any, None]:
    """Emit the answers to two requests that are made by inner protocols."""
    for rows in (yield SideBySide((ask(GET), ask(FETCH)))):
        yield Emit(rows)


@pytest.mark.parametrize("request_", [GET, FETCH])
@pytest.mark.parametrize(
    ("answer", "emitted", "is_stale"),
    [
        ([], [], False),
        ([FRESH], [FRESH], False),
        ([FRESH, STALE], [FRESH, STALE], True),
        ([MISSING, None, FRESH], [None, None, FRESH], True),
    ],
)
def test_a_stale_row_in_an_answer_makes_the_read_stale(
    request_: Operation[list[Any]], answer: list[Any], emitted: list[Any], *, is_stale: bool
) -> None:
    staleness = Staleness()

    pages = list(stream(staleness.watch(reading(request_)), lambda _: answer))

    assert pages == [emitted]
    assert staleness.is_stale is is_stale


@pytest.mark.parametrize("stale_request", [GET, FETCH])
def test_requests_of_inner_protocols_are_watched(stale_request: Operation[Any]) -> None:
    staleness = Staleness()

    answers = stream(
        staleness.watch(side_by_side()), lambda each: [STALE if each is stale_request else FRESH]
    )

    assert sorted([row for page in answers for row in page], key=lambda row: row.key) == [
        FRESH,
        STALE,
    ]
    assert staleness.is_stale


def test_an_error_of_a_request_reaches_the_read() -> None:
    def fails(_: Operation[Any]) -> Any:
        raise RegionUnavailableError("no region")

    def patient() -> Generator[Any, Any, None]:
        try:
            yield from ask(GET)
        except RegionUnavailableError:
            yield Emit([FRESH])

    staleness = Staleness()

    assert list(stream(staleness.watch(patient()), fails)) == [[FRESH]]
    assert not staleness.is_stale
