"""What is of another type than a codec's is refused by the codec, whatever it can be computed with."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError

INTEGERS = [
    codecs.uint8(),
    codecs.int64(),
    codecs.get("ordered.int64"),
    codecs.get("phoenix.bigint"),
    codecs.get("phoenix.unsigned_int"),
    codecs.get("bytes.int64"),
]


@pytest.mark.parametrize("codec", INTEGERS, ids=lambda codec: codec.name)
@pytest.mark.parametrize("value", [IPv4Address("1.2.3.4"), 1.0, "1", None], ids=repr)
def test_what_only_counts_like_an_integer_is_refused(codec: Codec[Any], value: object) -> None:
    with pytest.raises(CodecError, match="the value is not an integer") as caught:
        codec.encode(value)

    assert caught.value.codec == codec.name
