"""Resolves the annotations of a model's fields to types when the class is created."""

from __future__ import annotations

import ast
import sys
import types
from typing import Any, Final, ForwardRef, Union, cast, get_args, get_origin

from hbase_orm.errors import SchemaError
from hbase_orm.model.fields.counters import Counter, Version
from hbase_orm.model.fields.dynamics import Dynamic
from hbase_orm.model.fields.fields import Key, Mapped
from hbase_orm.model.fields.related import Related

_OF_TYPES: Final = (
    *(ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant),
    *(ast.BinOp, ast.BitOr, ast.UnaryOp, ast.USub, ast.Starred, ast.Load),
)
"""The syntax of types, as in `list[int] | None`, `Literal[-1]` and `Callable[[], str]`."""

_OF_NUMBERS: Final = (
    *(ast.LShift, ast.RShift, ast.Add, ast.Sub, ast.BitAnd, ast.BitXor, ast.BitOr),
    *(ast.Invert, ast.UAdd, ast.USub),
)
"""The operators with which an annotation may compute a number, as in `Literal[1 << 3]`."""

_MOST_BITS: Final = 64
"""The largest number of bits by which an annotation may shift a number."""

_UNRESOLVED: Final = (
    *(NameError, AttributeError, LookupError, SyntaxError, TypeError, ValueError),
    *(RecursionError, MemoryError),  # what Python's parser raises for very deep expressions
)

FIELD_KINDS: Final = (Mapped, Counter, Dynamic, Version)


def field_type(cls: type, name: str) -> tuple[Any, bool]:
    """Return the type that a field is annotated with, and whether None is allowed.

    A union of several types is returned as `object`.

    Raises:
        SchemaError: The annotation is missing, does not fit the declaration, or cannot be resolved.
    """
    inner = annotated_type(cls, name)
    if get_origin(inner) in (Union, types.UnionType):
        options = [option for option in get_args(inner) if option is not type(None)]
        return (options[0] if len(options) == 1 else object), len(options) < len(get_args(inner))
    return inner, False


def annotated_type(cls: type, name: str) -> Any:
    """Return the type in the brackets of a field's annotation, as `str | None` in `Mapped[...]`.

    Raises:
        SchemaError: The annotation is missing, does not fit the declaration, or cannot be resolved.
    """
    owner = declaring_class(cls, name)
    annotation = vars(owner).get("__annotations__", {}).get(name)
    if annotation is None:
        raise SchemaError(
            "the field has no annotation",
            model=owner.__name__,
            field=name,
            fix=f"write {name}: Mapped[...] = column(...)",
        )
    field = vars(owner)[name]
    if isinstance(annotation, str):
        annotation = resolve_annotation(owner, name, annotation)
    if (get_origin(annotation) or annotation) is not type(field):
        raise SchemaError(
            "the annotation does not fit the declaration",
            model=owner.__name__,
            field=name,
            annotation=annotation,
            declared=type(field).__name__,
            fix="these go together: Key[...] = key(), Mapped[...] = column(), Counter = counter(), "
            "Version = version(), Related[...] = related()",
        )
    if isinstance(field, (Counter, Version)):
        return int
    (inner,) = get_args(annotation) or (object,)
    if isinstance(inner, ForwardRef):  # Mapped["Status"], quoted within
        inner = resolve_annotation(owner, name, inner.__forward_arg__)
    return inner


def declaring_class(cls: type, name: str) -> type:
    """Return the class whose body declares a field.

    Classes that only have a copy of an inherited field do not count.
    """
    bases = (base for base in cls.__mro__ if name in vars(base))
    return next(base for base in bases if getattr(vars(base)[name], "inherited_from", None) is None)


