"""What a declaration is compared with that was made again from a record."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.record.declaration import Declaration, RecordedColumn, RecordedRows


def as_rebuilt(recorded: Declaration, again: Declaration) -> Declaration:
    """Return `recorded` without the types of packed values that `again` reads as bytes."""
    rows = zip(recorded.rows, again.rows, strict=True)
    return replace(recorded, rows=tuple(_rows(known, own) for known, own in rows))


def _rows(recorded: RecordedRows, again: RecordedRows) -> RecordedRows:
    columns = {
        name: _column(column, again.columns[name]) for name, column in recorded.columns.items()
    }
    return replace(recorded, columns=columns)


def _column(recorded: RecordedColumn, again: RecordedColumn) -> RecordedColumn:
    if again.codec.get("packed") or "object" not in str(recorded.codec.get("packed")):
        return recorded
    return replace(recorded, codec={**recorded.codec, "packed": None})
