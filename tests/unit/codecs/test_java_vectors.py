"""The codecs against the real Java classes: `make vectors` runs those, these tests compare."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pytest

from hbase_orm import codecs
from tests.vectors.generator import Vector, cached, folder, parse, run

REQUIRED = os.environ.get("HBASE_ORM_REQUIRE_VECTORS") == "1"
FEW = 20
JAVA_NAMES = [
    name for name in codecs.names() if name.startswith(("bytes.", "ordered.", "phoenix."))
]
SMALL = {"bytes.bool": 2, "phoenix.boolean": 2, "phoenix.unsigned_tinyint": 128}


@pytest.fixture(scope="module")
def lines() -> list[str]:
    if not cached().exists():
        missing = "the Java vectors are not there: run `make vectors`"
        if REQUIRED:
            pytest.fail(missing)
        pytest.skip(missing)
    return cached().read_text(encoding="ascii").splitlines()


@pytest.fixture(scope="module")
def vectors(lines: list[str]) -> dict[str, list[Vector]]:
    found = defaultdict(list)
    for line in lines:
        vector = parse(line)
        found[vector.codec].append(vector)
    return found


def shown(value: Any) -> tuple[type, object]:
    """Return what is equal for values that are the same: -0.0 is not 0.0, NaN is NaN."""
    if isinstance(value, float):
        return float, "nan" if math.isnan(value) else value.hex()
    if isinstance(value, Decimal) and value.is_nan():
        return Decimal, "nan"
    return type(value), value


def expected(vector: Vector) -> Any:
    if vector.codec == "phoenix.binary":
        return vector.value.ljust(vector.parameters["width_bytes"], b"\x00")
    return vector.value


@pytest.mark.parametrize("name", JAVA_NAMES)
def test_java_made_enough_vectors(name: str, vectors: dict[str, list[Vector]]) -> None:
    assert len({vector.text for vector in vectors[name]}) >= SMALL.get(name, 200)


@pytest.mark.parametrize("name", JAVA_NAMES)
def test_a_codec_encodes_as_java_does(name: str, vectors: dict[str, list[Vector]]) -> None:
    differing = [
        (vector, data.hex())
        for vector in vectors[name]
        if not vector.is_finer_than_python
        and (data := codec_of(vector).encode(vector.value)) != vector.data
    ]

    assert differing == []


@pytest.mark.parametrize("name", JAVA_NAMES)
def test_a_codec_decodes_what_java_encoded(name: str, vectors: dict[str, list[Vector]]) -> None:
    differing = [
        (vector, value)
        for vector in vectors[name]
        if shown(value := codec_of(vector).decode(vector.data)) != shown(expected(vector))
    ]

    assert differing == []


@pytest.mark.parametrize("name", JAVA_NAMES)
def test_a_codec_has_the_width_that_java_writes(
    name: str, vectors: dict[str, list[Vector]]
) -> None:
    widths = {len(vector.data) for vector in vectors[name]}
    width = codec_of(vectors[name][0]).width_bytes

    assert widths == {width} if width is not None else len(widths) > 1


def codec_of(vector: Vector) -> codecs.Codec[Any]:
    return codecs.get(vector.codec, desc=vector.desc, **vector.parameters)


def test_the_scale_of_a_bytes_decimal_is_kept(vectors: dict[str, list[Vector]]) -> None:
    scales = [
        (vector.value.as_tuple().exponent, codec_of(vector).decode(vector.data).as_tuple().exponent)
        for vector in vectors["bytes.decimal"]
    ]

    assert [one for one, _ in scales] == [other for _, other in scales]


def test_java_still_makes_the_cached_vectors(lines: list[str]) -> None:
    again = run(folder() / "jars", FEW).splitlines()

    known = set(lines)
    strangers = [line for line in again if line not in known]
    counts = Counter(parse(line).codec for line in again)
    assert strangers == []
    assert min(counts[name] for name in JAVA_NAMES if name not in SMALL) >= FEW
