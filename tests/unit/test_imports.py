"""What an import loads, by what a fresh process has loaded; never by how long it took."""

from __future__ import annotations

import ast
import inspect
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import hbase_orm
from hbase_orm.cli.main import TOPICS

LIBRARY = Path(hbase_orm.__file__).parent
SLOW = frozenset(
    {
        *("click", "docker", "happybase", "hypothesis", "importlib.metadata", "msgspec"),
        *("pyarrow", "testcontainers", "thriftpy2", "yaml"),
    }
)


def run(program: str, *arguments: str) -> str:
    """Run a program in a fresh process and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(LIBRARY.parent)},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(program: str) -> set[str]:
    """Return the modules that a fresh process has loaded at the end of a program."""
    output = run(f"{program}\nimport sys, json; print(json.dumps([*sys.modules]))")
    return set(json.loads(output.splitlines()[-1]))


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "hbase_orm"}


# --- the package ----------------------------------------------------------------------------------


def test_the_package_alone_loads_nothing_else() -> None:
    loaded = loaded_by("import hbase_orm; dir(hbase_orm)")

    assert own(loaded) == {"hbase_orm"}
    assert not loaded & SLOW


def test_models_load_no_sessions() -> None:
    loaded = loaded_by("from hbase_orm import Family, Key, Mapped, Model, column, key")

    assert "hbase_orm.session" not in loaded
    assert not loaded & SLOW - {"msgspec"}


def test_an_engine_in_memory_loads_no_thrift() -> None:
    loaded = loaded_by("import hbase_orm; hbase_orm.connect('memory://').close()")

    assert not loaded & SLOW - {"msgspec"}
    assert not {name for name in loaded if name.startswith("hbase_orm.gateway.thrift.")}


def test_every_public_name_is_found_and_listed() -> None:
    listed = run("import hbase_orm; print(*dir(hbase_orm))").split()

    assert {*hbase_orm.__all__, "__version__"} <= set(listed)
    assert dict(inspect.getmembers(hbase_orm)).keys() >= set(hbase_orm.__all__)


def test_a_public_name_is_loaded_once_and_then_an_attribute() -> None:
    program = """
import hbase_orm
before = "Model" in vars(hbase_orm)
print(before, hbase_orm.Model is hbase_orm.Model, "Model" in vars(hbase_orm))
"""
    assert run(program).split() == ["False", "True", "True"]


def test_a_star_imports_exactly_the_public_names() -> None:
    program = """
from hbase_orm import *
names = sorted(name for name in globals() if not name.startswith("__"))
import hbase_orm
print(names == sorted(hbase_orm.__all__))
"""
    assert run(program).split() == ["True"]


@pytest.mark.parametrize(
    "imports",
    [
        "import hbase_orm.rowkey; import hbase_orm",
        "import hbase_orm; hbase_orm.rowkey; import hbase_orm.rowkey",
        "import hbase_orm; import hbase_orm.rowkey",
        "import hbase_orm; from hbase_orm.rowkey import Salt",
        "from hbase_orm import connect; import hbase_orm",
    ],
)
def test_rowkey_is_the_function_whatever_is_imported_first(imports: str) -> None:
    program = f"""
{imports}
from hbase_orm import rowkey
from hbase_orm.rowkey import RowKey
import sys
assert sys.modules["hbase_orm.rowkey"].rowkey is rowkey is hbase_orm.rowkey
print(type(rowkey).__name__, RowKey.__name__)
"""
    assert run(program).split() == ["function", "RowKey"]


def test_the_other_submodules_are_attributes_as_everywhere() -> None:
    program = """
import hbase_orm.func, hbase_orm.migrate, sys
from hbase_orm import errors, ops
for name in ("errors", "func", "migrate", "ops"):
    assert getattr(hbase_orm, name) is sys.modules["hbase_orm." + name]
"""
    run(program)


def test_an_unknown_name_is_the_usual_error() -> None:
    with pytest.raises(
        AttributeError, match=r"^module 'hbase_orm' has no attribute 'Modl'$"
    ) as got:
        getattr(hbase_orm, "Modl")  # noqa: B009  # as a caller does
    assert (got.value.name, got.value.obj) == ("Modl", hbase_orm)

    with pytest.raises(ImportError, match="cannot import name 'Modl' from 'hbase_orm'"):
        exec("from hbase_orm import Modl")


def test_an_attribute_may_be_set_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(hbase_orm, "rowkey", len)
        assert vars(hbase_orm)["rowkey"] is len
    assert hbase_orm.rowkey is sys.modules["hbase_orm.rowkey"].rowkey


def test_public_classes_are_pickled_by_their_names() -> None:
    classes = [
        public for name in hbase_orm.__all__ if isinstance(public := getattr(hbase_orm, name), type)
    ]
    program = """
