"""What fields and indexes may be called: as a class's body could call them.

A program may make a model of names from outside, by `type()` or `types.new_class()`, which take any
text. The functions that are generated for a model hold these names.
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
    """Refuse fields whose names are no Python identifiers, or the library's own.

    Raises:
        SchemaError: Names the first such field.
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

    Python reads names in their NFKC form: `obj.ﬁeld` is `obj.field`, and no attribute that is
    called otherwise would be reached by its name.
    """
    is_text = type(name) is str  # one derived from it may print as something else
    return (
        is_text and name.isidentifier() and not iskeyword(name) and normalize("NFKC", name) == name
    )
