"""Operations in place: another codec of a column, and another qualifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.in_place import CellColumns, InPlaceOperation
from hbase_orm.migrate.operations.operation import Irreversible, Operation
from hbase_orm.migrate.operations.refusals import mismatch
from hbase_orm.migrate.operations.rows.row_edits import MISFITS
from hbase_orm.migrate.operations.rows.row_kinds import column_name
from hbase_orm.migrate.operations.rows.row_marks import RowMark, left_versions
from hbase_orm.migrate.operations.rows.row_walk import RowSample
from hbase_orm.migrate.operations.source_text import call, codec_source
from hbase_orm.ops import Delete, Put, RowMutation, StoredVersion
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.spec_notation import codec_text
from hbase_orm.record.specifications import Spec, codec_spec, same_codec

_UP_TO: Final = frozenset({"delete_column", "delete_family"})
_EXACTLY: Final = frozenset({"delete", "delete_family_version"})


@dataclass(frozen=True)
class ChangeCodec(InPlaceOperation):
    """Change the codec of a column, and all its stored values, exclusively.

    Every version keeps its timestamp. A newest value that does not decode, or that the new codec
    cannot hold, refuses the whole operation before anything is changed. Older versions of which
    that is so stay as they are.

    Attributes:
        column: The column, as `family:qualifier`.
        old: The codec until now.
        new: The new codec.
    """

    column: str
    _: KW_ONLY
    old: Codec[Any]
    new: Codec[Any]
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        before, after = codec_text(self._before), codec_text(self._after)
        return f"change codec of {self.column} of {self.table} from {before} to {after}"

    def reverse(self) -> Operation | Irreversible:
        """Return the change back."""
        return ChangeCodec(self.table, self.column, old=self.new, new=self.old)

    def source(self) -> str:
        """Return the Python source."""
        codecs = {"old": codec_source(self._before), "new": codec_source(self._after)}
        return call("ChangeCodec", self.table, self.column, comment=self.comment, **codecs)

    @property
    def _before(self) -> Spec:
        return codec_spec(self.old)

    @property
    def _after(self) -> Spec:
        return codec_spec(self.new)

    # --- the record -------------------------------------------------------------------------------

    @property
    def changed_column(self) -> str:
        """The column."""
        return self.column

    @property
    def columns(self) -> CellColumns:
        """The column."""
        return CellColumns(column_name(self.column))

    @property
    def needs_marks(self) -> bool:
        """True: the bytes of both codecs may look alike."""
        return True

    def _recorded(self, declaration: Declaration) -> Spec:
        known = edits.column_of(declaration, self.columns.read)
        return {} if known is None else known.codec

    def is_done(self, declaration: Declaration) -> bool:
        """Return whether the record has the new codec."""
        return same_codec(self._recorded(declaration), self._after)

    def is_changing(self, declaration: Declaration) -> bool:
        """Return whether the record says that the codec is being changed as this operation does."""
        known, nonce = self._recorded(declaration), self.nonce_of(declaration)
        return known == edits.changing(self._before, self._after, nonce)

    def is_undoing(self, declaration: Declaration) -> bool:
        """Return whether the record says that the codec is being changed the other way round."""
        known, nonce = self._recorded(declaration), self.nonce_of(declaration)
        return known == edits.changing(self._after, self._before, nonce)

    def nonce_of(self, declaration: Declaration) -> str:
        """Return the nonce of the marks that the record has."""
        nonce = self._recorded(declaration).get("mark", "")
        return nonce if isinstance(nonce, str) else ""

    def check_record(self, table: str, declaration: Declaration) -> None:
        """Raise an error unless the record has the old codec."""
        known = self._recorded(declaration)
        if not known or not same_codec(known, self._before):
            recorded = codec_text(known) if known else "nothing"
            raise mismatch(
                table, f"codec of column {self.column}", recorded, codec_text(self._before)
            )

    def begun(self, declaration: Declaration, nonce: str) -> Declaration:
        """Return the declaration with the codec `changing`, which no model declares."""
        codec = edits.changing(self._before, self._after, nonce)
        return edits.with_codec(declaration, self.columns.read, codec)

    def ended(self, declaration: Declaration) -> Declaration:
        """Return the declaration with the new codec."""
        return edits.with_codec(declaration, self.columns.read, self._after)

    # --- rows -------------------------------------------------------------------------------------

    def mutation(
        self, row: bytes, versions: Sequence[StoredVersion], mark: RowMark | None
    ) -> RowMutation | None:
        """Return the puts of the versions in the new codec, at their own timestamps.

        The newest version must fit. Older ones that do not stay as they are, and the mark says
        which: a run in the other direction leaves them too.
        """
        marked = [] if mark is None else puts_of(versions, mark.column)
        if mark is not None and mark.is_done(marked[0].value if marked else None):
            return None
        stored = puts_of(versions, self.columns.read)
        if not stored:
            return None  # deleted since the page was scanned
        left_ms = left_versions(marked[0].value) if marked else frozenset[int]()
        puts = self._puts([each for each in stored if each.timestamp_ms not in left_ms])
        if mark is not None:
            left_ms |= {each.timestamp_ms for each in stored} - {each.timestamp_ms for each in puts}
            at_ms = marked[0].timestamp_ms if marked else stored[0].timestamp_ms
            puts.append(Put(mark.column, mark.value_with(left_ms), at_ms))
        return RowMutation(row, puts=tuple(puts))

    def _puts(self, versions: Sequence[StoredVersion]) -> list[Put]:
        """Return the puts of the newest version, which must fit, and of the others that do."""
        values = [
            self._converted_if_it_fits(each.value) if number else self._converted(each.value)
            for number, each in enumerate(versions)
        ]
        return [
            Put(self.columns.read, value, each.timestamp_ms)
            for each, value in zip(versions, values, strict=True)
            if value is not None
        ]

    def _converted(self, data: bytes) -> bytes:
        return self.new.encode(self.new.normalize(self.old.decode(data)))

    def _converted_if_it_fits(self, data: bytes) -> bytes | None:
        try:
            return self._converted(data)
        except MISFITS:
            return None

    def sample(self, table: str, row: bytes, versions: Sequence[StoredVersion]) -> RowSample:
        """Return the newest value of a row before and after."""
        column = self.columns.read
        newest = puts_of(versions, column)[0].value
        return RowSample(table, row, {column: newest}, {column: self._converted(newest)})


@dataclass(frozen=True)
class RenameQualifier(InPlaceOperation):
    """Move the cells of a column to another qualifier of the same family, exclusively.

    Every version keeps its timestamp, unless tombstones of the new column would hide it: then it
    gets a later one. The fields that stand for the column keep their names.

    Attributes:
        old: The column until now, as `family:qualifier`.
        new: The new column.
    """

    old: str
    new: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"rename column {self.old} of {self.table} to {self.new}"

    def reverse(self) -> Operation | Irreversible:
        """Return the renaming back."""
        return RenameQualifier(self.table, self.new, self.old)

    def source(self) -> str:
        """Return the Python source."""
        return call("RenameQualifier", self.table, self.old, self.new, comment=self.comment)

    # --- the record -------------------------------------------------------------------------------

    @property
    def changed_column(self) -> str:
        """The old column."""
        return self.old

    @property
    def columns(self) -> CellColumns:
        """The old column, whose cells are moved, and the new one."""
        return CellColumns(column_name(self.old), (column_name(self.new),))

    @property
    def needs_marks(self) -> bool:
        """False: a changed row has no cell in the old column."""
        return False

    def _codec(self, declaration: Declaration, column: str) -> Spec:
        known = edits.column_of(declaration, column_name(column))
        return {} if known is None else known.codec

    def is_done(self, declaration: Declaration) -> bool:
        """Return whether the record has only the new column."""
        new = self._codec(declaration, self.new)
        return bool(new) and not self._codec(declaration, self.old) and not _is_changing(new)

    def is_changing(self, declaration: Declaration) -> bool:
        """Return whether the record has both columns, each with the codec `changing`."""
        old, new = self._codec(declaration, self.old), self._codec(declaration, self.new)
        return _is_changing(old) and old == new

    def is_undoing(self, declaration: Declaration) -> bool:  # noqa: ARG002  # both look alike
        """Return False: of a row that was changed, the cells are in the new column only."""
        return False

    def nonce_of(self, declaration: Declaration) -> str:  # noqa: ARG002  # there are no marks
        """Return nothing."""
        return ""

    def check_record(self, table: str, declaration: Declaration) -> None:
        """Raise an error unless the record has the old column and not the new one."""
        old, new = self._codec(declaration, self.old), self._codec(declaration, self.new)
        if not old or _is_changing(old):
            recorded = codec_text(old) if old else "nothing"
            raise mismatch(table, f"column {self.old}", recorded, "a column")
        if new:
            raise mismatch(table, f"column {self.new}", codec_text(new), "nothing")
        family = self.old.partition(":")[0]
        if family != self.new.partition(":")[0]:
            raise mismatch(table, f"family of column {self.new}", family, "the same family")

    def begun(self, declaration: Declaration, nonce: str) -> Declaration:  # noqa: ARG002  # no marks
        """Return the declaration with both columns, each with the codec `changing`."""
        old, new = column_name(self.old), column_name(self.new)
        codec = self._codec(declaration, self.old)
        marked = edits.with_codec(declaration, old, edits.changing(codec, codec))
        return edits.with_column_beside(marked, old, new)

    def ended(self, declaration: Declaration) -> Declaration:
        """Return the declaration with the new column."""
        old, new = column_name(self.old), column_name(self.new)
        codec = self._codec(declaration, self.old).get("from", {})
        renamed = edits.with_renamed_column(declaration, old, new)
        return edits.with_codec(renamed, new, codec)

    # --- rows -------------------------------------------------------------------------------------

    def mutation(
        self,
        row: bytes,
        versions: Sequence[StoredVersion],
        mark: RowMark | None,  # noqa: ARG002  # the old cells are gone
    ) -> RowMutation | None:
        """Return the puts of all versions into the new column, and the delete of the old ones."""
        old, new = column_name(self.old), column_name(self.new)
        stored = puts_of(versions, old)
        if not stored:
            return None  # deleted since the page was scanned
        if puts_of(versions, new):
            message = f"the row has cells in column {self.new}, which the record does not have"
            raise ValueError(message)
        hidden_ms = max((each.timestamp_ms for each in versions if _hides(each, new)), default=-1)
        puts: list[Put] = []
        for each in reversed(stored):  # the oldest first
            hidden_ms = max(each.timestamp_ms, hidden_ms + 1)
            puts.append(Put(new, each.value, hidden_ms))
        return RowMutation(row, tuple(puts), (Delete(old, stored[0].timestamp_ms),))

    def sample(self, table: str, row: bytes, versions: Sequence[StoredVersion]) -> RowSample:
        """Return the newest value of a row in the old and in the new column."""
        old, new = column_name(self.old), column_name(self.new)
        newest = puts_of(versions, old)[0].value
        return RowSample(table, row, {old: newest}, {old: None, new: newest})


def _is_changing(codec: Spec) -> bool:
    return codec.get("codec") == edits.CHANGING


def puts_of(versions: Sequence[StoredVersion], column: bytes) -> list[StoredVersion]:
    """Return the stored versions of a column that no tombstone deletes, the newest first."""
    own = [each for each in versions if each.column == column or _is_of_family(each, column)]
    deleted_ms = max((v.timestamp_ms for v in own if v.kind in _UP_TO), default=-1)
    exactly = {v.timestamp_ms for v in own if v.kind in _EXACTLY}
    visible: dict[int, StoredVersion] = {}
    for each in own:
        is_deleted = each.timestamp_ms <= deleted_ms or each.timestamp_ms in exactly
        if each.kind == "put" and not is_deleted:
            visible.setdefault(each.timestamp_ms, each)
    return [visible[at] for at in sorted(visible, reverse=True)]


def _hides(version: StoredVersion, column: bytes) -> bool:
    """Return whether a tombstone, or a surplus cell, would hide puts of a column."""
    return version.column == column or _is_of_family(version, column)


def _is_of_family(version: StoredVersion, column: bytes) -> bool:
    is_tombstone = version.kind in {"delete_family", "delete_family_version"}
    return is_tombstone and version.column.partition(b":")[0] == column.partition(b":")[0]
