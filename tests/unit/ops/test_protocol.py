"""Protocols taken from request to request, and requests that are repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import (
    ConnectionLostError,
    RegionUnavailableError,
    RejectedError,
    RetryableError,
    ScannerExpiredError,
)
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    KeyRange,
    MutateRows,
    OpenScanner,
    Operation,
    Ping,
    Protocol,
    ProtocolRun,
    ResumableScan,
    RetryPolicy,
    Row,
    Scan,
    ScannerId,
    Sleep,
    Together,
    ask,
    ask_all_with_retry,
    ask_with_retry,
    first_rows,
    run_protocol,
)

POLICY = RetryPolicy(attempts=3, first_pause_s=0.1)
SCAN = Scan("t", KeyRange(b"a", b"z"), caching_rows=2)
ONE, TWO = ScannerId(1, None), ScannerId(2, None)


def answered(protocol: Protocol[Any], *answers: object) -> tuple[list[Operation[Any]], object]:
    """Return the requests of a protocol, which gets these answers or errors, and its result."""
    requests: list[Operation[Any]] = []
    waiting = iter(answers)

    def execute(request: Operation[Any]) -> object:
        requests.append(request)
        answer = None if isinstance(request, Sleep) else next(waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    result = run_protocol(protocol, execute)
    assert next(waiting, "used up") == "used up"
    return requests, result


def two_pings() -> Protocol[str]:
    yield from ask(Ping())
    try:
        yield from ask(Ping())
    except RejectedError:
        return "refused"
    return "answered"


def test_a_run_has_no_request_before_it_begins_and_after_it_ends() -> None:
    run = ProtocolRun(two_pings())
    seen = [run.request]
    run.begin()
    seen.append(run.request)
    run.send(None)
    run.send(None)

    assert [*seen, run.request] == [None, Ping(), None]
    assert run.result == "answered"


def test_what_answers_a_request_may_fail_and_the_protocol_decides() -> None:
    requests, result = answered(two_pings(), None, RejectedError("no"))

    assert (requests, result) == ([Ping(), Ping()], "refused")


def test_what_a_protocol_lets_out_is_raised_by_the_step_and_leaves_no_request() -> None:
    run = ProtocolRun(two_pings())
    run.begin()

    with pytest.raises(RejectedError):
        run.throw(RejectedError("no"))

    assert run.request is None


def test_the_rest_of_a_run_is_a_protocol_with_its_result() -> None:
    run = ProtocolRun(two_pings())
    run.begin()
    run.send(None)

    assert answered(run.rest(), RejectedError("no")) == ([Ping()], "refused")


def test_a_protocol_is_closed_when_it_is_interrupted() -> None:
    closed = []

    def protocol() -> Protocol[None]:
        try:
            yield from ask(Ping())
        finally:
            closed.append(True)

    def interrupt(_: Operation[Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_protocol(protocol(), interrupt)

    assert closed == [True]


@pytest.mark.parametrize("error", [RetryableError("busy"), ConnectionLostError("cut")])
def test_a_request_is_repeated_after_growing_pauses(error: Exception) -> None:
    requests, result = answered(ask_with_retry(Ping(), POLICY), error, error, "pong")

    assert (requests, result) == ([Ping(), Sleep(0.1), Ping(), Sleep(0.2), Ping()], "pong")


def test_the_last_attempt_raises_its_error() -> None:
    errors = [RegionUnavailableError("moving", number=n) for n in range(POLICY.attempts)]

    with pytest.raises(RegionUnavailableError) as caught:
        answered(ask_with_retry(Ping(), POLICY), *errors)

    assert caught.value.number == POLICY.attempts - 1


@pytest.mark.parametrize("error", [RejectedError("no"), ScannerExpiredError("gone")])
def test_an_error_that_is_not_the_policys_is_raised_at_once(error: Exception) -> None:
    with pytest.raises(type(error)):
        answered(ask_with_retry(Ping(), POLICY), error)


@pytest.mark.parametrize(
    ("policy", "pauses"),
    [
        (RetryPolicy(9, 0.1), [0.1, 0.2, 0.4, 0.8]),
        (RetryPolicy(9, 0.1, longest_pause_s=0.3), [0.1, 0.2, 0.3, 0.3]),
        (RetryPolicy(9, 0.1, factor=None), [0.1, 0.2, 0.3, 0.4]),
        (RetryPolicy(9, 0.1, jitter=lambda: 1.0), [0.05, 0.1, 0.2, 0.4]),
    ],
)
def test_pauses_double_or_grow_by_the_first_one_up_to_the_longest(
    policy: RetryPolicy, pauses: list[float]
) -> None:
    assert [policy.pause_s(failures) for failures in range(1, 5)] == pytest.approx(pauses)


def test_several_requests_are_repeated_together_and_one_by_itself() -> None:
    one, other = MutateRows("t", ()), MutateRows("u", ())
    policy = replace(POLICY, first_pause_s=0.0)
    both = Together((one, other))

    assert answered(ask_all_with_retry([], policy))[0] == []
    assert answered(ask_all_with_retry([one], policy), None)[0] == [one]
    assert answered(ask_all_with_retry([one, other], policy), RetryableError("busy"), None)[0] == [
        both,
        Sleep(0.0),
        both,
    ]


def test_the_first_rows_have_a_scanner_of_their_own_that_is_closed() -> None:
    rows = [Row(b"a", {}), Row(b"b", {})]

    requests, result = answered(first_rows(SCAN, POLICY), ONE, rows, None)

    assert requests == [OpenScanner(SCAN, 2), FetchRows(ONE, 2), CloseScanner(ONE)]
    assert result == rows


def test_the_first_rows_are_read_by_another_scanner_when_the_first_one_expires() -> None:
    expired = ScannerExpiredError("expired")

    requests, _ = answered(first_rows(SCAN, POLICY), ONE, expired, None, TWO, [], None)

    assert requests == [
        OpenScanner(SCAN, 2),
        FetchRows(ONE, 2),
        CloseScanner(ONE),
        Sleep(0.1),
        OpenScanner(SCAN, 2),
        FetchRows(TWO, 2),
        CloseScanner(TWO),
    ]


@pytest.mark.parametrize(
    ("reverse", "rest"), [(False, KeyRange(b"b\x00", b"z")), (True, KeyRange(b"a", b"b"))]
)
def test_a_scan_whose_scanner_is_lost_goes_on_after_its_last_row(
    *, reverse: bool, rest: KeyRange
) -> None:
    scan = ResumableScan(replace(SCAN, reverse=reverse))
    answered(scan.fetch(2), ONE, [Row(b"b", {})])
    scan.forget_scanner()

    requests, _ = answered(scan.fetch(2), TWO, [], None)

    assert requests[0] == OpenScanner(replace(SCAN, reverse=reverse, key_range=rest))
    assert scan.is_done


def test_a_scan_that_is_closed_twice_sends_one_request() -> None:
    scan = ResumableScan(SCAN)
    answered(scan.fetch(2), ONE, [Row(b"b", {})])

    assert answered(scan.close(), ConnectionLostError("cut"))[0] == [CloseScanner(ONE)]
    assert answered(scan.close())[0] == []
