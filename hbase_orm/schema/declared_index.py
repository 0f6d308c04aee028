"""The declaration of a secondary index; it is checked together with its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from hbase_orm.codecs import Codec
from hbase_orm.schema.conditions import Condition, Expr, Order
from hbase_orm.schema.tables import Maintained

IndexComponent = Expr[Any] | Order | tuple[Expr[Any], Codec[Any]]
"""An indexed field or function of a field, which may have a direction or its own codec."""


class Index:
    """A secondary index: a table of entries that every write of a row updates.

    Without `nulls=True`, a row in which an indexed field is None has no entry.

    Attributes:
        name: The name of the attribute that the index is assigned to.
        components: The indexed fields and functions of fields.
        include: The columns that each entry copies.
        covering: Whether statements may be answered from the entries, without reading the rows.
        unique: Whether no two rows may have the same indexed values.
        where: The condition that rows with entries fulfil; None if there is no such condition.
        salt: The number of buckets that the entries are spread over; 0 for no salt.
        nulls: Whether rows in which an indexed field is None have entries.
        maintained: "always" if every write updates the entries, "manual" if only builds do.
        splits: The split keys of the index table, a number of regions, or "auto".
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
        splits: Literal["auto"] | int | Sequence[bytes] = "auto",
    ) -> None:
        """Declare an index over fields in this order.

        Args:
            components: Fields, single dynamic columns, and functions of them such as
                `func.lower(field)`. `.desc()` puts larger values first, `.asc()` puts them last.
                Without either, the codec decides. `(field, codec)` uses another codec in the index.
                `func.each(field)` gives a row one entry for each item of a list, set or tuple.
            include: The columns that each entry copies. A write that changes one of them also
                writes the entry.
            covering: Whether the entries answer statements without a look-up of the rows. Such
                statements need only indexed fields, included columns and the row key.
            unique: Whether two rows can never have the same values. The second write then raises
                UniqueViolationError. Rows in which a value is None are not compared.
            where: A condition; only rows that fulfil it have entries. The planner uses such a
                partial index only if a statement's conditions imply this condition.
            salt: The number of buckets, 2 to 256, over which a leading byte spreads the entries; 0
                for no salt. Use a salt for values that increase with time, or that very many rows
                share. Every read scans all buckets. The index table has one region for each bucket.
            nulls: Whether rows in which an indexed field is None have entries too. None sorts
                before all values, or after all values if the field is indexed in descending order.
            maintained: With "manual", only builds of the index write the entries, and writes of
                rows do not. Only statements with `.using(M.index)` read the index. They miss rows
                that were added, or whose indexed values were changed, after the last build. They
                never return a row that does not match now.
            splits: The split keys of new index tables in ascending order, each the beginning of an
                entry's key; or a number of regions, which divide the possible beginnings of entries
                evenly. "auto" makes one region for each salt bucket, 16 regions if the first
                indexed value is a UUID or bytes of a fixed width, and else one region. An index
                with a salt has no other split keys.

        A wrong declaration raises SchemaError when the model's class is created.
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
        self.splits = splits

    @property
    def expressions(self) -> tuple[Expr[Any], ...]:
        """The indexed fields and functions, without directions and codecs."""
        return tuple(expression_of(component) for component in self.components)

    def __set_name__(self, owner: type, attribute: str) -> None:
        """Store the attribute's name."""
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
        shown += [] if self.splits == "auto" else [f"splits={self.splits!r}"]
        return f"Index({', '.join(shown)})"


def _shown(component: IndexComponent) -> str:
    if not isinstance(component, tuple):
        return repr(component)
    of, codec = component
    return f"({of!r}, {codec.name}{' desc' if codec.desc else ''})"


def expression_of(component: IndexComponent) -> Expr[Any]:
    """Return the field or function of a component, without its direction or codec."""
    if isinstance(component, Order):
        return component.field
    return component[0] if isinstance(component, tuple) else component
