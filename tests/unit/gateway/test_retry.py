"""Only what changes nothing when repeated is repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from hbase_orm import ops
from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    GatewayError,
    RegionUnavailableError,
    RejectedError,
    ScannerExpiredError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.retry import RetryingGateway, is_repeatable
from hbase_orm.ops import Delete, KeyRange, Operation, Put, RowMutation, Scan, ScannerId

R = TypeVar("R")

_NOW_MS = 2**63 - 1
_PUT = RowMutation(b"r", (Put(b"d:a", b"1"),))
_STAMPED = RowMutation(b"r", (Put(b"d:a", b"1", 7),), (Delete(b"d:b", 6),))
_STAMPED_NOW = RowMutation(b"r", (Put(b"d:a", b"1", _NOW_MS),))
_HALF_STAMPED = RowMutation(b"r", (Put(b"d:a", b"1", 7),), (Delete(b"d:b"),))
_SCANNER = ScannerId(0, None)
_FAMILY = ops.FamilyDescriptor(b"d")
_TABLE = ops.TableDescriptor("t", (_FAMILY,))

_REPEATABLE: list[Operation[Any]] = [
    ops.CloseScanner(_SCANNER),
    ops.DescribeTable("t"),
    ops.GetRows("t", (b"r",)),
    ops.GetVersions("t", b"r"),
    ops.GetVersionsOfRows("t", (b"r", b"s")),
    ops.ListNamespaces(),
    ops.ListRegions("t"),
    ops.ListTables(),
    ops.MutateRow("t", _STAMPED),
    ops.MutateRows("t", (_STAMPED, _STAMPED)),
    ops.PutRows("t", (b"d:a",), ((b"r", b"1"),), 7),
    ops.PutStampedRows("t", (ops.StampedRows((b"d:a",), ((b"r", b"1"),), ((7,),)),)),
    ops.OpenScanner(Scan("t", KeyRange())),
    ops.Ping(),
    ops.ReadFirstRows(Scan("t", KeyRange()), 3),
]
_UNREPEATABLE: list[Operation[Any]] = [
    ops.AddFamily("t", _FAMILY),
    ops.DeleteFamily("t", b"d"),
    ops.TruncateTable("t"),
    ops.Append("t", b"r", {b"d:a": b"1"}),
    ops.CheckAndMutate("t", b"d:a", b"", _STAMPED),
    ops.CreateNamespace("n"),
    ops.CreateTable(_TABLE),
    ops.DisableTable("t"),
    ops.DropNamespace("n"),
    ops.DropTable("t"),
    ops.EnableTable("t"),
    ops.FetchRows(_SCANNER, 1),
    ops.Increment("t", b"r", {b"d:a": 1}),
    ops.ModifyFamily("t", b"d", {"versions": 2}),
    ops.ModifyTable("t", {"durability": "SYNC_WAL"}),
    ops.MutateRow("t", _HALF_STAMPED),
    ops.MutateRow("t", _PUT),
    ops.MutateRow("t", _STAMPED_NOW),
    ops.MutateRows("t", (_STAMPED, _PUT)),
    ops.PutRows("t", (b"d:a",), ((b"r", b"1"),)),
    ops.PutRows("t", (b"d:a",), ((b"r", b"1"),), 2**63 - 1),
    ops.PutStampedRows("t", (ops.StampedRows((b"d:a",), ((b"r", b"1"),), ((2**63 - 1,),)),)),
    ops.Sleep(1.0),
    ops.Together(()),
    ops.SideBySide(()),
    ops.Nested(ops.ask(ops.Ping())),
    ops.RenewTimeLimit(),
]


def text_of(operation: Operation[Any]) -> str:
    """Return what the operation shows, which must be the same in each process of a run."""
    return "Nested" if isinstance(operation, ops.Nested) else repr(operation)


@pytest.mark.parametrize("operation", _REPEATABLE, ids=repr)
def test_reads_and_stamped_writes_are_repeatable(operation: Operation[Any]) -> None:
    assert is_repeatable(operation)


@pytest.mark.parametrize("operation", _UNREPEATABLE, ids=text_of)
def test_everything_else_is_not(operation: Operation[Any]) -> None:
    assert not is_repeatable(operation)


def test_every_kind_of_request_is_judged_above() -> None:
    # @dataclass(slots=True) makes each class twice; the one that the module holds is meant.
    kinds = {
        kind
        for kind in vars(ops).values()
        if isinstance(kind, type) and issubclass(kind, Operation) and kind is not Operation
    }

    assert {type(operation) for operation in _REPEATABLE + _UNREPEATABLE} == kinds


class _Failing:
    """Raises the given errors in turn, then answers None; it notes requests and times given."""

    features: frozenset[Feature] = frozenset({Feature.SCHEMA})

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.times_s: list[float] = []
        self.is_closed = False

    def execute(self, operation: Operation[R], /) -> R:
        raise NotImplementedError

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        del operation
        self.times_s.append(timeout_s)
        if self.errors:
            raise self.errors.pop(0)
        return None  # type: ignore[return-value] # the answer does not matter

    def close(self) -> None:
        self.is_closed = True


class _Time:
    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def _retrying(
    inner: _Failing,
    time: _Time,
    *,
    attempts: int = 4,
    base_pause_s: float = 1.0,
    jitter: Callable[[], float] = lambda: 0.0,
) -> RetryingGateway:
    return RetryingGateway(
        inner,
        attempts=attempts,
        base_pause_s=base_pause_s,
        timeout_s=30.0,
        clock=time,
        sleep=time.sleep,
        jitter=jitter,
    )


_AWAY = RegionUnavailableError("away")
_LOST = ConnectionLostError("lost")


@pytest.mark.parametrize("error", [_AWAY, _LOST])
def test_a_read_is_sent_again_after_growing_pauses(error: GatewayError) -> None:
    inner, time = _Failing(error, error, error), _Time()

    _retrying(inner, time).execute(ops.Ping())

    assert time.pauses == [1.0, 2.0, 4.0]


def test_each_try_gets_what_is_left_of_the_time() -> None:
    inner, time = _Failing(_AWAY, _AWAY), _Time()

    _retrying(inner, time).execute(ops.Ping())

    assert inner.times_s == [30.0, 29.0, 27.0]


def test_a_pause_that_would_pass_the_deadline_is_not_made() -> None:
    inner, time = _Failing(_AWAY, _AWAY), _Time()

    with pytest.raises(RegionUnavailableError):
        _retrying(inner, time).execute_within(ops.Ping(), 2.5)

    assert time.pauses == [1.0]


def test_the_last_error_is_raised_when_the_attempts_are_used_up() -> None:
    inner, time = _Failing(_AWAY, _LOST, _AWAY), _Time()

    with pytest.raises(ConnectionLostError):
        _retrying(inner, time, attempts=2).execute(ops.Ping())

    assert len(inner.times_s) == 2


def test_pauses_are_cut_by_up_to_half_and_do_not_grow_for_ever() -> None:
    inner, time = _Failing(*[_AWAY] * 5), _Time()

    _retrying(inner, time, attempts=9, jitter=lambda: 1.0).execute(ops.Ping())

    assert time.pauses == [0.5, 1.0, 2.0, 2.5, 2.5]


@pytest.mark.parametrize("error", [_AWAY, _LOST])
@pytest.mark.parametrize(
    "operation",
    [ops.Increment("t", b"r", {b"d:a": 1}), ops.MutateRow("t", _PUT), ops.FetchRows(_SCANNER, 1)],
    ids=repr,
)
def test_what_is_not_repeatable_is_sent_once(
    operation: Operation[Any], error: GatewayError
) -> None:
    inner, time = _Failing(error), _Time()

    with pytest.raises(type(error)):
        _retrying(inner, time).execute(operation)

    assert len(inner.times_s) == 1


@pytest.mark.parametrize("operation", [ops.CreateTable(_TABLE), ops.DropTable("t")], ids=repr)
def test_administration_is_repeated_when_it_was_certainly_not_done(
    operation: Operation[Any],
) -> None:
    inner, time = _Failing(_AWAY), _Time()

    _retrying(inner, time).execute(operation)

    assert len(inner.times_s) == 2


@pytest.mark.parametrize("operation", [ops.CreateTable(_TABLE), ops.DropTable("t")], ids=repr)
def test_administration_of_unknown_outcome_is_not_repeated(operation: Operation[Any]) -> None:
    inner, time = _Failing(_LOST), _Time()

    with pytest.raises(ConnectionLostError):
        _retrying(inner, time).execute(operation)

    assert len(inner.times_s) == 1


@pytest.mark.parametrize("error", [RejectedError("no"), ScannerExpiredError("gone")])
def test_other_errors_are_not_repeated(error: GatewayError) -> None:
    inner, time = _Failing(error), _Time()

    with pytest.raises(type(error)):
        _retrying(inner, time).execute(ops.Ping())

    assert len(inner.times_s) == 1


def test_it_has_the_features_of_the_wrapped_gateway_and_closes_it() -> None:
    inner = _Failing()
    gateway = _retrying(inner, _Time())

    gateway.close()

    assert gateway.features == inner.features
    assert inner.is_closed


def test_no_attempt_at_all_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        RetryingGateway(_Failing(), attempts=0)


def test_of_a_single_attempt_nothing_is_sent_again() -> None:
    inner = _Failing(_AWAY)

    with pytest.raises(RegionUnavailableError):
        _retrying(inner, _Time(), attempts=1).execute(ops.Ping())

    assert len(inner.times_s) == 1


def test_repr_shows_the_wrapped_gateway() -> None:
    assert repr(_retrying(_Failing(), _Time())).endswith(", attempts=4)")
