"""How a model's index differs from the catalog's, and the error for a different row key.

If an index differs, it can be dropped and built again. A row key cannot be changed in this way: the
rows keep the keys with which they were written. For another row key, they must be written into a
new table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal

from hbase_orm.errors import SchemaError
from hbase_orm.index.catalog.entry import VERSION_COLUMN
from hbase_orm.index.catalog.entry_details import same_declaration, without_details

Difference = Literal["not in the model", "declared otherwise", "another row key"]
"""How an index of the catalog differs from the model's: the model has no index of this name, or one
with other entries, or the model's row key is not the key of the table's rows."""

HOW_TO_AGREE: Final[Mapping[Difference, str]] = MappingProxyType(
    {
        "not in the model": "declare the index in the models that write the table, or drop it: "
        "'hbase-orm index drop'",
        "declared otherwise": "declare the index as the catalog has it; or drop it ('hbase-orm "
        "index drop') and build it again",
        "another row key": "declare the row key as it was; for another key, write the rows into a "
        "new table",
    }
)
"""What to do about each difference."""

BEFORE_ROW_KEY: Final = " | "
"""The text between the entries and the row key in the text of a declaration."""


def difference_of(name: str, declared: Mapping[str, str], stored: str) -> Difference | None:
    """Return how the model's declaration of an index differs from the catalog's.

    None if the two are the same.

    Args:
        name: The name of the index.
        declared: The declaration text of each index of the model, by name.
        stored: The declaration text of the index in the catalog.
    """
    own = declared.get(name)
    if same_declaration(stored, own):
        return None
    texts = _texts(name, declared)
    if texts and all(_row_key(text) != _row_key(stored) for text in texts):
        return "another row key"
    return "not in the model" if own is None else "declared otherwise"


def refuse_other_row_key(
    names: Iterable[str],
    declared: Mapping[str, str],
    stored: Mapping[str, str],
    /,
    **details: object,
) -> None:
    """Refuse a model whose row key is not the key of the table's rows.

    Nothing is refused if the model declares no index, because the catalog knows a row key only as a
    part of an index's declaration.

    Args:
        names: The names of the indexes that the model and the catalog declare differently.
        declared: The declaration text of each index of the model, by name.
        stored: The declaration text of each index in the catalog, by name.
        details: Further details of the error.

    Raises:
        SchemaError: The row keys differ.
    """
    for name in names:
        if name in stored and difference_of(name, declared, stored[name]) == "another row key":
            raise SchemaError(
                "the model's row key differs from the row key of the table's rows",
                **details,
                declared_key=_row_key(_texts(name, declared)[0]),
                catalog_key=_row_key(stored[name]),
                fix="declare the row key as it was when the rows were written; for another row "
                "key, write the rows under their new keys into a new table",
            )


def _texts(name: str, declared: Mapping[str, str]) -> list[str]:
    """Return the declaration text of an index in a list.

    If the model does not have the index, return the texts of all its indexes. The list is empty for
    a version column, whose text has no row key.
    """
    if name == VERSION_COLUMN:
        return []
    if name in declared:
        return [declared[name]]
    return [text for each, text in declared.items() if each != VERSION_COLUMN]


def _row_key(text: str) -> str:
    return without_details(text).rpartition(BEFORE_ROW_KEY)[2]
