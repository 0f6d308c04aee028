"""Errors of values that do not fit; nothing was sent, except of a counter that overflowed."""

from __future__ import annotations

from hbase_orm.errors.root import HBaseORMError


class RowKeyError(HBaseORMError, ValueError):
    """A key field is missing, unknown or does not fit, or the row key is empty or too long.

    What to do: correct the key fields; `fix` shows what fits. Nothing was sent.
    """


class UnnamedKeyError(RowKeyError, TypeError):
    """Key fields were given by position; they are given by name.

    What to do: name the key fields, as the call in `fix` does.
    """


class CodecError(HBaseORMError, ValueError):
    """A value does not fit its codec.

    What to do: correct the value, or declare a codec that can store it. Nothing was sent.
    """


class ValidationError(HBaseORMError, ValueError):
    """A value does not fit its field or option, or an object cannot be used in this session.

    What to do: correct the value, or use the object in the session that it belongs to. Nothing
    was sent.
    """


class CounterOverflowError(HBaseORMError):
    """A counter overflowed 64 bits and wrapped around; the increment was applied.

    What to do: increment by the same amount with the other sign, as `fix` says.

    Attributes:
        values: The new value of each counter in the increment, in the order of the call.
    """
