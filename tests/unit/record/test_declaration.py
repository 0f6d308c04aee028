"""A stored record is read as it was written, or refused by one typed error, whatever it holds."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Salt,
    codecs,
    column,
    counter,
    dynamic,
    key,
    rowkey,
)
from hbase_orm.binding.recorded_models import compared
from hbase_orm.errors import RecordError, SchemaError
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.recorded_schema import recorded_schema
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.stored_values import RECORD_VERSION


class Sample(Model, table="samples"):
    d = Family(ttl=timedelta(days=1), compression="GZ", attributes={"owner": "sales"})
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.millis(desc=True))
    kind: Mapped[str] = column(d, codec=codecs.code({"a": b"1", "b": b"2"}))
    note: Mapped[str | None] = column(d, default=None)
    hits: Counter = counter(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    __rowkey__ = rowkey(Salt(4, of=[host]), host, Period("day", of=at), Offset("day", of=at))
    by_kind = Index(kind, splits=[b"\x00\xff", b"m"])


class Renamed(Model, table="samples"):
    e = Family("d")
    server: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.millis(desc=True))
    kind: Mapped[str] = column(e, codec=codecs.code({"a": b"1", "b": b"3"}))
    size: Mapped[int] = column(e)


RECORD = TableRecord(
    "0123abcd",
    declaration_of([Sample.__schema__, Renamed.__schema__]),
    declaration_of([Renamed.__schema__]),
    regions_ms=1_700_000_000_000,
)

Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each node of a JSON value."""
    yield path
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, child in children:
        yield from places(child, (*path, name))


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, "", "x", "\u20ac", "\ud800", "d:x", "SaltOf"),
    *([], [None], {}, {"codec": None}, {"field": "0"}, {"codes": []}, {"derived": []}, [[[]]]),
)


WHOLE = json.loads(RECORD.encode())
KINDS = len(VALUES) + 3
MUTATIONS = [(path, kind) for path in places(WHOLE) for kind in range(KINDS if path else 1)]


def mutated(path: Path, kind: int) -> Any:
    """Return the record's JSON with one node replaced, removed, renamed or doubled."""
    content = deepcopy(WHOLE)
    if not path:
        return VALUES
    parent = content
    for name in path[:-1]:
        parent = parent[name]
    last: Any = path[-1]
    if kind < len(VALUES):
        parent[last] = VALUES[kind]
    elif kind == len(VALUES):
        del parent[last]
    elif isinstance(parent, list):
        parent.append(parent[last])
    else:
        parent["other" if kind % 2 else f"{last}\u20ac"] = parent.pop(last)
    return content


def read_or_refused(value: bytes) -> TableRecord | None:
    refusal = None
    try:
        return TableRecord.decode(value, "samples")
    except RecordError as error:
        refusal = error
    assert isinstance(refusal, SchemaError)
    assert refusal.table == "samples"
    assert refusal.fix
    assert str(refusal)
    return None


def test_a_record_is_read_as_it_was_written() -> None:
    assert TableRecord.decode(RECORD.encode(), "samples") == RECORD


@pytest.mark.parametrize("count", [1200, pytest.param(len(MUTATIONS), marks=pytest.mark.soak)])
def test_a_damaged_record_is_refused_or_means_what_is_stored(count: int) -> None:
    rng = random.Random(17)
    read = 0
    for path, kind in rng.sample(MUTATIONS, count):
        record = read_or_refused(json.dumps(mutated(path, kind)).encode())

        if record is None:
            continue
        read += 1
        assert TableRecord.decode(record.encode(), "samples") == record, (path, kind)
        for model in (Sample, Renamed):
            with suppress(RecordError):
                assert all(map(str, compared(model.__schema__, record)))
            recorded_schema(model.__schema__, record.current)

    assert count / 5 < read < count * 3 / 4


def test_cut_and_changed_bytes_are_refused_or_read() -> None:
    rng = random.Random(17)
    whole = RECORD.encode()
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        read_or_refused(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))


@pytest.mark.parametrize(
    "value", [b"", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b"NaN", b"null"]
)
def test_what_is_no_record_at_all_is_refused(value: bytes) -> None:
    with pytest.raises(RecordError) as caught:
        TableRecord.decode(value, "samples")

    assert "is damaged" in caught.value.text
    assert "tables adopt" in caught.value.fix
    assert len(str(caught.value)) < 2000


def test_the_place_of_the_damage_is_named() -> None:
    content = json.loads(RECORD.encode())
    content["current"]["rows"][0]["columns"]["d:kind"]["required"] = "yes"

    with pytest.raises(RecordError) as caught:
        TableRecord.decode(json.dumps(content).encode(), "samples")

    assert caught.value.place == "record.current.rows[0].columns.d:kind.required"
    assert caught.value.value == "yes"


def test_a_newer_record_names_both_versions_and_asks_for_an_upgrade() -> None:
    content = {"version": RECORD_VERSION + 1, "whatever": "comes then"}

    with pytest.raises(RecordError) as caught:
        TableRecord.decode(json.dumps(content).encode(), "samples")

    assert caught.value.version == RECORD_VERSION + 1
    assert caught.value.own_version == RECORD_VERSION
    assert "upgrade hbase_orm" in caught.value.fix


def test_codecs_and_components_of_another_version_are_kept_as_they_are() -> None:
    content = json.loads(RECORD.encode())
    row = content["current"]["rows"][0]
    row["columns"]["d:note"]["codec"] = {"codec": "later", "level": [1, {"x": None}], "base": {}}
    row["key"][0] = {"derived": "LaterSalt", "of": "?", "codec": "raw", "numbers": {"a": 1}}
    stored = json.dumps(content, separators=(",", ":")).encode()

    record = TableRecord.decode(stored, "samples")

    assert record.encode() == stored
    lines = list(map(str, compared(Sample.__schema__, record)))
    assert lines[0] == (
        'row key, component 1: recorded LaterSalt(numbers={"a": 1}), declared Salt(4, of=host)'
    )
    assert lines[1] == (
        'codec of column d:note: recorded codecs.get("later", level=[1, {"x": null}], base={}), '
        "declared codecs.text()"
    )
