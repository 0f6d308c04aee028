"""Row keys of several parts against HBase's `Struct` and Phoenix's tables (`make vectors`)."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.rowkey import KeyLayout
from tests.support.layouts import Salted, layout
from tests.vectors.generator import KEYS, Vector, cached_keys, folder, run_program

REQUIRED = os.environ.get("HBASE_ORM_REQUIRE_VECTORS") == "1"


@dataclass(frozen=True, slots=True)
class JavaKey:
    """A row key that Java made.

    Attributes:
        maker: "struct" or "phoenix".
        layout: The same layout of ours.
        codecs: The codecs of its parts.
        values: The values of its parts.
        key: The bytes.
    """

    maker: str
    layout: KeyLayout
    codecs: tuple[Codec[Any], ...]
    values: tuple[Any, ...]
    key: bytes


def parse(line: str) -> JavaKey:
    read = json.loads(line)
    made, values = [], []
    for member, text in zip(read["members"], read["values"], strict=True):
        parameters = dict(member["params"])
        if "separator" in parameters:
            parameters["separator"] = bytes.fromhex(parameters["separator"])
        vector = Vector(member["codec"], member["desc"], parameters, text, b"")
        codec = codecs.get(vector.codec, desc=vector.desc, **parameters)
        if codec == codecs.get("phoenix.boolean", desc=True):  # in keys it has another form
            codec = codecs.code({False: b"\x00", True: b"\x01"}, desc=True)
        made.append(codec)
        values.append(codec.normalize(text if vector.codec == "text" else vector.value))
    salt = Salted(read["buckets"]) if read["buckets"] else None
    key = bytes.fromhex(read["hex"])
    return JavaKey(read["maker"], layout(*made, salt=salt), tuple(made), tuple(values), key)


@pytest.fixture(scope="module")
def lines() -> list[str]:
    if not cached_keys().exists():
        missing = "the Java vectors are not there: run `make vectors`"
        if REQUIRED:
            pytest.fail(missing)
        pytest.skip(missing)
    return cached_keys().read_text(encoding="ascii").splitlines()


@pytest.fixture(scope="module")
def keys(lines: list[str]) -> list[JavaKey]:
    return [parse(line) for line in lines]


def test_a_key_has_the_bytes_that_java_writes(keys: list[JavaKey]) -> None:
    differing = [
        (each, made.hex())
        for each in keys
        if (made := each.layout.encode_parts(*each.values)) != each.key
    ]

    assert differing == []


def test_a_key_that_java_wrote_gives_the_values_back(keys: list[JavaKey]) -> None:
    differing = [
        (each, found)
        for each in keys
        if repr(found := each.layout.decode_parts(each.key)) != repr(each.values)
    ]

    assert differing == []


def test_the_keys_try_every_codec_both_ways_and_salts(keys: list[JavaKey]) -> None:
    tried = Counter((codec.name, codec.desc) for each in keys for codec in each.codecs)
    in_structs = {codec.name for each in keys if each.maker == "struct" for codec in each.codecs}
    salted = [each for each in keys if each.layout.spread is not None]
    by_java = [name for name in codecs.names() if name.startswith(("ordered.", "phoenix."))]

    assert {
        (name, desc)
        for name in by_java
        for desc in (False, True)
        if tried[name, desc] < 5 and not name.startswith("phoenix.unsigned_")
    } == {("phoenix.varbinary", True), ("phoenix.boolean", True)}
    assert tried["code", True] >= 5
    assert {name for name in by_java if name.startswith("ordered.")} <= in_structs
    assert len(salted) > 100
    assert {each.maker for each in salted} == {"phoenix"}


def test_java_still_makes_the_cached_keys(lines: list[str]) -> None:
    assert run_program(folder() / "jars", KEYS).splitlines() == lines
