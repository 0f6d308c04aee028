"""Keys that are spread over those of a table."""

from __future__ import annotations

from hbase_orm.advise.estimating.key_spread import between, spread_keys


def test_keys_between_two_keys_are_spread_over_all_bytes() -> None:
    assert between(b"\x00", b"\x40", 4) == [b"\x00", b"\x10", b"\x20", b"\x30"]
    assert between(b"a", b"a", 4) == [b"a"]


def test_keys_are_spread_over_the_bytes_of_known_keys() -> None:
    known = [b"a-00", b"a-35", b"a-71", b"a-99", b"a-24", b"a-68"]

    assert spread_keys(known, 5) == [b"a-00", b"a-19", b"a-39", b"a-59", b"a-79"]
    assert spread_keys([b"k"], 5) == [b"k"]


def test_a_place_between_digits_gets_the_digits_of_others() -> None:
    known = [b"/0/0123456789", b"/96/x"]

    starts = spread_keys(known, 12)

    assert starts[0] == b"/0/0123456789"
    assert {key[2:3] for key in starts} > {b"1", b"5"}


def test_texts_of_different_lengths_are_spread_evenly() -> None:
    keys = sorted(f"/articles/{n % 97}/{n}.html".encode() for n in range(20_000))
    starts = spread_keys([keys[0], keys[-1], *keys[::1_000]], 16)

    behind = [sum(key < start for key in keys) for start in starts]
    gaps = [after - before for before, after in zip(behind, [*behind[1:], len(keys)], strict=True)]
    assert len(starts) == 16
    assert max(gaps) < 2 * len(keys) / 16
