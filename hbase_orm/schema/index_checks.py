"""Refuses wrong indexes when the model's class is created.

Such an index could not work, or writes of the rows could not maintain it.
"""

from __future__ import annotations

from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey import Part
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.schema.absent import absent_value_in_entries
from hbase_orm.schema.conditions import Comparison, Condition, Expr, Order
from hbase_orm.schema.declared_index import Index
from hbase_orm.schema.entries import stored_column
from hbase_orm.schema.functions import FUNCTIONS, FunctionExpr, column_field
from hbase_orm.schema.misuse import NoColumn
from hbase_orm.schema.options import check_choice, check_count, check_splits
from hbase_orm.schema.tables import IndexSchema, TableSchema

MAX_BUCKETS: Final = 256
_PAIR: Final = 2


def check_declared(index: Index) -> None:
    """Refuse a declaration that is wrong for every model.

    Raises:
        SchemaError: The index has no field, or an argument is not a field. Or an option has a wrong
            value, or two options exclude each other.
    """
    try:
        _check_components(index)
        _check_options(index)
    except SchemaError as error:
        details = {"index": index.name, **error.details}
        raise SchemaError(error.text, fix=error.fix, **details) from None


def _check_components(index: Index) -> None:
    if not index.components:
        raise SchemaError("the index has no fields", fix="name at least one field")
    for component in index.components:
        _check_component(component)


def _check_component(component: object) -> None:
    of, codec = component, None
    if isinstance(component, tuple) and len(component) == _PAIR:
        of, codec = component
        if not isinstance(codec, Codec):
            raise SchemaError(
                "the argument is not a codec",
                got=repr(codec),
                fix="write Index((FIELD, codecs.uint32()))",
            )
    elif isinstance(component, Order):
        of = component.field
    if isinstance(of, NoColumn):
        raise SchemaError(
            "a map of dynamic columns cannot be indexed as a whole",
            got=repr(of),
            fix="index one entry, FIELD['name']; or store the names in a list column and "
            "index func.each(names)",
        )
    if not isinstance(of, Expr):
        raise SchemaError(
            "an argument of Index() is not a field",
            got=component,
            fix=f"write {component}, without quotes"
            if isinstance(component, str)
            else "name fields of the class, or (FIELD, codec); options have keywords, as salt=8",
        )


def _check_options(index: Index) -> None:
    for option in ("covering", "unique", "nulls"):
        check_choice(option, getattr(index, option), (False, True))
    check_choice("maintained", index.maintained, ("always", "manual"))
    if index.salt != 0:
        check_count("salt", index.salt, 2, MAX_BUCKETS)
    check_splits(index.splits)
    for column in index.include:
        if not isinstance(column, Expr) or isinstance(column, FunctionExpr):
            raise SchemaError(
                "include= must be a list of columns",
                got=repr(column),
                fix="write include=[FIELD, ...], without quotes",
            )
    if index.where is not None and not isinstance(index.where, Condition):
        raise SchemaError(
            "the argument is not a condition",
            where=repr(index.where),
            fix="compare fields: where=FIELD == value, combined with & | ~",
        )
    for one, other, fix in _exclusions(index):
        raise SchemaError(
            f"an index with {one} cannot also have {other}", declared=repr(index), fix=fix
        )


def _exclusions(index: Index) -> list[tuple[str, str, str]]:
    """Return the options of an index that exclude each other, as tuples (one, other, fix)."""
    is_manual = index.maintained == "manual"
    has_each = any(isinstance(of, FunctionExpr) and of.is_each for of in index.expressions)
    wrong = {
        ("salt", "splits", "leave splits= out: a salted index has a region for each bucket"): bool(
            index.salt
        )
        and index.splits != "auto",
        ("covering=True", "no include", "name the columns: include=[...]"): index.covering
        and not index.include,
        (
            "unique=True",
            "nulls=True",
            "rows with None are not compared: leave nulls= out",
        ): index.unique and index.nulls,
        (
            "unique=True",
            "include",
            "an entry holds only its row's key: declare a second index that includes columns",
        ): index.unique and bool(index.include),
        (
            "unique=True",
            "func.each",
            "index the items without unique=True, or store each item as a row",
        ): index.unique and has_each,
        (
            "unique=True",
            'maintained="manual"',
            "only writes can refuse equal values: leave maintained= out",
        ): index.unique and is_manual,
        (
            'maintained="manual"',
            "include",
            "entries of the last build do not answer for a row: leave include= and covering= out",
        ): bool(index.include) and is_manual,
        (
            "nulls=True",
            "func.each",
            "an empty collection has no entry in any case: leave nulls= out",
        ): index.nulls and has_each,
    }
    return [named for named, is_wrong in wrong.items() if is_wrong]


