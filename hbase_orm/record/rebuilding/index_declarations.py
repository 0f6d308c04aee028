"""Makes the declarations of a model's indexes from their specifications in a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, DeclarationError
from hbase_orm.model.fields.dynamics import Dynamic
from hbase_orm.record.declaration import RecordedIndex
from hbase_orm.record.literals import literal_of
from hbase_orm.record.rebuilding.recorded_codecs import recorded_codec
from hbase_orm.record.stored_values import StoredValue
from hbase_orm.schema import Condition, EntryExpr, Expr, Index
from hbase_orm.schema.conditions import (
    And,
    Comparison,
    Contains,
    InValues,
    ItemBetween,
    Not,
    Or,
    StartsWith,
)
from hbase_orm.schema.functions import FUNCTIONS, FunctionExpr

_EXPRESSION: Final = frozenset({"function", "argument", "column", "field"})
_CONDITION: Final = _EXPRESSION | {"and", "or", "not", "operator", "values"}
_OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class IndexBuilder:
    """Makes indexes over the fields of one model.

    Attributes:
        table: The table, for errors.
        keys: The key fields by their positions in the record.
        columns: The fields by their columns.
        dynamics: The fields of dynamic columns by their prefixes.
    """

    table: str
    keys: Sequence[Any]
    columns: Mapping[bytes, Any]
    dynamics: Mapping[bytes, Dynamic[Any, Any]]

    def index(self, name: str, recorded: RecordedIndex | None) -> Index:
        """Return the declaration of an index.

        Raises:
            DeclarationError: The record does not describe the index, or compares with a value that
                it does not hold.
            RecordError: The specification is damaged.
        """
        if recorded is None or recorded.spec is None:
            raise DeclarationError(
                "the record does not describe how the entries of an index are computed",
                table=self.table,
                index=name,
                fix="let a program that has the model's class call engine.create_tables: it "
                "completes the record",
            )
        stored = StoredValue(recorded.spec, self.table, f"index {name}")
        flags = ("unique", "covering", "nulls")
        content = stored.members("of", "include", "where", "salt", *flags)
        maintained: Any = recorded.maintained
        salt = content["salt"].typed(int)
        return Index(
            *(self._component(each) for each in content["of"].items()),
            include=[self._column(each) for each in content["include"].items()],
            where=self._all(content["where"].items()),
            salt=salt,
            maintained=maintained,
            splits="auto" if salt else recorded.split_keys,
            **{flag: content[flag].typed(bool) for flag in flags},
        )

    def _component(self, stored: StoredValue) -> tuple[Expr[Any], Codec[Any]]:
        content = stored.members("codec", optional=_EXPRESSION)
        return self._expression(stored), recorded_codec(content["codec"])

    def _expression(self, stored: StoredValue) -> Expr[Any]:
        content = stored.members(optional=_CONDITION | {"codec"})
        function = content.get("function")
        if function is not None:
            if function.value not in FUNCTIONS or "argument" not in content:
                raise function.damage()
            return FunctionExpr(function.value, self._expression(content["argument"]))
        if "column" in content:
            return self._column(content["column"])
        number = content.get("field", stored)
        if not 0 <= number.typed(int) < len(self.keys):
            raise number.damage()
        key: Expr[Any] = self.keys[number.value]
        return key

    def _column(self, stored: StoredValue) -> Expr[Any]:
        """Return the field of a column, or the dynamic column."""
        column = stored.data()
        if column in self.columns:
            field: Expr[Any] = self.columns[column]
            return field
        for prefix, dynamic in self.dynamics.items():
            if column.startswith(prefix) and dynamic.given_name_codec is not None:
                try:
                    return dynamic[dynamic.given_name_codec.decode(column[len(prefix) :])]
                except CodecError:
                    raise stored.damage() from None
        raise stored.damage()

    def _codec_of(self, of: Expr[Any]) -> Codec[Any] | None:
        """Return the codec of the values that a condition compares; None for functions."""
        if isinstance(of, FunctionExpr):
            return None
        field: Any = of.of if isinstance(of, EntryExpr) else of
        codec: Codec[Any] | None = field.codec
        return codec

    def _all(self, conditions: Sequence[StoredValue]) -> Condition | None:
        made = tuple(map(self._condition, conditions))
        return made[0] if len(made) == 1 else And(made) if made else None

    def _condition(self, stored: StoredValue) -> Condition:
        content = stored.members(optional=_CONDITION)
        if "and" in content:
            return And(tuple(map(self._condition, content["and"].items())))
        if "or" in content:
            return Or(tuple(map(self._condition, content["or"].items())))
        if "not" in content:
            return Not(self._condition(content["not"]))
        if not {"operator", "values"} <= content.keys():
            raise stored.damage()
        of = self._expression(stored)
        codec = self._codec_of(of)
        values = tuple(literal_of(each, codec) for each in content["values"].items())
        return _comparison(of, content["operator"], values)


def _comparison(of: Expr[Any], operator: StoredValue, values: tuple[Any, ...]) -> Condition:
    match operator.value, values:
        case "in", _:
            return InValues(of, values)
        case "between", (low, high):
            return ItemBetween(of, low, high)
        case "startswith", (prefix,):
            return StartsWith(of, prefix)
        case "contains", (value,):
            return Contains(of, value)
        case _, (value,) if operator.value in _OPERATORS:
            return Comparison(of, operator.value, value)
    raise operator.damage()
