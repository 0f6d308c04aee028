"""What holds for the whole tree of modules: imports, names and sizes."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 400
MAX_MODULES = 20
LARGE_PACKAGES = {"codecs"}  # one module for each family of formats

# Exceptions that are left: each list is exact, so that it can only become shorter.
HIDDEN_IMPORTS: set[str] = {
    "testing",
    "testing.image",
    "testing.leftovers",
    "testing.plugin",
}
# Operations of revisions have Alembic's words, which are those of some requests too.
REPEATED_CLASSES: set[str] = {"AddFamily", "CreateTable", "DropTable", "Operation"}
LONG_MODULES: set[str] = set()

# Below the driver, or beside the library; everything else is above it.
WITHOUT_PROTOCOLS = ("gateway", "ops", "server", "testing")

# The modules above the driver that run protocols, or send requests, and why. What any other module
# asks of HBase, it asks by a protocol that one of these runs.
RUNS_PROTOCOLS = {
    "binding.runner": "the runner itself: gives an engine's protocols to the driver",
    "binding.runtime": "the same for reads",
    "execute.steps": "drives a read: answers its requests, hands out its pages, closes its scanners",
    "execute.meter": "a gateway around another one, which counts",
    "binding.clean_up": "deletes what was put off, on a thread of its own",
    "binding.table_holds.exclusive_tables": "takes and releases tables, and renews on a thread of its own",
    "binding.table_holds.table_load": "renews a load on a thread of its own, and ends it",
    "session.engine": "verbs of the engine",
    "session.thrift_gateways": "asks the gateways of a new engine whether they answer",
    "index_admin.admin": "verbs of the engine",
    "table_admin.table_verbs": "verbs of the engine",
    "session.state": "the comparison of a model with its table's record, before a verb",
    "table_admin.live_tables": "verbs of the engine",
    "session.reads": "verbs of the session: one protocol plans a statement, one read carries it out",
    "session.immediate": "verbs of the session; a row's lock is taken between two protocols",
    "session.keyed_writes": "the same for one row by its key",
    "session.flushing": "the session's flush",
    "reading.analyze": "explain(analyze=True): a runner of its own, which is measured",
    "migrate.migrations": "verbs of migrations; steps run between protocols, as they are code of users",
    "migrate.runner_lock": "takes, renews (on a thread) and releases the lock, and records each step",
    "migrate.comparison": "reads records for a command",
    "writing.bulk": "verbs of the bulk writer",
    "writing.bulk_sending": "the threads of the bulk writer, on which its batches are run",
    "migrate.operations.migrated_table": "operations of migrations, which save a checkpoint between two",
    "numbering.sequence": "the call of a sequence, which takes a block",
    "advise.lab.live.live_regions": "counts the rows of existing regions, for a command",
    "advise.estimating.samples": "reads a sample of tables, for a command",
}


@dataclass(frozen=True)
class Tree:
    """The modules below a directory, by their names within it."""

    root: Path

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """The text of each module; a package's own is named as the package."""
        paths = {path.relative_to(self.root): path for path in self.root.rglob("*.py")}
        return {
            ".".join(path.with_suffix("").parts).removesuffix("__init__").removesuffix("."): (
                whole.read_text()
            )
            for path, whole in paths.items()
        }

    @cached_property
    def modules(self) -> Mapping[str, ast.Module]:
        """The syntax of each module."""
        return {name: ast.parse(text) for name, text in self.sources.items()}

    def imports(self, module: str) -> set[str]:
        """Return the modules that one imports anywhere, within functions and for types too."""
        imported: set[str] = set()
        for node in ast.walk(self.modules[module]):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= {name if self._within(name) else node.module for name in names}
        return {self._within(name) for name in imported} - {"", module}

    def _within(self, name: str) -> str:
        """Return the name of a module of the tree within it; empty if it is of none."""
        inner = name.removeprefix(f"{self.root.name}.")
        return inner if inner != name and inner in self.modules else ""


def cycle(tree: Tree) -> list[str]:
    """Return modules that import each other in a circle; none if there are none."""
    try:
        TopologicalSorter({name: tree.imports(name) for name in tree.modules}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def hidden_imports(tree: Tree) -> set[str]:
    """Return the modules with an import for type checkers only."""
    return {
        name
        for name, module in tree.modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in ast.walk(node))
    }


def repeated_classes(tree: Tree) -> set[str]:
    """Return the names that several modules give to classes."""
    modules_of = defaultdict(set)
    for name, module in tree.modules.items():
        for node in module.body:
            if isinstance(node, ast.ClassDef):
                modules_of[node.name].add(name)
    return {name for name, modules in modules_of.items() if len(modules) > 1}


def words(name: str) -> set[str]:
    """Return the words of an identifier, in lower case; "not found" is one, and HBase's own."""
    spaced = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)).lower()
    return set(spaced.replace("not found", "").split())