def resolve_annotation(owner: type, name: str, annotation: str) -> Any:
    """Return the type that an annotation in the body of `owner` stands for.

    Raises:
        SchemaError: The annotation cannot be resolved when the class is created, or does more than
            name a type.
    """
    module = sys.modules.get(owner.__module__)
    scope = dict(vars(module)) if module is not None else {}
    # A model may be related to itself, even if its name still means an import or an earlier class.
    if isinstance(vars(owner).get(name), Related):
        scope[owner.__name__] = owner
    else:
        scope.setdefault(owner.__name__, owner)
    # A field may have the name of its type (`date: Key[date]`): fields do not hide types here.
    fields = (*FIELD_KINDS, Related)
    own = {key: value for key, value in vars(owner).items() if not isinstance(value, fields)}
    try:
        expression = _BareTypes().visit(ast.parse(annotation.strip(), mode="eval"))
        _check_names_types(owner, name, annotation, expression)
        code = compile(expression, "<annotation>", "eval")
        return eval(code, scope, own)  # noqa: S307 - names of types and their parameters alone
    except _UNRESOLVED as error:
        raise SchemaError(
            "the annotation cannot be resolved when the class is made",
            model=owner.__name__,
            field=name,
            annotation=annotation,
            reason=str(error),
            fix="import the name at run time, outside `if TYPE_CHECKING`, before the class",
        ) from error


class _BareTypes(ast.NodeTransformer):
    """Replaces `Annotated` and arithmetic in an annotation text, so that they are not evaluated."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Return only the type of `Annotated[type, anything]`."""
        called = node.value
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name == "Annotated" and isinstance(node.slice, ast.Tuple) and node.slice.elts:
            return cast("ast.AST", self.visit(node.slice.elts[0]))
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace an operation on two numbers by its result."""
        return _computed(node) or self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Replace an operation on one number by its result."""
        return _computed(node) or self.generic_visit(node)


def _computed(node: ast.BinOp | ast.UnaryOp) -> ast.Constant | None:
    """Return the value of an expression that has only numbers and operators.

    None for other expressions, and if a number is shifted by more than `_MOST_BITS` bits.
    """
    of_numbers = (ast.BinOp, ast.UnaryOp, ast.Constant, *_OF_NUMBERS)
    for each in ast.walk(node):
        is_number = not isinstance(each, ast.Constant) or type(each.value) is int
        if not isinstance(each, of_numbers) or not is_number:
            return None
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.LShift):
            by = each.right
            if not isinstance(by, ast.Constant) or by.value not in range(_MOST_BITS + 1):
                return None
    expression = ast.fix_missing_locations(ast.Expression(node))
    number = eval(compile(expression, "<annotation>", "eval"), {})  # noqa: S307 - numbers alone
    return ast.copy_location(ast.Constant(number), node)


def _check_names_types(owner: type, name: str, annotation: str, expression: ast.AST) -> None:
    """Refuse an annotation text that does more than name types.

    The text may come from outside the program.

    Raises:
        SchemaError: The text calls or computes something.
    """
    for node in ast.walk(expression):
        if not isinstance(node, _OF_TYPES):
            raise SchemaError(
                "an annotation that is a text may only name types",
                model=owner.__name__,
                field=name,
                annotation=annotation,
                got=type(node).__name__,
                fix="assign the computed type to a name before the class, and annotate with "
                "that name",
            )


def check_annotations(cls: type) -> None:
    """Refuse an annotation such as `host: Key[str]` without a declaration such as `= key()`.

    Type checkers would treat it as a field.

    Raises:
        SchemaError: A field has an annotation but no value; the error names the class and the
            field.
    """
    for base in cls.__mro__:
        for name, annotation in vars(base).get("__annotations__", {}).items():
            text = annotation if isinstance(annotation, str) else ""
            kind = get_origin(annotation) or annotation
            is_ours = kind in (Key, Related, *FIELD_KINDS) or text.startswith(
                ("Mapped[", "Key[", "Dynamic[", "Related[")
            )
            if (is_ours or text in {"Counter", "Version"}) and name not in vars(base):
                raise SchemaError(
                    "the field is annotated but not declared",
                    model=base.__name__,
                    field=name,
                    fix="write = key(), column(), counter(), dynamic(), version() or related() "
                    "after it",
                )
