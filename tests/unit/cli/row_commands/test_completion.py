"""`hbase-orm completion`: scripts of click, and what a real bash completes with one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode
from tests.support import meter_models

MODULE = meter_models.__name__


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nosort -F _hbase_orm_completion hbase-orm"),
        ("zsh", "compdef _hbase_orm_completion hbase-orm"),
        ("fish", "complete --no-files --command hbase-orm"),
    ],
)
def test_the_script_of_a_shell_is_printed(
    shell: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = cli_main.run(["completion", shell])
    script = capsys.readouterr().out
    cli_main.run(["completion", shell, "--json"])

    assert (plain, line in script) == (ExitCode.OK, True)
    assert json.loads(capsys.readouterr().out)["script"].rstrip() == script.rstrip()


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["completion", "tcsh"]) == ExitCode.USAGE
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in capsys.readouterr().err


_WORDS = """
eval "$(hbase-orm completion bash)"
while read -r -a COMP_WORDS; do
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _hbase_orm_completion hbase-orm
    echo "${COMPREPLY[*]}"
done
"""
# The words as bash cuts them.
_COMPLETED = {"hbase-orm sc": "scan", f"hbase-orm scan {MODULE} : Me": "Meter"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_models(tmp_path: Path) -> None:
    program = tmp_path / "hbase-orm"
    program.write_text(f"#!{sys.executable}\nfrom hbase_orm.cli.main import main\n\nmain()\n")
    program.chmod(0o755)
    models = json.dumps([f"{MODULE}:Reading", f"{MODULE}:Meter"])
    (tmp_path / "pyproject.toml").write_text(f"[tool.hbase-orm]\nmodels = {models}\n")

    done = subprocess.run(
        ["bash", "-c", _WORDS],
        input="".join(f"{words}\n" for words in _COMPLETED),
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": ":".join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == [*_COMPLETED.values()]


Complete = Callable[..., str]


@pytest.fixture
def complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Complete:
    """Return a function that completes words as bash cuts them, in a project with these models."""

    def complete(*words: str, models: Sequence[str]) -> str:
        section = f"[tool.hbase-orm]\nmodels = {json.dumps(models)}\n"
        (tmp_path / "pyproject.toml").write_text(section)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("_HBASE_ORM_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", "\n".join(("hbase-orm", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit) as ended:
            cli_main.run([])
        assert ended.value.code == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out.replace("plain,", "").replace("\n", " ").strip()

    return complete


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["tables", "cr"], "create"),
        (["--json", "ge"], "get"),
        (["scan", "--all"], "--allow-full-scan"),
        (["scan", "--format", ""], "table json jsonl csv hbase"),
        (["scan", "tests.support.me"], f"{MODULE}:Reading {MODULE}:Meter"),
        (["get", MODULE, ":"], "Reading Meter"),
        (["get", MODULE, ":", "Met"], "Meter"),
        (["get", MODULE, ":", "Meter", ""], f"{MODULE}:Reading {MODULE}:Meter"),
        (["scan", "shop"], ""),
    ],
)
def test_words_that_bash_has_cut_are_completed(
    complete: Complete, words: list[str], completed: str
) -> None:
    assert complete(*words, models=[f"{MODULE}:Reading", f"{MODULE}:Meter"]) == completed


def test_a_mistake_in_pyproject_completes_nothing(complete: Complete) -> None:
    assert complete("scan", "", models=["no_such_module"]) == ""
