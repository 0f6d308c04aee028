"""Salt buckets are those of Apache Phoenix, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbase_orm import Key, Model, Salt, key, rowkey
from hbase_orm.codecs.source import Scope
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.derivations import SaltOf
from hbase_orm.rowkey.salting import bucket_of, bucket_source, phoenix_hash

# A key of Phoenix's own tests: its hash is Integer.MIN_VALUE, which has no positive counterpart.
MIN_VALUE_KEY = bytes.fromhex("9600f60013fe")


class Event(Model, abstract=True):
    host: Key[str] = key()


@pytest.mark.parametrize(
    ("data", "bucket_count", "bucket"),
    [
        (b"foo0001", 4, 2),
        (b"foo0002", 4, 3),
        (b"foo0003", 4, 0),
        (b"foo0004", 4, 1),
        (MIN_VALUE_KEY, 3, 2),
        (b"", 7, 1),
        (b"\xff", 256, 30),
    ],
)
def test_a_key_falls_into_phoenix_bucket(data: bytes, bucket_count: int, bucket: int) -> None:
    assert bucket_of(data, bucket_count) == Salt(bucket_count).bucket(data) == bucket


def test_bytes_are_signed_and_the_arithmetic_wraps_at_32_bits() -> None:
    assert phoenix_hash(MIN_VALUE_KEY) == -(2**31)
    assert phoenix_hash(b"\xff") == 30
    assert phoenix_hash(b"\x7f" * 8) == 992_075_393


def polynomial(data: bytes) -> int:
    """Return the hash as Phoenix's `SaltingUtil` states it, step by step."""
    value = 1
    for byte in data:
        value = (31 * value + (byte if byte < 128 else byte - 256)) % (1 << 32)
    return value if value < 1 << 31 else value - (1 << 32)


@given(st.binary(max_size=40) | st.binary(min_size=250, max_size=1100))
@example(b"")
@example(MIN_VALUE_KEY)
@example(b"\x80" * 256)
@example(b"\x7f" * 257)
def test_the_hash_is_the_polynomial(data: bytes) -> None:
    assert phoenix_hash(data) == polynomial(data)


@pytest.mark.parametrize("hash_name", ["phoenix", "crc32"])
@given(data=st.binary(max_size=20), bucket_count=st.integers(2, 256))
def test_the_source_of_a_bucket_is_the_bucket(
    hash_name: str, data: bytes, bucket_count: int
) -> None:
    scope = Scope()
    source = bucket_source("hashed", bucket_count, hash_name, scope)
    bucket = scope.compiled(["def bucket(hashed):", f"    return {source}"], "bucket")

    assert bucket(data) == bytes((bucket_of(data, bucket_count, hash_name),))


def test_another_hash_gives_other_buckets() -> None:
    keys = [b"foo%04d" % number for number in range(20)]

    by_crc = [Salt(16, hash="crc32").bucket(key) for key in keys]

    assert by_crc != [Salt(16).bucket(key) for key in keys]
    assert max(by_crc) < 16


def test_a_salt_of_one_field_need_not_be_a_list() -> None:
    assert Salt(4, of=Event.host).of == (Event.host,)


def test_a_salt_without_fields_hashes_everything() -> None:
    assert Salt(4).of == ()


@pytest.mark.parametrize("bucket_count", [1, 0, -4, 257, True, "16"])
def test_a_salt_has_2_to_256_buckets(bucket_count: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Salt(bucket_count)

    assert caught.value.bucket_count == bucket_count


@pytest.mark.parametrize("sources", ["host", [], ["host"]])
def test_a_salt_is_computed_of_fields(sources: Any) -> None:
    with pytest.raises(SchemaError, match="quotes"):
        Salt(4, of=sources)


def test_an_unknown_hash_is_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        Salt(4, hash="md4")

    assert caught.value.known == ["crc32", "phoenix"]


def test_a_salt_prints_its_buckets() -> None:
    assert repr(Salt(16)) == "Salt(16)"


def test_a_salt_is_one_byte_in_front() -> None:
    salt = SaltOf((), "phoenix", Salt(256).numbers)

    assert salt.numbers[0] == b"\x00"
    assert salt.numbers[255] == b"\xff"
    assert salt.of_bytes(b"\xff") == b"\x1e"


@pytest.mark.parametrize("components", [(), ("host",)])
def test_a_row_key_is_made_of_fields_and_components(components: Any) -> None:
    with pytest.raises(SchemaError):
        rowkey(*components)


def test_a_row_key_keeps_its_order() -> None:
    salt = Salt(4)

    assert rowkey(salt, Event.host).components == (salt, Event.host)
