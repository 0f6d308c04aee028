"""What decides the bytes of row keys and entries, in words: the catalog keeps it.

Programs that write one table must agree on these words, so nothing that changes them may be left
out, and nothing else may be in them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hbase_orm.index.catalog_entry import VERSION_COLUMN
from hbase_orm.index.row_values import fields_in
from hbase_orm.rowkey import Part
from hbase_orm.rowkey.derivations import SaltOf
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.schema import ColumnSchema, IndexSchema, TableSchema, column_field, stored_column
from hbase_orm.schema.canonical import condition_text


def described_key(schema: TableSchema) -> str:
    """Return, in words, all that decides what a row key's bytes are."""
    shown = [described_part(part) for part in schema.layout.parts]
    return " ".join(shown)


def described_indexes(schema: TableSchema) -> dict[str, str]:
    """Return, by index, in words, all that decides which entries a row has and what they are.

    A version column stands among them, under a name that no index has. Programs that
    write one table must agree on it: kept in the catalog, it tells them apart.
    """
    base_key = described_key(schema)
    found = {}
    for index in schema.indexes:
        parts = [
            _described(part, stored_column(schema, column_field(of)))
            for part, of in zip(index.layout.parts, index.expressions, strict=True)
        ]
        shown = " ".join([*parts, *_described_options(schema, index)])
        found[index.name] = f"{index.table}: {shown} | {base_key}"
    if schema.version is not None:
        found[VERSION_COLUMN] = schema.version.column.decode()
    return found


def names_column(description: str, column: bytes) -> bool:
    """Say whether an index's entries, as they are described, are made of a column, or repeat it."""
    name = re.escape(column.decode("utf-8", "backslashreplace"))
    return re.search(rf"(?:^|\bof |\binclude |\bby |, ){name}(?=[ \],]|$)", description) is not None


def described_part(part: Part) -> str:
    """Return, in words, all that decides what the bytes of a part of a row key are."""
    derivation = part.derivation
    if isinstance(derivation, SaltOf):
        of = " ".join(source.name for source in derivation.inputs) or "rest"
        return f"[salt {len(derivation.numbers)} {derivation.hash_name} of {of}]"
    return _described(part, None)


def _described(part: Part, column: ColumnSchema | None) -> str:
    nulls = ""
    if isinstance(part.codec, OrNone):
        part, nulls = part.codec.part, " or None"
    direction = " desc" if part.is_descending else ""
    end = part.end.hex() or (part.codec.width_bytes or "rest")
    stored = "" if column is None else f" of {_stored(part, column)}"
    return f"[{part.name} {part.codec.name}{direction} {end}{nulls}{stored}]"


def _stored(part: Part | None, column: ColumnSchema) -> str:
    """Return, in words, where a value is and how it reads."""
    codec = column.codec
    is_other = part is None or codec.name != part.codec.name
    name = f"{column.column.decode('utf-8', 'backslashreplace')}"
    name += f" {codec.name}" if is_other else ""
    if column.nullable or not column.has_default:
        return f"{name}{' nullable' if column.nullable else ''}"
    if column.default_factory is not None:
        return f"{name} default"
    return f"{name} default {codec.encode(column.default).hex()}"


def _described_options(schema: TableSchema, index: IndexSchema) -> list[str]:
    found = [f"salt {index.salt}"] if index.salt else []
    found += ["unique"] if index.unique else []
    found += [f"include {_all_stored(index.included)}"] if index.included else []
    if index.where:
        text = " and ".join(sorted(map(condition_text, index.where)))
        columns = (stored_column(schema, of) for of in fields_in(index.where))
        used = {column.column: column for column in columns if column is not None}
        found.append(f"where {text} by {_all_stored(list(used.values()))}")
    return found if index.maintained == "always" else [*found, index.maintained]


def _all_stored(columns: Sequence[ColumnSchema]) -> str:
    return ", ".join(_stored(None, column) for column in columns)
