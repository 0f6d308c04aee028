"""The options of one pending write, and its earlier attempts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.url import LONGEST_TIMEOUT_S
from hbase_orm.errors import ConfigurationError, ValidationError
from hbase_orm.index.protocol.guarded_write import History
from hbase_orm.writing.row_write import RowWrite

# 2**63 - 1 means the server's time, and a cell just below it would hide all later puts for good.
MAX_TIMESTAMP_MS: Final = 2**63 - 3
_FEWEST_ROWS, _MOST_ROWS = 0.001, 1e9  # per second
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options and earlier attempts of a pending write.

    Attributes:
        ttl_ms: The time to live of the put cells, in milliseconds. None means the TTL of their
            family.
        timestamp_ms: The timestamp of all cells and deletes; None lets the server, or the client's
            clock, set it.
        tries: The earlier attempts of a guarded write; every flush adds to the same list.
        sent: The last attempt whose outcome is unknown; None if there is none. A next attempt with
            the same changes gets the timestamp that the client set for `sent`.
        in_doubt: The columns that attempts of unknown outcome put or cleared: HBase may have their
            old or their new values.
        is_row_in_doubt: Whether one of the attempts of unknown outcome was a delete.
    """

    ttl_ms: int | None = None
    timestamp_ms: int | None = None
    tries: list[History] = field(default_factory=list[History], compare=False)
    sent: RowWrite | None = None
    in_doubt: frozenset[bytes] = frozenset()
    is_row_in_doubt: bool = False

    def of(self, write: RowWrite) -> RowWrite:
        """Return `write` as it must be sent, with the TTL, timestamp and attempts of these options.

        It also puts or clears the columns in doubt; see `settling`.
        """
        write = self.settling(write)
        stamp_ms, sent = self.timestamp_ms, self.sent
        if stamp_ms is None and sent is not None and _alike(sent, write):
            stamp_ms = sent.timestamp_ms
        return replace(write, ttl_ms=self.ttl_ms, timestamp_ms=stamp_ms, tries=self.tries)

    def settling(self, write: RowWrite) -> RowWrite:
        """Return `write`, extended so that it also puts or clears the columns in doubt.

        A column in doubt is put if the write's object has a value for it. Otherwise it is cleared.
        Deletes, inserts and replacements are returned unchanged.
        """
        if write.kind not in {"put", "update"}:
            return write
        columns = self.in_doubt.union(write.cells if self.is_row_in_doubt else ())
        if not columns:
            return write
        puts = {c: value for c, value in write.cells.items() if c in columns}
        clears = write.clears | (columns - write.cells.keys())
        return replace(write, puts={**write.puts, **puts}, clears=clears)

    def with_tries_of(self, known: WriteOptions) -> WriteOptions:
        """Return a copy of these options that has the attempts recorded in `known`.

        `known` are the options of an earlier write of the same row.
        """
        return replace(known, ttl_ms=self.ttl_ms, timestamp_ms=self.timestamp_ms)

    def after(self, write: RowWrite) -> WriteOptions:
        """Return the options for the next attempt after `write`, whose outcome is unknown."""
        return replace(
            self,
            sent=write,
            in_doubt=self.in_doubt.union(write.puts, write.clears),
            is_row_in_doubt=self.is_row_in_doubt or write.kind == "delete",
        )


def _alike(one: RowWrite, other: RowWrite) -> bool:
    mine, others = ((each.kind, each.puts, each.clears) for each in (one, other))
    return mine == others


def options_of(bound: BoundModel, ttl: timedelta | None, timestamp_ms: int | None) -> WriteOptions:
    """Check and return the options that a program gives for a write.

    Raises:
        ValidationError: An option is out of range, or the model is guarded.
    """
    if bound.guarded is not None:
        raise ValidationError(
            "a row with a guard cannot have its own timestamp or ttl",
            model=bound.schema.model_name,
            fix="give the family a ttl, or use a model without index and version",
        )
    is_number = isinstance(timestamp_ms, int) and not isinstance(timestamp_ms, bool)
    if timestamp_ms is not None and not (is_number and 0 <= timestamp_ms <= MAX_TIMESTAMP_MS):
        raise ValidationError(
            "timestamp_ms= must be a number of milliseconds since 1970",
            model=bound.schema.model_name,
            timestamp_ms=timestamp_ms,
            limit_ms=MAX_TIMESTAMP_MS,
            fix="write timestamp_ms=1_700_000_000_000",
        )
    return WriteOptions(_ttl_ms(bound, ttl), timestamp_ms)


def _ttl_ms(bound: BoundModel, ttl: timedelta | None) -> int | None:
    if ttl is None:
        return None
    if not isinstance(ttl, timedelta) or ttl < _MILLISECOND:
        raise ValidationError(
            "ttl= must be a timedelta of one millisecond or more",
            model=bound.schema.model_name,
            ttl=ttl,
            fix="write ttl=timedelta(hours=1)",
        )
    return ttl // _MILLISECOND


def check_number(option: str, value: object, least: float, most: float) -> None:
    """Raise an error unless the value is a number from `least` to `most`.

    Raises:
        ConfigurationError: The value is wrong; the error names the option and its range.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:  # type: ignore[operator]  # a number; NaN is not
        raise ConfigurationError(
            "the option is not a number in the allowed range",
            option=option,
            value=value,
            least=least,
            most=most,
            fix=f"write {option}={least:g} to {most:g}",
        )


def check_pace(rows_per_second: float | None, gateway_timeout_s: float) -> None:
    """Raise an error if the rate or the gateway timeout of long work is out of range.

    Raises:
        ConfigurationError: The value is wrong; the error names the option and its range.
    """
    if rows_per_second is not None:
        check_number("rows_per_second", rows_per_second, _FEWEST_ROWS, _MOST_ROWS)
    check_number("gateway_timeout_s", gateway_timeout_s, 0, LONGEST_TIMEOUT_S)
