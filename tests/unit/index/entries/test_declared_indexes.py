"""What an index can be declared with, what is refused, and the entries that come of it, in bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
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
    Version,
    codecs,
    column,
    counter,
    dynamic,
    func,
    key,
    version,
)
from hbase_orm.errors import CodecError, CorruptRowError, QueryError, SchemaError
from hbase_orm.index.catalog.declaration_text import declaration_texts
from hbase_orm.index.entries.index_entries import base_key_of, guarded_table, index_target

ROW = b"\x07"
AT = datetime(2024, 1, 3, 23, 30, tzinfo=UTC)


class Kept(Model, table="kept"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    name: Mapped[str] = column(d)
    phone: Mapped[str | None] = column(d, default=None)
    size: Mapped[int] = column(d, codec=codecs.uint8(), default=5)
    wide: Mapped[int | None] = column(d, codec=codecs.uint16(), default=None)
    at: Mapped[datetime | None] = column(d, default=None)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    roles: Mapped[frozenset[int] | None] = column(
        d, codec=codecs.json(frozenset[int]), default=None
    )
    ids: Mapped[list[int]] = column(d, codec=codecs.json(list[int]), default_factory=list)
    props: Dynamic[str, int] = dynamic(d, prefix="q:", codec=codecs.uint8())
    hits: Counter = counter(d)
    lowered = Index(func.lower(name))
    endings = Index(func.digit_reversed(phone).desc())
    by_day = Index(func.day(at))
    labelled = Index(size, func.each(labels), n)
    by_role = Index(func.each(roles))
    by_id = Index((func.each(ids), codecs.uint8(desc=True)))
    narrow = Index((wide, codecs.uint8()))
    rack = Index(props["rack"])
    or_none = Index(wide, nulls=True)
    falling_or_none = Index(wide.desc(), phone, nulls=True)
    one_owner = Index(func.lower(name), size, unique=True)
    spread = Index(size, salt=4)
    large = Index(n, where=(size >= 10) & (phone != None))  # noqa: E711 - asks for a value
    racked = Index(n, where=(props["rack"] == 3) | func.each(labels).startswith("a"))
    by_hand = Index(size, maintained="manual")
    copied = Index(size, include=[name, phone, props["rack"]], covering=True)


SCHEMA = Kept.__schema__
INDEXES = {index.name: index for index in SCHEMA.indexes}


def cells(**values: Any) -> dict[bytes, bytes]:
    by_name = SCHEMA.column_by_name
    rack = {b"d:q:rack": codecs.uint8().encode(values.pop("rack"))} if "rack" in values else {}
    named = {by_name[n].column: by_name[n].codec.encode(v) for n, v in values.items()}
    return rack | {b"d:name": b"Ada"} | named


def entries(index: str, **values: Any) -> list[str]:
    found = index_target(SCHEMA, INDEXES[index]).entry_keys(ROW, cells(**values))
    return sorted(each.hex() for each in found)


@pytest.mark.parametrize(
    ("index", "values", "expected"),
    [
        ("lowered", {"name": "ÅdA"}, ["c3a56461000107"]),
        ("endings", {"phone": "0159"}, ["c6cacecffffe07"]),
        ("endings", {}, []),
        ("by_day", {"at": AT}, ["80004d0d07"]),
        ("by_day", {}, []),
        ("labelled", {"size": 9, "labels": ["b", "a"]}, ["096100010707", "096200010707"]),
        ("labelled", {"size": 9, "labels": ["a", "a"]}, ["096100010707"]),
        ("labelled", {"size": 9, "labels": []}, []),
        ("labelled", {"size": 9}, []),
        ("by_role", {}, []),
        ("by_role", {"roles": frozenset({1})}, ["800000000000000107"]),
        ("by_id", {"ids": [1, 2]}, ["fd07", "fe07"]),
        ("narrow", {"wide": 3}, ["0307"]),
        ("rack", {"rack": 3}, ["0307"]),
        ("rack", {}, []),
        ("or_none", {}, ["0007"]),
        ("or_none", {"wide": 0}, ["01000007"]),
        ("falling_or_none", {}, ["ff0007"]),
        ("falling_or_none", {"wide": 1}, ["fefffe0007"]),
        ("falling_or_none", {"wide": 1, "phone": "a"}, ["fefffe0161000107"]),
        ("one_owner", {"size": 1}, ["616461000101"]),
        ("large", {"size": 10, "phone": "1"}, ["0707"]),
        ("large", {"size": 9, "phone": "1"}, []),
        ("large", {"size": 10}, []),
        ("racked", {"rack": 3}, ["0707"]),
        ("racked", {"labels": ["b", "ab"]}, ["0707"]),
        ("racked", {"labels": ["b"], "rack": 4}, []),
        ("by_hand", {"size": 1}, ["0107"]),
        ("copied", {"size": 1}, ["0107"]),
    ],
)
def test_a_row_has_these_entries(index: str, values: dict[str, Any], expected: list[str]) -> None:
    assert entries(index, **values) == expected


def test_a_row_without_the_cell_has_the_entry_of_the_default() -> None:
    assert entries("by_hand") == ["0507"]


class Made(Model, table="made"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    a: Mapped[int] = column(d, codec=codecs.uint8())
    token: Mapped[str] = column(d, default_factory=lambda: "T")
    note: Mapped[str] = column(d, default_factory=str)
    words: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list[str])
    by_token = Index(token)
    by_lowered = Index(func.lower(token))
    by_note = Index(note)
    by_lowered_note = Index(func.lower(note))
    with_token = Index(a, where=token == "T")
    without_token = Index(a, where=token != "x")
    without_words = Index(a, where=words == [])


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("by_token", set()),
        ("by_lowered", set()),
        ("by_note", {b"\x00\x01\x07"}),
        ("by_lowered_note", {b"\x00\x01\x07"}),
        ("with_token", set()),
        ("without_token", {b"\x05\x07"}),
        ("without_words", {b"\x05\x07"}),
    ],
)
def test_a_row_without_the_cell_has_no_entry_of_what_is_made_anew(
    index: str, expected: set[bytes]
) -> None:
    schema = Made.__schema__
    target = index_target(schema, next(each for each in schema.indexes if each.name == index))

    assert target.entry_keys(ROW, {b"d:a": b"\x05"}) == expected


def test_the_bucket_of_a_salted_entry_is_phoenix_hash_of_the_rest() -> None:
    # 31 * (31 * 1 + 9) + 7 = 1247, and 1247 % 4 = 3
    assert entries("spread", size=9) == ["030907"]


@pytest.mark.parametrize("index", ["labelled", "or_none", "falling_or_none", "spread", "by_id"])
def test_an_entry_leads_back_to_its_row(index: str) -> None:
    (first, *_) = entries(index, size=9, labels=["a"], ids=[4])

    assert base_key_of(INDEXES[index])(bytes.fromhex(first)) == ROW


def test_writes_read_what_entries_derive_from_and_repeat() -> None:
    targets = {target.name: target for target in guarded_table(SCHEMA).indexes}

    assert targets["labelled"].columns == {b"d:size", b"d:labels"}
    assert targets["large"].columns == {b"d:size", b"d:phone"}
    assert targets["racked"].columns == {b"d:q:rack", b"d:labels"}
    assert targets["copied"].included == (b"d:name", b"d:phone", b"d:q:rack")
    assert targets["one_owner"].unique
    assert not targets["by_hand"].maintained_by_writes


def test_writes_keep_no_entries_of_a_manual_index() -> None:
    kept = guarded_table(SCHEMA).entries(ROW, cells(size=1))

    assert "kept_ix_by_hand" not in {entry.table for entry in kept}
    assert "kept_ix_copied" in {entry.table for entry in kept}


def test_a_value_that_the_index_cannot_store_is_refused() -> None:
    with pytest.raises(CodecError, match="uint8"):
        entries("narrow", wide=300)


def test_stored_bytes_that_do_not_decode_are_told_of() -> None:
    with pytest.raises(CorruptRowError, match="labelled"):
        index_target(SCHEMA, INDEXES["labelled"]).entry_keys(ROW, {b"d:labels": b"{"})


# --- what the catalog is told ---------------------------------------------------------------------


def test_all_that_decides_entries_is_described() -> None:
    described = declaration_texts(SCHEMA)

    assert described["spread"] == (
        "kept_ix_spread: [size uint8 1 of d:size default 05] salt 4 | [n uint8 1]"
    )
    assert described["or_none"] == (
        "kept_ix_or_none: [wide uint16 2 or None of d:wide nullable] | [n uint8 1]"
    )
    assert described["copied"] == (
        "kept_ix_copied: [size uint8 1 of d:size default 05] include d:name text, "
        "d:phone text nullable, d:q:rack uint8 nullable | [n uint8 1]"
    )
    assert described["large"] == (
        "kept_ix_large: [n uint8 1] where phone != None and size >= 10 by "
        "d:size uint8 default 05, d:phone text nullable | [n uint8 1]"
    )
    assert described["one_owner"].endswith("unique | [n uint8 1]")
    assert described["by_hand"].endswith("manual | [n uint8 1]")


# --- what is refused ------------------------------------------------------------------------------


def in_model(make: Callable[[dict[str, Any]], Index]) -> None:
    """Declare a model with an index that `make` makes of its fields."""

    class Tried(Model, table="tried"):
        d = Family()
        n: Key[int] = key(codecs.uint8())
        a: Mapped[int] = column(d, codec=codecs.uint8())
        text: Mapped[str | None] = column(d, default=None)
        below: Mapped[int] = column(d, default=-1)
        at: Mapped[datetime] = column(d)
        things: Mapped[list[Any]] = column(d, codec=codecs.json(list[Any]), default_factory=list)
        labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
        words: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
        tags: Dynamic[str, str] = dynamic(d, prefix="t:")
        hits: Counter = counter(d)
        revision: Version = version(d)
        made = make(locals())


OTHER: Any = Kept.name

REFUSED: dict[str, tuple[Callable[[Any], Index], str]] = {
    "nothing": (lambda _: Index(), "the index has no fields"),
    "text": (lambda _: Index("a"), "an argument of Index"),  # type: ignore[arg-type]  # meant wrong
    "a counter": (lambda m: Index(m["hits"]), "cannot be indexed"),
    "a version": (lambda m: Index(m["revision"]), "cannot be indexed"),
    "a whole map": (
        lambda m: Index(m["tags"]),
        "a map of dynamic columns cannot be indexed as a whole",
    ),
    "the items of a map": (
        lambda m: Index(func.each(m["tags"])),
        "the argument of the function is not a field",
    ),
    "a function of a function": (
        lambda m: Index(func.lower(func.lower(m["text"]))),
        "the argument of the function is not a field",
    ),
    "a function of another type": (
        lambda m: Index(func.day(m["text"])),
        "does not work on fields of this type",
    ),
    "items of no known type": (
        lambda m: Index(func.each(m["things"])),
        "the type of the collection's items is unknown",
    ),
    "items of a text": (
        lambda m: Index(func.each(m["text"])),
        "does not work on fields of this type",
    ),
    "another model's field": (lambda _: Index(OTHER), "cannot be indexed"),
    "bytes that do not sort": (lambda m: Index(m["labels"]), "does not keep the order"),
    "a field twice": (lambda m: Index(m["a"], m["a"].desc()), "names a field twice"),
    "items of two collections": (
        lambda m: Index(func.each(m["labels"]), func.each(m["words"])),
        "one collection",
    ),
    "the argument is not a codec": (lambda m: Index((m["a"], 7)), "the argument is not a codec"),  # type: ignore[arg-type]  # meant wrong
    "a codec of another type": (lambda m: Index((m["a"], codecs.text())), "another type"),
    "a codec that rounds": (lambda m: Index((m["at"], codecs.seconds())), "rounds"),
    "covering without include": (lambda m: Index(m["a"], covering=True), "no include"),
    "an included counter": (lambda m: Index(m["a"], include=[m["hits"]]), "counter"),
    "an included key field": (
        lambda m: Index(m["a"], include=[m["n"]]),
        "a key field need not be included: every entry holds the row key",
    ),
    "an included function": (lambda m: Index(m["a"], include=[func.lower(m["text"])]), "columns"),
    "another model's column": (
        lambda m: Index(m["a"], include=[OTHER]),
        "not a column of the model",
    ),
    "unique with nulls": (lambda m: Index(m["text"], unique=True, nulls=True), "nulls"),
    "unique with include": (lambda m: Index(m["a"], unique=True, include=[m["text"]]), "include"),
    "unique items": (lambda m: Index(func.each(m["labels"]), unique=True), "func.each"),
    "unique by hand": (lambda m: Index(m["a"], unique=True, maintained="manual"), "manual"),
    "nulls of items": (lambda m: Index(func.each(m["labels"]), nulls=True), "func.each"),
    "covering by hand": (
        lambda m: Index(m["a"], include=[m["text"]], covering=True, maintained="manual"),
        "manual",
    ),
    "included by hand": (
        lambda m: Index(m["a"], include=[m["text"]], maintained="manual"),
        "do not answer for a row|cannot have include",
    ),
    "included twice": (lambda m: Index(m["a"], include=[m["text"], m["text"]]), "included twice"),
    "included and indexed": (
        lambda m: Index(m["a"], include=[m["a"]]),
        "a field is included twice, or is both indexed and included",
    ),
    "nulls where nothing is None": (
        lambda m: Index(m["a"], nulls=True),
        "none of the indexed fields can be None",
    ),
    "the index has no entries for rows in which an indexed field is None": (
        lambda m: Index(m["text"], where=m["text"] == None),  # noqa: E711 - asks for none
        "the index would have no entries: its condition requires None in an indexed field",
    ),
    "a default that has no entry": (
        lambda m: Index((m["below"], codecs.uint8())),
        "the field's default does not fit the codec of the index",
    ),
    "kept by nobody": (lambda m: Index(m["a"], maintained="never"), "maintained"),  # type: ignore[arg-type]  # meant wrong
    "one bucket": (lambda m: Index(m["a"], salt=1), "salt"),
    "too many buckets": (lambda m: Index(m["a"], salt=257), "salt"),
    "unique by a number": (lambda m: Index(m["a"], unique=1), "unique"),  # type: ignore[arg-type]  # meant wrong
    "where of no condition": (
        lambda m: Index(m["a"], where=True),  # type: ignore[arg-type]  # meant wrong
        "the argument is not a condition",
    ),
    "where of a counter": (
        lambda m: Index(m["a"], where=m["hits"] > 3),
        "the condition of an index cannot compare this field",
    ),
    "where of another type": (lambda m: Index(m["a"], where=m["a"] == "x"), "another type"),
    "where of another model": (lambda m: Index(m["a"], where=OTHER == "x"), "selected model"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_index_that_cannot_be_kept_is_refused_with_what_to_do(name: str) -> None:
    make, words = REFUSED[name]

    with pytest.raises((SchemaError, QueryError), match=words) as caught:
        in_model(make)

    assert caught.value.fix
    if isinstance(caught.value, SchemaError):
        assert (caught.value.details["model"], caught.value.details["index"]) == ("Tried", "made")


def expiring(**options: Any) -> None:
    """Declare a model with a covering index and an expiring family of these options."""

    class Brief(Model, table="brief"):
        d = Family()
        t = Family(ttl=timedelta(days=1), **options)
        n: Key[int] = key(codecs.uint8())
        size: Mapped[int] = column(d, codec=codecs.uint8())
        note: Mapped[str | None] = column(t, default=None)
        by_size = Index(size, include=[note], covering=True)


def test_a_covering_index_is_refused_where_cells_expire() -> None:
    with pytest.raises(
        SchemaError,
        match="a covering index cannot be over families with a ttl: queries would return values of expired cells from its entries",
    ) as caught:
        expiring()

    assert caught.value.details == {"model": "Brief", "index": "by_size", "families": ["t"]}
    assert "covering=True out" in (caught.value.fix or "")


def test_a_covering_index_may_repeat_cells_of_which_the_newest_is_kept() -> None:
    expiring(min_versions=1)


def test_one_index_under_two_names_is_refused() -> None:
    with pytest.raises(SchemaError, match="the same Index object has two names") as caught:

        class Named(Model, table="named"):
            d = Family()
            n: Key[int] = key(codecs.uint8())
            a: Mapped[int] = column(d, codec=codecs.uint8())
            first = Index(a)
            second = first

    assert caught.value.details == {"model": "Named", "index": "first", "other_name": "second"}


@pytest.mark.parametrize("hold", [list, tuple, dict.fromkeys], ids=["list", "tuple", "dict"])
def test_an_index_within_another_object_is_refused(hold: Any) -> None:
    with pytest.raises(
        SchemaError, match="an index must be an attribute of the class by itself"
    ) as caught:

        class Held(Model, table="held"):
            d = Family()
            n: Key[int] = key(codecs.uint8())
            a: Mapped[int] = column(d, codec=codecs.uint8())
            made = hold([Index(a)])

    assert caught.value.details == {"model": "Held", "attribute": "made"}


def test_a_declaration_prints_as_it_was_written() -> None:
    assert repr(Kept.copied) == (
        "Index(Kept.size, include=[Kept.name, Kept.phone, Kept.props['rack']], covering=True)"
    )
    assert repr(Kept.large) == ("Index(Kept.n, where=(Kept.size >= 10) & (Kept.phone != None))")
    assert repr(Kept.by_id) == "Index((func.each(Kept.ids), uint8 desc))"
    assert repr(Kept.spread) == "Index(Kept.size, salt=4)"
    assert repr(Kept.by_hand) == "Index(Kept.size, maintained='manual')"
