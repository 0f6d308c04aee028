"""An estimate as text, and as plain values for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hbase_orm.advise.estimating.block_encodings import ENCODINGS
from hbase_orm.advise.estimating.estimates import (
    REGION_GIB,
    REGIONS_PER_SERVER,
    FamilyEstimate,
    SizeEstimate,
    TableEstimate,
)
from hbase_orm.advise.estimating.store_files import COMPRESSIONS
from hbase_orm.advise.sizes import bytes_text, count_text

_WIDTH: Final = 100
_HEAD: Final = (
    "table",
    "family",
    "cells",
    "a row",
    "row keys",
    "names",
    "values",
    "rest",
    "store files as declared",
)


def report_lines(result: SizeEstimate) -> Iterator[str]:
    """Yield the lines of an estimate."""
    takes = "1 row takes" if result.rows == 1 else f"{count_text(result.rows)} rows take"
    measured = "1 row was" if result.sampled == 1 else f"{count_text(result.sampled)} rows were"
    yield from _wrapped(
        f"{result.model}: {takes} {bytes_text(round(result.file_bytes))} in store files, before "
        f"the file system's copies. {measured} measured: {result.source}."
    )
    for note in result.notes:
        yield from _wrapped(f"note: {note}")
    yield ""
    yield from _aligned(
        _HEAD,
        [_family_row(result, table, each) for table in result.tables for each in table.families],
    )
    yield ""
    yield "All store files, by block encoding and compression:"
    yield from _aligned(
        ("block encoding", *COMPRESSIONS), [_kinds_row(result, each) for each in ENCODINGS]
    )
    yield ""
    few, many = result.regions
    servers = result.servers
    yield from _wrapped(
        f"Regions: {_regions_text(few, many, len(result.tables))}; with "
        f"{REGIONS_PER_SERVER[0]} to {REGIONS_PER_SERVER[1]} regions a server that is "
        f"{_range(*servers)} server{'' if servers == (1, 1) else 's'}. Memstores: a row adds "
        f"{bytes_text(_per_row(result, 'memstore_bytes'))} to their size, and takes "
        f"{bytes_text(_per_row(result, 'heap_bytes'))} of the heap. Write-ahead logs: "
        f"{bytes_text(round(result.wal_bytes_per_s))} a second at "
        f"{_rate_text(result.writes_per_s)} rows a second."
    )
    yield ""
    if not result.savings:
        yield "Nothing that was tried saves 1 % or more."
        return
    yield "What would save store files, each by itself:"
    yield from _aligned(
        ("saves", "part", "what"),
        [
            (bytes_text(round(each.bytes)), f"{100 * each.share:.0f} %", each.what)
            for each in result.savings
        ],
    )


def as_json(result: SizeEstimate) -> dict[str, Any]:
    """Return an estimate as values of JSON: sizes in bytes, of all rows."""
    return {
        "model": result.model,
        "rows": result.rows,
        "sampled": result.sampled,
        "source": result.source,
        "bytes": round(result.file_bytes),
        "regions": list(result.regions),
        "servers": list(result.servers),
        "wal_bytes_per_s": round(result.wal_bytes_per_s),
        "tables": [_table_json(each) for each in result.tables],
        "savings": [
            {"what": each.what, "bytes": round(each.bytes), "share": round(each.share, 4)}
            for each in result.savings
        ],
        "notes": [*result.notes],
    }


def _table_json(table: TableEstimate) -> dict[str, Any]:
    return {
        "table": table.table,
        "index": table.index or None,
        "rows": round(table.rows),
        "bytes": round(table.file_bytes),
        "regions": list(table.regions),
        "families": [
            {
                "family": each.family,
                "cells": round(each.cells),
                "block_encoding": each.encoding,
                "compression": each.declared_compression,
                "measured_compression": each.compression,
                "bytes": round(each.file_bytes),
                "plain_bytes": round(each.plain_bytes),
                "row_key_bytes": round(each.key_bytes),
                "name_bytes": round(each.name_bytes),
                "value_bytes": round(each.value_bytes),
                "memstore_bytes": round(each.memstore_bytes),
                "heap_bytes": round(each.heap_bytes),
                "wal_bytes": round(each.wal_bytes),
                "store_files": {
                    f"{encoding} {compression}": round(size.total)
                    for (encoding, compression), size in each.files.items()
                },
            }
            for each in table.families
        ],
    }


def _family_row(
    result: SizeEstimate, table: TableEstimate, each: FamilyEstimate
) -> tuple[str, ...]:
    plain = each.plain_bytes or 1.0
    parts = (each.key_bytes, each.name_bytes, each.value_bytes)
    rest = each.plain_bytes - sum(parts)  # lengths, timestamp and type of each cell
    kind = f"{each.encoding}, {each.declared_compression}"
    if each.compression != each.declared_compression:
        kind += f", measured as {each.compression}"
    return (
        table.table,
        each.family,
        count_text(round(each.cells)),
        bytes_text(round(each.plain_bytes / result.rows)),
        *(f"{100 * part / plain:.0f} %" for part in (*parts, rest)),
        f"{bytes_text(round(each.file_bytes))} ({kind})",
    )


def _kinds_row(result: SizeEstimate, encoding: str) -> tuple[str, ...]:
    families = [each for table in result.tables for each in table.families]
    sizes = (sum(each.files[encoding, how].total for each in families) for how in COMPRESSIONS)
    return (encoding, *(bytes_text(round(size)) for size in sizes))


def _per_row(result: SizeEstimate, name: str) -> int:
    families = [each for table in result.tables for each in table.families]
    size: float = sum(getattr(each, name) for each in families)
    return round(size / result.rows)


def _regions_text(few: int, many: int, tables: int) -> str:
    """Return the numbers of regions; small tables have one each, whatever its size."""
    large, small = REGION_GIB[1], REGION_GIB[0]
    if many == tables:
        return f"{count_text(many)}, as {'the table' if tables == 1 else 'each table'} needs one"
    return f"{count_text(few)} of {large} GiB, or {count_text(many)} of {small} GiB"


def _rate_text(rate: float) -> str:
    return count_text(round(rate)) if rate == round(rate) else f"{rate:.3g}"


def _range(few: int, many: int) -> str:
    return count_text(few) if few == many else f"{count_text(few)} to {count_text(many)}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH)


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
