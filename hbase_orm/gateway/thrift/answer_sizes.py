"""Limits the number of rows per request, so that no answer is too large for the gateway.

A gateway collects a whole answer in memory, in several copies, before it sends the first byte. If
100 rows are requested, it collects 100 rows, however large they are. Neither Thrift interface
limits an answer by bytes. (`hbase.client.scanner.max.result.size` limits only the answers from
region servers to the gateway.) So the number of requested rows starts low, and is adapted to the
size of earlier answers.

Scans are opened with TScan's `batchSize`, which splits a row into several results of a few cells
each. So the number of results limits the number of cells, even if rows are wide. `Pieces` joins
the results into rows again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from hbase_orm.compiled import EncodedRow
from hbase_orm.gateway.checks import without_quoted
from hbase_orm.ops import ListedRow, Row, Scan, StaleRow

ANSWER_BYTES: Final = 2 << 20
"""The intended size of one answer in bytes; HBase's own scanners fetch as much per request."""

MOST_CELLS: Final = 4096
"""The largest number of cells in one answer of a scan: 256 MB if cells suddenly have 64 KB each.

As many are 1000 rows of 4 cells, which is what most programs request.
"""

FIRST_CELLS: Final = 8
"""The number of cells in the first answer of a scan, if the size of the results is unknown.

At least one result is requested, even if one result may have more cells than this.
"""

MOST_ROWS: Final = 128
"""The largest number of rows in one answer to a multi-get, or to a scan that cannot split rows."""

FIRST_ROWS: Final = 4
"""The number of rows in the first answer to a read of whole rows, if their size is unknown.

A read of whole rows is a multi-get, or a scan that cannot split rows.
"""

GROWTH: Final = 4

_BATCH_CELLS: Final = 8
_LEAST_CACHING: Final = 16
_MOST_KINDS: Final = 1000

# Filters that judge cell by cell. A filter that judges whole rows (a SingleColumnValueFilter) makes
# HBase refuse batchSize, after a minute of retries.
_CUTTABLE: Final = frozenset(
    {
        b"ColumnPrefixFilter",
        b"ColumnRangeFilter",
        b"FamilyFilter",
        b"FirstKeyOnlyFilter",
        b"KeyOnlyFilter",
        b"MultipleColumnPrefixFilter",
        b"PrefixFilter",
        b"QualifierFilter",
        b"RowFilter",
        b"TimestampsFilter",
        b"ValueFilter",
    }
)
_WORD: Final = re.compile(rb"\w+(?=\s*\()|\b(?:SKIP|WHILE)\b")

Kind = tuple[object, ...]


