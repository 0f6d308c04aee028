"""Differences between the record of a table and the declaration of a model.

A contradiction means that the model would misread rows, hide them, or write rows that other
programs misread: the model must not be used. A change is harmless: every row is read as the model
says, and every row that the model writes can be read by the record's models. An option differs if
a family of the table has other options than the model declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import Enum

from hbase_orm.ops import FamilyDescriptor
from hbase_orm.record.declaration import Declaration, RecordedModel, RecordedRows
from hbase_orm.record.specifications import same_codec, same_key


class Weight(Enum):
    """What a difference means for a program that uses the model."""

    HARMLESS = "harmless"
    OPTION = "option"
    CONTRADICTION = "contradiction"
    NO_FAMILY = "no family"
    """A family that the record lacks: a contradiction, if the table lacks it too."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        weight: What it means.
        subject: What differs, for example "column d:n".
        recorded: What the record says; empty if it says nothing.
        declared: What the model declares; empty if it declares nothing.
    """

    weight: Weight
    subject: str
    recorded: str
    declared: str

    def __str__(self) -> str:
        """Return the difference as one line."""
        recorded, declared = self.recorded or "none", self.declared or "none"
        return f"{self.subject}: recorded {recorded}, declared {declared}"


def differences(
    recorded: RecordedRows, declared: RecordedRows, families: Declaration, own: Declaration
) -> list[Difference]:
    """Return the differences between the rows of a table and one model's declaration of them.

    Args:
        recorded: The rows that the record describes.
        declared: The rows that the model declares; `models` has only this model.
        families: The recorded declaration, for its families.
        own: The model's declaration, for its families.
    """
    ((name, model),) = declared.models.items()
    return [
        *_of_key(recorded, declared, model),
        *_of_anchor(recorded, declared),
        *_of_columns(recorded, declared),
        *_of_fields(recorded, name, model),
        *_of_families(families.families, own.families),
        *_of_tables(families, own),
    ]


def _text(column: bytes) -> str:
    return column.decode("utf-8", "backslashreplace")


def _of_key(
    recorded: RecordedRows, declared: RecordedRows, model: RecordedModel
) -> Iterator[Difference]:
    if not same_key(recorded.key, declared.key) or recorded.packed_bytes != declared.packed_bytes:
        yield Difference(
            Weight.CONTRADICTION,
            "row key",
            _key_text(recorded, next(iter(recorded.models.values()), model)),
            _key_text(declared, model),
        )
        return
    # Fields may be renamed, but two fields of one type must not change places.
    compatible = [each for each in recorded.models.values() if _same_places(each.key, model.key)]
    if recorded.models and not compatible:
        first = next(iter(recorded.models.values()))
        yield Difference(
            Weight.CONTRADICTION,
            "order of the key fields",
            ", ".join(first.key),
            ", ".join(model.key),
        )


def _same_places(recorded: tuple[str, ...], declared: tuple[str, ...]) -> bool:
    places = {name: place for place, name in enumerate(recorded)}
    return all(places.get(name, place) == place for place, name in enumerate(declared))


def _key_text(rows: RecordedRows, model: RecordedModel) -> str:
    """Return a row key in the notation of a declaration, as far as a line can show it."""
    parts = []
    for part in rows.key:
        number = part.get("field", len(model.key))
        named = model.key[number] if number < len(model.key) else part.get("derived", "")
        own = {k: v for k, v in part.items() if k not in {"field", "derived", "of", "codec"}}
        shown = ", ".join(f"{key}={value}" for key, value in own.items())
        parts.append(f"{named} {part.get('codec', '')}({shown})")
    return " + ".join(parts)


def _of_anchor(recorded: RecordedRows, declared: RecordedRows) -> Iterator[Difference]:
    anchor = recorded.anchor
    if anchor is None or (anchor in declared.columns and declared.columns[anchor].is_required):
        return
    own = declared.columns.get(anchor)
    # A view may leave the column out: it reads rows, but makes none.
    is_view = own is None and not declared.models.keys() & recorded.models.keys()
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
            yield Difference(Weight.HARMLESS, f"column {_text(column)}", "", _shown(own.codec))
        elif known.role != own.role and {known.role, own.role} != {"column", "version"}:
            yield Difference(Weight.CONTRADICTION, f"column {_text(column)}", known.role, own.role)
        elif not same_codec(known.codec, own.codec) or known.names != own.names:
            yield Difference(
                Weight.CONTRADICTION,
                f"codec of column {_text(column)}",
                _shown(known.codec),
                _shown(own.codec),
            )
        elif known.is_required != own.is_required:
            yield Difference(
                Weight.HARMLESS,
                f"column {_text(column)}",
                "required" if known.is_required else "nullable",
                "required" if own.is_required else "nullable",
            )
    for column, known in recorded.columns.items():
        if column not in declared.columns and column != recorded.anchor:
            yield Difference(Weight.HARMLESS, f"column {_text(column)}", _shown(known.codec), "")


def _shown(codec: Mapping[str, object]) -> str:
    own = ", ".join(f"{name}={value}" for name, value in codec.items() if name != "codec")
    return f"{codec.get('codec', '')}({own})" if own else str(codec.get("codec", ""))


def _of_fields(recorded: RecordedRows, name: str, model: RecordedModel) -> Iterator[Difference]:
    """Yield a contradiction if a field stands for another column than a recorded model says.

    A model of another name is a view, which may have its own names, if one recorded model agrees.
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
        field: (recorded.fields[field], column)
        for field, column in model.fields.items()
        if field in recorded.fields and recorded.fields[field] != column
    }


def _of_families(
    recorded: Mapping[bytes, FamilyDescriptor], declared: Mapping[bytes, FamilyDescriptor]
) -> Iterator[Difference]:
    for name, family in declared.items():
        known = recorded.get(name)
        if known is None:
            yield Difference(Weight.NO_FAMILY, f"family {_text(name)}", "", "declared")
            continue
        before, now = asdict(known), asdict(family)
        for option in now:
            if before[option] != now[option]:
                yield Difference(
                    Weight.OPTION,
                    f"{option} of family {_text(name)}",
                    str(before[option]),
                    str(now[option]),
                )


def _of_tables(recorded: Declaration, declared: Declaration) -> Iterator[Difference]:
    if recorded.period != declared.period:
        yield Difference(
            Weight.CONTRADICTION,
            "period of the tables",
            recorded.period or "one table",
            declared.period or "one table",
        )