# --- with its model -------------------------------------------------------------------------------


def check_made(index: IndexSchema, schema: TableSchema) -> None:
    """Refuse an index that writes of a model cannot maintain, or that can have no entries.

    Raises:
        SchemaError: The index has one of these faults:

            - It is covering, and a family has a ttl but no min_versions.
            - It includes a column twice.
            - The default of a field does not fit the index's codec.
            - It has `nulls=True`, but no indexed field can be None.
            - Its condition requires None in an indexed field, but rows with None have no entries.
    """
    _check_expiry(index, schema)
    _check_included(index)
    parts = list(zip(index.layout.parts, index.expressions, strict=True))
    for part, of in parts:
        _check_default(index, schema, part, of)
    if index.nulls and not any(isinstance(part.codec, OrNone) for part, _ in parts):
        raise SchemaError(
            "nulls=True is useless: none of the indexed fields can be None",
            index=index.name,
            fields=list(index.layout.names),
            fix="leave nulls= out",
        )
    kept = {column_field(of).name for part, of in parts if not isinstance(part.codec, OrNone)}
    for none_field in filter(None, map(_field_required_none, index.where)):
        if none_field in kept:
            raise SchemaError(
                "the index would have no entries: its condition requires None in an indexed field",
                index=index.name,
                field=none_field,
                fix="declare the index with nulls=True, or over other fields",
            )


def _field_required_none(condition: Condition) -> str | None:
    """Return the name of the field in a condition `field == None`; None for other conditions."""
    match condition:
        case Comparison(field=of, operator="==", value=None):
            return of.name
    return None


def _check_expiry(index: IndexSchema, schema: TableSchema) -> None:
    expiring = [
        family.name.decode()
        for family in schema.families
        if family.ttl_s is not None and family.min_versions == 0
    ]
    if index.covering and expiring:
        raise SchemaError(
            "a covering index cannot be over families with a ttl: queries would return "
            "values of expired cells from its entries",
            index=index.name,
            families=expiring,
            fix="leave covering=True out, so that each entry's row is looked up; or remove the "
            "ttl of the families and delete old rows yourself",
        )


def _check_included(index: IndexSchema) -> None:
    in_entries = {of.name for of in index.expressions if not isinstance(of, FunctionExpr)}
    for column in index.included:
        if column.name in in_entries:
            raise SchemaError(
                "a field is included twice, or is both indexed and included",
                index=index.name,
                field=column.name,
                fix="leave the field out of include=: entries have it already",
            )
        in_entries.add(column.name)


def _check_default(index: IndexSchema, schema: TableSchema, part: Part, of: Expr[Any]) -> None:
    """Refuse the default of an indexed field if the index cannot store it.

    A row that has no cell for the field has an entry with the default.
    """
    column = stored_column(schema, column_field(of))
    value = None if column is None else absent_value_in_entries(column)
    if value is None:
        return
    default = value
    if isinstance(of, FunctionExpr):
        value = FUNCTIONS[of.function].of(value)
    values = value if isinstance(of, FunctionExpr) and of.is_each else (value,)
    try:
        for each in values:
            part.encode(each)
    except CodecError as error:
        raise SchemaError(
            "the field's default does not fit the codec of the index",
            index=index.name,
            field=of.name,
            default=default,
            reason=error.text,
            fix="choose another default, or give the index a wider codec",
        ) from error
