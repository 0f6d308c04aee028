"""The ranges of timestamps for statements that read past versions of cells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hbase_orm.errors import QueryError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range of timestamps, milliseconds since 1970.

    Attributes:
        from_ms: The first timestamp of the range.
        before_ms: The first timestamp after the range.
    """

    from_ms: int
    before_ms: int

    def __repr__(self) -> str:
        """Return the range as `timestamps [from, before)`."""
        return f"timestamps [{self.from_ms}, {self.before_ms})"

    def as_written(self) -> str:
        """Return the call of a statement that makes the range; its times are as conditions show."""
        last = _EPOCH + (self.before_ms - 1) * _MILLISECOND
        if not self.from_ms:
            return f".as_of({last.isoformat(' ')})"
        first, end = (_EPOCH + ms * _MILLISECOND for ms in (self.from_ms, self.before_ms))
        return f".between_timestamps({first.isoformat(' ')}, {end.isoformat(' ')})"


def until(at: datetime) -> TimeRange:
    """Return the range of all timestamps up to and including `at`.

    Raises:
        QueryError: The argument is not a datetime, has no time zone, or is before 1970.
    """
    return TimeRange(0, _milliseconds("as_of", at) + 1)


def between(start: datetime, stop: datetime) -> TimeRange:
    """Return the range of timestamps from `start`, included, to `stop`, excluded.

    Raises:
        QueryError: As for `until`; or the range is empty.
    """
    method = "between_timestamps"
    from_ms, before_ms = (_milliseconds(method, at, up=True) for at in (start, stop))
    if from_ms >= before_ms:
        raise QueryError(
            "the range of timestamps is empty",
            start=start,
            stop=stop,
            fix="give the earlier time first; the later one is excluded",
        )
    return TimeRange(from_ms, before_ms)


def _milliseconds(method: str, at: object, *, up: bool = False) -> int:
    if not isinstance(at, datetime) or at.tzinfo is None or at < _EPOCH:
        raise QueryError(
            "the argument is not a datetime since 1970 with a time zone",
            method=method,
            got=at,
            fix="give a datetime with tzinfo, as datetime.now(UTC)",
        )
    since = at - _EPOCH
    return -(-since // _MILLISECOND) if up else since // _MILLISECOND
