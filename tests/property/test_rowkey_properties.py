"""What holds for every row key layout and any values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hbase_orm import codecs
from hbase_orm.errors import CorruptRowError
from hbase_orm.ops import KeyRange
from hbase_orm.rowkey import KeyLayout
from tests.property.strategies import Kind, kinds, part_rank
from tests.support.layouts import Salted, layout

several = settings(max_examples=80)


@dataclass(frozen=True)
class Keys:
    """A layout with the kinds of its parts."""

    layout: KeyLayout
    kinds: tuple[Kind, ...]

    def values(self) -> st.SearchStrategy[tuple[Any, ...]]:
        return st.tuples(*(st.sampled_from(kind.values) for kind in self.kinds))

    def rank(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what the key sorts by: the values, falling where declared so."""
        last = len(values) - 1
        return tuple(
            part_rank(kind.codec, value, is_last=number == last)
            for number, (kind, value) in enumerate(zip(self.kinds, values, strict=True))
        )

    def key(self, values: tuple[Any, ...]) -> bytes:
        (only, *more) = values
        assume(more or self.layout.spread or only not in ("", b"") or self.kinds[0].codec.desc)
        return self.layout.encode_parts(*values)


def _layout(chosen: list[Kind], salt: Salted | None) -> Keys:
    return Keys(layout(*(kind.codec for kind in chosen), salt=salt), tuple(chosen))


@st.composite
def layouts(draw: st.DrawFn, *, salted_by_fields: bool = False) -> Keys:
    chosen = draw(st.lists(kinds, min_size=1, max_size=4))
    names = st.sampled_from([f"f{number}" for number in range(len(chosen))])
    some = st.lists(names, min_size=1, unique=True).map(tuple)
    sources = some if salted_by_fields else st.none() | some
    salts = st.builds(Salted, st.integers(2, 256), st.sampled_from(("phoenix", "crc32")), sources)
    return _layout(chosen, draw(salts if salted_by_fields else st.none() | salts))


TEXT = Kind(codecs.text(), str, ("host1", "host12"))
NUMBER = Kind(codecs.uint8(), int, (0, 255))


@several
@given(data=st.data(), keys=layouts())
def test_a_key_gives_its_values_back(data: st.DataObject, keys: Keys) -> None:
    values = data.draw(keys.values())

    decoded = keys.layout.decode_parts(keys.key(values))

    assert list(map(repr, decoded)) == list(map(repr, values))


@several
@given(data=st.data(), keys=layouts())
def test_keys_sort_behind_the_salt_as_their_values(data: st.DataObject, keys: Keys) -> None:
    one, other = data.draw(keys.values()), data.draw(keys.values())
    salt_bytes = 0 if keys.layout.spread is None else 1

    first, second = keys.key(one)[salt_bytes:], keys.key(other)[salt_bytes:]

    assert (first < second) is (keys.rank(one) < keys.rank(other))
    assert (first == second) is (keys.rank(one) == keys.rank(other))


@several
@given(data=st.data(), keys=layouts(), run=st.integers(1, 3))
@example(data=None, keys=_layout([TEXT, NUMBER], None), run=1)
def test_the_range_of_a_prefix_holds_exactly_the_keys_that_begin_with_its_values(
    data: st.DataObject | None, keys: Keys, run: int
) -> None:
    parts = keys.layout.behind[:run]
    assume(len(parts) < len(keys.layout.behind))
    known = data.draw(keys.values()) if data else ("host1", 0)
    other = data.draw(keys.values()) if data else ("host12", 0)
    key = keys.key(other)
    salt = key[:1] if keys.layout.spread else b""

    prefix = b"".join(part.encode(v) for part, v in zip(parts, known, strict=False))

    begins = list(map(repr, other[:run])) == list(map(repr, known[:run]))
    assert (key in KeyRange.prefix(salt + prefix)) is begins


@several
@given(data=st.data(), keys=layouts(salted_by_fields=True))
def test_the_salt_depends_on_its_fields_alone(data: st.DataObject, keys: Keys) -> None:
    salt = keys.layout.spread
    assert salt is not None
    one, other = data.draw(keys.values()), data.draw(keys.values())
    mixed = tuple(
        mine if part.name in salt.fields else theirs
        for part, mine, theirs in zip(keys.layout.behind, one, other, strict=True)
    )

    assert keys.key(one)[0] == keys.key(mixed)[0]


@several
@given(keys=layouts(), data=st.binary(max_size=24))
def test_any_bytes_decode_or_are_corrupt(keys: Keys, data: bytes) -> None:
    try:
        values = keys.layout.decode_parts(data)
    except CorruptRowError:
        return

    assert len(values) == len(keys.layout.behind)


@several
@given(data=st.data(), keys=layouts(), surplus=st.binary(min_size=1, max_size=3))
def test_bytes_behind_the_last_part_are_corrupt(
    data: st.DataObject, keys: Keys, surplus: bytes
) -> None:
    assume(keys.layout.parts[-1].is_delimited)
    key = keys.key(data.draw(keys.values()))

    with pytest.raises(CorruptRowError):
        keys.layout.decode_parts(key + surplus)
