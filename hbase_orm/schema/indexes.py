"""Declared secondary indexes and how they become index tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.errors import QueryError, SchemaError
from hbase_orm.rowkey import KeyLayout, Part, part_of
from hbase_orm.rowkey.nulls import or_none
from hbase_orm.schema.checking import check_conditions
from hbase_orm.schema.conditions import Condition, Expr, Order, compared_by, conjuncts
from hbase_orm.schema.entries import EntryExpr, dynamic_of, stored_column
from hbase_orm.schema.functions import FunctionExpr, column_field, function_codec
from hbase_orm.schema.misuse import NoColumn
from hbase_orm.schema.options import check_choice, check_count
from hbase_orm.schema.tables import ColumnSchema, IndexSchema, Maintained, TableSchema

MAX_BUCKETS: Final = 256
_PAIR: Final = 2

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
            covering: Answer statements that ask for nothing but indexed fields, included columns
                and the row key from the entries alone, without looking up the rows.
            unique: Two rows never have the same values: the second write raises
                UniqueViolationError. Rows where a value is None are not compared.
            where: Only rows that fulfil it have entries. It is part of what the index is: the
                planner uses the index where a statement's conditions imply it.
            salt: Spread the entries over so many buckets, 2 to 256, by a byte in front: for values
                that rise with time, or that very many rows share. Every read asks all buckets.
            nulls: Rows where an indexed field is None have entries too. None sorts before all
                values, or behind them where the index descends.
            maintained: "manual" leaves the entries to builds: writes do not touch them, and only
                statements that name the index read it, as of the last build.

        Raises:
            SchemaError: No field, something that is none, or options that exclude each other.
        """
        if not components:
            raise SchemaError("the index names no field", fix="name at least one field")
        self.name = ""
        self.components = components
        self.include = tuple(include) if isinstance(include, (list, tuple)) else (include,)
        self.covering = covering
        self.unique = unique
        self.where = where
        self.salt = salt
        self.nulls = nulls
        self.maintained = maintained
        for component in components:
            _check_component(component)
        self._check_options()

    def _check_options(self) -> None:
        for option in ("covering", "unique", "nulls"):
            check_choice(option, getattr(self, option), (False, True))
        check_choice("maintained", self.maintained, ("always", "manual"))
        if self.salt != 0:
            check_count("salt", self.salt, 2, MAX_BUCKETS)
        for column in self.include:
            if not isinstance(column, Expr) or isinstance(column, FunctionExpr):
                raise SchemaError(
                    "an index includes columns", got=repr(column), fix="write include=[total]"
                )
        if self.where is not None and not isinstance(self.where, Condition):
            raise SchemaError(
                "this is no condition",
                where=repr(self.where),
                fix="compare fields: where=status == Status.NEW, combined with & | ~",
            )
        for one, other, fix in self._exclusions():
            raise SchemaError(f"an index with {one} cannot have {other}", index=repr(self), fix=fix)

    def _exclusions(self) -> list[tuple[str, str, str]]:
        """Return the options that exclude each other, with what to do instead."""
        is_manual = self.maintained == "manual"
        has_each = any(isinstance(of, FunctionExpr) and of.is_each for of in self.expressions)
        wrong = {
            ("covering=True", "no include", "name the columns: include=[...]"): self.covering
            and not self.include,
            ("unique=True", "nulls=True", "None is never compared: leave nulls out"): self.unique
            and self.nulls,
            (
                "unique=True",
                "include",
                "an entry names the owner alone: declare a second index that includes columns",
            ): self.unique and bool(self.include),
            (
                "unique=True",
                "func.each",
                "index the items without unique=True, or keep them as rows of their own",
            ): self.unique and has_each,
            (
                "unique=True",
                'maintained="manual"',
                "only writes keep values apart: leave maintained out",
            ): self.unique and is_manual,
            (
                "covering=True",
                'maintained="manual"',
                "entries of the last build do not follow the rows: leave covering out",
            ): self.covering and is_manual,
            (
                "nulls=True",
                "func.each",
                "a collection without items has no entry: leave nulls out",
            ): self.nulls and has_each,
        }
        return [named for named, is_wrong in wrong.items() if is_wrong]

    @property
    def expressions(self) -> tuple[Expr[Any], ...]:
        """What is indexed, without directions and codecs."""
        return tuple(_expression(component) for component in self.components)

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


