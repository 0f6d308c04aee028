r"""Row keys as HBase prints them: text with `\xNN` for bytes that are not printable ASCII.

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

    A space is kept; a backslash becomes `\x5C`, so that every text means only one key.

    Examples:
        >>> to_string_binary(b"\x01web \\\x00")
        '\\x01web \\x5C\\x00'
    """
    return "".join(map(_SHOWN.__getitem__, data))


def from_string_binary(text: str) -> bytes:
    r"""Return the row key that a text in HBase's notation stands for (`Bytes.toBytesBinary`).

    A backslash without a following `x` is kept, as in Java. Text that Java would misread is
    refused: Java converts `\xff` to the three bytes `xff`, and `ü` or `€` to one byte.

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