class AnswerSizes:
    """The estimated size of a result, for each kind of read.

    A kind of read is, for example, a scan of certain columns of a table. Threads may share the
    estimates: if two note a size at one time, one of the two remains.
    """

    def __init__(self) -> None:
        """Start without sizes."""
        self._bytes: dict[Kind, int] = {}
        self._results_per_row: dict[Kind, int] = {}

    def bytes_of(self, kind: Kind) -> int | None:
        """Return the estimated size of one result in bytes; None if there is no estimate."""
        return self._bytes.get(kind)

    def note(self, kind: Kind, size_bytes: int) -> None:
        """Record `size_bytes`, the mean size of the results in a new answer.

        The new estimate is the larger of `size_bytes` and the old estimate divided by `GROWTH`.
        """
        if len(self._bytes) >= _MOST_KINDS:
            self._bytes.clear()
            self._results_per_row.clear()
        self._bytes[kind] = max(size_bytes, self._bytes.get(kind, 0) // GROWTH)

    def results_per_row(self, kind: Kind) -> int:
        """Return how many results the last rows were split into; 1 if that is unknown."""
        return self._results_per_row.get(kind, 1)

    def note_results_per_row(self, kind: Kind, results: int) -> None:
        """Record how many results a row is split into."""
        self._results_per_row[kind] = results


class Portion:
    """Chooses the number of results that the next call requests, by the size of earlier results.

    Attributes:
        count: The number of results that the next call requests.
    """

    def __init__(self, sizes: AnswerSizes, kind: Kind, *, first: int, most: int) -> None:
        """Set `count` to the number of results that fit an answer, if their size is known.

        Args:
            sizes: The sizes of earlier results.
            kind: The kind of read.
            first: The `count` if no size is known.
            most: The largest number of results of a call.
        """
        self._sizes = sizes
        self._kind = kind
        self._most = most
        size_bytes = sizes.bytes_of(kind)
        self.count = first if size_bytes is None else self._fitting(size_bytes)

    def note(self, results: int, size_bytes: int) -> None:
        """Adapt `count` to the last answer.

        Args:
            results: The number of results in the answer; if it is 0, `count` stays the same.
            size_bytes: The size of the whole answer.
        """
        if not results:
            return
        self._sizes.note(self._kind, size_bytes // results)
        largest_bytes = self._sizes.bytes_of(self._kind) or 0
        self.count = min(self.count * GROWTH, self._fitting(largest_bytes))

    def _fitting(self, size_bytes: int) -> int:
        return max(1, min(self._most, ANSWER_BYTES // max(size_bytes, 1)))


def portions(keys: Sequence[bytes], portion: Portion) -> Iterator[list[bytes]]:
    """Yield the distinct keys in groups, each of which has at most `portion.count` keys.

    The caller may change `portion.count` between two groups.
    """
    distinct = list(dict.fromkeys(keys))
    start = 0
    while start < len(distinct):
        count = portion.count
        yield distinct[start : start + count]
        start += count


class Pieces:
    """Joins the results of one scanner, which may be pieces of rows, into rows.

    Attributes:
        batch_cells: The largest number of cells of a result; None if each result is a whole row.
        portion: Chooses the largest number of results that the next call requests.
        surplus: Complete rows beyond the number that the caller requested, for its next request.
    """

    def __init__(self, scan: Scan, sizes: AnswerSizes) -> None:
        """Prepare to read the results of `scan`."""
        self.batch_cells = batch_cells(scan)
        self._sizes = sizes
        self._kind = kind = ("scan", scan.table, scan.columns, self.batch_cells)
        if self.batch_cells is None:
            first, most = FIRST_ROWS, MOST_ROWS
        else:
            first, most = FIRST_CELLS // self.batch_cells, MOST_CELLS // self.batch_cells
        self.portion = Portion(sizes, kind, first=max(1, first), most=max(1, most))
        self.surplus: list[Row] = []
        self._is_timeline = scan.is_timeline
        self._begun: Row | None = None
        self._results_per_row = sizes.results_per_row(kind)
        self._last_count = 0

    def next_count(self, rows: int) -> int:
        """Return the number of results that the next call should request to get `rows` rows."""
        if self.batch_cells is None:
            wanted = rows
        elif self._begun is None:
            wanted = rows * self._results_per_row
        else:  # nobody knows how long the row still is
            wanted = max(rows * self._results_per_row, self._last_count * GROWTH)
        self._last_count = min(self.portion.count, wanted)
        return self._last_count

    def join(self, results: Sequence[Row]) -> list[Row]:
        """Join the results of a call, and return the rows that are complete.

        A result with fewer than `batch_cells` cells ends its row. If the last of `results` has
        `batch_cells` cells, its row is kept here until the next call shows whether the row
        continues. Empty `results` mean the end of the scan, so the kept row is complete.
        """
        if self.batch_cells is None:
            return list(results)
        begun, self._begun = self._begun, None
        if not results:
            return [] if begun is None else [begun]
        pieces = [*results] if begun is None else [begun, *results]
        # Most answers have whole rows only: a set of their keys costs a tenth of the loop.
        is_whole = len({piece.key for piece in pieces}) == len(pieces)
        rows = pieces if is_whole else _joined(pieces)
        if self._is_timeline:  # a row is stale if one of its pieces is
            stale = {result.key for result in results if isinstance(result, StaleRow)}
            rows = [StaleRow(row.key, row.cells) if row.key in stale else row for row in rows]
        self._results_per_row = -(-len(results) // len(rows))
        self._sizes.note_results_per_row(self._kind, self._results_per_row)
        if len(results[-1].columns) >= self.batch_cells:
            self._begun = rows.pop()
        return rows


def _joined(pieces: Sequence[Row]) -> list[Row]:
    """Join pieces with equal keys, which follow each other, into rows."""
    rows: list[Row] = []
    for piece in pieces:
        if rows and rows[-1].key == piece.key:
            if isinstance(rows[-1], (EncodedRow, ListedRow)):  # they would lack cells
                rows[-1] = Row(piece.key, rows[-1].cells)
            rows[-1].cells.update(piece.cells)
        else:
            rows.append(piece)
    return rows


def caching_results(scan: Scan, batch_cells: int | None) -> int:
    """Return the number of results that a gateway fetches from a region server per call.

    If rows are split into pieces, the number is at least `_LEAST_CACHING`, even for a single row.
    Otherwise each piece could need its own request between gateway and region server.
    """
    if batch_cells is None:
        return scan.caching_rows
    return max(scan.caching_rows, _LEAST_CACHING)


def batch_cells(scan: Scan) -> int | None:
    """Return the largest number of cells per result of a scan; None if rows cannot be split.

    The scan's filter may forbid the splitting of rows. If only single columns are read, the number
    is one more than the number of columns. Then a result with all columns is known to be a whole
    row. The number is never above `MOST_CELLS`.

    Examples:
        >>> from hbase_orm.ops import KeyRange
        >>> batch_cells(Scan("t", KeyRange(), (b"d:a", b"d:b")))
        3
        >>> batch_cells(Scan("t", KeyRange()))
        8
        >>> batch_cells(Scan("t", KeyRange(), filter=b"PageFilter(3)"))
    """
    names = _WORD.findall(without_quoted(scan.filter or b""))
    if not _CUTTABLE.issuperset(names):
        return None
    if scan.columns and all(b":" in column for column in scan.columns):
        return min(len(set(scan.columns)) + 1, MOST_CELLS)
    return _BATCH_CELLS
