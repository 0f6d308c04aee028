r"""Row keys as HBase prints them: text, with `\xNN` for the bytes that are no printable ASCII.

This is the notation of HBase's shell, web pages and logs (`Bytes.toStringBinary` and
`Bytes.toBytesBinary` of HBase 2.6).
"""

from __future__ import annotations

import re

from hbase_orm.errors import RowKeyError

_BACKSLASH = ord("\\")
_SHOWN = tuple(
    chr(byte) if 0x20 <= byte < 0x7F and byte != _BACKSLASH else f"\\x{byte:02X}"  # noqa: PLR2004 - printable ASCII
    for byte in range(256)
)
_ESCAPE = re.compile(r"\\x([0-9A-F]{2})?")


def to_string_binary(data: bytes) -> str:
    r"""Return a row key as HBase prints it (`Bytes.toStringBinary`).

    A space stays; a backslash is written `\x5C`, so every text stands for one key only.

    Examples:
        >>> to_string_binary(b"\x01web \\\x00")
        '\\x01web \\x5C\\x00'
    """
    return "".join(map(_SHOWN.__getitem__, data))


def from_string_binary(text: str) -> bytes:
    r"""Return the row key that a text stands for (`Bytes.toBytesBinary`).

    A backslash that no `x` follows is itself, as in Java. What Java reads as something that nobody
    intended is refused: it makes the three bytes `xff` of `\xff`, and one byte of `ü` or `€`.

    Raises:
        RowKeyError: `\x` without two hexadecimal digits in upper case, or text beyond ASCII.

    Examples:
        >>> from_string_binary(r"\x01web\x00")
        b'\x01web\x00'
    """
    if not text.isascii():
        position = next(at for at, letter in enumerate(text) if not letter.isascii())
        raise _misread(text, position)
    return _ESCAPE.sub(lambda match: _byte(text, match), text).encode("latin-1")


def _byte(text: str, match: re.Match[str]) -> str:
    if match.group(1) is None:
        raise _misread(text, match.start())
    return chr(int(match.group(1), 16))


def _misread(text: str, position: int) -> RowKeyError:
    return RowKeyError(
        "the text is not a row key as HBase prints it",
        text=text,
        position=position,
        fix=r"write each byte that is not printable ASCII as \xNN, as in \x00 or \xFF",
    )
