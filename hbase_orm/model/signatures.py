"""What `inspect.signature`, `help` and editors show of a model: its fields as keywords.

`Model.__init__` takes any keywords and passes them on, so its own signature shows nothing. Both
texts are made when they are first asked for: most programs never ask.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any, Final

from hbase_orm.model.declare.annotations import annotated_type
from hbase_orm.model.declare.declare import declared
from hbase_orm.model.fields.fields import UNSET, Mapped
from hbase_orm.rowkey.key_text import layout_text
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema import TableSchema


class _Made:
    """The default of a field whose value a function returns."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE: Final = _Made()


def signature_of(model: Any) -> Signature:
    """Return the signature of a model's constructor: its fields, with types and defaults."""
    parameters = []
    for name, field in declared(model, Mapped).items():
        default = _MADE if field.default_factory is not None else field.default
        parameters.append(
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if default is UNSET else default,
                annotation=annotated_type(model, name),
            )
        )
    return Signature(parameters)


def text_of(model: Any) -> str:
    """Return a model's table, row key, columns and indexes, one in a line."""
    schema: TableSchema = model.__schema__
    lines = [f"A row of the table {schema.table}.", ""]
    lines.append(f"row key {layout_text(schema.row_layout)}")
    columns = [to_string_binary(column.column) for column in (*schema.columns, *schema.numbers)]
    columns += [f"{to_string_binary(each.prefix)}..." for each in schema.dynamics]
    lines += [f"columns {', '.join(columns)}"] if columns else []
    lines += [f"index {each.name} = {getattr(model, each.name)!r}" for each in schema.indexes]
    return "\n".join(lines)


class OwnSignature:
    """`__signature__` of a class whose constructor is that of `Model`."""

    def __init__(self, initializer: Any) -> None:
        """Store the constructor of `Model`."""
        self._initializer = initializer

    def __get__(self, instance: object, owner: Any) -> Signature:
        """Return the signature.

        Raises:
            AttributeError: The class has no fields of its own, or another constructor.
        """
        schema = getattr(owner, "__schema__", None)
        if schema is None or schema.record_types or owner.__init__ is not self._initializer:
            raise AttributeError("__signature__")
        return signature_of(owner)


class OwnText:
    """`__doc__` of a model whose body has no docstring."""

    def __get__(self, instance: object, owner: Any) -> str:
        """Return the text."""
        return text_of(owner)
