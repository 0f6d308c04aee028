"""Rows of random pairs of models are translated as they are copied, and changes as they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.row_translation import row_translation
from hbase_orm.errors import CodecError, RowKeyError, ValidationError
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.index.entries.targets import RowChange, family_of
from hbase_orm.index.protocol.attempt import cells_after
from hbase_orm.migrate.operations.rows.row_copies import RowCopy
from hbase_orm.migrate.operations.rows.row_mapping import RowMapping
from hbase_orm.ops import Cell, Row, StoredVersion
from tests.property.model_pairs import ModelPair, OldRow, model_pairs, new_changes, old_rows

MISFITS = (CodecError, RowKeyError, ValidationError)
several = settings(
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def newest(row: OldRow) -> Row:
    cells: dict[bytes, Cell] = {}
    for each in row.versions:
        cells.setdefault(each.column, Cell(each.value, each.timestamp_ms))
    return Row(row.key, cells)


def copied(pair: ModelPair, row: OldRow, versions: Sequence[StoredVersion] | None) -> RowCopy:
    """Return the row of the exclusive copy, which asks for nothing."""
    mapping, whole = RowMapping(pair.old, pair.new), newest(row)
    steps = mapping.row(pair.old, whole, versions)
    try:
        next(steps)
    except StopIteration as end:
        _, copy = end.value
        assert isinstance(copy, RowCopy)
        assert mapping.copy(pair.old, whole, versions)[1] == copy
        return copy
    message = "the mapping asked for something"
    raise AssertionError(message)


Puts = set[tuple[bytes, bytes, int | None]]


def translated(pair: ModelPair, row: OldRow) -> tuple[bytes, Puts]:
    translation = row_translation(pair.old, pair.new)
    new = translation.to_new(newest(row))
    puts: Puts = {(name, cell.value, cell.timestamp_ms) for name, cell in new.cells.items()}
    older = translation.older_versions
    versions: Sequence[StoredVersion] = () if older is None else older(row.versions)
    return new.key, puts | {(each.column, each.value, each.timestamp_ms) for each in versions}


def outcome(make: Any, pair: ModelPair, row: OldRow) -> Any:
    try:
        key, puts = make(pair, row)
    except MISFITS:
        event("does not fit")
        return "refused"
    return (key, puts) if puts else "refused"


@several
@given(st.data())
def test_rows_are_translated_as_the_exclusive_copy_maps_them(data: st.DataObject) -> None:
    pair = data.draw(model_pairs())
    row = data.draw(old_rows(pair, all_fit=data.draw(st.booleans())))
    if row_translation(pair.old, pair.new).older_versions is None:
        only = {each.column: each for each in reversed(row.versions)}
        row = OldRow(row.key, tuple(only.values()), row.values)

    def mapped(pair: ModelPair, row: OldRow) -> tuple[bytes, Puts]:
        try:
            copy = copied(pair, row, row.versions)
        except ValueError as error:
            if "no place for any cell" not in str(error):
                raise
            return b"", set()
        if len({each.column for each in row.versions}) == len(row.versions):
            assert copied(pair, row, None) == copy
        key, *values = copy.row
        return key, set(zip(copy.columns, values, copy.stamps, strict=True))

    assert outcome(translated, pair, row) == outcome(mapped, pair, row)


@several
@given(st.data())
def test_the_new_key_leads_back_to_the_old_one(data: st.DataObject) -> None:
    pair = data.draw(model_pairs())
    row = newest(data.draw(old_rows(pair)))
    translation = row_translation(pair.old, pair.new)

    assert translation.old_key(translation.to_new(row).key) == row.key


def values_of(row: Row) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in row.cells.items()}


def after(bound: BoundModel, change: RowChange, values: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the values of a row after a change, as the guarded write computes them."""
    return cells_after(guarded_table(bound.schema), change, values)


@several
@given(st.data())
def test_a_change_of_the_old_row_is_the_change_of_the_new_one(data: st.DataObject) -> None:
    pair = data.draw(model_pairs())
    old = data.draw(old_rows(pair))
    row, translation = newest(old), row_translation(pair.old, pair.new)
    new = translation.to_new(row)
    change = data.draw(new_changes(pair, new, old.values))
    try:
        old_change = translation.old_change(change)
    except ValidationError:
        event("waits for MOVING")
        reject()
    exists = change.kind != "insert" and (change.kind == "update" or data.draw(st.booleans()))

    old_after = after(pair.old, old_change, values_of(row) if exists else {})
    new_after = after(pair.new, change, values_of(new) if exists else {})

    assert old_change.row == row.key
    assert guarded_table(pair.old.schema).exists(old_after)
    result = translation.to_new(Row(row.key, {name: Cell(v, 1) for name, v in old_after.items()}))
    assert (result.key, values_of(result)) == (new.key, new_after)


@several
@given(st.data())
def test_the_needed_columns_give_the_key_and_the_wanted_cells(data: st.DataObject) -> None:
    pair = data.draw(model_pairs())
    row, translation = newest(data.draw(old_rows(pair))), row_translation(pair.old, pair.new)
    whole = translation.to_new(row)
    wanted = frozenset(data.draw(st.sets(st.sampled_from([b"d", b"d:zz", *sorted(whole.cells)]))))
    needed = translation.old_columns(wanted)

    read = {name: cell for name, cell in row.cells.items() if {name, family_of(name)} & needed}
    part = translation.to_new(Row(row.key, read))

    assert part.key == whole.key
    stored = {column.name for column in pair.old.schema.columns}
    made = {each.column for each in pair.new.schema.columns if each.name not in stored}
    for name, cell in whole.cells.items():
        if {name, family_of(name)} & wanted:
            assert part.cells[name].value == cell.value
            is_made = name in made or name == pair.new.schema.marker
            assert is_made or part.cells[name] == cell
