"""Answers the requests of a protocol that read a table to which rows move from another table.

`through_moves` makes every read of the new table work while its rows move: get, scan, count and
look-up by index. The protocol makes the same requests as ever. Those that read the new table are
answered from both tables; all others are passed on.

An answer counts only if the catalog's lease, under which the phase was known, is still valid when
the answer has arrived. Otherwise a process that was paused between its look at the catalog and its
request could return what the old table says, although the row has changed in the new table.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import Any, Final, TypeVar

from hbase_orm.errors import CatalogLeaseError, HBaseORMError
from hbase_orm.gateway.checks import check_request
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GuardContext
from hbase_orm.index.upkeep.table_pages import PAGE_ROWS
from hbase_orm.moving.moved_reads import (
    Versions,
    has_guard_column,
    moved_rows,
    moved_versions,
    refuse_past,
)
from hbase_orm.moving.moved_scan import MovedScan, ScanPage, expired_scanner
from hbase_orm.moving.translation import TableMove
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Nested,
    OpenScanner,
    Operation,
    Protocol,
    Row,
    ScannerId,
    SideBySide,
    Together,
    ask,
)

Q = TypeVar("Q")
R = TypeVar("R")
T = TypeVar("T")

MAX_READS: Final = 10
"""How often a request is answered again because the move went on meanwhile."""

_BY_KEY: Final = (GetRows, GetVersions, GetVersionsOfRows)
_GROWTH: Final = 4
_SCANNERS: Final = count(1)


@dataclass(frozen=True, slots=True)
class CurrentMove:
    """A move, and the phase in which a process knows it to be under its lease of the catalog."""

    move: TableMove
    phase: Phase


class Leases(typing.Protocol):
    """What a process knows of the catalog.

    Attributes:
        has_moves: Whether the entry of a table in a move was ever read.
    """

    has_moves: bool

    def is_current(self, table: str) -> bool:
        """Return whether the lease on a table's entry is valid, or no entry was ever read."""
        ...


class MovesInProgress(typing.Protocol):
    """The moves that a process knows, under its leases of the catalog."""

    @property
    def leases(self) -> Leases:
        """The leases under which `of` returns moves."""
        ...

    def of(self, table: str) -> Protocol[CurrentMove | None]:
        """Return the move to this table; None if no rows move to it.

        The catalog is read if the lease has ended.

        Raises:
            SchemaDriftError: The rows of the table move to another one, and may be there already.
        """
        ...


def through_moves(
    protocol: Generator[Q, Any, R], moves: MovesInProgress, context: GuardContext
) -> Generator[Q | Operation[Any], Any, R]:
    """Run a protocol, and answer its reads of tables to which rows move from both tables.

    Passed on unchanged are writes, requests for tables to which no rows move, requests in the phase
    NEW, raw reads, and requests for guards: the guarded write itself looks at the new table.

    Args:
        protocol: The protocol; also a generator that yields something else besides requests.
        moves: The moves that this process knows.
        context: The source of the pauses between attempts.

    Raises:
        QueryError: Raised in the protocol for a read of the past, and for a scan of too many rows
            before the phase PREPARED.
        CatalogLeaseError: Raised in the protocol if the move went on at each attempt to read.
    """
    return _Passage(moves, context).through(protocol)


