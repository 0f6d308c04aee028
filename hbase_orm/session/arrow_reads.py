"""The reads of a session that return Arrow columns or a pandas DataFrame instead of objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hbase_orm.query import Select
from hbase_orm.reading.columnar.arrow_module import check_pandas
from hbase_orm.session.reads import Reader

BATCH_ROWS: Final = 16_384
"""The most rows of a record batch, if the caller gives no other number."""


class ArrowReads:
    """The part of a session that reads columns; they need `pip install 'hbase-orm[arrow]'`."""

    _reader: Reader

    def arrow(
        self,
        stmt: Select[Any],
        /,
        *,
        batch_rows: int = BATCH_ROWS,
        types: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the results of a statement as a `pyarrow.RecordBatchReader`.

        Each field is a column, in the order of `select(M.a, M.b)` or of the model's declaration. No
        objects are made. The batches are read from HBase as they are used, in constant memory; with
        an index the row keys of the results are kept. The reader holds scanners of the server: read
        it to its end, close it, or use it as a context manager. It raises the errors of the reads.

        Args:
            stmt: The statement. `load_related()` is refused.
            batch_rows: The most rows of a batch. A batch also ends after 16 MiB of rows.
            types: A `pyarrow.DataType` by the name of a column, instead of the type that belongs
                to the field's codec: `types={"price": pa.decimal128(12, 2)}`.

        Raises:
            ConfigurationError: pyarrow is not installed.
            QueryError: A field has no Arrow type, or an argument does not fit.
            MissingCellError: While batches are read: a row lacks the cell of a required field.
            CodecError: While batches are read: a value does not fit the type of its column.
            CorruptRowError: While batches are read: a row does not decode. With
                `.on_corrupt("skip")` it is left out, and `corrupt_rows` of the reader counts it.
        """
        return self._reader.arrow(stmt, batch_rows, types or {})

    def to_pandas(
        self, stmt: Select[Any], /, *, types: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """Return all results of a statement as a `pandas.DataFrame`.

        Args:
            stmt: The statement, as for `arrow`.
            types: Arrow types of columns, as for `arrow`.
            options: Options of `pyarrow.Table.to_pandas`, such as `types_mapper=pd.ArrowDtype`.

        Raises:
            ConfigurationError: pyarrow or pandas is not installed.
            Exception: The errors that `arrow` and its batches raise.
        """
        check_pandas()
        with self.arrow(stmt, types=types) as reader:
            return reader.read_pandas(**options)
