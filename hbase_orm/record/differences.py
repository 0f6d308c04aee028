"""Differences between the record of a table and the declaration of a model.

Each difference has a weight:

- CONTRADICTION: the model would misread rows, hide them, or write rows that other programs misread.
  So it must not be used.
- HARMLESS: the model reads every row as it declares, and the recorded models can read every row
  that the model writes.
- OPTION: a family of the table has other options than the model declares.
- NO_FAMILY: the record lacks a family; the table itself decides what that means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum

from hbase_orm.ops import FamilyDescriptor
from hbase_orm.record.declaration import (
    Declaration,
    RecordedColumn,
    RecordedModel,
    RecordedRows,
)
from hbase_orm.record.spec_notation import codec_text, exact_text, key_text, raw_text
from hbase_orm.record.specifications import Spec, equal_codec, same_codec, same_key


class Weight(Enum):
    """What a difference means for a program that uses the model."""

    HARMLESS = "harmless"
    OPTION = "option"
    CONTRADICTION = "contradiction"
    NO_FAMILY = "no family"
    """A family that the record lacks; `create_tables` may record it, if the table has it.

    Programs that do not know the family would leave its cells behind when they delete a row, and
    the next row of the same key would have them.
    """


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        weight: What the difference means.
        subject: What differs, for example "column d:n".
        recorded: The recorded value; empty if nothing is recorded.
        declared: The declared value; empty if nothing is declared.
    """

    weight: Weight
    subject: str
    recorded: str
    declared: str

    def __str__(self) -> str:
        """Return the difference as one line."""
        recorded = f"recorded {self.recorded}" if self.recorded else "not recorded"
        declared = f"declared {self.declared}" if self.declared else "not declared"
        return f"{self.subject}: {recorded}, {declared}"


def differences(
    recorded: RecordedRows, declared: RecordedRows, families: Declaration, own: Declaration
) -> list[Difference]:
    """Return the differences between the rows of a table and one model's declaration of them.

    Args:
        recorded: The rows that the record describes.
        declared: The rows that the model declares; `models` has only this model.
        families: The recorded declaration, for its families and its period.
        own: The model's declaration, for its families and its period.
    """
    ((name, model),) = declared.models.items()
    return [
        *_of_key(recorded, declared, model),
        *_of_anchor(recorded, declared),
        *_of_columns(recorded, declared),
        *_of_overlaps(recorded.columns, declared.columns),
        *_of_fields(recorded, name, model),
        *family_differences(families.families, own.families),
        *_of_tables(families, own),
    ]


def _text(column: bytes) -> str:
    return column.decode("utf-8", "backslashreplace")


def _of_key(
    recorded: RecordedRows, declared: RecordedRows, model: RecordedModel
) -> Iterator[Difference]:
    first = next(iter(recorded.models.values()), model)
    if not same_key(recorded.key, declared.key):
        yield from _of_parts(recorded.key, declared.key, first.key, model.key)
        return
    if recorded.packed_bytes != declared.packed_bytes:
        yield Difference(
            Weight.CONTRADICTION,
            "row key, and what is stored in the qualifier",
            _packing(recorded.packed_bytes),
            _packing(declared.packed_bytes),
        )
        return
    # Fields may be renamed, but two fields of one type must not change places.
    own = [known for name, known in recorded.models.items() if name in declared.models]
    others = own or recorded.models.values()
    if recorded.models and not any(_keeps_places(each, model.key) for each in others):
        yield Difference(
            Weight.CONTRADICTION,
            "order of the key fields",
            ", ".join(first.key),
            ", ".join(model.key),
        )


def _keeps_places(recorded: RecordedModel, declared: tuple[str, ...]) -> bool:
    """Return whether each declared key field that is recorded, under any name, has its place."""
    return all(_same_places(names, declared) for names in (recorded.key, *recorded.later_keys))


def _same_places(recorded: tuple[str, ...], declared: tuple[str, ...]) -> bool:
    places = {name: place for place, name in enumerate(recorded)}
    return all(places.get(name, place) == place for place, name in enumerate(declared))


def _of_parts(
    recorded: Sequence[Spec],
    declared: Sequence[Spec],
    recorded_names: Sequence[str],
    names: Sequence[str],
) -> Iterator[Difference]:
    """Yield the differing components of two row keys, or both keys if their lengths differ."""
    if len(recorded) != len(declared):
        before, now = key_text(recorded, recorded_names), key_text(declared, names)
        yield Difference(Weight.CONTRADICTION, "row key", before, now)
        return
    for number, (old, new) in enumerate(zip(recorded, declared, strict=True), 1):
        if not same_codec(old, new):
            before, now = exact_text(old, recorded_names), exact_text(new, names)
            if before == now:
                before, now = raw_text(old), raw_text(new)
            if _have_codes_of_other_widths(old, new):
                before, now = before + _ending(old), now + _ending(new)
            yield Difference(Weight.CONTRADICTION, f"row key, component {number}", before, now)


def _have_codes_of_other_widths(old: Spec, new: Spec) -> bool:
    return old.get("codec") == new.get("codec") == "code" and old.get("end") != new.get("end")


def _ending(part: Spec) -> str:
    """Return how a part with codes ends: codes of several widths need a terminator."""
    end = part.get("end")
    return f" with the terminator {end}" if end else " without a terminator"


def _packing(packed_bytes: int) -> str:
    if packed_bytes:
        return f"a cell for each object, with a qualifier of {packed_bytes} bytes"
    return "a row for each object"