class _Passage:
    """Answers the requests of one protocol, and of the protocols that it runs side by side."""

    __slots__ = ("_context", "_leases", "_moves", "_unmoved")

    def __init__(self, moves: MovesInProgress, context: GuardContext) -> None:
        self._moves = moves
        self._leases = moves.leases
        self._context = context
        self._unmoved: dict[ScannerId, str] = {}

    def through(self, protocol: Generator[Q, Any, T]) -> Generator[Q | Operation[Any], Any, T]:
        """Run a protocol, without a `ProtocolRun`: all requests of a program come by here."""
        leases = self._leases
        try:
            request = protocol.send(None)
            while True:
                answer_to = _ANSWERS.get(type(request))
                try:
                    if answer_to is None:
                        answer = yield request
                    elif isinstance(request, _BY_KEY) and not leases.has_moves:
                        answer = yield request
                        if not leases.is_current(request.table):
                            answer = yield from self._late(request, answer)
                    else:
                        answer = yield from answer_to(self, request)
                except Exception as error:  # noqa: BLE001  # the protocol decides, whatever it is
                    request = protocol.throw(error)
                else:
                    request = protocol.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            protocol.close()

    def _late(
        self, request: GetRows | GetVersions | GetVersionsOfRows, answer: Any
    ) -> Protocol[Any]:
        """Return an answer that came after the end of the lease, or another one in a move."""
        if (yield from self._is_moving(request.table)):
            answer = yield from _ANSWERS[type(request)](self, request)
        return answer

    # --- reads by key -------------------------------------------------------------------------

    def rows(self, request: GetRows) -> Protocol[list[Row | None]]:
        if has_guard_column(request.columns):
            return ask(request)
        return self._counted(
            request.table,
            lambda current: moved_rows(current.move, current.phase, request, self._context),
            lambda: ask(request),
        )

    def versions(self, request: GetVersions) -> Protocol[Versions]:
        if request.raw or has_guard_column(request.columns):
            return ask(request)
        return self._counted(
            request.table,
            lambda current: self._versions_of_row(current, request),
            lambda: ask(request),
        )

    def _versions_of_row(self, current: CurrentMove, request: GetVersions) -> Protocol[Versions]:
        wanted = request.columns, request.max_versions
        of_rows = GetVersionsOfRows(request.table, (request.key,), *wanted)
        (versions,) = yield from moved_versions(current.move, current.phase, of_rows, self._context)
        return versions

    def versions_of_rows(self, request: GetVersionsOfRows) -> Protocol[list[Versions]]:
        if request.raw or has_guard_column(request.columns):
            return ask(request)
        return self._counted(
            request.table,
            lambda current: moved_versions(current.move, current.phase, request, self._context),
            lambda: ask(request),
        )

    # --- scans --------------------------------------------------------------------------------

    def open_scanner(self, request: OpenScanner) -> Protocol[ScannerId]:
        scan = request.scan
        if not self._leases.has_moves:
            scanner = yield from ask(request)
            self._unmoved[scanner] = scan.table
            return scanner
        if has_guard_column(scan.columns):
            return (yield from ask(request))
        current = yield from self._moves.of(scan.table)
        if current is None or current.phase is Phase.NEW:
            scanner = yield from ask(request)
            if current is None:
                self._unmoved[scanner] = scan.table
            return scanner
        check_request(request)
        refuse_past(current.move, current.phase, scan)
        return ScannerId(next(_SCANNERS), MovedScan.begin(scan, current.move))

    def fetch_rows(self, request: FetchRows) -> Protocol[list[Row]]:
        scan = request.scanner.owner
        if not isinstance(scan, MovedScan):
            return (yield from self._fetched_from_gateway(request))
        check_request(request)
        if scan.is_closed:
            raise expired_scanner(scan.scan.table)
        rows: list[Row] = []
        page_rows = min(request.count, PAGE_ROWS)
        while scan.rest is not None and not rows:
            page = yield from self._page(scan, page_rows)
            rows = scan.take(page, request.count)
            page_rows = min(page_rows * _GROWTH, PAGE_ROWS)
        return rows

    def _page(self, scan: MovedScan, page_rows: int) -> Protocol[ScanPage]:
        context = self._context
        return self._counted(
            scan.scan.table,
            lambda current: scan.read(current.move, current.phase, page_rows, context),
            lambda: scan.read(scan.move, Phase.NEW, page_rows, context),
        )

    def _fetched_from_gateway(self, request: FetchRows) -> Protocol[list[Row]]:
        """Return rows of the new table only, unless rows began to move to it since the opening."""
        rows = yield from ask(request)
        table = self._unmoved.get(request.scanner)
        leases = self._leases
        if table is None or (not leases.has_moves and leases.is_current(table)):
            return rows
        if (yield from self._is_moving(table)):
            raise expired_scanner(table)
        return rows

    def close_scanner(self, request: CloseScanner) -> Protocol[None]:
        scan = request.scanner.owner
        if isinstance(scan, MovedScan):
            scan.is_closed = True
        else:
            self._unmoved.pop(request.scanner, None)
            yield from ask(request)

    # --- several requests ---------------------------------------------------------------------

    def together(self, request: Together) -> Protocol[tuple[Any, ...]]:
        for each in request.operations:
            if (yield from self._is_answered_here(each)):
                parts = (self.through(ask(part)) for part in request.operations)
                return tuple((yield from ask(SideBySide(tuple(parts)))))
        return (yield from ask(request))

    def side_by_side(self, request: SideBySide) -> Protocol[list[Any]]:
        return ask(replace(request, protocols=tuple(map(self.through, request.protocols))))

    def nested(self, request: Nested[T]) -> Protocol[T]:
        return ask(Nested(self.through(request.protocol)))

    def _is_answered_here(self, request: Operation[Any]) -> Protocol[bool]:
        match request:
            case OpenScanner(scan):
                return (yield from self._is_moving(scan.table))
            case GetRows(table) | GetVersions(table) | GetVersionsOfRows(table):
                return (yield from self._is_moving(table))
            case FetchRows(scanner) | CloseScanner(scanner):
                return isinstance(scanner.owner, MovedScan) or scanner in self._unmoved
            case _:
                return type(request) in _ANSWERS

    # --- the lease ----------------------------------------------------------------------------

    def _is_moving(self, table: str) -> Protocol[bool]:
        current = yield from self._moves.of(table)
        return current is not None and current.phase is not Phase.NEW

    def _counted(
        self,
        table: str,
        read: Callable[[CurrentMove], Protocol[T]],
        read_unmoved: Callable[[], Protocol[T]],
    ) -> Protocol[T]:
        """Return an answer that arrived under the lease for its phase.

        An error of a read of both tables counts only under the lease, too: the old table may be
        gone since. The answer of a table in no move counts if there is still none.

        Args:
            table: The table, perhaps the new one of a move.
            read: A function that reads both tables.
            read_unmoved: A function that reads this table only.
        """
        for _ in range(MAX_READS):
            current = yield from self._moves.of(table)
            if current is None or current.phase is Phase.NEW:
                answer = yield from read_unmoved()
                if self._leases.is_current(table) or not (yield from self._is_moving(table)):
                    return answer
                continue
            try:
                answer = yield from read(current)
            except HBaseORMError:
                if self._leases.is_current(table):
                    raise
                continue
            if self._leases.is_current(table):
                return answer
        raise CatalogLeaseError(
            "the lease of the catalog ended at every attempt to read a table to which rows move",
            table=table,
            attempts=MAX_READS,
            fix="read again, on a machine that does not stop programs for longer than the lease",
        )


_ANSWERS: Final[Mapping[type, Callable[[_Passage, Any], Protocol[Any]]]] = MappingProxyType(
    {
        CloseScanner: _Passage.close_scanner,
        FetchRows: _Passage.fetch_rows,
        GetRows: _Passage.rows,
        GetVersions: _Passage.versions,
        GetVersionsOfRows: _Passage.versions_of_rows,
        Nested: _Passage.nested,
        OpenScanner: _Passage.open_scanner,
        SideBySide: _Passage.side_by_side,
        Together: _Passage.together,
    }
)
