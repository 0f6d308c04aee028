"""Whether a program holds a part of some values."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import msgspec
import pydantic
import pytest

from hbase_orm.objects.references import counts_are_exact, is_held, is_part_held


@dataclass
class Plain:
    items: list[int] = field(default_factory=lambda: [1])


@dataclass(slots=True)
class Slotted:
    items: list[int] = field(default_factory=lambda: [1])


@attrs.define
class Attrs:
    items: list[int] = attrs.field(factory=lambda: [1])


class Struct(msgspec.Struct):
    items: list[int] = msgspec.field(default_factory=lambda: [1])


class Untracked(msgspec.Struct, gc=False):
    items: list[int] = msgspec.field(default_factory=lambda: [1])


class Pydantic(pydantic.BaseModel):
    items: list[int] = pydantic.Field(default_factory=lambda: [1])


class Pair(NamedTuple):
    name: str
    items: list[int]


CONSTANT = ("a", 1, ())

MAKERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "list": (lambda: [[1]], lambda v: v[0]),
    "dict": (lambda: {"a": {"b": [1]}}, lambda v: v["a"]["b"]),
    "ordered": (lambda: OrderedDict(a=[1]), lambda v: v["a"]),
    "deque": (lambda: deque([[1]]), lambda v: v[0]),
    "set": (lambda: {1, 2}, lambda v: v),
    "tuple": (lambda: ([1], [2]), lambda v: v[1]),
    "whole tuple": (lambda: ([1], [2]), lambda v: v),
    "tuple in a list": (lambda: [("a", [1])], lambda v: v[0]),
    "named tuple": (lambda: Pair("a", [1]), lambda v: v.items),
    "bytearray": (lambda: [bytearray(b"a")], lambda v: v[0]),
    "dataclass": (Plain, lambda v: v.items),
    "dict of a dataclass": (Plain, vars),
    "slots": (Slotted, lambda v: v.items),
    "attrs": (Attrs, lambda v: v.items),
    "struct": (Struct, lambda v: v.items),
    "struct without gc": (Untracked, lambda v: v.items),
    "list of structs without gc": (lambda: [Untracked()], lambda v: v[0].items),
    "pydantic": (Pydantic, lambda v: v.items),
    "iterator": (lambda: {"a": [1]}, lambda v: iter(v.items())),
    "view": (lambda: {"a": [1]}, lambda v: v.keys()),
    "method": (lambda: [[1]], lambda v: v[0].append),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_value_of_which_somebody_holds_a_part_is_held(kind: str) -> None:
    make, part_of = MAKERS[kind]
    values = {"value": make()}

    part = part_of(values["value"])
    while_held = is_part_held(values, ("value",))
    del part

    assert while_held
    assert not is_part_held(values, ("value",))


@pytest.mark.parametrize(
    "make",
    [
        lambda: [CONSTANT, CONSTANT, (), "text", 5, None, True, b"", frozenset({"a"})],
        lambda: {"a": CONSTANT, "type": int, "function": len},
        lambda: [[1], [1]] * 1,
        lambda: CONSTANT,
    ],
)
def test_what_cannot_change_may_be_shared(make: Callable[[], Any]) -> None:
    assert not is_part_held({"value": make()}, ("value",))


def test_references_within_the_values_are_not_somebody_elses() -> None:
    shared: list[Any] = [1]
    shared.append(shared)
    values = {"value": [shared, (shared, shared)], "other": shared, "_private": shared}
    del shared

    assert not is_part_held(values, ("value", "other"))


def test_what_is_not_looked_at_may_be_held() -> None:
    other: list[int] = []
    values = {"value": [1], "other": other}

    assert not is_part_held(values, ("value", "absent"))
    assert is_part_held(values, ("value", "other"))


def test_a_thing_in_a_list_is_held_by_others_or_not() -> None:
    box = [Plain()]
    alone = is_held(box, 0)

    thing = box[0]

    assert not alone
    assert is_held(box, 0)
    assert not is_held(box, 1)
    assert thing is box[0]


def test_counts_are_exact_under_the_global_lock_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with_lock = counts_are_exact()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)

    assert with_lock == (sys.implementation.name == "cpython")
    assert not counts_are_exact()
