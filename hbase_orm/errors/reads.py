"""Errors of statements, and of rows that are read."""

from __future__ import annotations

from hbase_orm.errors.root import HBaseORMError


class CorruptRowError(HBaseORMError):
    """Stored bytes do not decode as the model declares.

    What to do: declare the field with the codec that wrote the bytes, or write the row again with
    `replace`, or delete it; to change a codec of stored rows, use the operation `ChangeCodec`.
    """


class MissingCellError(HBaseORMError):
    """A required column has no cell in the row that was read.

    What to do: declare the field nullable or with a default, or fill the column:
    `BackfillColumn`.
    """


class NotLoadedError(HBaseORMError):
    """The object was read without this field; access to an attribute never reads from HBase.

    What to do: read the field: `session.refresh(obj, M.field)`, or `.load_related(M.field)` in
    the statement.
    """


class QueryError(HBaseORMError):
    """A statement cannot be planned, or a method cannot use its arguments.

    What to do: correct the statement or the arguments as `fix` says. Nothing was sent.
    """


class UnboundedScanError(QueryError):
    """The statement would read the whole table, but does not call `.allow_full_scan()`.

    What to do: compare the key field that `fix` names, declare an index, or allow it with
    `.allow_full_scan()`. Nothing was sent.
    """


class PageTokenError(QueryError):
    """A page token is not valid, or does not belong to the statement.

    What to do: begin again without a token, or use the token with the statement that returned
    it.
    """


class RowNotFoundError(HBaseORMError):
    """One row was expected, but no row exists.

    What to do: decide what a missing row means: create it, or use `get` or `first`, which
    return None.
    """


class MultipleRowsError(HBaseORMError):
    """One row was expected, but several exist.

    What to do: narrow the statement, or read with `all` or `first`; of a row that exists twice,
    delete all but one.
    """


class StreamInterruptedError(HBaseORMError):
    """A stream was used after an exception had ended it: the remaining rows were not read.

    What to do: run the statement again.
    """
