"""Rules about values that are stored as text: numbers, padding and separators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.advise.remarks import LintRule, LintTarget, Remark, listed
from hbase_orm.advise.sizes import bytes_text, cell_count, count_text
from hbase_orm.codecs import Codec
from hbase_orm.codecs.fixed import Digits, FixedText
from hbase_orm.codecs.formats import Strftime
from hbase_orm.rowkey.derivations import HashOf
from hbase_orm.rowkey.parts import Framing, Part

_LEAST_SAVING_BYTES: Final = 4
_UUID_TEXT_BYTES: Final = 36
_UUID_BYTES: Final = 16
_UNSIGNED_BYTES: Final = ((2, 1), (4, 2), (9, 4), (19, 8))
"""The most decimal digits that fit into an unsigned number of so many bytes."""
_SECONDS_BYTES: Final = 4
_ZERO_SEPARATOR: Final = r'separator=b"\x00"'


def _numbers_as_text(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    in_key = [s for part in schema.row_layout.parts if (s := _saving_of_part(part))]
    in_columns = [s for c in schema.columns if (s := _saving(c.name, c.codec))]
    cells, savings = cell_count(schema), in_key + in_columns
    saved = cells * sum(s.saved_bytes for s in in_key) + sum(s.saved_bytes for s in in_columns)
    if saved < _LEAST_SAVING_BYTES:
        return
    repeated = f", as each of {cells} cells repeats the key" if in_key and cells > 1 else ""
    yield Remark(
        "",
        f"text is stored for {listed([each.stored for each in savings])}",
        f"{saved} bytes of each row are saved otherwise{repeated}: "
        f"{bytes_text(saved * target.rows)} for {count_text(target.rows)} rows",
        "; ".join(each.fix for each in savings),
    )


@dataclass(frozen=True, slots=True)
class _Saving:
    """The bytes that another encoding saves, what is stored now, and what to declare."""

    saved_bytes: int
    stored: str
    fix: str


def _saving_of_part(part: Part) -> _Saving | None:
    derivation, width = part.derivation, part.codec.width_bytes or 0
    if not isinstance(derivation, HashOf) or derivation.form != "hex":
        return _saving(part.name, part.codec)
    binary = width // 2
    fix = f"{part.name}: leave form='hex' out, and {binary} bytes have the same hash"
    return _Saving(width - binary, f"{part.name} ({width} hexadecimal digits)", fix)


def _saving(name: str, codec: Codec[Any]) -> _Saving | None:
    width = codec.width_bytes or 0
    if isinstance(codec, Digits) and not codec.digit_reversed:
        binary = next((size for most, size in _UNSIGNED_BYTES if width <= most), width)
        declared = f"codecs.uint{binary * 8}({_desc(codec)})"
        return _better(name, width, binary, f"{width} digits", declared)
    if isinstance(codec, Strftime):
        declared = f"codecs.seconds({_desc(codec, 'width_bytes=4')})"
        return _better(name, width, _SECONDS_BYTES, f"{width} characters", declared)
    if isinstance(codec, FixedText) and width == _UUID_TEXT_BYTES:
        return _better(name, width, _UUID_BYTES, "a UUID in 36 characters", "a field of type UUID")
    return None


def _better(name: str, width: int, best: int, stored: str, declared: str) -> _Saving | None:
    if best >= width:
        return None
    return _Saving(width - best, f"{name} ({stored})", f"{name}: {declared}, {best} bytes")


def _desc(codec: Codec[Any], arguments: str = "") -> str:
    return ", ".join(filter(None, (arguments, "desc=True" if codec.desc else "")))


def _separators(target: LintTarget) -> Iterator[Remark]:
    for part in target.schema.row_layout.parts:
        separator = part.separator
        if part.framing is not Framing.SEPARATED or not _is_printable(separator):
            continue
        shown = separator.decode()
        refused = f"web{shown}1"
        yield Remark(
            part.name,
            f"{part.name} ends with the separator {shown!r}",
            f"{refused!r} is refused, and so is each value that holds {shown!r}: 1 of the 95 "
            "printable ASCII characters; the keys "
            + _misordered(shown)
            + f", so a range of {part.name} reads more than its rows",
            f"{part.name}: Key[str] = key(codecs.text({_desc(part.codec, _ZERO_SEPARATOR)})) "
            f"refuses only zero bytes; key(codecs.text({_desc(part.codec)})) refuses nothing",
        )


def _misordered(separator: str) -> str:
    if separator > "2":
        return f"of 'host1' and 'host12' are in the order 'host12{separator}', 'host1{separator}'"
    return f"of 'a' and 'a!' are ordered by {separator!r} and not by the values"


def _padding(target: LintTarget) -> Iterator[Remark]:
    for part in target.schema.row_layout.parts:
        codec = part.codec
        if part.derivation is not None or not isinstance(codec, FixedText):
            continue
        if not codec.pad.isalnum():
            continue
        shown, side = codec.pad.decode(), "begin" if codec.side == "left" else "end"
        sample = f"{shown}7" if side == "begin" else f"bo{shown}"
        width = codec.width_bytes
        yield Remark(
            part.name,
            f"{part.name} is padded to {width} bytes with {shown!r}",
            f"{sample!r} is refused, and so is each value that {side}s with {shown!r}: of 62 "
            f"letters and digits 1 may not {side} a value; all values of fewer than {width} bytes "
            "sort by the padding",
            f"{part.name}: Key[str] = key(codecs.text(width_bytes={width})) pads with zero bytes; "
            "key(codecs.text()) needs no padding",
        )


def _is_printable(separator: bytes) -> bool:
    return separator.isascii() and separator.decode().isprintable()


TEXT_RULES: Final = (
    LintRule(
        "number-as-text",
        "note",
        "numbers, times, UUIDs or hashes are stored as text",
        "eight bytes hold any number of 19 digits, and 16 a UUID of 36 characters",
        "HBase Reference Guide, Rowkey Design: Byte Patterns",
        _numbers_as_text,
    ),
    LintRule(
        "key-separator",
        "warning",
        "a part of the row key ends with a printable separator",
        "the library refuses values that hold the separator, because two rows could have one key",
        "docs/row-keys.md; docs/codecs.md",
        _separators,
    ),
    LintRule(
        "key-padding",
        "warning",
        "a part of the row key is padded with a letter or a digit",
        "the library refuses values that would read back without their own end",
        "docs/row-keys.md; docs/codecs.md",
        _padding,
    ),
)
"""The rules of this module."""
