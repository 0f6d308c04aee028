"""Random maps come back as they were written; random changes leave what a plain dict would hold."""

from __future__ import annotations

import types
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import (
    Codec,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    dynamic,
    key,
)

EXAMPLES = 300

NAMES: dict[str, tuple[type, Codec[Any] | None, st.SearchStrategy[Any]]] = {
    "text": (str, None, st.text(st.characters(exclude_categories=["Cs"]), max_size=4)),
    "raw": (bytes, None, st.binary(max_size=4)),
    "uint16": (int, codecs.uint16(), st.integers(0, 65_535)),
    "int64": (int, None, st.integers(-(2**63), 2**63 - 1)),
    "descending": (int, codecs.uint32(desc=True), st.integers(0, 2**32 - 1)),
    "millis": (
        datetime,
        codecs.millis(),
        st.integers(0, 10**12).map(
            lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
        ),
    ),
    "uuid": (UUID, None, st.uuids()),
}
VALUES: dict[str, tuple[Any, Codec[Any] | None, st.SearchStrategy[Any]]] = {
    "text": NAMES["text"],
    "raw": NAMES["raw"],
    "bool": (bool, None, st.booleans()),
    "json": (list, codecs.json(list[int]), st.lists(st.integers(0, 9), max_size=2)),
    "float": (float, None, st.floats(allow_nan=False)),
}


@st.composite
def models(draw: st.DrawFn) -> tuple[type[Model], Callable[[], st.SearchStrategy[Any]]]:
    """Return a model with a map, plain or guarded, and the strategy of its entries."""
    name_type, name_codec, names = NAMES[draw(st.sampled_from(sorted(NAMES)))]
    value_type, value_codec, values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    d = Family("d")
    body: dict[str, Any] = {
        "__annotations__": {
            "host": Key[str],
            "unit": Mapped[str | None],
            "entries": Dynamic[name_type, value_type],  # type: ignore[valid-type]  # drawn
        },
        "d": d,
        "host": key(),
        "unit": column(d, "unit-of-all", default=None),
        "entries": dynamic(
            d,
            prefix=draw(st.sampled_from(["", "t:", "_x", "\u00e9"])),
            name=name_codec,
            codec=value_codec,
        ),
    }
    if draw(st.booleans()):
        body["by_unit"] = Index(body["unit"])
    made = types.new_class("Drawn", (Model,), {"table": "drawn"}, lambda own: own.update(body))
    return made, lambda: st.dictionaries(names, values, max_size=4)


def read(engine: Engine, model: Any) -> Any:
    with engine.session() as session:
        return session.get(model, host="a")


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_maps_come_back_as_they_were_written(data: st.DataObject) -> None:
    model, entries = data.draw(models())
    made: Any = model(host="a")
    made.entries = data.draw(entries())

    with connect("memory://") as engine:
        engine.create_tables(model)
        with engine.session() as session:
            session.add(made)
        found = read(engine, model)

    assert found == made
    assert found.entries == made.entries


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_changes_leave_what_a_plain_dict_holds(data: st.DataObject) -> None:
    model, entries = data.draw(models())
    expected: dict[Any, Any] = data.draw(entries())
    with connect("memory://") as engine:
        engine.create_tables(model)
        made: Any = model(host="a")
        made.entries = expected
        with engine.session() as session:
            session.add(made)
            session.flush()
            for _ in range(data.draw(st.integers(1, 4))):
                _change(data, made, expected, entries())
                if data.draw(st.booleans()):
                    session.flush()
                if data.draw(st.booleans()):
                    made = session.get(model, host="a")
                assert made.entries == expected
        found = read(engine, model)

    assert found.entries == expected


def _change(
    data: st.DataObject, obj: Any, expected: dict[Any, Any], entries: st.SearchStrategy[Any]
) -> None:
    """Change an object's map and the dict alike: some entries put, some deleted, or all set."""
    new = data.draw(entries)
    if data.draw(st.booleans()):
        obj.entries = new
        expected.clear()
    else:
        obj.entries.update(new)
        for name in (
            data.draw(st.sets(st.sampled_from(sorted(expected, key=repr)))) if expected else ()
        ):
            expected.pop(name)
            if name not in new:
                del obj.entries[name]
    expected.update(new)