def _check_component(component: object) -> None:
    of, codec = component, None
    if isinstance(component, tuple) and len(component) == _PAIR:
        of, codec = component
        if not isinstance(codec, Codec):
            raise SchemaError(
                "this is no codec", got=repr(codec), fix="write Index((number, codecs.uint32()))"
            )
    elif isinstance(component, Order):
        of = component.field
    if isinstance(of, NoColumn):
        raise SchemaError(
            "an index is made of columns, and this is many",
            got=repr(of),
            fix="index one entry, tags['rack']; or keep the names in a list column and index "
            "func.each(names)",
        )
    if not isinstance(of, Expr):
        raise SchemaError(
            "an index is made of fields",
            got=component,
            fix="write Index(unit, at.desc()); to spread its entries, Index(at, salt=8)",
        )


def _expression(component: IndexComponent) -> Expr[Any]:
    if isinstance(component, Order):
        return component.field
    return component[0] if isinstance(component, tuple) else component


# --- of a model -----------------------------------------------------------------------------------


def index_schema(index: Index, schema: TableSchema) -> IndexSchema:
    """Return the index's table and entry layout.

    Args:
        index: The declaration.
        schema: The base table, all but its indexes.

    Raises:
        SchemaError: A field cannot be indexed or its bytes do not sort; the condition cannot be
            asked of rows; a column cannot be included.
    """
    parts = tuple(_part(index, component, schema) for component in index.components)
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise SchemaError(
            "the index names a field twice", index=index.name, fields=names, fix="name it once"
        )
    if sum(isinstance(of, FunctionExpr) and of.is_each for of in index.expressions) > 1:
        raise SchemaError(
            "an index has the items of one collection",
            index=index.name,
            fields=names,
            fix="declare an index for each collection",
        )
    where = _where(index, schema)
    return IndexSchema(
        name=index.name,
        table=f"{schema.table}_ix_{index.name}",
        layout=KeyLayout(parts, tuple(names)),
        expressions=index.expressions,
        columns=_columns(index, schema),
        unique=index.unique,
        included=tuple(_included(index, of, schema) for of in index.include),
        covering=index.covering,
        where=where,
        salt=index.salt,
        nulls=index.nulls,
        maintained=index.maintained,
    )


def _part(index: Index, component: IndexComponent, schema: TableSchema) -> Part:
    of = _expression(component)
    codec, nullable = _codec(index, of, schema)
    if isinstance(component, tuple):
        codec = _own_codec(index, of, codec, component[1])
    elif isinstance(component, Order):
        codec = replace(codec, desc=component.descending)
    part = part_of(of.name, codec, is_last=False)
    if not part.is_ordered:
        raise SchemaError(
            "the field's bytes do not sort as its values do",
            index=index.name,
            field=of.name,
            codec=codec.name,
            fix="give the field a codec whose bytes sort, e.g. codecs.text() without separator, "
            "or the index one of its own: Index((field, codecs.text()))",
        )
    return or_none(part) if index.nulls and nullable else part


def _codec(index: Index, of: Expr[Any], schema: TableSchema) -> tuple[Codec[Any], bool]:
    """Return how the values of an expression are stored, and whether they may be None."""
    try:
        if isinstance(of, FunctionExpr):
            codec, nullable = _codec(index, of.of, schema)
            return function_codec(of, codec), nullable
        if isinstance(of, EntryExpr):
            stored_column(schema, of)
            return dynamic_of(schema, of.of).codec, True
    except QueryError as error:
        raise _of_index(index, error) from None
    _check_indexable(index, of, schema)
    column = schema.column_by_name.get(of.name)
    codec = schema.codecs[of.name] if column is None else column.codec
    return codec, column is not None and column.nullable