def _of_anchor(recorded: RecordedRows, declared: RecordedRows) -> Iterator[Difference]:
    anchor = recorded.anchor
    if anchor is None or (anchor in declared.columns and declared.columns[anchor].is_required):
        return
    own = declared.columns.get(anchor)
    # A view may leave the column out: it reads rows, but makes none.
    known = (recorded.models[name] for name in declared.models if name in recorded.models)
    is_view = own is None and all(anchor not in model.names.values() for model in known)
    yield Difference(
        Weight.HARMLESS if is_view else Weight.CONTRADICTION,
        f"column {_text(anchor)}, which shows that a row exists",
        "required",
        "nullable" if own is not None else "",
    )


def _of_columns(recorded: RecordedRows, declared: RecordedRows) -> Iterator[Difference]:
    for column, own in declared.columns.items():
        known = recorded.columns.get(column)
        if known is None:
            yield Difference(Weight.HARMLESS, f"column {_text(column)}", "", codec_text(own.codec))
        elif known.role != own.role and {known.role, own.role} != {"column", "version"}:
            yield Difference(Weight.CONTRADICTION, f"column {_text(column)}", known.role, own.role)
        elif not same_codec(known.codec, own.codec) or not _same_names(known, own):
            yield Difference(
                Weight.CONTRADICTION,
                f"codec of column {_text(column)}",
                codec_text(known.codec),
                codec_text(own.codec),
            )
        elif not equal_codec(known.codec, own.codec):
            yield Difference(
                Weight.HARMLESS,
                f"values of column {_text(column)}",
                codec_text(known.codec),
                codec_text(own.codec),
            )
        elif known.is_required != own.is_required and column != recorded.anchor:
            yield Difference(
                Weight.HARMLESS,
                f"column {_text(column)}",
                "required" if known.is_required else "nullable",
                "required" if own.is_required else "nullable",
            )
    for column, known in recorded.columns.items():
        if column not in declared.columns and column != recorded.anchor:
            yield Difference(
                Weight.HARMLESS, f"column {_text(column)}", codec_text(known.codec), ""
            )


def _same_names(recorded: RecordedColumn, declared: RecordedColumn) -> bool:
    if recorded.names is None or declared.names is None:
        return recorded.names == declared.names
    return equal_codec(recorded.names, declared.names)


def _of_overlaps(
    recorded: Mapping[bytes, RecordedColumn], declared: Mapping[bytes, RecordedColumn]
) -> Iterator[Difference]:
    """Yield a contradiction for each column that is dynamic only in the record, or in the model.

    Programs that treat it as a dynamic column would decode and delete it as an entry of that field.
    """
    for prefix in (name for name, each in declared.items() if each.role == "dynamic"):
        for name, known in recorded.items():
            if name.startswith(prefix) and name not in declared:
                yield _overlap(name, known, declared[prefix], is_recorded=True)
    for prefix in (name for name, each in recorded.items() if each.role == "dynamic"):
        for name, own in declared.items():
            if name.startswith(prefix) and name not in recorded:
                yield _overlap(name, own, recorded[prefix], is_recorded=False)


def _overlap(
    name: bytes, column: RecordedColumn, dynamic: RecordedColumn, *, is_recorded: bool
) -> Difference:
    own_text = f"{column.role} {codec_text(column.codec)}"
    within = f"dynamic columns {codec_text(dynamic.codec)}"
    sides = (own_text, within) if is_recorded else (within, own_text)
    return Difference(Weight.CONTRADICTION, f"column {_text(name)}", *sides)


def _of_fields(recorded: RecordedRows, name: str, model: RecordedModel) -> Iterator[Difference]:
    """Yield a contradiction for each field that stands for another column than in the record.

    A recorded model is compared with its own fields in the record. A model that is not recorded is
    a view: it may have other names of fields, so it need only agree with one recorded model.
    """
    own = recorded.models.get(name)
    known = [own] if own is not None else list(recorded.models.values())
    moved = [_moved(each, model) for each in known]
    if not moved or not all(moved):
        return
    for field, (before, now) in moved[0].items():
        yield Difference(Weight.CONTRADICTION, f"field {field}", _text(before), _text(now))


def _moved(recorded: RecordedModel, model: RecordedModel) -> dict[str, tuple[bytes, bytes]]:
    return {
        field: (recorded.names[field], column)
        for field, column in model.fields.items()
        if recorded.names.get(field, column) != column
    }


def family_differences(
    recorded: Mapping[bytes, FamilyDescriptor], declared: Mapping[bytes, FamilyDescriptor]
) -> Iterator[Difference]:
    """Yield the differences between the families of a table and the families of a model."""
    for name, family in declared.items():
        known = recorded.get(name)
        if known is None:
            yield Difference(Weight.NO_FAMILY, f"family {_text(name)}", "", "Family()")
            continue
        before, now = asdict(known), asdict(family)
        for option in now:
            if before[option] != now[option]:
                subject = f"{option.removesuffix('_s')} of family {_text(name)}"
                old, new = _option(option, before[option]), _option(option, now[option])
                yield Difference(Weight.OPTION, subject, old, new)


def _option(name: str, value: object) -> str:
    """Return the value of a family's option as it is written in `Family(...)`."""
    if name == "ttl_s" and value is not None:
        return f"timedelta(seconds={value})"
    if name == "keep_deleted_cells" and value != "TTL":
        return str(value == "TRUE")
    return repr(value)


def _of_tables(recorded: Declaration, declared: Declaration) -> Iterator[Difference]:
    if recorded.period != declared.period:
        yield Difference(
            Weight.CONTRADICTION,
            "period of the tables",
            recorded.period or "one table",
            declared.period or "one table",
        )
