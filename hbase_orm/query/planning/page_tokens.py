"""Page tokens: the position of a page's last row as opaque text. Also plans the next page.

A token is base64 of these values:

- a checksum and the version of tokens
- the fingerprints of the statement and of the index (or row key) that was read
- the time of the first page's request
- the number of rows returned so far
- the start of the table's period, for a model with a table for each period
- the key of the last row, or of its index entry

A token holds no secret and gives no permission. It is valid in every process that runs the same
statement on the same table. The statement must still read by the same index or row key.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64Error
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from hbase_orm.errors import PageTokenError
from hbase_orm.ops import KeyRange
from hbase_orm.query.planning.candidates import SALT_BYTES
from hbase_orm.query.plans.index_plan import IndexPlan
from hbase_orm.query.plans.passed_entries import Passed
from hbase_orm.query.plans.plans import (
    EmptyPlan,
    GetPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    TablesPlan,
)
from hbase_orm.query.statements.clauses import AnyIndex
from hbase_orm.query.statements.statement import Select
from hbase_orm.rowkey.key_text import layout_text
from hbase_orm.schema import TableSchema
from hbase_orm.schema.canonical import condition_text, entries_text

VERSION: Final = 2
_HEAD: Final = struct.Struct(">B8s4sQQB")
_ACCESS_BYTES: Final = 4
_CHECKSUM_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class PagePosition:
    """The position of the last row of a page.

    Attributes:
        key: The row key, or the key of the index entry that led to the row.
        given: The number of rows that this page and all earlier pages returned.
        access: The result of `access_of`: how the rows were read.
        since_ms: The time of the request for the first page, in milliseconds since 1970.
        start: The start of the table's period, for a model with a table for each period.
    """

    key: bytes
    given: int
    access: bytes
    since_ms: int
    start: datetime | None = None


def fingerprint(statement: Select[Any], schema: TableSchema) -> bytes:
    """Return 8 bytes that identify a statement, so that tokens of other statements are refused."""
    index = "any" if isinstance(statement.index, AnyIndex) else repr(statement.index)
    text = "\n".join(
        [
            schema.table,
            layout_text(schema.layout),
            index,
            repr(statement.row_limit),
            *map(condition_text, statement.conditions),
            "ordered by",
            *map(repr, statement.orders),
            entries_text(statement.entries),
            # Nothing is added for strong reads: their tokens of earlier releases stay valid.
            repr(statement.times) + (" timeline" if statement.is_timeline else ""),
            "selecting objects" if statement.selection is None else "selecting values",
            *map(repr, statement.items),
        ]
    )
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def access_of(plan: Plan) -> bytes:
    """Return 4 bytes that identify how a plan reads rows: by row key, or by which index.

    A position is valid only for the index or row key by which its page was read. The statement may
    use another index after indexes are declared, built or dropped.
    """
    text = ""
    if isinstance(plan, IndexPlan):
        index = plan.index
        order = "falling" if plan.reverse else "rising"
        text = f"{index.name} {layout_text(index.layout)} {index.salt} {index.unique} {order}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_ACCESS_BYTES).digest()


def token_of(position: PagePosition, mark: bytes) -> str:
    """Return the token of a position in a statement; `mark` is the fingerprint of the statement."""
    # isoformat() pads the year; strftime does so on some systems only.
    start = "" if position.start is None else position.start.isoformat(timespec="minutes")
    head = _HEAD.pack(VERSION, mark, position.access, position.given, position.since_ms, len(start))
    data = head + start.encode() + position.key
    return _text(_checksum(data) + data)


def position_of(token: str, mark: bytes) -> PagePosition:
    """Return the position that is encoded in a token.

    `mark` is the fingerprint of the statement to which the token must belong.

    Raises:
        PageTokenError: The text is not a token, or belongs to another statement or format version.
    """
    data = _data(token)
    if data[0] != VERSION:
        raise _refused("the page token has another format version", token, version=data[0])
    if len(data) < _HEAD.size:
        raise _refused("the text is not a page token", token)
    _, of, access, given, since_ms, length = _HEAD.unpack_from(data)
    if of != mark:
        raise _refused("the page token belongs to another statement", token)
    start, key = data[_HEAD.size : _HEAD.size + length], data[_HEAD.size + length :]
    try:
        at = datetime.fromisoformat(start.decode()).astimezone(UTC) if length else None
    except (ValueError, OverflowError):
        raise _refused("the text is not a page token", token) from None
    return PagePosition(key, given, access, since_ms, at)


def _data(token: str) -> bytes:
    """Return the data that `token_of` packed; refuse a token that was changed."""
    try:
        data = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
    except (AttributeError, UnicodeEncodeError, NotBase64Error):
        raise _refused("the text is not a page token", token) from None
    checksum, packed = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
    # The decoder ignores other characters and unused last bits; only one text counts as the token.
    if _text(data) != token or checksum != _checksum(packed) or not packed:
        raise _refused("the text is not a page token", token)
    return packed


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


def _refused(reason: str, token: Any, **details: Any) -> PageTokenError:
    return PageTokenError(
        reason,
        token=token,
        **details,
        fix="start again without a token, or use it with the statement that returned it",
    )


def resume(plan: Plan, position: PagePosition) -> Plan:
    """Return the plan for the rows after a position.

    Raises:
        PageTokenError: The plan does not read the same index (or row key) as the page of the
            position. Or it does not read the row at the position.
    """
    if not isinstance(plan, EmptyPlan) and position.access != access_of(plan):
        reads = plan.index.name if isinstance(plan, IndexPlan) else "the row key"
        raise PageTokenError(
            "the page token was made by a read through another index or through the row key",
            table=plan.schema.table,
            reads_now_by=reads,
            fix="start again without a token: an index was built, dropped or changed since the "
            "last page; .using(M.index) or .using(None) in the statement keeps it on one "
            "index or on the row key",
        )
    match plan:
        case GetPlan():
            return replace(plan, keys=_after(plan.keys, position.key))
        case IndexPlan():
            passed = Passed(position.key, position.since_ms)
            return replace(_rest_of_entries(plan, position.key), passed=passed)
        case ScanPlan():
            return replace(plan, ranges=_rest(plan.ranges, position.key, reverse=plan.reverse))
        case SaltedScanPlan():
            return replace(plan, buckets=_rest_of_buckets(plan, position.key))
        case TablesPlan():
            return _rest_of_tables(plan, position)
        case EmptyPlan():
            return plan
    raise PageTokenError("this kind of plan cannot be read in pages", plan=plan.kind)


def _after(keys: tuple[bytes, ...], key: bytes) -> tuple[bytes, ...]:
    if key not in keys:
        raise PageTokenError(
            "the page token names a row that the statement does not read",
            row=key,
            fix="start again without a token",
        )
    return keys[keys.index(key) + 1 :]


def _rest(
    ranges: Sequence[KeyRange], key: bytes, *, reverse: bool, included: bool = False
) -> tuple[KeyRange, ...]:
    """Return what is left to read of `ranges` after a key, or from the key on if `included`."""
    if reverse:
        left = KeyRange(b"", key + b"\x00" if included else key)
    else:
        left = KeyRange(key if included else key + b"\x00", None)
    cut = (each.intersect(left) for each in ranges)
    return tuple(each for each in cut if not each.is_empty)


def _rest_of_entries(plan: IndexPlan, key: bytes) -> IndexPlan:
    """Return the plan for the entries after a key."""
    if plan.keys:
        return replace(plan, keys=_after(plan.keys, key))
    if plan.buckets:
        return replace(plan, buckets=_rest_of_buckets(plan, key))
    return replace(plan, ranges=_rest(plan.ranges, key, reverse=plan.reverse))


def _rest_of_buckets(
    plan: SaltedScanPlan | IndexPlan, key: bytes
) -> tuple[tuple[KeyRange, ...], ...]:
    """Return the ranges of each bucket that are left to read after the row or entry with `key`.

    Of two rows whose keys differ only in the bucket, the row in the lower bucket is read first.
    Buckets that are read to their end are left out.
    """
    width = plan.skipped_bytes if isinstance(plan, SaltedScanPlan) else SALT_BYTES
    salt, behind = key[:width], key[width:]
    left = []
    for ranges in plan.buckets:
        own = ranges[0].start[:width]
        included = own > salt
        rest = _rest(ranges, own + behind, reverse=plan.reverse, included=included)
        if rest:
            left.append(rest)
    return tuple(left)


def _rest_of_tables(plan: TablesPlan, position: PagePosition) -> Plan:
    """Return the plan for the rest of the position's table and for the tables after it.

    If the position's table was dropped since the last page, only the tables after it are read.
    """
    if position.start is None:
        raise PageTokenError(
            "the page token names no table, and the statement reads several",
            fix="start again without a token",
        )
    rest: list[tuple[datetime, Plan]] = []
    for start, inner in plan.plans:
        if start == position.start:
            rest.append((start, resume(inner, position)))
        elif (start < position.start) is plan.falls:
            rest.append((start, inner))
    return replace(plan, plans=tuple(rest))
