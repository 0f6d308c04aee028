"""Mutants: what is changed in which function, the file that lists them, and how one is found again.

A mutant names its statement by text, not by line. So it is found after its function was moved to
another module; where a name in the statement was changed, a person changes it in the list, too.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal

from tests.mutation.operators import COMPOUND, text_of

PACKAGE: Final = "hbase_orm"
LIST: Final = Path(__file__).with_name("mutants.toml")

_BLOCKS: Final = (ast.Try, ast.TryStar, ast.Match)
"""Statements without a header that could be mutated."""

_LIKE: Final = 0.7
"""The share of equal characters from which one statement may be another one with new names."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed statement.

    Attributes:
        id: Its number in the list.
        module: The module's name.
        function: The qualified name of the function in the module, as in `Session.flush`.
        operator: The kind of change.
        original: The statement, as `ast.unparse` prints it; of a compound one the header.
        mutated: What stands there instead.
        occurrence: Which of the equal statements of the function it is, from 1; 0 if there is one.
    """

    id: str
    module: str
    function: str
    operator: str
    original: str
    mutated: str
    occurrence: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a function, and where it stands.

    Attributes:
        module: The module's name.
        function: The qualified name of the innermost function.
        text: As `ast.unparse` prints it; of a compound one the header.
        occurrence: Which of the equal statements of the function it is, from 1; 0 if there is one.
        node: The statement.
        definition: The innermost function.
    """

    module: str
    function: str
    text: str
    occurrence: int
    node: ast.stmt
    definition: _Function

    @property
    def lines(self) -> range:
        """The numbers of its lines, of a compound one those of the header."""
        node = self.node
        if not isinstance(node, COMPOUND):
            return range(node.lineno, (node.end_lineno or node.lineno) + 1)
        header = [
            each.context_expr if isinstance(each, ast.withitem) else each
            for each in ast.iter_child_nodes(node)
        ]
        ends = [each.end_lineno or 0 for each in header if isinstance(each, ast.expr)]
        return range(node.lineno, max(ends) + 1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mutant is: at its place, moved to another one, or lost (and nowhere)."""

    state: Literal["found", "moved", "lost"]
    statement: Statement | None = None


def read_list(path: Path = LIST) -> list[Mutant]:
    """Return the listed mutants."""
    return [Mutant(**entry) for entry in tomllib.loads(path.read_text())["mutant"]]


def write_list(mutants: Iterable[Mutant], path: Path = LIST) -> None:
    """Write the list, for people to read and to edit."""
    path.write_text("\n".join(map(_entry, mutants)))


def _entry(mutant: Mutant) -> str:
    values = {each.name: getattr(mutant, each.name) for each in fields(mutant)}
    if not mutant.occurrence:
        del values["occurrence"]
    return "[[mutant]]\n" + "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())


def _toml(value: str | int) -> str:
    if isinstance(value, str) and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)


def modules(root: Path) -> dict[str, Path]:
    """Return the files of the package in a directory, by the names of the modules."""
    found = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(module: str, source: str) -> list[Statement]:
    """Return the statements in the functions of a module; no docstrings and no definitions."""
    found = list(_in_bodies(module, ast.parse(source).body, (), None))
    counts: dict[tuple[str, str], int] = {}
    for each in found:
        key = each.function, each.text
        counts[key] = counts.get(key, 0) + 1
    seen: dict[tuple[str, str], int] = {}
    numbered = []
    for each in found:
        key = each.function, each.text
        seen[key] = seen.get(key, 0) + 1
        number = seen[key] if counts[key] > 1 else 0
        numbered.append(
            Statement(module, each.function, each.text, number, each.node, each.definition)
        )
    return numbered


def _in_bodies(
    module: str, body: Sequence[ast.stmt], names: tuple[str, ...], within: _Function | None
) -> Iterator[Statement]:
    for node in body:
        if isinstance(node, (_Function, ast.ClassDef)):
            inner = None if isinstance(node, ast.ClassDef) else node
            yield from _in_bodies(module, node.body, (*names, node.name), inner)
            continue
        if within is not None and not _is_docstring(node) and not isinstance(node, _BLOCKS):
            yield Statement(module, ".".join(names), text_of(node), 0, node, within)
        for block in _blocks(node):
            yield from _in_bodies(module, block, names, within)


def _blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield part.body


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def all_statements(root: Path) -> list[Statement]:
    """Return the statements in the functions of the package in a directory."""
    return [
        each
        for module, path in modules(root).items()
        for each in statements(module, path.read_text())
    ]


def package_of(module: str) -> str:
    """Return the part of the library: `hbase_orm.query`, or a module of its own as `hbase_orm.ops`."""
    return ".".join(module.split(".")[:2])


def locate(mutant: Mutant, tree: Iterable[Statement]) -> Place:
    """Find a mutant's statement: in its function, in a function of this name, or anywhere.

    Outside its own function the statement must be the only one, in its package or in the library.
    """
    equal = [each for each in tree if each.text == mutant.original]
    numbered = [each for each in equal if each.occurrence == mutant.occurrence]
    at_home = [
        each
        for each in numbered
        if (each.module, each.function) == (mutant.module, mutant.function)
    ]
    if at_home:
        return Place("found", at_home[0])
    alone = [each for each in equal if not mutant.occurrence]
    name = mutant.function.rpartition(".")[2]
    tries: list[tuple[list[Statement], Callable[[Statement], bool]]] = [
        (numbered, lambda each: each.function == mutant.function),
        (numbered, lambda each: each.function.rpartition(".")[2] == name),
        (alone, lambda _: True),
    ]
    for candidates, is_wanted in tries:
        wanted = [each for each in candidates if is_wanted(each)]
        near = [each for each in wanted if package_of(each.module) == package_of(mutant.module)]
        for some in (wanted, near):
            if len(some) == 1:
                return Place("moved", some[0])
    return Place("lost")


def nearest(mutant: Mutant, tree: Iterable[Statement]) -> Statement | None:
    """Return what a lost mutant's statement may have become: in functions of the same name, if any."""
    name = mutant.function.rpartition(".")[2]
    known = list(tree)
    named = [each for each in known if each.function.rpartition(".")[2] == name]
    for some in (named, known):
        texts = [each.text for each in some]
        for text in get_close_matches(mutant.original, texts, n=1, cutoff=_LIKE):
            return some[texts.index(text)]
    return None


def mutate(source: str, statement: Statement, mutated: str) -> str:
    """Return a module's source with a statement replaced; all other lines keep their numbers."""
    node = statement.node
    data = source.encode()
    begin = _offset(data, node.lineno, node.col_offset)
    if not isinstance(node, COMPOUND):
        end = _offset(data, node.end_lineno or 0, node.end_col_offset or 0)
        new_lines = "\n" * ((node.end_lineno or 0) - node.lineno)
        return (data[:begin] + (mutated + new_lines).encode() + data[end:]).decode()
    first = node.body[0]
    column = first.col_offset
    line = first.lineno
    if isinstance(first, (_Function, ast.ClassDef)):
        line = min([line, *(each.lineno for each in first.decorator_list)])
    header = "el" * data.startswith(b"elif", begin) + mutated
    gap = "\n" * (line - node.lineno) + " " * (column if line > node.lineno else 1)
    return (data[:begin] + (header + gap).encode() + data[_offset(data, line, column) :]).decode()


def _offset(data: bytes, line: int, column: int) -> int:
    return sum(map(len, data.splitlines(keepends=True)[: line - 1])) + column
