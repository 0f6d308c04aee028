"""Nothing that a user names runs as code: names, texts and types from an outside list of columns."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum
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
    RecordType,
    Related,
    RowKey,
    codecs,
    column,
    connect,
    counter,
    dynamic,
    key,
    related,
    select,
)
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.main import run
from hbase_orm.errors import HBaseORMError, QueryError, SchemaError
from hbase_orm.schema import Comparison, compile_match

CALLS: list[str] = []


def ran(name: str = "") -> str:
    """Note that a payload has run."""
    CALLS.append(name)
    return "x"


CALL = f"__import__('sys').modules[{__name__!r}].ran()"
TEXTS = (
    f"a={CALL}",
    f"a: {CALL}",
    f"a): {CALL}\n    return None\ndef __init__(_self, *, b",
    f"a\n{CALL}",
    f"']; {CALL}; d['",
    f'"]; {CALL}; d["',
    f"{{{CALL}}}",
    f"' + {CALL} + '",
    f"\\'; {CALL} #",
    f"'); {CALL}; ('",
)
PAYLOADS = [pytest.param(text, id=f"payload{number}") for number, text in enumerate(TEXTS)]


class Named(str):
    """A text that prints as code, and hides it from what asks for an identifier."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return a call."""
        return CALL

    def __format__(self, spec: str) -> str:
        """Return a call."""
        return CALL

    def isidentifier(self) -> bool:
        """Lie."""
        return True


@pytest.fixture(autouse=True)
def nothing_runs() -> Iterator[None]:
    """Hold each test to it."""
    CALLS.clear()
    yield
    assert CALLS == []


def _model(named: dict[str, Any], **keywords: Any) -> type[Model]:
    annotations = named.pop("__annotations__", {})
    own = {"d": Family(), "id": key()}
    body = {
        "__module__": __name__,
        **own,
        **named,
        "__annotations__": {"id": Key[str], **annotations},
    }
    return types.new_class(
        "Made", (Model,), {"table": "made", **keywords}, lambda namespace: namespace.update(body)
    )


DECLARED: dict[str, Callable[[], tuple[Any, Any]]] = {
    "column": lambda: (Mapped[str], column()),
    "column with default": lambda: (Mapped[str], column(default="x")),
    "column with factory": lambda: (
        Mapped[list[int]],
        column(codec=codecs.json(list), default_factory=list),
    ),
    "validated column": lambda: (Mapped[str], column(validate=print)),
    "nullable column": lambda: (Mapped[str | None], column(default=None)),
    "key": lambda: (Key[str], key()),
    "counter": lambda: (Counter, counter()),
    "dynamic": lambda: (Dynamic[str, str], dynamic(prefix="x")),
}


@pytest.mark.parametrize("kind", DECLARED)
@pytest.mark.parametrize(
    "name", [*PAYLOADS, "class", "None", "a b", "", "1a", "\ufb01eld", Named("ok")]
)
def test_a_field_whose_name_is_no_identifier_is_refused(kind: str, name: str) -> None:
    annotation, declared = DECLARED[kind]()
    with pytest.raises(SchemaError) as refused:
        _model({name: declared, "__annotations__": {name: annotation}})
    assert refused.value.model == "Made"
    assert refused.value.field == name


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_related_field_whose_name_is_no_identifier_is_refused(name: str) -> None:
    target: Any = _model({})
    with pytest.raises(SchemaError):
        _model({name: related(id=target.id), "__annotations__": {name: Related[target]}})


@pytest.mark.parametrize(
    "kind", ["Mapped[{}]", "{}", "Mapped['{}']", "Mapped[str, {}]", "Mapped[[{}][0]]"]
)
@pytest.mark.parametrize(
    "payload",
    [
        CALL,
        f"({CALL}, str)[1]",
        f"[str for _ in [{CALL}]][0]",
        f"(lambda: {CALL})()",
        f"(a := {CALL})",
        f"str if {CALL} else int",
        f"f'{{{CALL}}}'",
        f"{{1: {CALL}}}[1]",
    ],
)
def test_a_text_that_annotates_a_field_calls_nothing(kind: str, payload: str) -> None:
    annotation = kind.format(payload.replace("'", '"') if "'" in kind else payload)
    for declared in (column(), key(), dynamic(prefix="x"), related(id=Shown.id)):
        with pytest.raises(SchemaError) as refused:
            _model({"a": declared, "__annotations__": {"a": annotation}})
        assert refused.value.field == "a"


