"""The old and the new layout of a row: how one follows from the other, and in which table it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hbase_orm.index.entries.targets import RowChange
from hbase_orm.ops import Protocol, Row, StoredVersion


@dataclass(frozen=True, slots=True)
class RowTranslation:
    """Pure functions between the old and the new layout of a row.

    The functions get and return data cells only, never the guard.

    Attributes:
        to_new: Returns an existing old row in the new layout. Each cell keeps the timestamp of the
            cell that it was made of. The row may be incomplete: with the cells of
            `old_columns(columns)` the result has the new key, and the cells of `columns`.
        old_key: Returns the old key of the row that has a new key. It is the inverse of the key
            that `to_new` returns. So the old key is a function of the new key alone.
        old_change: Returns the change of the old row for a change of the new row, without `reads`,
            `check` and `decide`.
        old_columns: Returns the old columns, or whole families, that are necessary for the new key
            and for some columns or whole families of the new table. If the new key depends on
            nothing but the old key, the result for no columns is empty.
        older_versions: Translates all stored versions of an old row, if the move keeps older
            versions of cells; cells that only `to_new` makes are put besides. None if it keeps only
            the newest ones.
        old_counters: The columns of the old table's counters by those of the new table.
    """

    to_new: Callable[[Row], Row]
    old_key: Callable[[bytes], bytes]
    old_change: Callable[[RowChange], RowChange]
    old_columns: Callable[[frozenset[bytes]], frozenset[bytes]]
    older_versions: Callable[[Sequence[StoredVersion]], Sequence[StoredVersion]] | None = None
    old_counters: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])


@dataclass(frozen=True, slots=True)
class MovedPeriod:
    """The period whose rows a new table holds, if the new model has a table for each period.

    The rows of all periods are in one index of new keys. The key of an entry is the period of the
    row, always in the same number of bytes, and then the new key. So the entries of one table are a
    range, in the order of the new keys.

    Attributes:
        prefix: The bytes of this period in the index of new keys.
        prefix_of: Returns the bytes of the period of the row with an old key.
        make_table: Creates the new table if it does not exist; safe to repeat.
    """

    prefix: bytes
    prefix_of: Callable[[bytes], bytes]
    make_table: Callable[[], Protocol[None]]
