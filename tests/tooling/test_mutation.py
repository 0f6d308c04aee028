"""The mutation check: operators, the list, how a mutant is found again, and the tests it gets."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutation.choose import candidates, is_other_code, shares
from tests.mutation.mutants import (
    Mutant,
    Place,
    Statement,
    locate,
    mutate,
    nearest,
    read_list,
    statements,
    write_list,
)
from tests.mutation.operators import changes, parse, text_of, watched
from tests.mutation.run import measured_once, rounds
from tests.mutation.trials import MEMORY_LIMIT_BYTES, Copy, Trial

HOME = "hbase_orm.here"

SOURCE = dedent('''
    """A module."""

    class Pool:
        def take(self, wait_s: int = 0) -> int | None:
            """Take one."""
            if (
                self.size > 1  # more than one
                and wait_s
            ):
                self.size -= 1
                return self.size
            elif self.size == 1:
                return self.size
            for each in "é", [1,
                2]:
                self.note(each, wait_s)  # every one
            def inner():
                return None
            with self.lock:
                @inner
                class Made: pass
            raise ValueError("none is left" + str(wait_s))
''')


def mutated(text: str, *, may_return_none: bool = False) -> set[tuple[str, str]]:
    found = changes(text, may_return_none=may_return_none)
    return {(each.operator, each.mutated) for each in found}


def the(function: str, text: str, source: str = SOURCE, occurrence: int = 0) -> Statement:
    found = [
        each
        for each in statements(HOME, source)
        if (each.function, each.text, each.occurrence) == (function, text, occurrence)
    ]
    (statement,) = found
    return statement


def mutant(original: str, *, function: str = "Pool.take", occurrence: int = 0) -> Mutant:
    return Mutant("m1", HOME, function, "an operator", original, "pass", occurrence)


# --- operators ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b", {("comparison", "x = a <= b")}),
        ("x = a <= b", {("comparison", "x = a < b")}),
        ("x = a > b", {("comparison", "x = a >= b")}),
        ("x = a >= b", {("comparison", "x = a > b")}),
        ("x = a == b", {("comparison", "x = a != b")}),
        ("x = a is None", {("comparison", "x = a is not None")}),
        ("x = a not in b", {("comparison", "x = a in b")}),
        ("if a < b < c:", {("comparison", "if a <= b < c:"), ("comparison", "if a < b <= c:")}),
        ("x = a and b and c", {("and and or", "x = a or b or c")}),
        ("while not a:", {("drop not", "while a:")}),
        ("if a:", {("negate condition", "if not a:")}),
        ("x = a if b else c", {("negate condition", "x = a if not b else c")}),
        ("x = a + b", {("plus and minus", "x = a - b")}),
        ("x -= a", {("plus and minus", "x += a")}),
        ("x = 7", {("integer plus one", "x = 8")}),
        ("x = a[b:]", {("slice bound", "x = a[b - 1:]"), ("slice bound", "x = a[b + 1:]")}),
        ("x = a[:2]", {("slice bound", "x = a[:2 - 1]"), ("integer plus one", "x = a[:3]")}),
        ("x = f(a, b, c)", {("swap arguments", "x = f(b, a, c)")}),
        ("f(a)", {("drop call", "pass")}),
        ("await f(a)", {("drop call", "pass")}),
        ("yield from f(a)", {("drop call", "yield from ()")}),
        ("break", {("break to continue", "continue")}),
        ("with f(a, b) as c:", {("swap arguments", "with f(b, a) as c:")}),
        ("for x in f(a, b):", {("swap arguments", "for x in f(b, a):")}),
    ],
)
def test_an_operator_changes_one_node(text: str, expected: set[tuple[str, str]]) -> None:
    assert mutated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x = True",
        "x = 'a' + b",
        "x = a + [b]",
        "x += (a,)",
        "x = f'{a + 1}'",
        "x: Annotated[int, 3] = a",
        "raise Error('a', got=b + 1)",
        "assert a < b",
        "x = isinstance(a, b)",
        "x = f(a, a)",
        "x = f(a, 'b')",
        "continue",
    ],
)
def test_texts_and_annotations_and_what_fails_at_once_are_not_mutated(text: str) -> None:
    assert mutated(text) == set()


def test_a_return_becomes_none_only_where_types_allow_it() -> None:
    assert mutated("return a") == set()
    assert mutated("return a", may_return_none=True) == {("return None", "return None")}
    assert mutated("return None", may_return_none=True) == set()


@pytest.mark.parametrize(
    "text",
    ["if a + 1:", "while a:", "for x in a, b:", "with a as b, c:", "x = a", "return a or b"],
)
def test_a_watched_statement_does_the_same(text: str) -> None:
    before = parse(text)
    seen = ast.parse(watched(text, "hit()") + (" pass" if text.endswith(":") else "")).body

    class Unwatched(ast.NodeTransformer):
        def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
            is_watch = isinstance(node.values[0], ast.Call)
            return node.values[1] if is_watch else node

    assert "hit()" in watched(text, "hit()")
    assert text_of(Unwatched().visit(seen[-1])) == text_of(before)


# --- statements -----------------------------------------------------------------------------------


def test_statements_are_those_of_functions_without_docstrings() -> None:
    assert [(each.function, each.text, each.occurrence) for each in statements(HOME, SOURCE)] == [
        ("Pool.take", "if self.size > 1 and wait_s:", 0),
        ("Pool.take", "self.size -= 1", 0),
        ("Pool.take", "return self.size", 1),
        ("Pool.take", "if self.size == 1:", 0),
        ("Pool.take", "return self.size", 2),
        ("Pool.take", "for each in ('é', [1, 2]):", 0),
        ("Pool.take", "self.note(each, wait_s)", 0),
        ("Pool.take.inner", "return None", 0),
        ("Pool.take", "with self.lock:", 0),
        ("Pool.take", "raise ValueError('none is left' + str(wait_s))", 0),
    ]


def test_a_header_has_the_lines_above_its_body() -> None:
    text = "if self.size > 1 and wait_s:"
    lines = [SOURCE.splitlines()[number - 1] for number in the("Pool.take", text).lines]

    assert [line.strip() for line in lines] == [
        "if (",
        "self.size > 1  # more than one",
        "and wait_s",
    ]


@pytest.mark.parametrize("position", range(len(statements(HOME, SOURCE))))
def test_a_statement_is_replaced_alone(position: int) -> None:
    texts = [each.text for each in statements(HOME, SOURCE)]
    statement = statements(HOME, SOURCE)[position]
    headers = {"f": "for x in y:", "i": "if y:", "w": "with y:"}
    other = headers[texts[position][0]] if texts[position].endswith(":") else "pass"

    same = mutate(SOURCE, statement, statement.text)
    changed = mutate(SOURCE, statement, other)

    assert ast.dump(ast.parse(same)) == ast.dump(ast.parse(SOURCE))
    assert [each.text for each in statements(HOME, changed)] == [
        *texts[:position],
        other,
        *texts[position + 1 :],
    ]
    assert len(changed.splitlines()) == len(SOURCE.splitlines())


def test_the_other_code_of_a_mutant_compiles() -> None:
    statement = the("Pool.take", "self.size -= 1")

    assert is_other_code(SOURCE, statement, "self.size += 1")
    assert not is_other_code(SOURCE, statement, "self.size -= 1")
    with pytest.raises(SyntaxError):
        is_other_code(SOURCE, statement, "continue")


# --- the list -------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    listed = [mutant("x = 'a\\n' + \"b\""), mutant("return 'é'", occurrence=2)]

    write_list(listed, tmp_path / "list.toml")

    assert read_list(tmp_path / "list.toml") == listed


def test_listed_mutants_are_mutations() -> None:
    listed = read_list()

    assert len({each.id for each in listed}) == len(listed)
    for each in listed:
        made = changes(each.original, may_return_none=True)
        assert (each.operator, each.mutated) in made, each.id


def test_reprs_and_formatted_texts_have_no_mutants() -> None:
    source = (
        "def __repr__(self):\n    return a < b\ndef f(a):\n    x = f'{a < 1}'\n    return a < x\n"
    )

    assert [each.text for each in candidates(HOME, source)] == ["return a < x"]


def test_shares_are_whole_and_add_up() -> None:
    assert shares({"a": 50, "b": 30, "c": 20}, 7) == {"a": 4, "b": 2, "c": 1}


# --- finding a mutant again -----------------------------------------------------------------------


def place(wanted: Mutant, **sources: str) -> tuple[str, str]:
    """Return whether a mutant was found, and where, among modules of these sources."""
    tree = [
        each
        for name, source in sources.items()
        for each in statements(f"hbase_orm.{name.replace('_', '.')}", source)
    ]
    found: Place = locate(wanted, tree)
    return found.state, found.statement.module if found.statement else ""


def test_a_mutant_is_found_in_its_function() -> None:
    wanted = mutant("self.size -= 1")

    assert place(wanted, here=SOURCE, there=SOURCE) == ("found", "hbase_orm.here")


def test_a_mutant_is_found_where_its_function_was_moved() -> None:
    wanted = mutant("self.size -= 1")
    decoy = "def put(self):\n    self.size -= 1\n"

    assert place(wanted, here=decoy, there=SOURCE) == ("moved", "hbase_orm.there")


def test_a_mutant_is_found_in_another_class() -> None:
    wanted = mutant("self.size -= 1")
    decoy = "def put(self):\n    self.size -= 1\n"

    moved = SOURCE.replace("class Pool", "class Connections")
    assert place(wanted, decoy=decoy, there=moved) == ("moved", "hbase_orm.there")


def test_a_mutant_is_found_by_its_text_alone_where_that_is_unique() -> None:
    wanted = mutant("self.size -= 1")
    renamed = "def put(self):\n    self.size -= 1\n"

    assert place(wanted, there=renamed) == ("moved", "hbase_orm.there")
    assert place(wanted, there=renamed, elsewhere=renamed) == ("lost", "")


def test_of_two_functions_the_one_in_the_same_package_counts() -> None:
    wanted = mutant("self.size -= 1")

    assert place(wanted, here_new=SOURCE, there=SOURCE) == ("moved", "hbase_orm.here.new")


def test_of_equal_statements_the_number_counts() -> None:
    wanted = mutant("return self.size", occurrence=2)
    tree = statements(HOME, SOURCE)

    found = locate(wanted, tree).statement

    assert found is not None
    assert found.node.lineno == 1 + SOURCE[: SOURCE.rindex("return self.size")].count("\n")
    assert locate(mutant("return self.size", occurrence=3), tree).state == "lost"
    assert locate(mutant("return self.size"), tree).state == "lost"
    renamed = "def put(self):\n    return self.size\n"
    assert place(wanted, there=renamed) == ("lost", "")


def test_a_lost_mutant_is_like_a_statement_with_another_name() -> None:
    tree = statements(HOME, SOURCE.replace("self.size", "self.sizes"))
    other = statements(HOME, "def give(self):\n    self.size += 1\n")

    like = nearest(mutant("self.size -= 1"), [*other, *tree])

    assert like is not None
    assert (like.function, like.text) == ("Pool.take", "self.sizes -= 1")
    assert nearest(mutant("raise ValueError"), other) is None


# --- the tests that a mutant gets -----------------------------------------------------------------


def test_the_file_that_is_about_a_statement_comes_first_and_its_quickest_test() -> None:
    tests = {
        "wide.py::a": 0.1,
        "wide.py::b": 0.1,
        "near.py::slower": 0.3,
        "near.py::quick": 0.2,
        "other.py::a": 0.0,
        "imports.py::a": 0.1,
    }
    met = ["wide.py::a", "near.py::slower", "near.py::quick", "file:imports.py", "gone.py::a"]

    (only,) = rounds(met, tests)

    assert list(only) == ["near.py::quick", "near.py::slower", "wide.py::a", "imports.py::a"]


def test_a_file_of_slow_tests_comes_last() -> None:
    tests = {"random.py::a": 3.0, "wide.py::a": 0.1, "wide.py::b": 0.1}

    (only,) = rounds(["random.py::a", "wide.py::a"], tests)

    assert list(only) == ["wide.py::a", "random.py::a"]


def test_later_rounds_have_the_other_files() -> None:
    tests = {f"file_{number}.py::{name}": 0.1 for number in range(5) for name in "ab"}

    first, second = rounds(tests, tests)

    assert len({name.partition("::")[0] for name in first}) == 3
    assert {*first, *second} == {*tests}
    assert not {*first} & {*second}


def test_what_the_rounds_leave_out_runs_last_as_far_as_there_is_time() -> None:
    tests = {f"file.py::{number}": 0.3 for number in range(200)}

    first, last = rounds(tests, tests)

    assert len(first) == 30
    assert len(last) == 133
    assert not {*first} & {*last}


def test_what_only_the_import_of_the_library_executes_gets_all_tests() -> None:
    assert [list(each) for each in rounds([""], {"a.py::a": 0.1})] == [["a.py::a"]]
    assert list(rounds(["", "b.py::b"], {"a.py::a": 0.1, "b.py::b": 0.1})) == [{"b.py::b": 0.1}]


def test_a_changed_copy_is_restored_with_its_times(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("before")
    os.utime(path, ns=(10**9, 10**9))

    with Copy(tmp_path, tmp_path / "scratch").changed({path: "after"}):
        assert path.read_text() == "after"
        assert path.stat().st_mtime_ns != 10**9

    assert path.read_text() == "before"
    assert path.stat().st_mtime_ns == 10**9


def test_a_run_in_which_no_test_passed_shows_what_it_printed_and_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(tmp_path / "copy", tmp_path / "scratch")
    copy.output.write_text("a line\nkilled")
    monkeypatch.setattr("tests.mutation.run.measure", lambda *_: Trial("failed"))

    with pytest.raises(SystemExit, match="no test passed:\na line\nkilled"):
        measured_once(copy, {}, tmp_path / "kept.json")

    assert not (tmp_path / "kept.json").exists()


RUN_OF_COPY = """
import sys
from pathlib import Path
from tests.mutation.trials import Copy

copy = Copy.make(Path(sys.argv[1]), Path(sys.argv[2]))
trial = copy.run({"tests/test_size.py::test_size": 0.0}, limit_s=60, timeout_s=60)
print(trial.ending, trial.by)
"""


@pytest.mark.parametrize(
    ("size_bytes", "ending"),
    [
        (MEMORY_LIMIT_BYTES >> 1, "passed"),
        (MEMORY_LIMIT_BYTES + 1, "failed tests/test_size.py::test_size"),
    ],
)
def test_a_test_fails_that_takes_more_memory_than_a_run_may(
    tmp_path: Path, size_bytes: int, ending: str
) -> None:
    repository = tmp_path / "repository"
    for name in ("hbase_orm/__init__.py", "hbase_orm/testing/plugin.py"):  # pytest imports them
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).touch()
    (repository / "tests").mkdir()
    (repository / "tests/test_size.py").write_text(
        f"def test_size():\n    bytes({size_bytes})  # addresses alone: no page is touched\n"
    )
    subprocess.run(["git", "init", "--quiet", repository], check=True)

    done = subprocess.run(
        [sys.executable, "-c", RUN_OF_COPY, repository, tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == ending
