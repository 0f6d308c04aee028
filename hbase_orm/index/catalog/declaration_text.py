"""The canonical text of a declaration: everything that affects the bytes of row keys and entries.

The catalog stores this text. Programs that write the same table must have the same text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from hbase_orm.index.catalog.differences import BEFORE_ROW_KEY
from hbase_orm.index.catalog.entry import VERSION_COLUMN
from hbase_orm.index.catalog.entry_details import details_text, without_details
from hbase_orm.index.entries.row_values import fields_in
from hbase_orm.rowkey import Part
from hbase_orm.rowkey.derivations import SaltOf
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.schema import ColumnSchema, IndexSchema, TableSchema, column_field, stored_column
from hbase_orm.schema.canonical import condition_text

Names = Mapping[str, str]
"""The name of each field in declaration texts, by its name in the model; equal ones left out."""

_OWN: Final[Names] = MappingProxyType({})
_QUOTED_OR_WORD: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\w+")


def key_text(schema: TableSchema, names: Names = _OWN) -> str:
    """Return the text that describes how the bytes of a row key are computed."""
    shown = [part_text(part, names) for part in schema.layout.parts]
    return " ".join(shown)


def declaration_texts(schema: TableSchema, names: Names = _OWN) -> dict[str, str]:
    """Return, for each index name, the text that describes how the index's entries are computed.

    If the model has a version column, the key `VERSION_COLUMN` has the column's name. Programs that
    write the same table must agree on this column too.

    Args:
        schema: The model.
        names: The names that the table's record has for the model's fields. A field may be renamed
            without a change of the entries, so the text must not change either.
    """
    base_key = key_text(schema, names)
    texts = {}
    for index in schema.indexes:
        parts = [
            _value_text(part, stored_column(schema, column_field(of)), names)
            for part, of in zip(index.layout.parts, index.expressions, strict=True)
        ]
        shown = " ".join([*parts, *_options_text(schema, index, names)])
        details = details_text(schema, index)
        texts[index.name] = f"{index.table}: {shown}{BEFORE_ROW_KEY}{base_key}{details}"
    if schema.version is not None:
        texts[VERSION_COLUMN] = schema.version.column.decode()
    return texts


def names_column(description: str, column: bytes) -> bool:
    """Return whether the entries of an index use or copy `column`.

    Args:
        description: The declaration text of the index.
        column: The column.
    """
    name, text = re.escape(column.decode("utf-8", "backslashreplace")), without_details(description)
    return re.search(rf"(?:^|\bof |\binclude |\bby |, ){name}(?=[ \],]|$)", text) is not None


def copies_columns(description: str) -> bool:
    """Return whether the entries of an index with this declaration text copy columns."""
    start = description.partition(" where ")[0].partition(BEFORE_ROW_KEY)[0]
    return re.search(r"\] (?:salt \d+ )?include ", start) is not None


def part_text(part: Part, names: Names = _OWN) -> str:
    """Return the text that describes how the bytes of one part of a row key are computed."""
    derivation = part.derivation
    if isinstance(derivation, SaltOf):
        of = " ".join(_named(source.name, names) for source in derivation.inputs) or "rest"
        return f"[salt {len(derivation.numbers)} {derivation.hash_name} of {of}]"
    return _value_text(part, None, names)


def _named(text: str, names: Names) -> str:
    """Return a part's name, such as "lower(email)", with its fields renamed as `names` says."""
    if not names:
        return text
    return _QUOTED_OR_WORD.sub(lambda match: names.get(match[0], match[0]), text)


def _value_text(part: Part, column: ColumnSchema | None, names: Names) -> str:
    nulls = ""
    if isinstance(part.codec, OrNone):
        part, nulls = part.codec.part, " or None"
    direction = " desc" if part.is_descending else ""
    end = part.end.hex() or (part.codec.width_bytes or "rest")
    stored = "" if column is None else f" of {_stored_text(part, column)}"
    return f"[{_named(part.name, names)} {part.codec.name}{direction} {end}{nulls}{stored}]"


def _stored_text(part: Part | None, column: ColumnSchema) -> str:
    """Return the text of a column: its name, codec and default, and whether it can be None.

    `part` is the column's part of an index entry. The codec is left out if `part` has the same
    codec.
    """
    codec = column.codec
    is_other = part is None or codec.name != part.codec.name
    name = f"{column.column.decode('utf-8', 'backslashreplace')}"
    name += f" {codec.name}" if is_other else ""
    if column.nullable or not column.has_default:
        return f"{name}{' nullable' if column.nullable else ''}"
    if column.default_factory is not None:
        return f"{name} default"
    return f"{name} default {codec.encode(column.default).hex()}"


def _options_text(schema: TableSchema, index: IndexSchema, names: Names) -> list[str]:
    texts = [f"salt {index.salt}"] if index.salt else []
    texts += ["unique"] if index.unique else []
    texts += [f"include {_stored_texts(index.included)}"] if index.included else []
    if index.where:
        shown = (condition_text(each, partial(_named, names=names)) for each in index.where)
        text = " and ".join(sorted(shown))
        columns = (stored_column(schema, of) for of in fields_in(index.where))
        used = {column.column: column for column in columns if column is not None}
        texts.append(f"where {text} by {_stored_texts(list(used.values()))}")
    return texts if index.maintained == "always" else [*texts, index.maintained]


def _stored_texts(columns: Sequence[ColumnSchema]) -> str:
    return ", ".join(_stored_text(None, column) for column in columns)
