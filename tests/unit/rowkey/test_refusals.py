"""What a row key must not let through: keys that several rows share, or that are misread."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RowKey,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.codecs import Codec
from hbase_orm.errors import CorruptRowError, RowKeyError, SchemaError
from hbase_orm.rowkey import (
    Bucket,
    Computed,
    Digest,
    HashPrefix,
    KeyFields,
    KeyLayout,
    KeySource,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    assemble,
)
from tests.support.layouts import layout

A, B, AT = KeySource(), KeySource(), KeySource()
LEAP_DAY = datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)
VARCHAR = codecs.get("phoenix.varchar")


def made(
    *components: KeySource,
    a: Codec[Any] | None = None,
    b: Codec[Any] | None = None,
    at: Codec[Any] | None = None,
    record: str | None = None,
) -> KeyLayout:
    """Return a layout; every field is stored in a column too."""
    codecs_ = {name: codec for name, codec in (("a", a), ("b", b), ("at", at)) if codec}
    sources = {"a": A, "b": B, "at": AT}
    fields = {name: sources[name] for name in codecs_}
    return assemble(components, KeyFields(fields, codecs_, stored=frozenset(fields)), record=record)


TEXT = codecs.text()


# --- one key for several rows -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "together",
    [
        (TEXT, TEXT),  # ab + c and a + bc
        (TEXT, codecs.get("ordered.utf8")),
        (codecs.text(separator=b"_"), codecs.decimal()),
    ],
)
def test_a_digest_of_what_runs_together_is_refused(together: Sequence[Codec[Any]]) -> None:
    one, other = together

    with pytest.raises(
        SchemaError,
        match="different values of these fields could have the same digest, because their bytes are joined without a separator",
    ) as caught:
        made(Digest(of=[A, B]), a=one, b=other)

    assert caught.value.fields == ["a", "b"]
    assert "a Digest of each" in caught.value.fix


@pytest.mark.parametrize(
    "together",
    [
        (TEXT, codecs.uint32()),
        (codecs.uint32(), TEXT),
        (codecs.get("ordered.utf8"), TEXT),
        (codecs.decimal(), codecs.get("ordered.utf8")),
    ],
)
def test_a_digest_of_what_comes_apart_tells_its_fields(together: Sequence[Codec[Any]]) -> None:
    one, other = together

    assert made(Digest(of=[A, B]), a=one, b=other).hidden == ("a", "b")


def test_a_digest_that_need_not_tell_its_fields_may_be_of_any() -> None:
    assert made(Digest(of=[A, B]), A, B, a=TEXT, b=TEXT).hidden == ()


@pytest.mark.parametrize(
    "component",
    [
        Computed(len, of=A, codec=codecs.uint8(), values=(0, 1)),
        Computed(len, of=A, codec=codecs.uint8(), values=lambda _: (0, 1)),
        HashPrefix(2, of=A),
        Digest(of=HashPrefix(2, of=A)),
        Digest(of=Computed(len, of=A, codec=codecs.uint8(), values=(0, 1))),
    ],
    ids=["computed", "narrowed", "prefix", "digest of a prefix", "digest of computed"],
)
def test_what_several_values_share_does_not_tell_a_field(component: KeySource) -> None:
    with pytest.raises(
        SchemaError,
        match="the row key must hold every key field exactly once: rows that differ only in a missing field would have the same key",
    ) as caught:
        made(component, B, a=TEXT, b=TEXT)

    assert caught.value.left_out == ["a"]


def test_what_a_function_makes_of_a_field_stands_for_it() -> None:
    turned = Computed(lambda host: ".".join(reversed(host.split("."))), of=A, codec=TEXT)

    assert made(turned, B, a=TEXT, b=TEXT).encode({"a": "www.x.org", "b": "/"}) == (
        b"org.x.www\x00\x01/"
    )


def test_a_salt_of_packed_cells_is_not_made_of_what_differs_between_them() -> None:
    class Points(Model, abstract=True):
        d = Family()
        metric: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        value: Mapped[float] = column(d, Offset("hour", of=at))
        hour = Period("hour", of=at)

    with pytest.raises(
        SchemaError, match="the salt would put the cells of one period into different rows"
    ) as caught:

        class Scattered(Points, table="points"):
            __rowkey__ = rowkey(Salt(16), Points.metric, Points.hour)

    class Packed(Points, table="points"):
        __rowkey__ = rowkey(Salt(16, of=Points.metric), Points.metric, Points.hour)

    moments = [LEAP_DAY + timedelta(seconds=second) for second in range(30)]
    assert "of=metric" in caught.value.fix
    assert len({Packed.encode_key(metric="a", at=at) for at in moments}) == 1


# --- formats that nothing ends ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codec", "instead"),
    [
        (codecs.get("phoenix.varbinary"), "codecs.raw()"),
        (codecs.get("ordered.blobcopy"), "ordered.blob"),
        (codecs.get("ordered.blobcopy", desc=True), "ordered.blob"),
    ],
)
def test_what_only_the_end_of_a_key_ends_stands_last(codec: Codec[Any], instead: str) -> None:
    with pytest.raises(
        SchemaError, match="the codec cannot be used at this position of a row key"
    ) as caught:
        made(A, B, a=codec, b=TEXT)

    assert caught.value.component == "a"
    assert instead in caught.value.fix
    assert made(B, A, a=codec, b=TEXT).names == ("b", "a")


def test_a_descending_varbinary_has_no_end_even_there() -> None:
    with pytest.raises(SchemaError, match="the codec cannot be used at this position of a row key"):
        made(A, a=codecs.get("phoenix.varbinary", desc=True))


def test_a_descending_boolean_of_phoenix_is_refused_with_the_bytes_of_its_keys() -> None:
    with pytest.raises(
        SchemaError, match="the codec cannot be used at this position of a row key"
    ) as caught:
        made(A, a=codecs.get("phoenix.boolean", desc=True))

    assert "other bytes in row keys" in caught.value.reason
    assert "codecs.code({False" in caught.value.fix


def test_a_computed_part_is_placed_as_a_field_is() -> None:
    with pytest.raises(SchemaError, match="the codec cannot be used at this position of a row key"):
        made(
            Computed(str.encode, of=A, codec=codecs.get("ordered.blobcopy")),
            A,
            a=TEXT,
        )


@pytest.mark.parametrize(
    ("built", "values"),
    [
        (layout(codecs.get("phoenix.varchar", desc=True), codecs.uint8()), ("", 1)),
        (layout(VARCHAR, VARCHAR), ("a", "")),
        (layout(VARCHAR, codecs.get("phoenix.varbinary")), ("a", b"")),
        (layout(codecs.get("phoenix.decimal"), VARCHAR), (Decimal(1), "")),
    ],
)
def test_an_empty_value_that_phoenix_would_leave_out_is_refused(
    built: KeyLayout, values: tuple[Any, ...]
) -> None:
    with pytest.raises(RowKeyError, match="NULL") as caught:
        built.encode_parts(*values)

    assert caught.value.field == built.names[values.index(next(v for v in values if not v))]


@pytest.mark.parametrize(
    ("built", "values", "key"),
    [
        (layout(VARCHAR, codecs.uint8()), ("", 1), b"\x00\x01"),
        (layout(codecs.uint8(), VARCHAR), (1, ""), b"\x01"),
        (layout(codecs.get("phoenix.varchar", desc=True), VARCHAR), ("a", ""), b"\x9e\xff"),
    ],
)
def test_an_empty_value_that_phoenix_writes_alike_is_taken(
    built: KeyLayout, values: tuple[Any, ...], key: bytes
) -> None:
    assert built.encode_parts(*values) == key
    assert built.decode_parts(key) == values


# --- values that reach no codec of their own --------------------------------------------------------


BY_DAY = made(Period("day", of=AT), Offset("day", of=AT), at=codecs.millis())


@pytest.mark.parametrize(
    "at",
    [
        datetime(2024, 2, 29),  # noqa: DTZ001 - a naive one
        "2024-02-29",
        None,
        datetime(1969, 12, 31, tzinfo=UTC),
    ],
)
def test_a_field_in_pieces_is_checked_as_one(at: Any) -> None:
    with pytest.raises(RowKeyError) as caught:
        BY_DAY.encode({"at": at})

    assert (caught.value.field, caught.value.codec, caught.value.value) == ("at", "millis", at)


def test_a_field_in_pieces_is_rounded_as_one() -> None:
    fine = LEAP_DAY + timedelta(microseconds=1_999)

    assert BY_DAY.decode(BY_DAY.encode({"at": fine})) == {
        "at": LEAP_DAY + timedelta(milliseconds=1)
    }


@pytest.mark.parametrize("value", [7, "\ud800", "a_b", None])
def test_a_function_gets_only_what_the_field_can_hold(value: Any) -> None:
    seen = []

    def watched(text: str) -> int:
        seen.append(text)
        return 0

    built = made(
        Computed(watched, of=A, codec=codecs.uint8()),
        Digest(of=A),
        a=codecs.text(separator=b"_"),
    )

    with pytest.raises(RowKeyError) as caught:
        built.encode({"a": value})

    assert (caught.value.field, caught.value.codec) == ("a", "text")
    assert seen == []


def test_a_key_behind_a_random_salt_can_be_too_long() -> None:
    with pytest.raises(RowKeyError, match="longer than HBase stores"):
        made(RandomSalt(4), A, a=TEXT).encode({"a": "x" * 32_767})


def test_a_computed_value_that_was_not_declared_is_refused() -> None:
    built = made(Computed(len, of=A, codec=codecs.uint8(), values=(1, 2)), A, a=TEXT)

    assert built.encode({"a": "ab"}) == b"\x02ab"
    with pytest.raises(RowKeyError, match="not one of the declared values") as caught:
        built.encode({"a": "abc"})
    assert (caught.value.field, caught.value.value) == ("len(a)", 3)


def test_declared_values_must_fit_the_codec() -> None:
    with pytest.raises(SchemaError, match="does not fit its codec") as caught:
        made(Computed(len, of=A, codec=codecs.uint8(), values=(1, 256)), A, a=TEXT)

    assert caught.value.value == 256


def test_an_error_of_the_function_is_not_taken_for_a_missing_field() -> None:
    groups = {"a": 1}
    built = made(Computed(groups.__getitem__, of=A, codec=codecs.uint8()), A, a=TEXT)

    assert built.encode({"a": "a"}) == b"\x01a"
    with pytest.raises(KeyError, match="nobody"):
        built.encode({"a": "nobody"})


class Record(Model, table="records"):
    d = Family()
    customer: Key[str] = key()
    __rowkey__ = rowkey(customer, RecordType())


@pytest.mark.parametrize(
    "components",
    [(Record.customer,), (RecordType(), Record.customer), (KeySource(), Record.customer)],
    ids=["no type", "type first", "another first"],
)
def test_a_record_type_begins_as_its_base_does(components: tuple[KeySource, ...]) -> None:
    with pytest.raises(
        SchemaError,
        match="the row key of a record type must begin with the components of its base's row key",
    ):

        class Note(Record, record_type="N"):
            __rowkey__ = rowkey(*components)


def test_a_record_type_may_say_what_follows() -> None:
    class Line(Record, record_type="L"):
        order: Key[int] = key(codecs.uint8())
        number: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(Record.customer, RecordType(), number, order)

    assert Line.encode_key(customer="a", order=1, number=2) == b"a\x00\x01L\x02\x01"


def test_a_record_type_must_fit_its_codec() -> None:
    with pytest.raises(SchemaError, match="does not fit its codec") as caught:
        made(RecordType(codecs.text(width_bytes=2)), A, a=TEXT, record="long")

    assert caught.value.record_type == "long"


# --- keys that another layout made ------------------------------------------------------------------


SEPARATED = codecs.text(separator=b"_")


@pytest.mark.parametrize(
    ("built", "key"),
    [
        (made(Salt(4), A, a=TEXT), b"\x04a"),
        (made(Salt(4, form="text"), A, a=TEXT), b"xa"),
        (made(RandomSalt(4), A, a=TEXT), b"\xffa"),
        (made(Bucket(4, of=A), A, a=codecs.uint8()), b"\x04\x00"),
        (made(HashPrefix(2, of=A, form="hex"), A, a=TEXT), b"AFa"),
        (made(HashPrefix(2, of=A), A, a=TEXT), b"\x01"),
        (made(Computed(len, of=A, codec=codecs.uint8(), values=(1,)), A, a=TEXT), b"\x02a"),
        (made(Computed(len, of=A, codec=codecs.digits(1)), A, a=TEXT), b"xa"),
        (made(A, Computed(repr, of=A, codec=TEXT), a=codecs.uint8()), b"\x00\xff"),
        (
            made(Period("day", of=AT), AT, at=codecs.seconds(width_bytes=4)),
            b"\x00\x00\x00\x01\x00\x00\x00\x01",
        ),
        (made(A, RecordType(), B, a=TEXT, b=TEXT, record="O"), b"a\x00\x01Cb"),
        (made(A, B, a=SEPARATED, b=SEPARATED), b"a_b_c"),
        (made(A, a=codecs.text(separator=b"::")), b"a::b"),
        (made(A, a=codecs.text(separator=b"::")), b"a:"),
        (made(A, B, a=VARCHAR, b=VARCHAR), b"a\x00b\x00c"),
        (made(A, B, a=VARCHAR, b=VARCHAR), b"a\x00"),
        (made(A, a=codecs.get("phoenix.varchar", desc=True)), b"\xff"),
    ],
)
def test_a_key_that_shows_another_layout_is_corrupt(built: KeyLayout, key: bytes) -> None:
    with pytest.raises(CorruptRowError) as caught:
        built.decode(key)

    assert caught.value.row == key
    assert caught.value.codec is not None


def test_an_offset_that_repeats_its_period_must_repeat_the_same() -> None:
    built = made(
        Period("hour", of=AT, codec=codecs.strftime("%Y%m%d%H")),
        Offset("hour", of=AT, codec=codecs.strftime(" %H:%M:%S.%f")),
        at=codecs.micros(),
    )

    assert built.decode(b"2024022901 01:02:03.000000") == {"at": LEAP_DAY}
    with pytest.raises(CorruptRowError):
        built.decode(b"2024022901 02:02:03.000000")


@pytest.mark.parametrize(
    "codec",
    [
        *(codecs.json(dict), codecs.json(float), codecs.json(list[int]), codecs.msgpack(dict)),
        *(codecs.get("bytes.decimal"), codecs.get("bytes.decimal", desc=True)),
    ],
    ids=lambda codec: codec.name,
)
def test_a_codec_with_several_encodings_of_equal_values_makes_no_key_and_no_index(
    codec: codecs.Codec[Any],
) -> None:
    def declare(name: str, **body: Any) -> None:
        types.new_class(name, (Model,), {"table": "t"}, lambda space: space.update(body))

    of_keys = {"k": Key[codec.python_type]}  # type: ignore[name-defined]  # at run time
    of_indexes = {"id": Key[str], "c": Mapped[codec.python_type]}  # type: ignore[name-defined]  # as well
    keys: list[Callable[[Key[Any]], Any]] = [
        lambda k: RowKey((k,)),
        lambda k: RowKey((Digest(of=[k]),)),
        lambda k: RowKey((Salt(4, of=[k]), k)),
    ]
    for made in keys:
        k = key(codec)
        with pytest.raises(
            SchemaError,
            match="the codec may encode equal values differently, so a row could not be found by its key",
        ) as refused:
            declare("Keyed", d=Family(), k=k, __rowkey__=made(k), __annotations__=of_keys)
        assert refused.value.field == "k"
    for unique in (False, True):
        c = column(codec=codec)
        with pytest.raises(SchemaError, match="does not keep the order") as refused:
            declare(
                "Indexed",
                d=Family(),
                id=key(),
                c=c,
                by_c=Index(c, unique=unique),
                __annotations__=of_indexes,
            )
        assert refused.value.field == "c"
