"""What a secondary index is declared with; it is checked with the model that it is of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.schema.conditions import Condition, Expr, Order
from hbase_orm.schema.tables import Maintained

IndexComponent = Expr[Any] | Order | tuple[Expr[Any], Codec[Any]]
"""A field or a function of one, with a direction or a codec of its own."""


class Index:
    """A secondary index: an index table whose entries are kept by every write.

    Without `nulls=True` a row has no entry while one of the indexed fields is None.

    Attributes:
        name: The attribute it was declared as.
        components: The indexed fields and functions of fields.
        include: Columns that each entry repeats.
        covering: Whether statements may be answered from entries alone.
        unique: Whether no two rows may have the same values.
        where: Which rows have entries, or None for all.
        salt: How many buckets the entries are spread over; 0 for none.
        nulls: Whether rows where an indexed field is None have entries.
        maintained: "always" by every write, or "manual" by builds alone.
    """

    def __init__(
        self,
        *components: IndexComponent,
        include: Sequence[Expr[Any]] = (),
        covering: bool = False,
        unique: bool = False,
        where: Condition | None = None,
        salt: int = 0,
        nulls: bool = False,
        maintained: Maintained = "always",
    ) -> None:
        """Declare an index over fields in this order.

        Args:
            components: A field, `func.lower(field)` and its like, or an entry of dynamic columns
                sorts as its codec does; `.desc()` puts larger values first, `.asc()` last.
                `(field, codec)` stores it in the index by another codec. `func.each(field)` gives
                a row an entry for each item of a list, set or tuple.
            include: Columns that entries repeat; each write that changes one of them writes the
                entry as well.
            covering: Answer statements that read nothing but indexed fields, included columns
                and the row key from the entries alone, without looking up the rows.
            unique: Two rows never have the same values: the second write raises
                UniqueViolationError. Rows where a value is None are not compared.
            where: Only rows that fulfil it have entries. It is part of what the index is: the
                planner uses the index where a statement's conditions imply it.
            salt: Spread the entries over so many buckets, 2 to 256, by a byte in front: for values
                that rise with time, or that very many rows share. Every read scans all buckets.
            nulls: Rows where an indexed field is None have entries too. None sorts before all
                values, or behind them where the index descends.
            maintained: "manual" leaves the entries to builds: writes do not touch them, and only
                statements that name the index read it, as of the last build.

        What makes no index raises SchemaError once the model's class is made, and its fields have
        names.
        """
        self.name = ""
        self.components = components
        self.include = tuple(include) if isinstance(include, (list, tuple)) else (include,)
        self.covering = covering
        self.unique = unique
        self.where = where
        self.salt = salt
        self.nulls = nulls
        self.maintained = maintained

    @property
    def expressions(self) -> tuple[Expr[Any], ...]:
        """What is indexed, without directions and codecs."""
        return tuple(expression_of(component) for component in self.components)

    def __set_name__(self, owner: type, attribute: str) -> None:
        """Take the attribute's name."""
        self.name = attribute

    def __repr__(self) -> str:
        """Return the declaration."""
        shown = [_shown(component) for component in self.components]
        if self.include:
            shown.append(f"include=[{', '.join(map(repr, self.include))}]")
        shown += [f"{name}=True" for name in ("covering", "unique", "nulls") if getattr(self, name)]
        shown += [] if self.where is None else [f"where={self.where!r}"]
        shown += [f"salt={self.salt}"] if self.salt else []
        shown += [] if self.maintained == "always" else [f"maintained={self.maintained!r}"]
        return f"Index({', '.join(shown)})"


def _shown(component: IndexComponent) -> str:
    if not isinstance(component, tuple):
        return repr(component)
    of, codec = component
    return f"({of!r}, {codec.name}{' desc' if codec.desc else ''})"


def expression_of(component: IndexComponent) -> Expr[Any]:
    """Return what a component indexes, without its direction or codec."""
    if isinstance(component, Order):
        return component.field
    return component[0] if isinstance(component, tuple) else component
