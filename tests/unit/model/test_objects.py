"""Objects of models: making, setting, comparing, printing, and turning into cells and back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

import pytest

from hbase_orm import (
    Counter,
    Family,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    counter,
    key,
)
from hbase_orm.errors import (
    CorruptRowError,
    MissingCellError,
    RowKeyError,
    SchemaError,
    ValidationError,
)
from hbase_orm.gateway.thrift.decoding.decoded import DecodedCell, DecodedRow
from hbase_orm.ops import Cell, Row

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "v")
    seen: Mapped[datetime | None] = column(d, "s", codec=codecs.millis(), default=None)
    port: Mapped[int] = column(d, "p", codec=codecs.uint16(), default=80)
    tags: Mapped[str] = column(d, "t", default_factory=lambda: "new")
    hits: Counter = counter(d, "h")


class Base(Model, abstract=True):
    host: Key[str] = key()


def reading(**changes: Any) -> Reading:
    values: dict[str, Any] = {"host": "a", "at": NOON, "value": 0.5}
    return Reading(**{**values, **changes})


def read(cells: dict[bytes, bytes]) -> Reading:
    row = Row(Reading.encode_key(host="a", at=NOON), {c: Cell(v, 7) for c, v in cells.items()})
    found: Reading = Reading.__mapping__.hydrate(row)
    return found


# --- constructors ----------------------------------------------------------------------------------


def test_defaults_and_factories_fill_in_what_is_not_given() -> None:
    made = reading()

    assert (made.seen, made.port, made.tags, made.hits) == (None, 80, "new", 0)


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"bogus": 1}, "bogus", "no constructor argument"),
        ({"hits": 1}, "hits", "no constructor argument"),
        ({"d": 1}, "d", "no constructor argument"),
        ({"value": "0.5"}, "value", "wrong type"),
        ({"value": None}, "value", "wrong type"),
        ({"host": 3}, "host", "wrong type"),
        ({"host": None}, "host", "wrong type"),
        ({"seen": "now"}, "seen", "wrong type"),
        ({"value": 10**400}, "value", "float"),
        ({"at": NOON.replace(tzinfo=None)}, "at", "has no time zone"),
        ({"seen": NOON.replace(tzinfo=None)}, "seen", "has no time zone"),
        ({"at": NOON.replace(year=1969)}, "at", "1970"),
    ],
)
def test_a_wrong_argument_names_model_field_and_fix(
    changes: dict[str, Any], field: str, text: str
) -> None:
    with pytest.raises(ValidationError, match=text) as caught:
        reading(**changes)

    assert (caught.value.model, caught.value.field) == ("Reading", field)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("field", "fix"),
    [
        ("host", "give str"),
        ("value", "give float; declare the field nullable to allow None"),
        ("seen", "give datetime or None"),
    ],
)
def test_only_a_field_that_may_become_nullable_is_advised_to(field: str, fix: str) -> None:
    with pytest.raises(ValidationError) as caught:
        reading(**{field: object()})

    assert caught.value.fix == fix


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(ValidationError, match="missing") as caught:
        Reading(host="a", at=NOON)  # type: ignore[call-arg]  # what is tested

    assert (caught.value.field, caught.value.fix) == ("value", "give value=...")


def test_positional_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        Reading("a", NOON)  # type: ignore[call-arg]  # what is tested


def test_an_abstract_model_makes_no_objects() -> None:
    with pytest.raises(SchemaError, match="abstract") as caught:
        Base(host="a")

    assert caught.value.model == "Base"


# --- setting ---------------------------------------------------------------------------------------


def test_a_coarse_codec_rounds_down_when_a_field_is_made_and_when_it_is_set() -> None:
    made = reading(at=NOON + timedelta(microseconds=5999), seen=NOON)

    made.seen = NOON + timedelta(microseconds=1999)

    assert made.at == NOON + timedelta(milliseconds=5)
    assert made.seen == NOON + timedelta(milliseconds=1)


def test_datetimes_of_other_zones_become_utc() -> None:
    made = reading(seen=NOON.astimezone(timezone(timedelta(hours=5))))

    assert made.seen is not None
    assert made.seen.tzinfo is UTC


def test_an_int_given_for_a_float_becomes_the_float_that_is_read_back() -> None:
    made = reading(value=3)

    made.value = 4

    assert [type(made.value), type(reading(value=3).value)] == [float, float]


@pytest.mark.parametrize("name", ["host", "at"])
def test_key_fields_cannot_be_set(name: str) -> None:
    made = reading()

    with pytest.raises(RowKeyError, match="cannot be set") as caught:
        setattr(made, name, getattr(made, name))

    assert (caught.value.model, caught.value.field) == ("Reading", name)
    assert caught.value.fix


def test_counters_read_zero_and_cannot_be_set() -> None:
    made = reading()

    with pytest.raises(ValidationError, match="counter") as caught:
        made.hits = 3  # type: ignore[assignment]  # what is tested

    assert caught.value.field == "hits"
    assert "increment" in caught.value.fix
    assert made.hits == 0


@pytest.mark.parametrize(("name", "value"), [("value", "x"), ("value", None), ("port", 0.5)])
def test_a_value_of_the_wrong_type_cannot_be_set(name: str, value: object) -> None:
    made = reading()

    with pytest.raises(ValidationError, match="wrong type") as caught:
        setattr(made, name, value)

    assert caught.value.field == name
    assert made == reading()


def test_an_unknown_attribute_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="bogus"):
        reading().bogus = 1  # type: ignore[attr-defined]  # what is tested


# --- comparing, printing, dicts --------------------------------------------------------------------


def test_objects_with_equal_fields_are_equal_and_hash_by_their_key() -> None:
    one, other, changed = reading(), reading(), reading(value=9.0)

    assert one == other
    assert one != changed
    assert hash(one) == hash(other) == hash(changed)
    assert hash(one) != hash(reading(host="b"))


def test_objects_of_two_classes_are_never_equal() -> None:
    assert reading() != "reading"


def test_an_object_prints_all_its_fields() -> None:
    assert repr(reading()).startswith("Reading(host='a', at=datetime.datetime(2024, 5, 6, 12, 0,")
    assert repr(reading()).endswith("value=0.5, seen=None, port=80, tags='new', hits=0)")


def test_a_dict_goes_out_and_comes_back() -> None:
    made = reading(seen=NOON)

    assert made.to_dict()["hits"] == 0
    assert Reading.from_dict(made.to_dict()) == made


def test_from_dict_refuses_unknown_names() -> None:
    with pytest.raises(ValidationError) as caught:
        Reading.from_dict({**reading().to_dict(), "bogus": 1})

    assert caught.value.field == "bogus"


# --- pickles and copies ----------------------------------------------------------------------------


@pytest.fixture
def attached() -> Iterator[Reading]:
    engine = connect("memory://")
    engine.create_tables(Reading)
    with engine.session() as session:
        session.add(reading(seen=NOON))
    with engine.session() as session:
        found = session.get(Reading, host="a", at=NOON)
        assert found is not None
        yield found


def in_another_process(obj: Reading) -> Reading:
    loaded: Reading = pickle.loads(pickle.dumps(obj))
    return loaded


@pytest.mark.parametrize("copied", [in_another_process, copy.copy, copy.deepcopy])
def test_a_pickle_or_copy_has_the_fields_and_the_row_and_no_session(
    attached: Reading, copied: Callable[[Reading], Reading]
) -> None:
    attached.port = 7

    other = copied(attached)

    assert other == attached
    assert other is not attached
    assert other.__state__.row == attached.__state__.row
    assert (other.__state__.on_change, attached.__state__.on_change is None) == (None, False)
    other.port = 8
    assert attached.port == 7


@pytest.mark.parametrize("copied", [in_another_process, copy.copy])
def test_a_new_object_is_new_in_a_pickle_or_copy_too(
    copied: Callable[[Reading], Reading],
) -> None:
    other = copied(reading())

    assert (other, other.__state__.row) == (reading(), None)


def test_a_row_in_the_wire_readers_classes_is_pickled_as_a_plain_row() -> None:
    cell = DecodedCell()
    cell.value, cell.timestamp_ms = b"\x00\x07", 5
    made = reading()
    made.__state__.row = row = DecodedRow(b"a", {b"d:p": cast("Cell", cell)})

    other = in_another_process(made)

    assert other.__state__.row is not None
    assert type(other.__state__.row) is Row
    assert [type(each) for each in other.__state__.row.cells.values()] == [Cell]
    assert other.__state__.row == row


# --- row keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"host": "a"}, "at"),
        ({"host": "a", "at": NOON, "value": 1.0}, "value"),
        ({"host": 3, "at": NOON}, "host"),
        ({"host": "a", "at": "noon"}, "at"),
        ({"host": "a", "at": NOON.replace(tzinfo=None)}, "at"),
    ],
)
def test_a_wrong_key_names_the_field_and_the_fix(values: dict[str, Any], field: str) -> None:
    with pytest.raises(RowKeyError) as caught:
        Reading.encode_key(**values)

    assert caught.value.field == field
    assert caught.value.fix


def test_bytes_that_are_no_key_of_the_model_are_corrupt() -> None:
    with pytest.raises(CorruptRowError) as caught:
        Reading.decode_key(b"nonsense")

    assert caught.value.row == b"nonsense"


# --- cells -----------------------------------------------------------------------------------------


def test_absent_cells_read_as_none_or_as_the_declared_default() -> None:
    found = read({b"d:v": b"\xbf\xe0" + bytes(6)})

    assert (found.seen, found.port, found.tags, found.hits) == (None, 80, "new", 0)


def test_an_absent_required_cell_raises_only_when_it_is_read() -> None:
    found = read({b"d:p": b"\x00\x07"})

    assert found.port == 7
    with pytest.raises(MissingCellError) as caught:
        _ = found.value
    assert (caught.value.model, caught.value.field) == ("Reading", "value")
    assert caught.value.row == Reading.encode_key(host="a", at=NOON)
    assert caught.value.fix


def test_an_object_without_a_required_cell_prints_and_compares() -> None:
    found = read({b"d:p": b"\x00\x07"})

    assert "value" not in found.to_dict()
    assert "value" not in repr(found)
    assert found == read({b"d:p": b"\x00\x07"})


@pytest.mark.parametrize(
    ("column_name", "field", "codec"),
    [(b"d:p", "port", "uint16"), (b"d:v", "value", "float64"), (b"d:h", "hits", "bytes.int64")],
)
def test_a_corrupt_cell_names_row_column_field_and_codec(
    column_name: bytes, field: str, codec: str
) -> None:
    with pytest.raises(CorruptRowError) as caught:
        read({column_name: b"?"})

    error = caught.value
    assert (error.model, error.field, error.column) == ("Reading", field, column_name)
    assert (error.codec, error.value) == (codec, b"?")
    assert error.row == Reading.encode_key(host="a", at=NOON)


def test_a_row_key_of_another_layout_is_corrupt() -> None:
    with pytest.raises(CorruptRowError):
        Reading.__mapping__.hydrate(Row(b"short", {}))


def test_dehydrating_leaves_none_and_counters_out() -> None:
    cells = Reading.__mapping__.dehydrate(reading().__dict__)

    assert cells == {b"d:v": b"\xbf\xe0" + bytes(6), b"d:p": b"\x00P", b"d:t": b"new"}
