"""What a model's body may say, what follows from it, and every mistake that is refused at once."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    Substitute,
    Table,
    codecs,
    column,
    counter,
    key,
    rowkey,
)
from hbase_orm.errors import SchemaError

# In scope of the declarations below, which are source text: type checkers would refuse many.
SCOPE: dict[str, Any] = {
    "Any": Any,
    "Counter": Counter,
    "Family": Family,
    "Index": Index,
    "Key": Key,
    "Mapped": Mapped,
    "Model": Model,
    "Salt": Salt,
    "Substitute": Substitute,
    "Table": Table,
    "codecs": codecs,
    "column": column,
    "counter": counter,
    "datetime": datetime,
    "key": key,
    "rowkey": rowkey,
}

OTHER = Family("other")


def declare(body: str, header: str = 'class M(Model, table="t"):') -> Any:
    """Make the class `M` of this body, as a module that postpones annotations would."""
    source = f"from __future__ import annotations\n{header}\n{textwrap.indent(body, '    ')}"
    scope = {**SCOPE, "OTHER": OTHER, "__name__": __name__}
    exec(source, scope)
    return scope["M"]


GOOD = """
d = Family()
host: Key[str] = key()
at: Key[datetime] = key(codecs.millis())
"""

MISTAKES = {
    "no key field": ("d = Family()\na: Mapped[str] = column(d)", None, "no row key"),
    "no column family": ("host: Key[str] = key()", None, "no column family"),
    "no annotation": (GOOD + "a = column(d)", "a", "no annotation"),
    "no declaration": (GOOD + "a: Mapped[str]", "a", "annotated but not declared"),
    "no key declaration": (GOOD + "a: Key[str]", "a", "annotated but not declared"),
    "no counter declaration": (GOOD + "a: Counter", "a", "annotated but not declared"),
    "plain annotation": (GOOD + "a: str = column(d)", "a", "annotation does not fit"),
    "key as column": (GOOD + "a: Key[str] = column(d)", "a", "annotation does not fit"),
    "column as key": (GOOD + "a: Mapped[str] = key()", "a", "annotation does not fit"),
    "counter as column": (GOOD + "a: Mapped[int] = counter(d)", "a", "annotation does not fit"),
    "unknown name": (GOOD + "a: Mapped[Missing] = column(d)", "a", "cannot be resolved"),
    "unknown quoted": (GOOD + 'a: Mapped["Missing"] = column(d)', "a", "cannot be resolved"),
    "unknown attribute": (GOOD + "a: Mapped[datetime.no] = column(d)", "a", "cannot be resolved"),
    "no codec for the type": (GOOD + "a: Mapped[complex] = column(d)", "a", "no codec is known"),
    "no codec for Any": (GOOD + "a: Mapped[Any] = column(d)", "a", "no codec is known"),
    "no codec for a union": (GOOD + "a: Mapped[int | str] = column(d)", "a", "no codec is known"),
    "codec of another type": (
        GOOD + "a: Mapped[str] = column(d, codec=codecs.uint8())",
        "a",
        "codec stores another type",
    ),
    "no codec in __codecs__": (
        GOOD + "__codecs__ = {int: 5}\na: Mapped[int] = column(d)",
        "a",
        "no codec is known",
    ),
    "default None": (GOOD + "a: Mapped[str] = column(d, default=None)", "a", "default is None"),
    "default out of range": (
        GOOD + "a: Mapped[int] = column(d, codec=codecs.uint8(), default=300)",
        "a",
        "default does not fit",
    ),
    "default of another type": (
        GOOD + 'a: Mapped[int] = column(d, default="x")',
        "a",
        "default does not fit",
    ),
    "nullable key": (GOOD + "a: Key[str | None] = key()", "a", "key field cannot be None"),
    "family unnamed": (GOOD + "e = Family()\na: Mapped[str] = column()", "a", "names no family"),
    "foreign family": (GOOD + "a: Mapped[str] = column(OTHER)", "a", "not one of the model's"),
    "two families of one name": (GOOD + 'e = Family("d")', None, "two families have the same name"),
    "one column twice": (
        GOOD + 'a: Mapped[str] = column(d, "x")\nb: Mapped[str] = column(d, "x")',
        "b",
        "two fields have the same column",
    ),
    "counter on a column": (
        GOOD + 'a: Mapped[str] = column(d, "x")\nb: Counter = counter(d, "x")',
        "b",
        "two fields have the same column",
    ),
    "marker's qualifier": (GOOD + 'a: Mapped[str] = column(d, "_0")', "a", "reserved"),
    "reserved to_dict": (GOOD + "to_dict: Mapped[str] = column(d)", "to_dict", "reserved"),
    "reserved decode_key": (GOOD + "decode_key: Mapped[str] = column(d)", "decode_key", "reserved"),
    "underscore": (GOOD + "_a: Mapped[str] = column(d)", "_a", "reserved"),
    "key field left out": (GOOD + "__rowkey__ = rowkey(host)", None, "exactly once"),
    "key field twice": (GOOD + "__rowkey__ = rowkey(host, at, host)", None, "exactly once"),
    "column in the key": (
        GOOD + "a: Mapped[str] = column(d)\n__rowkey__ = rowkey(host, at, a)",
        None,
        "not a key field of the model",
    ),
    "salt twice": (
        GOOD + "__rowkey__ = rowkey(Salt(4), Salt(4), host, at)",
        None,
        "a row key can have only one salt, as its first component",
    ),
    "salt behind": (
        GOOD + "__rowkey__ = rowkey(host, Salt(4), at)",
        None,
        "a row key can have only one salt, as its first component",
    ),
    "salt alone": (GOOD + "__rowkey__ = rowkey(Salt(4))", None, "no key field"),
    "salt of a column": (
        GOOD + "a: Mapped[str] = column(d)\n__rowkey__ = rowkey(Salt(4, of=[a]), host, at)",
        None,
        "not a key field of the model",
    ),
    "index of a counter": (
        GOOD + "a: Counter = counter(d)\nby_a = Index(a)",
        "a",
        "cannot be indexed",
    ),
    "index of a name that the key holds as a number": (
        GOOD + "n: Key[str] = key()\nby_n = Index(n)\n"
        '__rowkey__ = rowkey(host, at, Substitute(of=n, dictionary="names"))',
        "n",
        "cannot be indexed",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_class_field_and_fix(name: str) -> None:
    body, field, text = MISTAKES[name]

    with pytest.raises(SchemaError, match=text) as caught:
        declare(body)

    assert (caught.value.model, caught.value.details.get("field")) == ("M", field)
    assert caught.value.fix


# Refused while the body runs, before the class has a name: the traceback points at the line.
LINES = {
    "family as text": 'a: Mapped[str] = column("d")',
    "codec as type": "a: Mapped[str] = column(d, codec=str)",
    "default and factory": 'a: Mapped[str] = column(d, default="", default_factory=str)',
    "index of text": 'by_a = Index("a")',
    "index of nothing": "by_a = Index()",
    "row key of text": '__rowkey__ = rowkey("host")',
    "row key of nothing": "__rowkey__ = rowkey()",
    "salt of text": 'x = Salt(4, of="host")',
    "salt of one bucket": "x = Salt(1)",
    "counter in the constructor": "a: Counter = counter(d, init=True)",
}


@pytest.mark.parametrize("name", LINES)
def test_a_wrong_line_of_the_body_says_how_to_mend_it(name: str) -> None:
    with pytest.raises(SchemaError) as caught:
        declare(GOOD + LINES[name])

    assert caught.value.fix


OPTIONS = {
    "versions": {"versions": 0},
    "min_versions": {"min_versions": 2},
    "ttl": {"ttl": timedelta(milliseconds=5)},
    "block_size_bytes": {"block_size_bytes": 0},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_a_family_option_out_of_range_is_named_with_what_is_allowed(option: str) -> None:
    with pytest.raises(SchemaError, match="out of range") as caught:
        Family(**OPTIONS[option])  # type: ignore[arg-type]  # of all kinds, and wrong

    assert (caught.value.option, bool(caught.value.fix)) == (option, True)


@pytest.mark.parametrize("name", ["", "a:b", ".a", "a\n", "a/b", "_"])
def test_a_family_name_that_hbase_or_the_library_cannot_use_is_refused(name: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Family(name)

    assert caught.value.family == name


def test_a_family_attribute_may_not_take_the_guards_name() -> None:
    with pytest.raises(SchemaError, match="reserved") as caught:
        declare(GOOD + "_ = Family()")

    assert caught.value.model == "M"


def test_a_model_without_a_table_is_refused_unless_abstract() -> None:
    with pytest.raises(SchemaError, match="names no table") as caught:
        declare(GOOD, header="class M(Model):")

    assert caught.value.model == "M"
    assert "abstract=True" in caught.value.fix


# --- what follows from a right declaration ---------------------------------------------------------


class Stamped(Model, abstract=True):
    d = Family()
    tenant: Key[str] = key()
    made: Mapped[datetime] = column(d, codec=codecs.millis())


class Codes(Model, abstract=True):
    __codecs__: ClassVar = {int: codecs.uint16()}


class Order(Stamped, Codes, table=Table("shop:orders", durability="ASYNC_WAL")):
    number: Key[int] = key()
    amount: Mapped[int] = column(Stamped.d, "a")
    note: Mapped[str | None] = column(default=None)
    quoted: Mapped["str | None"] = column(default=None)  # what some programs write
    views: Counter = counter()


def test_inherited_fields_come_first_in_the_row_key_and_everywhere() -> None:
    schema = Order.__schema__

    assert schema.layout.arguments == ("tenant", "number")
    assert list(schema.fields) == [
        *("tenant", "made", "number", "amount", "note", "quoted", "views"),
    ]


def test_families_are_inherited_and_stand_for_fields_that_name_none() -> None:
    columns = {column.name: column.column for column in Order.__schema__.columns}

    assert columns == {
        "made": b"d:made",
        "amount": b"d:a",
        "note": b"d:note",
        "quoted": b"d:quoted",
    }
    assert [family.name for family in Order.__schema__.families] == [b"d"]


def test_codecs_of_a_base_replace_the_defaults() -> None:
    codecs_used = {column.name: column.codec.name for column in Order.__schema__.columns}

    assert codecs_used["amount"] == "uint16"
    assert Order.describe_key() == "[tenant text][number uint16]"


def test_a_quoted_inner_annotation_is_resolved() -> None:
    assert Order.__schema__.column_by_name["quoted"].nullable


def test_table_options_reach_the_schema() -> None:
    schema = Order.__schema__

    assert (schema.table, schema.durability, schema.split_keys) == ("shop:orders", "ASYNC_WAL", ())


class Salted(Model, table="salted"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "")
    __rowkey__ = rowkey(Salt(4, of=[host]), host, at)
    by_value = Index(value, at)


def test_a_salted_table_is_split_between_its_buckets() -> None:
    assert Salted.__schema__.split_keys == (b"\x01", b"\x02", b"\x03")


def test_the_row_key_is_described_in_one_line() -> None:
    assert Salted.describe_key() == "[salt 4][host text][at millis desc]"


def test_an_empty_qualifier_is_a_qualifier() -> None:
    assert [column.column for column in Salted.__schema__.columns] == [b"d:"]


def test_an_index_table_is_named_after_table_and_index() -> None:
    assert [index.table for index in Salted.__schema__.indexes] == ["salted_ix_by_value"]


def test_row_keys_encode_and_decode() -> None:
    at = datetime(2024, 1, 2, tzinfo=UTC)

    data = Salted.encode_key(host="a", at=at)

    assert Salted.decode_key(data) == {"host": "a", "at": at}
    assert data[0] < 4
    assert data[1:3] == b"a\x00"


def test_fields_may_be_called_as_the_parameters_of_generated_code_are() -> None:
    model = declare(
        """
f = Family()
self: Key[str] = key()
d: Mapped[int] = column(f, default=1)
UNSET: Mapped[int | None] = column(f, default=None)
kind0: Mapped[str] = column(f, default_factory=str)
row: Mapped[float] = column(f)
"""
    )

    made = model(self="a", row=2)

    assert made.to_dict() == {"self": "a", "d": 1, "UNSET": None, "kind0": "", "row": 2.0}
    assert model(**made.to_dict()) == made
