from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbase_orm.cli.parameters import KEY, MODEL
from hbase_orm.rowkey.notation import to_string_binary

_MODELS = """
from hbase_orm import codecs
from hbase_orm.model import Key, Model, key
from hbase_orm.rowkey import rowkey
from hbase_orm.schema import Family

class Dated(Model, abstract=True):
    day: Key[str] = key(codecs.text())

class Order(Dated, table="orders"):
    d = Family()
    __rowkey__ = rowkey(Dated.day)
"""


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "cli_try_plain.py").write_text("class Plain: pass\nnumber = 1\n")
    (tmp_path / "cli_try_models.py").write_text(_MODELS)
    (tmp_path / "cli_try_needs.py").write_text("import cli_try_missing_dependency\n")
    (tmp_path / "cli_try_raises.py").write_text("raise RuntimeError('no\\nconfig')\n")
    yield
    for name in [name for name in sys.modules if name.startswith("cli_try_")]:
        del sys.modules[name]


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cli_try_plain", "not of the form module:Class"),
        (":Order", "not of the form module:Class"),
        ("cli_try_plain:", "not of the form module:Class"),
        ("cli_try_nowhere:Order", "there is no module 'cli_try_nowhere'"),
        ("cli_try_plain.deeper:Order", "there is no module 'cli_try_plain"),
        ("cli_try_needs:Order", "needs 'cli_try_missing_dependency', which is missing"),
        ("cli_try_raises:Order", "cannot be imported: RuntimeError: no"),
        ("cli_try_plain:Order", "there is no 'Order' in module 'cli_try_plain'"),
        ("cli_try_plain:Plain", "'Plain' is not a model"),
        ("cli_try_plain:number", "'number' is not a model"),
        ("hbase_orm.model.base:Model", "'Model' is not a model"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        MODEL.convert(text, None, None)

    assert said in caught.value.message


@pytest.mark.usefixtures("_here")
def test_a_model_is_imported_from_the_current_directory() -> None:
    found = MODEL.convert("cli_try_models:Order", None, None)

    assert found.__name__ == "Order"


@pytest.mark.usefixtures("_here")
def test_a_class_that_is_not_a_table_is_refused_and_the_models_are_listed() -> None:
    with pytest.raises(
        click.BadParameter, match=r"'Dated' is not a model .*; its models are Order"
    ):
        MODEL.convert("cli_try_models:Dated", None, None)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", b""),
        ("plain", b"plain"),
        (r"a\x00b", b"a\0b"),
        (r"\xFF\xff", b"\xff\xff"),
        (r"a\\x00", rb"a\x00"),
        ("ü", b"\xc3\xbc"),
        ("a\udcff", b"a\xff"),
    ],
)
def test_a_key_is_read_as_hbase_prints_it(text: str, key: bytes) -> None:
    assert KEY.convert(text, None, None) == key


@pytest.mark.parametrize("text", ["\\", r"a\n", r"\x0", r"\xg0", r"a\\\ ", r"\41"])
def test_a_stray_backslash_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="backslash"):
        KEY.convert(text, None, None)


@given(st.binary())
@example(rb"\x41")
def test_a_shown_key_is_read_back(key: bytes) -> None:
    assert KEY.convert(to_string_binary(key), None, None) == key
