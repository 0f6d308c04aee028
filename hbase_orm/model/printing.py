"""The `repr` of objects: long values are cut."""

from __future__ import annotations

from datetime import date, time
from reprlib import Repr
from typing import Any, Final

from hbase_orm.model.fields.fields import Mapped

LONGEST_SHOWN: Final = 80
"""The largest number of characters or bytes of a value that is shown whole.

Only the beginning and the end of a longer value are shown.
"""

MOST_ITEMS: Final = 10
"""The number of items of a list, a tuple, a set or a dict that are shown."""


class _Printer(Repr):
    """A `Repr` that cuts long bytes as well as long text, before they are formatted."""

    def __init__(self) -> None:
        super().__init__()
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = MOST_ITEMS
        self.maxlong = LONGEST_SHOWN
        self.maxother = 2 * LONGEST_SHOWN  # a datetime with its time zone has 90

    def repr_bytes(self, value: bytes, level: int) -> str:
        """Return the `repr` of bytes; the middle of long bytes is left out."""
        del level
        return repr(value) if len(value) <= LONGEST_SHOWN else self._cut(value)

    def repr_str(self, x: str, level: int) -> str:
        """Return the `repr` of a text; the middle of a long text is left out."""
        del level
        return repr(x) if len(x) <= LONGEST_SHOWN else self._cut(x)

    def repr_int(self, x: int, level: int) -> str:
        """Return the `repr` of a number, or its length in bits if it is too large for Python."""
        try:
            return super().repr_int(x, level)
        except ValueError:
            return f"<a number of {x.bit_length()} bits>"

    def _cut(self, value: str | bytes) -> str:
        half = LONGEST_SHOWN // 2
        return f"{value[:half]!r}...{value[-half:]!r}"


_PRINTER: Final = _Printer()


def shown(value: Any) -> str:
    """Return the `repr` of a value, cut if it is long."""
    return _PRINTER.repr(value)


def cell_text(value: Any) -> str:
    """Return a value for a cell of a table: text without quotes, times in ISO 8601, cut."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…"
    if isinstance(value, (date, time)):  # a datetime is a date
        return str(value)
    return shown(value)


def is_shown(field: Any) -> bool:
    """Return whether the `repr` of objects shows a field."""
    return not isinstance(field, Mapped) or field.is_in_repr
