"""Which regions can be reached, against the keys themselves: every one of a small world."""

from __future__ import annotations

from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.leading import leading_bytes
from hbase_orm.rowkey.reach import (
    ByteWords,
    LeadingBytes,
    OneOf,
    Symbols,
    even_split,
    survey,
)
from tests.property.random_models import models, row_key, rows

several = settings(max_examples=80)

LETTERS = b"\x00ab\xff"
LONGEST = 4
RESTS = [bytes(rest) for length in range(LONGEST + 1) for rest in product(LETTERS, repeat=length)]

text = st.lists(st.sampled_from(LETTERS), max_size=LONGEST).map(bytes)


def possible(step: ByteWords) -> list[bytes]:
    if isinstance(step, OneOf):
        return list(step.words)
    assert isinstance(step, Symbols)
    return [
        word
        for word in map(bytes, product(*step.alphabets))
        if (step.low is None or step.low <= word) and (step.high is None or word <= step.high)
    ]


@st.composite
def one_of(draw: st.DrawFn) -> OneOf:
    try:
        return OneOf(tuple(draw(st.sets(text, min_size=1, max_size=4))))
    except SchemaError:
        assume(condition=False)
        raise


@st.composite
def symbols(draw: st.DrawFn) -> Symbols:
    alphabets = draw(
        st.lists(st.sets(st.sampled_from(LETTERS), min_size=1), min_size=1, max_size=2)
    )
    end = st.none() | st.lists(
        st.sampled_from(LETTERS), min_size=len(alphabets), max_size=len(alphabets)
    ).map(bytes)
    try:
        return Symbols(tuple(map(bytes, alphabets)), draw(end), draw(end))
    except SchemaError:
        assume(condition=False)
        raise


steps = st.lists(one_of() | symbols(), min_size=1, max_size=2)


@given(steps=steps, is_whole=st.booleans(), split_keys=st.sets(text.filter(len), max_size=4))
def test_a_region_holds_the_beginnings_that_have_a_key_in_it(
    *, steps: list[ByteWords], is_whole: bool, split_keys: set[bytes]
) -> None:
    leading = LeadingBytes(tuple(steps), is_whole)
    beginnings = [b"".join(words) for words in product(*map(possible, steps))]
    rests = [b""] if is_whole else RESTS

    found = survey(list(split_keys), leading)

    assert leading.count == len(beginnings)
    assert [region.beginnings for region in found] == [
        sum(
            any(
                region.start <= beginning + rest
                and (region.stop is None or beginning + rest < region.stop)
                for rest in rests
            )
            for beginning in beginnings
        )
        for region in found
    ]
    assert [region.is_reachable for region in found] == [region.beginnings != 0 for region in found]


@given(steps=steps, is_whole=st.booleans(), data=st.data())
def test_an_even_split_gives_every_region_as_many_beginnings(
    *, steps: list[ByteWords], is_whole: bool, data: st.DataObject
) -> None:
    leading = LeadingBytes(tuple(steps), is_whole)
    count = leading.count or 0
    regions = data.draw(st.integers(1, count))

    found = survey(even_split(regions, leading), leading)

    counts = [region.beginnings or 0 for region in found]
    assert (len(counts), sum(counts)) == (regions, count)
    assert max(counts) - min(counts) <= 1


@several
@given(data=st.data())
def test_a_region_that_holds_a_row_counts_as_reachable(data: st.DataObject) -> None:
    declared = data.draw(models())
    drawn = data.draw(rows(declared, max_size=4))
    layout = declared.makers[0].__schema__.layout
    keys = [row_key(layout, row) for row in drawn]
    split_keys = {*keys, *(key + b"\x00" for key in keys)}

    found = survey(list(split_keys), leading_bytes(layout))

    holding = [region for region in found if region.start in keys]
    assert [region.start for region in holding if not region.is_reachable] == []
    assert len(holding) == len(set(keys))
