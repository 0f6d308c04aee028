"""Joins declarations: the record of a table gets what is new in a model.

What the stored cells are stays as the record has it: row keys, anchors, codecs and qualifiers.
"""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.record.declaration import (
    Declaration,
    RecordedColumn,
    RecordedIndex,
    RecordedModel,
    RecordedRows,
)
from hbase_orm.record.specifications import Spec, joined_codec, same_codec, same_key


def merged(recorded: Declaration, declared: Declaration) -> Declaration:
    """Return `recorded` with the columns, families, models and indexes that are new in `declared`.

    New columns are not required, because old rows lack them. The anchor stays. The former names of
    a model's fields are kept, because older programs use them, and indexes are described by them.
    """
    rows = list(recorded.rows)
    for new in declared.rows:
        place = next((n for n, known in enumerate(rows) if _have_one_key(known, new)), None)
        if place is None:
            rows.append(new)
        else:
            rows[place] = _merged_rows(rows[place], new)
    families = {**declared.families, **recorded.families}
    ordered = {name: families[name] for name in (*recorded.families, *families)}
    known = recorded.indexes
    indexes = {name: _joined(known.get(name), own) for name, own in declared.indexes.items()}
    return replace(
        recorded,
        families=ordered,
        rows=tuple(rows),
        is_guarded=recorded.is_guarded or declared.is_guarded,
        indexes={**known, **indexes},
        options=recorded.options or declared.options,
    )


def _joined(recorded: RecordedIndex | None, declared: RecordedIndex) -> RecordedIndex:
    """Return `declared` with the codes of both.

    If the two are different indexes of one name, `declared` is returned: the recorded index was
    dropped.
    """
    if recorded is None or recorded.spec is None or declared.spec is None:
        return declared
    if not same_codec(recorded.spec, declared.spec):
        return declared
    return replace(declared, spec=joined_codec(recorded.spec, declared.spec))


def _have_one_key(recorded: RecordedRows, declared: RecordedRows) -> bool:
    return recorded.record_type == declared.record_type and (
        same_key(recorded.key, declared.key) or same_key(declared.key, recorded.key)
    )


def _merged_rows(recorded: RecordedRows, declared: RecordedRows) -> RecordedRows:
    new = {
        column: replace(each, is_required=False)
        for column, each in declared.columns.items()
        if column not in recorded.columns
    }
    kept = {
        column: _merged_column(each, declared.columns.get(column, each))
        for column, each in recorded.columns.items()
    }
    models = {**recorded.models, **declared.models}
    models |= {
        name: _with_former_names(declared.models[name], known)
        for name, known in recorded.models.items()
        if name in declared.models
    }
    key = tuple(map(joined_codec, recorded.key, declared.key))
    return replace(recorded, key=key, columns={**kept, **new}, models=models)


def _merged_column(recorded: RecordedColumn, declared: RecordedColumn) -> RecordedColumn:
    names = recorded.names
    if names is not None and declared.names is not None:
        names = _codec_of_both(names, declared.names)
    return replace(
        recorded,
        is_required=recorded.is_required and declared.is_required,
        codec=_codec_of_both(recorded.codec, declared.codec),
        names=names,
    )


def _codec_of_both(recorded: Spec, declared: Spec) -> Spec:
    """Return `recorded` with the codes and types of both; another codec does not replace it.

    The cells are those of the recorded codec until an operation has changed them.
    """
    return joined_codec(recorded, declared) if same_codec(recorded, declared) else recorded


def _with_former_names(declared: RecordedModel, known: RecordedModel) -> RecordedModel:
    """Return `declared` together with the former names of the model's fields.

    Key fields keep their first names: the catalog describes indexes by them.
    """
    former = known.former if known.fields == declared.fields else known.names
    later = known.later_keys
    if declared.key not in {known.key, *later}:
        later = (*later, declared.key)
    return replace(declared, key=known.key, former=former, later_keys=later)