def _check_indexable(index: Index, of: Expr[Any], schema: TableSchema) -> None:
    layout = schema.layout
    numbered = {lookup.field for lookup in layout.lookups if layout.part(lookup.field) is None}
    in_key = of.name in layout.decoded and of.name not in numbered
    is_column = any(column.name == of.name for column in schema.columns)
    if not schema.has_field(of) or not (in_key or is_column):
        raise SchemaError(
            "the field cannot be indexed",
            index=index.name,
            field=of.name,
            fix="index plain columns and key fields that row keys give back; counters change "
            "behind an index's back; a name whose number is in the key must be stored as well: "
            'key(..., family=d, qualifier="n")',
        )


def _own_codec(index: Index, of: Expr[Any], stored: Codec[Any], own: Codec[Any]) -> Codec[Any]:
    kinds = stored.python_type, own.python_type
    if not (issubclass(*kinds) or issubclass(*reversed(kinds))):
        raise SchemaError(
            "the codec is for another type than the field",
            index=index.name,
            field=of.name,
            codec=own.name,
            type=kinds[0].__name__,
            codec_type=kinds[1].__name__,
            fix=f"name a codec of {kinds[0].__name__}",
        )
    if own.coarse and replace(own, desc=stored.desc) != stored:
        raise SchemaError(
            "the codec rounds what the field stores, and entries would not tell the values apart",
            index=index.name,
            field=of.name,
            codec=own.name,
            fix="name one that keeps every value; for days write func.day(field)",
        )
    return own


def _columns(index: Index, schema: TableSchema) -> tuple[ColumnSchema, ...]:
    compared = () if index.where is None else compared_by(index.where)
    read = [stored_column(schema, column_field(of)) for of in (*index.expressions, *compared)]
    return tuple({column.column: column for column in read if column is not None}.values())


def _included(index: Index, of: Expr[Any], schema: TableSchema) -> ColumnSchema:
    where = {"index": index.name, "field": of.name}
    if of.name in {column.name for column in schema.numbers}:
        raise SchemaError(
            "a counter cannot be included: increments go by the index",
            **where,
            fix="leave it out, and read it from the row",
        )
    if of.name in schema.layout.decoded:
        raise SchemaError(
            "the row key stands in every entry", **where, fix="leave the field out of include"
        )
    try:
        column = stored_column(schema, of)
    except QueryError as error:
        raise _of_index(index, error) from None
    is_own = isinstance(of, EntryExpr) or schema.has_field(of)
    if column is None or not is_own:
        raise SchemaError(
            "this is no column of the model", **where, fix="include plain columns of the model"
        )
    return column


def _where(index: Index, schema: TableSchema) -> tuple[Condition, ...]:
    if index.where is None:
        return ()
    conditions = conjuncts(index.where)
    try:
        check_conditions(schema, conditions)
    except QueryError as error:
        raise _of_index(index, error) from None
    layout = schema.layout
    numbered = {lookup.field for lookup in layout.lookups}
    for of in (column_field(each) for each in compared_by(index.where)):
        is_told = of.name in layout.decoded and of.name not in numbered
        column = stored_column(schema, of)
        if column in schema.numbers or (column is None and not is_told):
            raise SchemaError(
                "whether a row has an entry cannot depend on this field",
                index=index.name,
                field=of.name,
                fix="compare plain columns, and key fields that row keys give back; counters "
                "change behind an index's back",
            )
    return conditions


def _of_index(index: Index, error: QueryError) -> SchemaError:
    """Return what is wrong with a question to rows as what is wrong with an index."""
    return SchemaError(error.text, fix=error.fix, index=index.name, **error.details)
