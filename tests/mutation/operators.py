"""Mutation operators: from the text of one statement to the texts that differ from it in one node.

A statement is given as `ast.unparse` prints it. Of a compound statement there is the header alone,
as in `if a < b:`. Texts are not mutated: no strings, no formatted strings, no messages of errors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from typing import Any, Final, NamedTuple, TypeVar

COMPOUND: Final = (ast.If, ast.While, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)
"""Statements of which the header is mutated, and their bodies as statements of their own."""

_BODY: Final = "\n    pass"

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}

Node = TypeVar("Node", bound=ast.AST)


class Change(NamedTuple):
    """What an operator makes of a statement."""

    operator: str
    mutated: str


class _Edit(NamedTuple):
    operator: str
    old: ast.AST
    new: ast.AST


class _Replacement(ast.NodeTransformer):
    """Puts one node in the place of another, in the tree that is visited."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.old:
            return self.new
        self.generic_visit(node)
        return node


def text_of(statement: ast.stmt) -> str:
    """Return a statement on one line, of a compound one the header."""
    if not isinstance(statement, COMPOUND):
        return ast.unparse(statement)
    alone = _with(statement, body=[ast.Pass()])
    if hasattr(alone, "orelse"):
        alone = _with(alone, orelse=[])
    return ast.unparse(alone).removesuffix(_BODY)


def parse(text: str) -> ast.stmt:
    """Return the statement of a text; a header gets a body that does nothing.

    Raises:
        SyntaxError: It is no statement.
    """
    (statement,) = ast.parse(text + _BODY if text.endswith(":") else text).body
    return statement


def changes(text: str, *, may_return_none: bool = False) -> list[Change]:
    """Return every mutation of a statement.

    Args:
        text: The statement.
        may_return_none: Whether a type checker accepts `return None` there.
    """
    statement = parse(text)
    found: list[Change] = []
    for operator, old, new in list(_edits(statement, may_return_none=may_return_none)):
        mutated = _Replacement(old, new).visit(statement)
        assert isinstance(mutated, ast.stmt)
        found.append(Change(operator, text_of(mutated)))
        _Replacement(new, old).visit(mutated)
    return found


def watched(text: str, call: str) -> str:
    """Return a statement that does the same, and first evaluates a call that returns None."""
    statement = parse(text)
    match statement:
        case ast.If() | ast.While():
            seen: ast.AST = _with(statement, test=_after(call, statement.test))
        case ast.For() | ast.AsyncFor():
            seen = _with(statement, iter=_after(call, statement.iter))
        case ast.With(items=[first, *others]) | ast.AsyncWith(items=[first, *others]):
            context = _after(call, first.context_expr)
            seen = _with(statement, items=[_with(first, context_expr=context), *others])
        case _:
            return f"{call}; {text}"
    assert isinstance(seen, ast.stmt)
    return text_of(seen)


def _after(call: str, value: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.Or(), [ast.parse(call, mode="eval").body, value])


def _edits(statement: ast.stmt, *, may_return_none: bool) -> Iterator[_Edit]:
    match statement:
        case ast.Raise() | ast.Assert():
            return  # an error's message, and what only the type checker needs
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            yield _Edit("drop call", statement, ast.Pass())
        case ast.Expr(value=ast.YieldFrom(value=ast.Call() as call)):
            yield _Edit("drop call", call, ast.Tuple([]))  # its function stays a generator
        case ast.Return(value=ast.expr() as value) if may_return_none and not _is_none(value):
            yield _Edit("return None", value, ast.Constant(None))
        case ast.Break():
            yield _Edit("break to continue", statement, ast.Continue())
        case ast.AugAssign(op=ast.Add() | ast.Sub() as op, value=value) if not _is_text(value):
            yield _Edit("plus and minus", statement, _with(statement, op=_opposite(op)))
        case _:
            pass
    for node in _nodes(statement):
        yield from _edits_of_node(node)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is under a statement, without annotations and texts."""
    yield tree
    for name, value in ast.iter_fields(tree):
        for node in value if isinstance(value, list) else [value]:
            is_code = isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr)
            if is_code and name != "annotation":
                yield from _nodes(node)


def _edits_of_node(node: ast.AST) -> Iterator[_Edit]:
    match node:
        case ast.Compare(ops=ops):
            for position, each in enumerate(ops):
                other = [*ops[:position], _COMPARISONS[type(each)](), *ops[position + 1 :]]
                yield _Edit("comparison", node, _with(node, ops=other))
        case ast.BoolOp(op=op):
            other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield _Edit("and and or", node, _with(node, op=other_op))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Edit("drop not", node, operand)
        case ast.BinOp(op=ast.Add() | ast.Sub() as op) if not _is_text(node.left, node.right):
            yield _Edit("plus and minus", node, _with(node, op=_opposite(op)))
        case ast.If() | ast.While() | ast.IfExp():
            # Of a comparison and of `not`, other operators are the negation.
            if not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
                negated = ast.UnaryOp(ast.Not(), node.test)
                yield _Edit("negate condition", node.test, negated)
        case _:
            yield from _edits_of_values(node)


def _edits_of_values(node: ast.AST) -> Iterator[_Edit]:
    match node:
        case ast.Slice():
            yield from _edits_of_slice(node)
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            yield _Edit("integer plus one", node, ast.Constant(number + 1))
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            pass  # the other order fails wherever it is executed
        case ast.Call(args=[ast.Name(id=one), ast.Name(id=two), *others]) if one != two:
            swapped = [*reversed(node.args[:2]), *others]
            yield _Edit("swap arguments", node, _with(node, args=swapped))
        case _:
            pass


def _edits_of_slice(node: ast.Slice) -> Iterator[_Edit]:
    """Yield each bound plus one and minus one; to a number, another operator adds one."""
    for bound in (node.lower, node.upper):
        if bound is not None:
            yield _Edit("slice bound", bound, ast.BinOp(bound, ast.Sub(), ast.Constant(1)))
            if not isinstance(bound, ast.Constant):
                yield _Edit("slice bound", bound, ast.BinOp(bound, ast.Add(), ast.Constant(1)))


def _with(node: Node, **fields: Any) -> Node:
    other = copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _opposite(operator: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(operator, ast.Add) else ast.Add()


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_text(*operands: ast.expr) -> bool:
    """Return whether one is no number for sure: minus would fail wherever it is executed."""
    return any(
        isinstance(each, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict))
        or (isinstance(each, ast.Constant) and isinstance(each.value, (str, bytes)))
        for each in operands
    )