def test_a_text_that_annotates_a_field_is_a_type() -> None:
    model = _model(
        {
            "a": column(default=None),
            "b": column(codec=codecs.json(dict[str, list[int]])),
            "c": dynamic(prefix="c"),
            "__annotations__": {
                "a": "Mapped[str | None]",
                "b": "Mapped['dict[str, list[int]]']",
                "c": "Dynamic[str, types.NoneType | int]",
            },
        }
    )
    obj: Any = model(id="1", b={"x": [1]})
    obj.c = {"n": 1}
    assert (obj.a, obj.b, obj.c) == (None, {"x": [1]}, {"n": 1})


def _enum(members: dict[str, str]) -> Any:
    return Enum("Kinds", members)


# Texts that are not names of attributes, each put into a model in one place.
PLACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "family": lambda text: {"d": Family(text)},
    "qualifier": lambda text: {"a": column(qualifier=text), "__annotations__": {"a": Mapped[str]}},
    "prefix": lambda text: {"a": dynamic(prefix=text), "__annotations__": {"a": Dynamic[str, str]}},
    "separator": lambda text: {
        "id": key(codecs.text(separator=text.encode())),
        "b": key(),
        "__annotations__": {"id": Key[str], "b": Key[str]},
    },
    "pad": lambda text: {
        "a": column(codec=codecs.text(width_bytes=99, pad=text.encode())),
        "__annotations__": {"a": Mapped[str]},
    },
    "code": lambda text: {
        "a": column(codec=codecs.code({"x": text.encode(), "y": b"\xff"})),
        "__annotations__": {"a": Mapped[str]},
    },
    "coded value": lambda text: {
        "a": column(codec=codecs.code({"x": b"x", text: b"y"})),
        "__annotations__": {"a": Mapped[str]},
    },
    "enum value": lambda text: {
        "a": column(codec=codecs.enum(_enum({"x": text}))),
        "__annotations__": {"a": Mapped[Any]},
    },
    "enum member": lambda text: {
        "a": column(codec=codecs.enum(_enum({text: "x"}))),
        "__annotations__": {"a": Mapped[Any]},
    },
    "format": lambda text: {
        "a": column(codec=codecs.strftime(f"%Y{text}")),
        "__annotations__": {"a": Mapped[Any]},
    },
    "default": lambda text: {"a": column(default=text), "__annotations__": {"a": Mapped[str]}},
    "codec": lambda text: {
        "a": column(codec=codecs.get(text)),
        "__annotations__": {"a": Mapped[str]},
    },
}


def _use(model: type[Any], values: dict[str, Any], text: str) -> None:
    """Write, read, compare and explain with every function that is generated for a model."""
    obj = model(**values)
    is_map = bool(model.__schema__.dynamics)
    if is_map:
        obj.a = {text: text}
    with connect("memory://") as engine:
        engine.create_tables(model)
        with engine.session() as session:
            session.add(obj)
            session.flush()
        fields = [model.id, model.a[text] if is_map else getattr(model, "a", model.id)]
        with engine.session() as session:
            assert session.all(select(model).where(model.id == values["id"])) == [obj]
            stored = [obj.id, text if is_map else obj.__dict__.get("a", obj.id)]
            for field, value in zip(fields, stored, strict=True):
                stmt = select(model).where(field == value).allow_full_scan()
                assert session.all(stmt) == [obj]
                assert str(session.explain(stmt))
                assert session.all(select(field).allow_full_scan()) == [value]


@pytest.mark.parametrize("text", [*PAYLOADS, Named("ok")])
@pytest.mark.parametrize("place", PLACES)
def test_a_text_of_a_declaration_stands_for_itself(place: str, text: str) -> None:
    try:
        model: Any = _model(PLACES[place](text))
    except HBaseORMError:
        assert place in {"family", "pad", "codec"} or type(text) is Named  # others take any text
        return
    values: dict[str, Any] = {"id": text if place == "default" else "x"}
    for name in model.__schema__.layout.names:
        values[name] = values["id"]
    if "a" in model.__schema__.column_by_name:
        codec = model.__schema__.column_by_name["a"].codec
        python_type = codec.python_type
        if issubclass(python_type, Enum):
            values["a"] = next(iter(python_type))
        elif python_type is datetime:
            values["a"] = datetime(2026, 1, 1, tzinfo=UTC)
        elif python_type in {str, object}:
            values["a"] = "y" if place == "code" else text if place == "coded value" else "x"
    _use(model, values, str(text))


@pytest.mark.parametrize("text", [*PAYLOADS, Named("ok")])
def test_a_text_in_a_row_or_a_condition_stands_for_itself(text: str) -> None:
    model: Any = _model({"a": column(), "__annotations__": {"a": Mapped[str]}})
    _use(model, {"id": text, "a": text}, text)


