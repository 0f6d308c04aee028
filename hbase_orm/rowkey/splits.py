"""Split keys: where a new table is cut, so that its writes spread from the first row on."""

from __future__ import annotations

from hbase_orm.rowkey.layout import KeyLayout


def split_keys(layout: KeyLayout) -> tuple[bytes, ...]:
    """Return the split keys that the layout itself suggests: one region a salt bucket.

    A key without a salt suggests none: only its author knows how the values spread.
    """
    spread = layout.spread
    if spread is None or spread.derivation is None:
        return ()
    return tuple(sorted(spread.derivation.choices() or ()))[1:]
