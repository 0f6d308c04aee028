"""Checks of the names of fields and indexes: they must be Python identifiers.

A program may create a model with `type()` or `types.new_class()`, which accept any text as a name.
Generated functions contain these names, so they must be safe.
"""

from __future__ import annotations

from collections.abc import Iterable
from keyword import iskeyword
from typing import Final
from unicodedata import normalize

from hbase_orm.errors import SchemaError
from hbase_orm.model.fields.hooks import HOOKS

RESERVED_NAMES: Final = frozenset(
    {"encode_key", "decode_key", "describe_key", "to_dict", "from_dict", *HOOKS}
)


def check_names(cls: type, fields: Iterable[str]) -> None:
    """Refuse fields whose names are not Python identifiers or are reserved by the library.

    Raises:
        SchemaError: A name is refused; the error names the first such field.
    """
    for name in fields:
        where = {"model": cls.__name__, "field": name}
        if not is_identifier(name):
            raise SchemaError(
                "the field's name is not a Python identifier",
                **where,
                fix='choose another name and keep the column: column(d, "first name")',
            )
        if name in RESERVED_NAMES or name.startswith("_"):
            raise SchemaError(
                "the field's name is reserved",
                **where,
                fix='choose another name and keep the column: column(d, "to_dict")',
            )


def is_identifier(name: str) -> bool:
    """Return whether a class's body could have an attribute of this name.

    Python normalizes names to NFKC: `obj.ﬁeld` means `obj.field`, so an attribute with a name in
    another form could not be accessed.
    """
    is_text = type(name) is str  # one derived from it may print as something else
    return (
        is_text and name.isidentifier() and not iskeyword(name) and normalize("NFKC", name) == name
    )