@pytest.mark.parametrize("text", PAYLOADS)
def test_names_of_tables_record_types_and_classes_stand_for_themselves(text: str) -> None:
    with pytest.raises(SchemaError):
        types.new_class("Made", (Model,), {"table": text}, _plain_body)
    made: Any = types.new_class(text, (Model,), {"table": "made"}, _plain_body)
    _use(made, {"id": "x"}, text)
    base: Any = types.new_class("Base", (Model,), {"table": "made"}, _recorded_body)
    kind: Any = types.new_class("Kind", (base,), {"record_type": text}, lambda _: None)
    _use(kind, {"id": "x"}, text)


def _plain_body(namespace: dict[str, Any]) -> None:
    namespace.update({"d": Family(), "id": key(), "__annotations__": {"id": Key[str]}})


def _recorded_body(namespace: dict[str, Any]) -> None:
    _plain_body(namespace)
    namespace["__rowkey__"] = RowKey((RecordType(), namespace["id"]))


@pytest.mark.parametrize("text", PAYLOADS)
def test_the_name_of_an_index_stands_for_itself_or_is_refused(text: str) -> None:
    a = column()
    with pytest.raises(SchemaError) as refused:
        _model({"a": a, text: Index(a), "__annotations__": {"a": Mapped[str]}})
    assert refused.value.index == text


@pytest.mark.parametrize("text", [*PAYLOADS, "== 1 or", "=", Named("<>")])
def test_a_comparison_has_one_of_the_known_operators(text: str) -> None:
    model: Any = _model({"a": column(), "__annotations__": {"a": Mapped[int]}})
    with pytest.raises(QueryError):
        compile_match(model.__schema__, [Comparison(model.a, text, 1)])  # type: ignore[arg-type]
    check = compile_match(model.__schema__, [Comparison(model.a, Named("<"), 1)])  # type: ignore[arg-type]
    assert check is not None
    assert check({"a": 0})


class Shown(Model, table="shown"):
    """A model that commands name."""

    d = Family()
    id: Key[str] = key()
    a: Mapped[str] = column()


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_condition_of_a_command_stands_for_itself(text: str) -> None:
    command = ["explain", f"{__name__}:Shown"]
    for condition in (f"id={text}", f"id^={text}", f"id in {text}", f"a!={text}"):
        assert run([*command, "--allow-full-scan", "--where", condition]) == ExitCode.OK
    for condition in (text, f"{text}=1"):
        assert run([*command, "--where", condition]) == ExitCode.USAGE
    for option in ("--order-by", "--using"):
        assert run([*command, option, text]) == ExitCode.USAGE


@pytest.mark.parametrize("metadata", [CALL, f"({CALL}, 1)", f"{{'doc': {CALL}}}", "dict(max=3)"])
@pytest.mark.parametrize(
    "kind", ["Mapped[Annotated[str, {}]]", "Mapped[t.Annotated[str, 1, {}] | None]"]
)
def test_what_a_text_says_of_a_type_in_annotated_is_not_run(kind: str, metadata: str) -> None:
    model: Any = _model({"a": column(default="x"), "__annotations__": {"a": kind.format(metadata)}})

    assert model.__schema__.columns[0].codec.name == "text"


@pytest.mark.parametrize("payload", [CALL, f"Annotated[{CALL}, 1]", f"[{CALL}]"])
def test_the_type_in_annotated_calls_nothing(payload: str) -> None:
    with pytest.raises(SchemaError):
        _model(
            {"a": column(), "__annotations__": {"a": f"Mapped[Annotated[{payload}, 1]]"}},
        )


@pytest.mark.parametrize(
    "number", ["1 << 3", "1 << 64", "-1", "~0", "(1 << 3) | 4", "2 + 3 - 1", "0xf0 & 3"]
)
def test_a_text_that_annotates_a_field_may_compute_numbers_of_numbers(number: str) -> None:
    annotation = f"Mapped[t.Literal[{number}]]"
    model: Any = _model(
        {"a": column(codec=codecs.int64()), "t": typing, "__annotations__": {"a": annotation}}
    )

    assert model.__schema__.columns[0].codec.name == "int64"


@pytest.mark.parametrize(
    "number",
    ["1 << 65", "1 << 999999999999", "9 ** 9", "'x' * 9", "str + str", f"1 + {CALL}", "1 << Shown"],
)
def test_a_text_that_annotates_a_field_computes_nothing_else(number: str) -> None:
    annotation = f"Mapped[t.Literal[{number}]]"
    with pytest.raises(SchemaError, match="an annotation that is a text may only name types"):
        _model({"a": column(codec=codecs.int64()), "__annotations__": {"a": annotation}})