import pickle, sys
classes = pickle.loads(bytes.fromhex(sys.argv[1]))
import hbase_orm
print(all(getattr(hbase_orm, each.__name__) is each for each in classes), len(classes))
"""
    assert len(classes) > 40
    assert run(program, pickle.dumps(classes).hex()).split() == ["True", str(len(classes))]


def test_the_version_is_that_of_the_distribution() -> None:
    assert hbase_orm.__version__ == version("hbase-orm")
    assert "importlib.metadata" in loaded_by("from hbase_orm import __version__")


# --- threads and processes ------------------------------------------------------------------------

_SLOW_IMPORTS = """
import sys, threading, time
import hbase_orm

class Watch:
    "Sees who imports each module of the library, and lets the other threads run meanwhile."
    seen = []
    begun = threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name.startswith("hbase_orm."):
            self.seen.append(threading.get_ident())
            self.begun.set()
            time.sleep(0.002)

sys.meta_path.insert(0, Watch())
"""


def test_one_thread_at_a_time_imports_for_public_names() -> None:
    program = f"""{_SLOW_IMPORTS}
names = ["connect", "select", "rowkey", "Index"]
start = threading.Barrier(len(names))
found = []

def get(name):
    start.wait()
    found.append(getattr(hbase_orm, name))

threads = [threading.Thread(target=get, args=(name,)) for name in names]
for each in threads: each.start()
for each in threads: each.join()
changes = sum(a != b for a, b in zip(Watch.seen, Watch.seen[1:]))
print(len(found), changes < len(names))
"""
    assert run(program).split() == ["4", "True"]


def test_a_fork_waits_until_an_import_of_another_thread_has_ended() -> None:
    program = f"""{_SLOW_IMPORTS}
import os, signal
importing = threading.Thread(target=lambda: hbase_orm.Model)
importing.start()
Watch.begun.wait()
child = os.fork()
if not child:
    signal.alarm(20)  # ends a child that waits for a thread which it does not have
    hbase_orm.Model, hbase_orm.select
    os._exit(0)
importing.join()
print(os.waitpid(child, 0)[1])
"""
    assert run(program).split() == ["0"]


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each name that a file imports from a module, after the module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def test_what_public_names_load_imports_none_of_them_from_the_package() -> None:
    # It would wait for the thread that imports for a public name, and that thread for it.
    above = {"cli", "testing"}
    modules = [
        path
        for path in LIBRARY.rglob("*.py")
        if path.relative_to(LIBRARY).parts[0] not in above and path.parent != LIBRARY
    ]

    assert len(modules) > 300
    assert not [
        (path, name)
        for path in modules
        for module, name in _imports(path)
        if module == "hbase_orm" and name in hbase_orm.__all__
    ]


# --- types ----------------------------------------------------------------------------------------


def test_the_stub_has_the_public_names_from_the_same_modules() -> None:
    stub = LIBRARY / "__init__.pyi"
    listed = [
        ast.literal_eval(node.value)
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.Assign)
    ]

    assert {name: module for module, name in _imports(stub)} == hbase_orm._MODULES  # type: ignore[attr-defined]  # not in the stub
    assert listed == [hbase_orm.__all__]


# --- the command line -----------------------------------------------------------------------------


def test_the_list_of_commands_loads_none_of_them() -> None:
    loaded = loaded_by("from hbase_orm.cli.main import run; run(['--help'])")

    assert not loaded & {topic.place.partition(":")[0] for topic in TOPICS.values()}
    assert not loaded & SLOW - {"click"}
    assert not loaded & {"hbase_orm.model", "hbase_orm.session", "hbase_orm.server"}


@pytest.mark.parametrize("name", TOPICS)
def test_a_summary_is_the_first_sentence_of_its_command(name: str) -> None:
    command = TOPICS[name].load()

    assert command.name == name
    assert command.get_short_help_str(limit=10_000) == TOPICS[name].summary


# --- the plugin -----------------------------------------------------------------------------------


def test_the_plugin_loads_little_where_no_test_needs_an_hbase(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(LIBRARY.parent))
    pytester.makepyfile("def test_it(): pass")
    pytester.makeconftest(
        """
        import sys
        from pathlib import Path

        def pytest_unconfigure():
            Path("loaded").write_text(" ".join(sys.modules))
        """
    )

    pytester.runpytest_subprocess("-p", "hbase_orm.testing.plugin").assert_outcomes(passed=1)

    loaded = set((pytester.path / "loaded").read_text().split())
    assert own(loaded) == {"hbase_orm", "hbase_orm.testing", "hbase_orm.testing.plugin"}
    assert not loaded & SLOW - {"importlib.metadata"}  # pytest's own
