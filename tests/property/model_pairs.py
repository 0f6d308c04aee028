"""Random pairs of models of an old and a new table, rows of the old and changes of the new one."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from hypothesis import reject
from hypothesis import strategies as st

from hbase_orm import (
    Bucket,
    Digest,
    Dynamic,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Salt,
    Version,
    codecs,
    column,
    connect,
    dynamic,
    key,
    rowkey,
    version,
)
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, RowKeyError
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.ops import Row, StoredVersion

QUALIFIERS = tuple(f"q{number}" for number in range(9))
UNDECLARED = tuple(b"d:" + name.encode() for name in (*QUALIFIERS, "t_x", "u_x", "zz"))
TAGS = ("", "x", "y")
_DAY = datetime(2001, 1, 1, tzinfo=UTC)
_TIMES = (_DAY, _DAY + timedelta(seconds=1))

Kind = Literal["put", "update", "insert", "replace"]


@dataclass(frozen=True)
class Values:
    """The codecs of a field in both tables, values that fit both, and values that may not."""

    old: Codec[Any]
    new: Codec[Any]
    python_type: type
    usual: tuple[Any, ...]
    more: tuple[Any, ...] = ()


_WIDER = Values(codecs.uint32(), codecs.int64(), int, (0, 1, 7, 2**32 - 1), (-1, 2**32))
_FINER = Values(
    codecs.seconds(), codecs.millis(), datetime, _TIMES, (_DAY + timedelta(milliseconds=5),)
)
_ALIKE = (
    Values(codecs.uint32(), codecs.uint32(), int, (0, 1, 7)),
    Values(codecs.text(), codecs.text(), str, ("a", "a\x00", "ab", "ä"), ("",)),
    Values(codecs.text(), codecs.text(desc=True), str, ("a", "a\x00", "ab")),
    Values(codecs.float64(), codecs.float64(), float, (-1.5, -0.0, 0.0, 2.5)),
    Values(codecs.millis(), codecs.millis(), datetime, _TIMES),
)
KINDS = (
    *_ALIKE,
    _WIDER,
    _FINER,
    *(Values(v.new, v.old, v.python_type, v.usual, v.more) for v in (_WIDER, _FINER)),
)

# The role of a field in the old model, and the roles that it may have in the new one.
ROLES: Mapping[str, tuple[str, ...]] = {
    "key": ("key", "stored key"),
    "stored key": ("key", "stored key"),
    "hashed key": ("key", "stored key"),
    "column": ("column", "column", "nullable", "key", "stored key", "hashed key"),
    "nullable": ("nullable", "nullable", "left out", "key"),
    "default": ("default", "default", "key", "stored key"),
}


@dataclass(frozen=True)
class FieldPair:
    """A field with its role and qualifier in each of the two models."""

    name: str
    values: Values
    roles: tuple[str, str]
    qualifiers: tuple[str, str]

    def is_key(self, side: int) -> bool:
        """Return whether the field is a part of the row key."""
        return self.roles[side].endswith("key")


class ModelPair:
    """The models of an old and a new table, bound to an engine."""

    def __init__(self, old: BoundModel, new: BoundModel, fields: tuple[FieldPair, ...]) -> None:
        """Store the models, and their fields."""
        self.old, self.new, self.fields = old, new, fields

    def __repr__(self) -> str:
        keys = " -> ".join(each.model.describe_key() for each in (self.old, self.new))
        return f"{keys} {[(f.name, f.values.old, f.values.new, *f.roles) for f in self.fields]}"


@st.composite
def model_pairs(draw: st.DrawFn) -> ModelPair:
    """Return models of an old and a new table between which rows can be moved."""
    has_same_key = draw(st.integers(0, 4)) == 0
    places = [draw(st.permutations(QUALIFIERS)) for _ in range(2)]
    fields: list[FieldPair] = []
    for number in range(draw(st.integers(1, 5))):
        role = "key" if number == 0 else draw(st.sampled_from(tuple(ROLES)))
        new = draw(st.sampled_from(ROLES[role]))
        values = draw(st.sampled_from(_ALIKE[:2] if has_same_key else KINDS))
        if has_same_key and (role.endswith("key") or new.endswith("key")):
            new = role
        qualifiers = (places[0][number], places[draw(st.integers(0, 1))][number])
        fields.append(FieldPair(f"f{number}", values, (role, new), qualifiers))
    if len({each.qualifiers[1] for each in fields}) < len(fields):
        fields = [
            FieldPair(f.name, f.values, f.roles, (f.qualifiers[0], places[1][n]))
            for n, f in enumerate(fields)
        ]
    dynamics = draw(st.sampled_from(((False, False), (True, False), (True, True))))
    versions = draw(st.sampled_from(((False, False), (True, False), (True, True))))
    kept = draw(st.integers(1, 2))
    names = [draw(st.permutations([f for f in fields if f.is_key(side)])) for side in (0, 1)]
    spread = [draw(st.sampled_from(("", "", "salt", "hash", "bucket"))) for _ in range(2)]
    counts = [draw(st.integers(2, 5)) for _ in range(2)]
    if has_same_key:
        names[1], spread[1], counts[1] = names[0], spread[0], counts[0]
    engine = connect("memory://")
    bounds: list[BoundModel] = []
    for side in (0, 1):

        def fill(body: dict[str, Any], side: int = side) -> None:
            family = body["d"] = Family(versions=kept)
            body["__annotations__"] = {}
            for each in fields:
                _declare(body, family, each, side)
            if dynamics[side]:
                body["tags"] = dynamic(family, prefix="tu"[side] + "_")
                body["__annotations__"]["tags"] = Dynamic[str, str]
            if versions[side]:
                body["count"] = version(family, qualifier=f"count{side}")
                body["__annotations__"]["count"] = Version
            parts = [_part(body, each, side) for each in names[side]]
            front = _spread(body, spread[side], counts[side], names[side][0], side)
            body["__rowkey__"] = rowkey(*front, *parts)

        words = {"table": ("old", "new")[side]}
        bounds.append(engine._bound_of(types.new_class(f"Side{side}", (Model,), words, fill)))
    return ModelPair(bounds[0], bounds[1], tuple(fields))


def _declare(body: dict[str, Any], family: Family, pair: FieldPair, side: int) -> None:
    role, qualifier = pair.roles[side], pair.qualifiers[side]
    codec, python_type = (pair.values.old, pair.values.new)[side], pair.values.python_type
    annotations = body["__annotations__"]
    if role == "key":
        body[pair.name] = key(codec)
        annotations[pair.name] = Key[python_type]  # type: ignore[valid-type]
    elif role.endswith("key"):
        body[pair.name] = key(codec, family=family, qualifier=qualifier)
        annotations[pair.name] = Key[python_type]  # type: ignore[valid-type]
    elif role == "nullable":
        body[pair.name] = column(family, qualifier=qualifier, codec=codec, default=None)
        annotations[pair.name] = Mapped[python_type | None]  # type: ignore[valid-type]
    elif role != "left out":
        default = {"default": pair.values.usual[0]} if role == "default" else {}
        body[pair.name] = column(family, qualifier=qualifier, codec=codec, **default)
        annotations[pair.name] = Mapped[python_type]  # type: ignore[valid-type]


def _part(body: Mapping[str, Any], pair: FieldPair, side: int) -> Any:
    of = body[pair.name]
    return Digest(of=of) if pair.roles[side] == "hashed key" else of


def _spread(
    body: Mapping[str, Any], form: str, count: int, first: FieldPair, side: int
) -> list[Any]:
    of = body[first.name]
    if form == "hash" and first.roles[side] != "hashed key":
        return [HashPrefix(count, of=of)]
    if form == "bucket" and first.values.python_type is int:
        return [Bucket(count, of=of)]
    return [Salt(count)] if form else []


# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OldRow:
    """A row of the old table with all its versions, and the values of its fields."""

    key: bytes
    versions: tuple[StoredVersion, ...]
    values: Mapping[str, Any]


def _instance(draw: st.DrawFn, bound: BoundModel, values: Mapping[str, Any]) -> Any:
    obj: Any = bound.model(**values)
    if bound.schema.dynamics:
        obj.tags = draw(st.dictionaries(st.sampled_from(TAGS), st.sampled_from(("1", "2"))))
    return obj


def _value(draw: st.DrawFn, pair: FieldPair, side: int, *, all_fit: bool) -> Any:
    codec = (pair.values.old, pair.values.new)[side]
    usual = pair.values.usual
    more = () if all_fit else tuple(v for v in pair.values.more if _fits(codec, v))
    value = draw(st.sampled_from((*usual, *more)))
    return None if pair.roles[side] == "nullable" and draw(st.booleans()) else value


def _fits(codec: Codec[Any], value: Any) -> bool:
    try:
        codec.normalize(value)
    except CodecError:
        return False
    return True


@st.composite
def old_rows(draw: st.DrawFn, pair: ModelPair, *, all_fit: bool = True) -> OldRow:
    """Return a row of the old table; its values fit the new one if `all_fit`."""
    bound = pair.old
    values = {
        each.name: _value(draw, each, 0, all_fit=all_fit)
        for each in pair.fields
        if each.roles[0] != "left out"
    }
    needed = {each.name for each in pair.fields if each.is_key(1) and not each.is_key(0)}
    if all_fit:
        by_name = {each.name: each.values.usual[0] for each in pair.fields}
        values |= {name: by_name[name] for name in needed if values[name] is None}
    obj = _instance(draw, bound, values)
    row = _key_of(bound, obj.__dict__)
    cells = bound.cells(obj, row)
    if bound.schema.version is not None:
        cells[bound.schema.version.column] = (1).to_bytes(8, "big")
    anchor = bound.schema.anchor
    for each in bound.schema.columns:  # the column may be newer than the row
        is_anchor = anchor is not None and anchor.column == each.column
        if each.has_default and not each.nullable and not is_anchor and draw(st.booleans()):
            cells.pop(each.column)
            values[each.name] = each.default
    cells |= _undeclared(draw, bound, cells)
    versions: list[StoredVersion] = []
    for column_, data in cells.items():
        newest_ms = draw(st.integers(10, 20))
        versions.append(StoredVersion(column_, newest_ms, "put", data))
        if draw(st.integers(0, 3)) == 0:
            versions.append(StoredVersion(column_, newest_ms - 5, "put", data))
    return OldRow(row, tuple(versions), values)


def _key_of(bound: BoundModel, values: Mapping[str, Any]) -> bytes:
    try:
        return bound.schema.layout.encode(values)
    except RowKeyError:
        reject()  # an empty text is the whole key


def _undeclared(
    draw: st.DrawFn, bound: BoundModel, cells: Mapping[bytes, bytes]
) -> dict[bytes, bytes]:
    names = draw(st.lists(st.sampled_from(UNDECLARED), max_size=2))
    return {name: b"?" for name in names if name not in cells and is_undeclared(bound, name)}


def is_undeclared(bound: BoundModel, name: bytes) -> bool:
    """Return whether a column belongs to no field of a model."""
    schema = bound.schema
    declared = {each.column for each in (*schema.columns, *schema.numbers)}
    return name not in declared and not any(each.holds(name) for each in schema.dynamics)


# --- changes --------------------------------------------------------------------------------------


@st.composite
def new_changes(draw: st.DrawFn, pair: ModelPair, row: Row, values: Mapping[str, Any]) -> RowChange:
    """Return a change of a row in the new layout, as programs of the new model make it."""
    bound = pair.new
    kind: Kind = draw(st.sampled_from(("put", "update", "insert", "replace")))
    fields = {
        each.name: values[each.name]
        if each.is_key(1)
        else _value(draw, each, 1, all_fit=draw(st.booleans()))
        for each in pair.fields
        if each.roles[1] != "left out"
    }
    for each in pair.fields:  # a key field that old rows have by default
        if each.is_key(1) and fields[each.name] is None:
            reject()
    cells = bound.cells(_instance(draw, bound, fields), row.key)
    cells |= _undeclared(draw, bound, cells)
    if kind != "update":
        return RowChange(row.key, cells, kind=kind)
    keys = {
        column.column for column in bound.schema.columns if column.name in bound.schema.layout.names
    }
    kept = draw(st.sets(st.sampled_from(sorted(cells))))
    puts = {name: data for name, data in cells.items() if name in kept and name not in keys}
    clearable = {column.column for column in bound.schema.columns if column.nullable}
    clearable |= {
        name for name in row.cells if is_undeclared(bound, name) or _is_entry(bound, name)
    }
    clearable -= {bound.schema.marker or b"", *puts}
    clears = draw(st.sets(st.sampled_from(sorted(clearable)))) if clearable else set[bytes]()
    return RowChange(row.key, puts, frozenset(clears), "update")


def _is_entry(bound: BoundModel, name: bytes) -> bool:
    return any(each.holds(name) for each in bound.schema.dynamics)
