"""Chooses mutants by a seed and writes the list: `python -m tests.mutation.choose SEED COUNT`.

Each package gets mutants in proportion to its lines of code in functions, each module a few at most.
What needs a server, the command line and the texts that things print as are left out.
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.mutation.mutants import (
    Mutant,
    Statement,
    modules,
    mutate,
    package_of,
    statements,
    write_list,
)
from tests.mutation.operators import changes, parse

LEFT_OUT: Final = ("hbase_orm.server", "hbase_orm.testing", "hbase_orm.cli")
TEXT_METHODS: Final = frozenset({"__repr__", "__str__", "__format__"})
MOST_PER_MODULE: Final = 3

Candidates = dict[Statement, list[Mutant]]


def candidates(module: str, source: str) -> Candidates:
    """Return the mutants that a module can have, by statement."""
    found: Candidates = {}
    for statement in statements(module, source):
        if TEXT_METHODS.isdisjoint(statement.function.split(".")) and not _is_text(statement):
            may = _may_return_none(statement)
            made = [
                Mutant(
                    id="",
                    module=module,
                    function=statement.function,
                    operator=change.operator,
                    original=statement.text,
                    mutated=change.mutated,
                    occurrence=statement.occurrence,
                )
                for change in changes(statement.text, may_return_none=may)
            ]
            if made:
                found[statement] = made
    return found


def _is_text(statement: Statement) -> bool:
    return any(isinstance(node, ast.JoinedStr) for node in ast.walk(parse(statement.text)))


def _may_return_none(statement: Statement) -> bool:
    returns = statement.definition.returns
    names = {"None", "Any", "object"}
    return returns is None or any(name in ast.unparse(returns) for name in names)


def is_other_code(source: str, statement: Statement, mutated: str) -> bool:
    """Return whether a module with this change compiles to something else."""
    mutant = mutate(source, statement, mutated)
    compile(mutant, statement.module, "exec")
    return ast.dump(ast.parse(mutant)) != ast.dump(ast.parse(source))


def lines_of_code(found: Iterable[Statement]) -> int:
    """Return how many lines the statements have."""
    return len({line for each in found for line in each.lines})


def shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return whole numbers in proportion to sizes; they add up to `count`."""
    total = sum(sizes.values())
    exact = {name: count * size / total for name, size in sizes.items()}
    found = {name: int(share) for name, share in exact.items()}
    by_rest = sorted(exact, key=lambda name: (found[name] - exact[name], name))
    for name in by_rest[: count - sum(found.values())]:
        found[name] += 1
    return found


def choose(root: Path, seed: int, count: int) -> list[Mutant]:
    """Return so many mutants of the package in a directory, at most one in a statement."""
    sources = {
        module: path.read_text()
        for module, path in modules(root).items()
        if not f"{module}.".startswith(tuple(f"{name}." for name in LEFT_OUT))
    }
    sizes = {module: lines_of_code(statements(module, text)) for module, text in sources.items()}
    packages: dict[str, int] = {}
    for module, size in sizes.items():
        packages[package_of(module)] = packages.get(package_of(module), 0) + size
    draw = random.Random(seed)
    chosen: list[Mutant] = []
    for package, share in shares(packages, count).items():
        members = [module for module in sources if package_of(module) == package]
        chosen += _choose_in(members, sources, sizes, share, draw)
    return [replace(mutant, id=f"m{number:03}") for number, mutant in enumerate(chosen, start=1)]


def _choose_in(
    members: list[str],
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
    share: int,
    draw: random.Random,
) -> list[Mutant]:
    free = {module: candidates(module, sources[module]) for module in members}
    chosen: list[Mutant] = []
    while len(chosen) < share:
        open_modules = [
            module
            for module in members
            if free[module] and sum(each.module == module for each in chosen) < MOST_PER_MODULE
        ]
        if not open_modules:
            break
        weights = [sizes[module] for module in open_modules]
        (module,) = draw.choices(open_modules, weights)
        statement, mutant = _draw(free[module], draw)
        del free[module][statement]
        if is_other_code(sources[module], statement, mutant.mutated):
            chosen.append(mutant)
    return sorted(chosen, key=lambda each: members.index(each.module))


def _draw(found: Candidates, draw: random.Random) -> tuple[Statement, Mutant]:
    """Draw an operator first: the frequent ones would leave no room for the others."""
    operator = draw.choice(sorted({each.operator for made in found.values() for each in made}))
    fitting = [
        (statement, each)
        for statement, made in found.items()
        for each in made
        if each.operator == operator
    ]
    return draw.choice(fitting)


if __name__ == "__main__":
    write_list(choose(Path(), int(sys.argv[1]), int(sys.argv[2])))
