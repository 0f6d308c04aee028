"""Prints the results of comparisons of indexes with their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hbase_orm.cli.frame import table
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import Verification

_AGREEING: Final = frozenset({"SCANNED", Finding.VALID.name})


def as_json(verification: Verification, pairs: int, *, repaired: bool) -> dict[str, Any]:
    """Return the result of a comparison as a value for JSON.

    Args:
        verification: The result.
        pairs: The largest number of pairs to show.
        repaired: Whether the differences were to be repaired.
    """
    whole: dict[str, Any] = {
        "index": verification.index,
        **verification.counters(),
        "foreign": verification.foreign,
        "pairs": _pairs(verification, pairs),
    }
    if verification.newer_epoch:
        whole["newer_epoch"] = verification.newer_epoch
    if repaired:
        whole["repaired"] = verification.repaired
        whole["unrepaired"] = {
            to_string_binary(row): why for row, why in verification.unrepaired.items()
        }
    return whole


def unrepaired(verification: Verification) -> Iterator[str]:
    """Yield a line for each row that could not be repaired."""
    for row, why in verification.unrepaired.items():
        yield f"not repaired: {to_string_binary(row)}: {why}"


def short_lines(
    label: str, verification: Verification, pairs: int, *, repaired: bool
) -> Iterator[str]:
    """Yield one line for an index without differences, else a heading and the lines of `lines`."""
    if _differs(verification):
        yield f"{label}:"
        yield from lines(verification, pairs, repaired=repaired)
        yield ""
    else:
        yield f"{label}: no differences, {verification.scanned} compared"


def lines(verification: Verification, pairs: int, *, repaired: bool) -> Iterator[str]:
    """Yield the lines of a result; the arguments are as for `as_json`."""
    counters, shown = verification.counters(), _pairs(verification, pairs)
    names = list(counters["rows"])
    yield from table(
        ("", "from rows", "from entries"),
        [(name, counters["rows"][name], counters["entries"][name]) for name in names],
    )
    if verification.foreign:
        yield f"rows written by other programs: {verification.foreign}"
    if verification.newer_epoch:
        epoch = verification.newer_epoch
        yield f"the catalog is older than rows of epoch {epoch}: create its tables"
    if repaired:
        yield f"repaired: {verification.repaired}"
    yield from unrepaired(verification)
    if shown:
        yield ""
        yield from table(tuple(shown[0]), [tuple(pair.values()) for pair in shown])
    for kind in dict.fromkeys(pair["finding"] for pair in shown):
        yield f"{kind}: {Finding[kind].value}"


def _differs(verification: Verification) -> bool:
    counted = [*verification.counters().values()]
    findings = any(n for side in counted for name, n in side.items() if name not in _AGREEING)
    return findings or bool(verification.foreign or verification.newer_epoch)


def _pairs(verification: Verification, most: int) -> list[dict[str, Any]]:
    return [
        {
            "finding": pair.finding.name,
            "row": to_string_binary(pair.row),
            "row_ms": pair.row_ms,
            "entry": to_string_binary(pair.entry),
            "entry_ms": pair.entry_ms,
        }
        for pair in verification.pairs[:most]
    ]
