"""The compiled module is used if it loads and was built from the source beside it, else Python is."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

import pytest

from hbase_orm.compiled import compiled_cells, module, refusal

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
HERE = Path(module.__file__).parent

needs_module = pytest.mark.skipif(compiled_cells is None, reason=f"it is not used: {refusal}")


@pytest.mark.skipif(os.environ.get(module.PURE) == "1", reason="it is switched off")
@pytest.mark.skipif(not (HERE / f"_cells{SUFFIX}").exists(), reason="it was not built")
def test_a_module_that_was_built_here_is_used() -> None:
    assert refusal == ""
    assert compiled_cells is not None


@pytest.mark.skipif(os.environ.get(module.PURE) == "1", reason="it is switched off")
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_where_a_compiler_is_the_module_was_built() -> None:
    """Tests of the module are skipped without it; here they may not be."""
    assert (HERE / f"_cells{SUFFIX}").exists()


@needs_module
def test_a_module_of_another_source_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "_cells.pyx"
    changed.write_bytes((HERE / "_cells.pyx").read_bytes() + b"# changed\n")
    monkeypatch.setattr(module, "_SOURCE", changed)
    used, reason = module.imported()
    assert used is None
    assert "another source" in reason


@needs_module
def test_a_bundled_module_is_used_without_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SOURCE", tmp_path / "_cells.pyx")
    assert module.imported() == (compiled_cells, "")


def test_a_module_of_a_release_without_checksums_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old_cells.py").write_text("MOST = 128\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_NAME", "old_cells")
    used, reason = module.imported()
    assert used is None
    assert "another source" in reason


def test_a_damaged_module_is_not_used_and_its_error_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"damaged_cells{SUFFIX}").write_bytes(b"\x7fELF, but no more")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_NAME", "damaged_cells")
    used, reason = module.imported()
    assert used is None
    assert reason.startswith("it does not load (")
    assert "damaged_cells" in reason


def test_without_a_module_python_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_NAME", "hbase_orm.compiled._missing")
    used, reason = module.imported()
    assert used is None
    assert "C compiler" in reason


def test_a_module_that_is_switched_off_is_not_even_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "harmful_cells.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_NAME", "harmful_cells")
    monkeypatch.setenv(module.PURE, "1")
    assert module.imported() == (None, "HBASE_ORM_PURE is 1")
