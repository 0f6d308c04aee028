from __future__ import annotations

import pytest

from hbase_orm import codecs
from hbase_orm.errors import CorruptRowError
from hbase_orm.rowkey.key_text import Piece, describe, pieces
from tests.support.layouts import Salted, layout_of

LAYOUT = layout_of(
    {
        "host": codecs.text(separator=b"_"),
        "count": codecs.uint16(desc=True),
        "rest": codecs.get("raw"),
    },
    Salted(4),
)
KEY = LAYOUT.encode_parts("web", 7, b"\xff")


def test_the_pieces_of_a_key_are_its_components_with_their_ends() -> None:
    assert pieces(LAYOUT, KEY) == (
        Piece("salt 4", "", KEY[:1], None),
        Piece("host", "text", b"web_", "web"),
        Piece("count", "uint16 desc", b"\xff\xf8", 7),
        Piece("rest", "raw", b"\xff", b"\xff"),
    )


def test_the_pieces_of_a_key_are_the_whole_key() -> None:
    assert b"".join(piece.data for piece in pieces(LAYOUT, KEY)) == KEY


def test_a_key_is_described_in_aligned_lines() -> None:
    assert describe(LAYOUT, KEY).splitlines()[1:] == [
        "host    text         web_      'web'",
        r"count   uint16 desc  \xFF\xF8  7",
        r"rest    raw          \xFF      \xFF",
    ]


def test_a_key_of_another_layout_is_refused() -> None:
    with pytest.raises(CorruptRowError):
        pieces(LAYOUT, b"\x00web")
