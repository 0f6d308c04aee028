"""Errors of rows that are written, most of them because of other writers."""

from __future__ import annotations

from hbase_orm.errors.declarations import SchemaError
from hbase_orm.errors.root import HBaseORMError, shown


class ConflictError(HBaseORMError):
    """Another writer changed the row first: load it again, and decide whether to write again.

    What to do: load the row again, decide whether the change still holds, and write again.
    """


class DuplicateRowError(ConflictError):
    """The row to insert exists already.

    What to do: change the existing row with `update`, replace it with `replace`, or give the
    new row another key.
    """


class UniqueViolationError(ConflictError):
    """Another row owns the unique value.

    What to do: write another value, or first change the row that has this one.
    """


class RowMovedError(ConflictError):
    """The row was handed over to another table and cannot change in this one any more.

    What to do: read the catalog again with a new engine, and deploy the classes of the new
    table. Nothing was written.
    """


class VersionConflictError(ConflictError):
    """The row changed since the object was loaded.

    What to do: `session.refresh(obj)`, decide whether the change still holds, and flush again.

    Attributes:
        loaded_version: The version that the object has.
        stored_version: The version that the row has; 0 if the row does not exist.
    """


class ClockError(HBaseORMError):
    """A row has timestamps so far in the future that some client's clock must be wrong.

    What to do: correct the clocks; delete a row that was written with a wrong clock in the
    HBase shell.
    """


class CatalogLeaseError(HBaseORMError):
    """This process may no longer write guarded rows: it last read the catalog too long ago.

    What to do: write again once the catalog can be read; if the table is being loaded, wait for
    the load or run it again. Nothing was written.
    """


class TableHeldError(CatalogLeaseError):
    """Another program uses the table exclusively, so nothing was written.

    What to do: wait for the `holder`, and write again; if it was killed, `hbase-orm tables
    release`.

    Attributes:
        table: The table.
        holder: The name of that program, and the purpose for which it uses the table.
        since: The time when it began to use the table exclusively, in ISO 8601.
    """


class FlushError(HBaseORMError):
    """Some writes of a flush failed, or their outcome is unknown.

    What to do: correct the rows in `not_written`, and flush again: rows in `written` are not
    sent again.

    Attributes:
        written: Rows that HBase acknowledged, as (table, row key). In errors of a bulk writer and
            of `delete_where`, only the number of these rows.
        not_written: Rows that were certainly not written, as (table, row key, reason).
        unknown: Rows whose outcome is unknown: the connection broke before the answer, or a batch
            failed for some of its rows. Flushing again is safe.
    """

    def __str__(self) -> str:
        """Return the text, the number of rows by outcome, and the first failure."""
        counts = {name: len(self.details.get(name, ())) for name in ("not_written", "unknown")}
        written = self.details.get("written", ())
        counts["written"] = written if isinstance(written, int) else len(written)
        counted = " ".join(f"{name}={count}" for name, count in counts.items())
        failed = [*self.details.get("not_written", ()), *self.details.get("unknown", ())]
        first = f" first={_first(failed[0])}" if failed else ""
        return f"{self.text} [{counted}{first}]" + (f"; {self.fix}" if self.fix else "")


class FlushConflictError(FlushError, VersionConflictError):
    """A flush did not write all rows: other programs changed some of them after they were loaded.

    What to do: `session.refresh` the objects, decide whether the changes still hold, and flush
    again.

    Attributes:
        table: The table of the first changed row.
        row: The row key of the first changed row.
        loaded_version: The version that the row's object has.
        stored_version: The version that the row has; 0 if the row does not exist.
    """


class FlushSchemaError(FlushError, SchemaError):
    """A flush did not write rows because the model and its table differ, e.g. in their indexes.

    What to do: correct the class, or build the index; then flush again.

    Attributes:
        table: The table of the first failed row; exists only if indexes or row keys differ.
    """


def _first(failed: tuple[str, bytes, object]) -> str:
    table, row, reason = failed
    return f"{table} {shown(row)}: {type(reason).__name__}: {_text_of(reason)}"


def _text_of(reason: object) -> str:
    try:
        return str(reason)
    except Exception as error:  # noqa: BLE001 - a program's own error, from a hook
        return f"cannot be shown: {type(error).__name__}"
