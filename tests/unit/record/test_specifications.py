"""Codecs within codecs and parts of row keys: which read each other's bytes alike."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm.codecs import code
from hbase_orm.record.specifications import Spec, codec_spec, joined_codec, same_codec

OLD: Spec = codec_spec(code({"a": b"1"}))
MORE: Spec = codec_spec(code({"a": b"1", "b": b"2"}))
MOVED: Spec = codec_spec(code({"a": b"2"}))
TAKEN: Spec = codec_spec(code({"b": b"1"}))


def within(codec: Spec) -> list[Spec]:
    """Return the codec, and specifications of which it is a part."""
    return [
        codec,
        {"codec": "or_none", "value": codec},
        {"derived": "SaltOf", "buckets": 4, "of": [{"field": 0}, codec]},
        {"codec": "outer", "value": {"derived": "HashOf", "of": [codec]}},
    ]


@pytest.mark.parametrize("depth", range(4))
def test_new_codes_are_alike_at_any_depth(depth: int) -> None:
    old, more = within(OLD)[depth], within(MORE)[depth]

    assert same_codec(old, more)
    assert same_codec(more, old)
    assert joined_codec(old, more) == joined_codec(more, old) == more


@pytest.mark.parametrize("depth", range(4))
@pytest.mark.parametrize("other", [MOVED, TAKEN])
def test_codes_that_mean_something_else_are_not_alike_at_any_depth(depth: int, other: Any) -> None:
    assert not same_codec(within(OLD)[depth], within(other)[depth])


def test_other_parameters_are_not_alike_at_any_depth() -> None:
    for old, new in zip(within({"codec": "int32"}), within({"codec": "int64"}), strict=True):
        assert not same_codec(old, new)


def test_parts_of_other_numbers_are_not_alike() -> None:
    assert not same_codec({"of": [OLD]}, {"of": [OLD, OLD]})
