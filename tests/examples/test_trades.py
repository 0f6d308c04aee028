from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from examples import trades
from examples.trades import Trade, three_ways
from hbase_orm import select
from tests.support.example_stages import Rows, Stage

pytestmark = pytest.mark.hbase

ROOT = Path(__file__).parents[2]
T0 = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
LONG_MAX = 2**63 - 1

AT_0, AT_1, AT_2 = (
    b"\x00\x00\x01\x8c\xc2\x51\xf4\x00",
    b"\x00\x00\x01\x8c\xc2\x88\xe2\x80",
    b"\x00\x00\x01\x8c\xc2\xbf\xd1\x00",
)
FROM_0, FROM_1, FROM_2 = (
    b"\x7f\xff\xfe\x73\x3d\xae\x0b\xff",
    b"\x7f\xff\xfe\x73\x3d\x77\x1d\x7f",
    b"\x7f\xff\xfe\x73\x3d\x40\x2e\xff",
)
ROWS: Rows = {
    number: {b"d:s": b"\0\0\0" + seller, b"d:b": b"\0\0\0" + buyer, b"d:t": at, b"d:c": cents}
    for number, seller, buyer, at, cents in (
        (b"A-1", b"\x07", b"\x08", AT_0, b"\x00\x00\x03\xde"),
        (b"A-2", b"\x46", b"\x09", AT_1, b"\x00\x00\x04\xe2"),  # sold by 7, then by 70
        (b"A-3", b"\x46", b"\x08", AT_1, b"\x00\x00\x00\x64"),
        (b"A-4", b"\x07", b"\x08", AT_2, b"\x00\x00\x00\x05"),
    )
}
BY_SELLER = [
    b"\x00\x00\x00\x07" + FROM_2 + b"A-4",
    b"\x00\x00\x00\x07" + FROM_0 + b"A-1",
    b"\x00\x00\x00\x46" + FROM_1 + b"A-2",
    b"\x00\x00\x00\x46" + FROM_1 + b"A-3",
]
BY_BUYER = [
    b"\x00\x00\x00\x08" + FROM_2 + b"A-4",
    b"\x00\x00\x00\x08" + FROM_1 + b"A-3",
    b"\x00\x00\x00\x08" + FROM_0 + b"A-1",
    b"\x00\x00\x00\x09" + FROM_1 + b"A-2",
]