def identifiers(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield each identifier that a module defines, after the module's name, and that name itself."""
    for name, module in tree.modules.items():
        yield name, name.rpartition(".")[2]
        for node in ast.walk(module):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    yield name, node.name
                case ast.arg(arg=identifier) | ast.alias(asname=str(identifier)):
                    yield name, identifier
                case ast.Name(id=identifier, ctx=ast.Store()):
                    yield name, identifier
                case ast.Attribute(attr=identifier, ctx=ast.Store()):
                    yield name, identifier
                case _:
                    pass


def retired_words() -> frozenset[str]:
    """Return the words of the glossary that no identifier has."""
    _, _, table = (ROOT / "docs/glossary.md").read_text().partition("| Retired word")
    rows = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    retired = frozenset(word for row in rows for word in re.findall(r"\w+", row))
    assert retired, "the glossary's table of retired words has another heading"
    return retired


def retired_names(tree: Tree, retired: frozenset[str]) -> set[str]:
    """Return the identifiers with a retired word, after their modules."""
    return {
        f"{module}: {name}"
        for module, name in identifiers(tree)
        if not retired.isdisjoint(words(name))
    }


_RUNNERS = {"runtime", "runner", "running", "driver"}
_RUNS = {"run", "run_as_is", "read", "each", "through", "answering"}
_SENDS = {"execute", "execute_within", "executing", "run_many", "run_protocol"}


def _is_run(node: ast.AST) -> bool:
    """Return whether a name or an attribute is what runs protocols, or sends a request."""
    match node:
        case ast.Attribute(attr=name, value=ast.Attribute(attr=of) | ast.Name(id=of)):
            by_runner = name in _RUNS and of.strip("_") in _RUNNERS
            return by_runner or name.strip("_") in _SENDS or name == "_run"
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name.strip("_") in _SENDS
        case _:
            return False


def runs_protocols(tree: Tree) -> set[str]:
    """Return the modules above the driver that run protocols, or send requests."""
    return {
        name
        for name, module in tree.modules.items()
        if name.partition(".")[0] not in WITHOUT_PROTOCOLS
        and any(_is_run(node) for node in ast.walk(module))
    }


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield what a function consists of, without the functions within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def blocking_protocols(tree: Tree) -> set[str]:
    """Return the generators above the driver that run a protocol in the middle of their work."""
    blocking = set()
    for name, module in tree.modules.items():
        if name.partition(".")[0] in WITHOUT_PROTOCOLS:
            continue
        for function in ast.walk(module):
            if isinstance(function, ast.FunctionDef):
                nodes = list(_own_nodes(function))
                is_generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)
                if is_generator and any(map(_is_run, nodes)):
                    blocking.add(f"{name}: {function.name}")
    return blocking


@pytest.fixture(scope="module")
def library() -> Tree:
    return Tree(ROOT / "hbase_orm")


def test_no_modules_import_each_other_in_a_circle(library: Tree) -> None:
    assert cycle(library) == []


def test_no_import_is_for_type_checkers_only(library: Tree) -> None:
    assert hidden_imports(library) == HIDDEN_IMPORTS


def test_no_two_classes_have_one_name(library: Tree) -> None:
    assert repeated_classes(library) == REPEATED_CLASSES


def test_modules_are_short(library: Tree) -> None:
    long = {name for name, text in library.sources.items() if len(text.splitlines()) > MAX_LINES}

    assert long == LONG_MODULES


def test_packages_have_few_modules(library: Tree) -> None:
    counts = {
        package.name: sum(1 for path in package.glob("*.py") if path.name != "__init__.py")
        for package in [library.root, *library.root.rglob("*/")]
    }

    assert {name for name, count in counts.items() if count > MAX_MODULES} == LARGE_PACKAGES


def test_identifiers_have_no_retired_words(library: Tree) -> None:
    assert retired_names(library, retired_words()) == set()


def test_only_the_outermost_verbs_run_protocols(library: Tree) -> None:
    assert runs_protocols(library) == RUNS_PROTOCOLS.keys()


def test_no_protocol_runs_another_one_or_sends_a_request_itself(library: Tree) -> None:
    assert blocking_protocols(library) == {"execute.steps: stream"}  # the driver of reads


# --- the checks themselves ------------------------------------------------------------------------

WRONG = {
    "__init__.py": "",
    "one.py": "def late():\n    from wrong.two import Row\n    return Row\n",
    "two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from wrong import one\n"
    "class Row: ...\n",
    "verbs.py": "class Verbs:\n    def get(self): return self._runtime.run(self.rows())\n",
    "middle.py": "def rows(runtime):\n    yield 1\n    runtime.run(rows(runtime))\n"
    "def sent(gateway):\n    def inner():\n        yield 2\n    return gateway.execute(1)\n",
    "asks.py": "def rows():\n    def send(runtime): return runtime.run(1)\n    yield send\n",
    "gateway.py": "def send(gateway):\n    yield gateway.execute(1)\n",
    "build.py": "def build(work):\n    yield from work.run()\n    yield work.catalog.entry\n",
    "three.py": "class Row:\n    def toldRow(self, is_asked): self.mended_row = 1\n",
}


@pytest.fixture
def wrong(tmp_path: Path) -> Tree:
    root = tmp_path / "wrong"
    root.mkdir()
    for name, text in WRONG.items():
        (root / name).write_text(text)
    return Tree(root)


def test_a_circle_of_imports_is_noticed_within_functions_and_for_types(wrong: Tree) -> None:
    assert set(cycle(wrong)) == {"one", "two"}


def test_an_import_for_type_checkers_is_noticed(wrong: Tree) -> None:
    assert hidden_imports(wrong) == {"two"}


def test_a_class_name_that_occurs_twice_is_noticed(wrong: Tree) -> None:
    assert repeated_classes(wrong) == {"Row"}


def test_a_retired_word_is_noticed_in_any_spelling_of_an_identifier(wrong: Tree) -> None:
    retired = frozenset({"told", "asked", "mended"})

    assert retired_names(wrong, retired) == {
        "three: toldRow",
        "three: is_asked",
        "three: mended_row",
    }


def test_what_runs_protocols_is_noticed_above_the_driver(wrong: Tree) -> None:
    assert runs_protocols(wrong) == {"verbs", "middle", "asks"}


def test_a_protocol_that_runs_another_one_is_noticed(wrong: Tree) -> None:
    assert blocking_protocols(wrong) == {"middle: rows"}
