"""Blocks byte by byte; `test_estimates_on_hbase.py` compares them with those of HBase."""

from __future__ import annotations

from hbase_orm.advise.estimating.block_encodings import (
    diff_block,
    fast_diff_block,
    plain_block,
    prefix_block,
    row_index_block,
)
from hbase_orm.advise.estimating.store_files import divided
from hbase_orm.advise.estimating.stored_cells import FileCell, variable_int

AT = 0x0000_01A2_1EBE_B416
FIRST = FileCell(b"\x80\x01", b"d", b"c", AT, b"of", 5)
SECOND = FileCell(b"\x80\x01", b"d", b"e", AT, b"late@x", 5)
THIRD = FileCell(b"\x80\x02", b"d", b"c", AT + 2, b"by", 300)
CELLS = [FIRST, SECOND, THIRD]

KEY = b"\x00\x02\x80\x01\x01dc" + AT.to_bytes(8, "big") + b"\x04"


def test_a_plain_cell_has_its_lengths_its_key_and_its_value() -> None:
    assert FIRST.plain() == b"\x00\x00\x00\x10\x00\x00\x00\x02" + KEY + b"of"
    assert FIRST.size_bytes == len(FIRST.plain()) == 26
    assert plain_block([FIRST]) == FIRST.plain() + b"\x05"


def test_sequence_numbers_take_one_byte_or_more() -> None:
    assert variable_int(0) == b"\x00"
    assert variable_int(127) == b"\x7f"
    assert variable_int(0x0853) == b"\x8e\x08\x53"
    assert variable_int(200) == b"\x8f\xc8"


def test_prefix_leaves_out_what_keys_share() -> None:
    assert prefix_block(CELLS) == (
        b"\x00\x02\x00\x00\x00\x57"
        + (b"\x10\x02\x00" + KEY + b"of" + b"\x05")
        + (b"\x0a\x06\x06" + b"e" + KEY[7:] + b"late@x" + b"\x05")
        + (b"\x0d\x02\x03" + b"\x02\x01dc" + (AT + 2).to_bytes(8, "big") + b"\x04by\x8e\x01\x2c")
    )


def test_diff_has_differences_of_timestamps() -> None:
    assert diff_block(CELLS) == (
        b"\x00\x03\x00\x00\x00\x57"
        + (b"\x01d" + b"\x50\x10\x02\x00" + b"\x00\x02\x80\x01c")
        + (b"\x16\xb4\xbe\x1e\xa2\x01" + b"\x04of\x05")
        + (b"\x0d\x06\x06" + b"e" + b"\x00" + b"late@x\x05")
        + (b"\x8d\x02\x03" + b"\x02c" + b"\x02" + b"by\x8e\x01\x2c")
    )


def test_fast_diff_writes_an_equal_value_once() -> None:
    same = THIRD._replace(qualifier=b"d", value=b"by")
    assert fast_diff_block([FIRST, THIRD, same]) == (
        b"\x00\x04\x00\x00\x00\x55"
        + (b"\x00\x10\x02\x00" + KEY + b"of\x05")
        + (b"\x3f\x03" + b"\x02c" + b"\x18" + b"by\x8e\x01\x2c")
        + (b"\x7f\x06" + b"d" + b"\x18" + b"\x8e\x01\x2c")
    )


def test_fast_diff_has_the_length_of_another_value() -> None:
    longer = THIRD._replace(qualifier=b"d", value=b"late")

    added = fast_diff_block([THIRD, longer])[len(fast_diff_block([THIRD])) :]
    assert added == b"\x2f\x04\x06" + b"d" + b"\x18" + b"late\x8e\x01\x2c"


def test_a_block_ends_after_the_cell_that_fills_it() -> None:
    cells = [FileCell(bytes([n]), b"d", b"c", AT, b"v") for n in range(60)]  # 25 bytes each

    assert [len(block) for block in divided(cells, 250)] == [10] * 6
    assert [len(block) for block in divided(cells, 251)] == [11] * 5 + [5]
    assert [len(block) for block in divided(cells, 290, "ROW_INDEX_V1")] == [10] * 6


def test_keys_of_different_lengths_share_nothing_but_their_length() -> None:
    longer = FIRST._replace(row=b"\x80\x01\x01")

    added = diff_block([FIRST, longer])[len(diff_block([FIRST])) :]
    assert added == b"\x0e\x11\x01" + b"\x03\x80\x01\x01c" + b"\x00" + b"of\x05"


def test_the_row_index_has_the_place_of_each_row() -> None:
    plain = plain_block(CELLS)
    third = len(plain_block(CELLS[:2]))

    assert row_index_block(CELLS) == (
        b"\x00\x07"
        + plain
        + (2).to_bytes(4, "big")
        + (0).to_bytes(4, "big")
        + third.to_bytes(4, "big")
        + len(plain).to_bytes(4, "big")
    )
