"""Reading every row into an Arrow table: happybase and lists by hand against `session.arrow`."""

from __future__ import annotations

import struct
from importlib import import_module
from typing import Any

from benchmarks.jobs.scan import CACHING_ROWS, TIMES, complete, stream, write_readings
from benchmarks.models import PlainReading
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import Comparison
from hbase_orm import Engine, select

_LONG_MAX = (1 << 63) - 1
_SIGN = 1 << 63
_LONG = struct.Struct(">q")
_UNSIGNED = struct.Struct(">Q")
_SHORT = struct.Struct(">H")
_DOUBLE = struct.Struct(">d")


def arrow(place: Place) -> list[Comparison]:
    """Compare full scans into tables of the same values, and a scan into objects beside them."""
    pa = import_module("pyarrow")
    rows = TIMES * place.rows
    write_readings(place, rows)
    stmt = select(PlainReading).allow_full_scan().caching(CACHING_ROWS)

    def by_hand() -> Any:
        connection = place.connect_happybase()
        try:
            return hand_table(connection.table(place.name_of(PlainReading)))
        finally:
            connection.close()

    with place.engine.session() as session, session.arrow(stmt) as reader:
        expected = by_hand()
        assert expected.equals(reader.read_all().cast(expected.schema))
    variants = [
        *pair_by_hand("happybase scan, lists by hand", lambda: complete(by_hand().num_rows, rows)),
        *place.own("session.arrow(select(...))", table_of, rows=rows),
        Variant(
            "objects",
            "session.stream(select(...)), objects only",
            lambda: stream(place.engine, rows),
        ),
    ]
    title = f"Scan of {rows:,} rows of 5 cells into an Arrow table (pyarrow {pa.__version__})"
    return [compare("arrow", title, "row", variants, repetitions=place.repetitions, seed=19)]


def table_of(engine: Engine, rows: int) -> int:
    """Read the table into an Arrow table; return the number of its rows."""
    stmt = select(PlainReading).allow_full_scan().caching(CACHING_ROWS)
    with engine.session() as session, session.arrow(stmt) as reader:
        return complete(reader.read_all().num_rows, rows)


def hand_table(table: Any) -> Any:
    """Return the Arrow table of a happybase table, by one list for each column."""
    pa = import_module("pyarrow")
    hosts, ats, values, units, statuses, totals, seen = [], [], [], [], [], [], []
    for row, cells in table.scan(batch_size=CACHING_ROWS):
        host, _, at = row.partition(b"\x00")
        hosts.append(host.decode())
        ats.append(_LONG_MAX - _LONG.unpack(at)[0])
        bits = _UNSIGNED.unpack(cells[b"d:v"])[0] ^ _SIGN  # values here are never negative
        values.append(_DOUBLE.unpack(_UNSIGNED.pack(bits))[0])
        units.append(cells[b"d:u"].decode())
        statuses.append(_SHORT.unpack(cells[b"d:s"])[0])
        totals.append(_UNSIGNED.unpack(cells[b"d:t"])[0] - _SIGN)
        seen.append(_LONG.unpack(cells[b"d:w"])[0])
    at_type = pa.timestamp("ms", "UTC")
    columns = {
        "host": pa.array(hosts, pa.string()),
        "at": pa.array(ats, at_type),
        "value": pa.array(values, pa.float64()),
        "unit": pa.array(units, pa.string()),
        "status": pa.array(statuses, pa.uint16()),
        "total": pa.array(totals, pa.int64()),
        "seen": pa.array(seen, at_type),
    }
    return pa.table(columns)