# Sellers and buyers of other numbers' bytes, times one step outside of what is asked for.
MORE = [
    (f"M-{seller}-{buyer}-{ms}", seller, buyer, T0 + ms * timedelta(milliseconds=1), ms)
    for seller in (1006, 1007, 1008)
    for buyer in (2007, 2008, 2009, 1007)
    for ms in (*range(1000, 1080), 1999, 2000, 2999, 3000)
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> dict[str, Rows]:
    stage.play(trades)
    names = ("trades", "trades_ix_by_seller", "trades_ix_by_buyer")
    return {table: stage.rows(table) for table in names}


def plain_cells(rows: Rows) -> Rows:
    """Return the rows without the guard, which is the library's own."""
    return {row: {k: v for k, v in cells.items() if k != b"_:g"} for row, cells in rows.items()}


def test_three_tables_hold_each_trade_under_its_three_keys(first: dict[str, Rows]) -> None:
    assert plain_cells(first["trades"]) == ROWS
    assert list(first["trades_ix_by_seller"]) == BY_SELLER
    assert list(first["trades_ix_by_buyer"]) == BY_BUYER


@pytest.mark.usefixtures("first")
def test_among_a_thousand_trades_each_is_found_in_three_ways(stage: Stage) -> None:
    with stage.engine.session() as session:
        session.add_all(
            Trade(number=number, seller=seller, buyer=buyer, at=at, cents=cents)
            for number, seller, buyer, at, cents in MORE
        )
    start, stop = T0 + timedelta(milliseconds=1010), T0 + timedelta(milliseconds=2999)
    in_time = select(Trade).where(Trade.at >= start, Trade.at < stop)
    at = T0 + timedelta(milliseconds=1999)
    one = Trade(number="M-1007-2008-1999", seller=1007, buyer=2008, at=at, cents=1999)

    sold, cost = stage.sent_by(lambda session: session.all(in_time.where(Trade.seller == 1007)))
    bought, _ = stage.sent_by(lambda session: session.all(in_time.where(Trade.buyer == 1007)))
    ways = three_ways(one)
    found = [stage.sent_by(lambda session, way=way: session.all(way)) for way in ways]  # type: ignore[misc]  # a default binds the loop's value

    timely = sorted((each for each in MORE if start <= each[3] < stop), key=lambda each: each[0])
    timely.sort(key=lambda each: each[3], reverse=True)
    assert len(MORE) >= 1000
    assert [each.number for each in sold] == [each[0] for each in timely if each[1] == 1007]
    assert [each.number for each in bought] == [each[0] for each in timely if each[2] == 1007]
    assert (cost.scanners, cost.gets) == (1, 3)  # 288 entries, a hundred a multi-get
    assert [one in rows for rows, _ in found] == [True, True, True]
    assert [(cost.gets, cost.scanners) for _, cost in found] == [(1, 0), (1, 1), (1, 1)]


DIES_BEFORE_ITS_NTH_WRITE = """
import os, sys
from datetime import UTC, datetime, timedelta
from examples.trades import Trade
from hbase_orm import connect
from tests.support.recording import WRITES, RecordsRequests, gateway_of, through
from hbase_orm.ops import CheckAndMutate

class Dies(RecordsRequests):
    left = 0
    def execute(self, operation, /):
        if isinstance(operation, (*WRITES, CheckAndMutate)):
            if self.left == 0:
                os._exit(9)
            self.left -= 1
        return self.inner.execute(operation)

def write(url, n, is_change):
    with connect(url) as plain:
        gateway = Dies(gateway_of(plain))
        gateway.left = n if not is_change else 10**6
        engine = through(gateway, plain)
        at = datetime(2025, 1, 1, n, is_change, tzinfo=UTC)
        trade = Trade(number=f"K-{n}-{is_change}", seller=3000, buyer=4000, at=at, cents=n)
        with engine.session() as session:
            session.add(trade)
            session.flush()
            if is_change:
                gateway.left = n
                trade.seller, trade.buyer, trade.cents = 3001, 4001, 1000
                session.flush()
    os._exit(0)

for is_change in (0, 1):
    for n in range(6):
        child = os.fork()
        if not child:
            write(sys.argv[1], n, is_change)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def long(data: bytes) -> int:
    return int.from_bytes(data)


@pytest.mark.usefixtures("first")
def test_a_writer_killed_between_its_writes_leaves_three_ways_that_agree(stage: Stage) -> None:
    program = [sys.executable, "-c", DIES_BEFORE_ITS_NTH_WRITE, stage.url]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    codes = ended.stdout.split()
    assert codes.count("9") >= 6, ended.stderr
    assert codes[5] == codes[11] == "0"

    # What is there is said by the rows of the base table, read without the library.
    there = {
        (row.decode(), long(cells[b"d:s"]), long(cells[b"d:b"]))
        for row, cells in stage.rows("trades", row_prefix=b"K-").items()
        if b"d:s" in cells
    }
    assert {seller for _, seller, _ in there} == {3000, 3001}
    entries = stage.rows("trades_ix_by_seller", row_start=b"\0\0\x0b\xb8", row_stop=b"\0\0\x0b\xba")
    assert len(entries) > len(there)  # some were left behind

    def ways(side: str) -> set[tuple[str, int, int]]:
        sellers, buyers = (3000, 3001), (4000, 4001)
        field, values = (Trade.seller, sellers) if side == "seller" else (Trade.buyer, buyers)
        rows, _ = stage.sent_by(
            lambda session: [
                row for value in values for row in session.all(select(Trade).where(field == value))
            ]
        )
        assert len(rows) == len({row.number for row in rows})
        return {(row.number, row.seller, row.buyer) for row in rows}

    assert ways("seller") == ways("buyer") == there

    stage.engine.repair_indexes(Trade, min_age_ms=0)

    assert ways("seller") == ways("buyer") == there
    for table, column in (("trades_ix_by_seller", b"d:s"), ("trades_ix_by_buyer", b"d:b")):
        wanted = {
            cells[column] + (LONG_MAX - long(cells[b"d:t"])).to_bytes(8) + row
            for row, cells in stage.rows("trades").items()
            if column in cells
        }
        assert set(stage.rows(table)) == wanted
