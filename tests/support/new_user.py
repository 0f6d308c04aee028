"""Somebody who installs the package and pastes the tutorial, block by block, in an empty folder."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.clean_installs import Install
from tests.support.tutorial_page import Block

_END = "--- the end of what a block prints"
_LONGEST_S = 900
_PROMPTS = re.compile(r">>> |\.\.\. ")


class NewUser:
    """Follows the page with an installed package; a subclass says where its tables are.

    Attributes:
        printed: What each command of the page has printed.
    """

    def __init__(self, installed: Install, folder: Path) -> None:
        folder.mkdir()
        self.installed = installed
        self.folder = folder
        self.environment = {**installed.environment, "XDG_DATA_HOME": str(folder / "data")}
        self.printed: dict[str, str] = {}

    def follow(self, page: Iterable[Block]) -> None:
        """Paste every block; each must print what the page shows."""
        for block in page:
            if block.file:
                (self.folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.kind == "python":
                assert self.python(block.text) == block.shown, block.text
            else:
                printed = "".join(map(self.command, block.commands))
                assert not block.shown or printed == block.shown, block.text

    def python(self, text: str) -> str:
        """Run a program of the page; return what it prints."""
        raise NotImplementedError

    def command(self, line: str) -> str:
        """Run a command of the page, which must succeed; return what it prints."""
        self.printed[line] = self.run("bash", "-c", line)
        return self.printed[line]

    def run(self, *command: str) -> str:
        """Run a program in the user's folder and environment; return what it prints."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=_LONGEST_S,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


class MemoryUser(NewUser):
    """Has no HBase, and pastes all programs into one `python`, as the page says."""

    def __init__(self, installed: Install, folder: Path) -> None:
        super().__init__(installed, folder)
        self.environment["HBASE_ORM_URL"] = "memory://tutorial"

    def follow(self, page: Iterable[Block]) -> None:
        """Paste every block; the `python` stays open from the first to the last."""
        with self._opened() as self._process:
            super().follow(page)

    def python(self, text: str) -> str:
        """Paste a program after the prompt; return what it prints."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{text}\nprint({_END!r})\n")
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            if line == f"{_END}\n":
                break
            lines.append(line)
        errors = _PROMPTS.sub("", self._errors.read_text(encoding="utf-8")).strip()
        assert not errors, f"{text}\n{errors}"
        return "".join(lines)

    def command(self, line: str) -> str:
        """Run a command, if it is not about a server."""
        if line.startswith(("pip install", "hbase-orm server start", "export HBASE_ORM_URL=")):
            return ""
        return super().command(line)

    @property
    def _errors(self) -> Path:
        return self.folder.with_suffix(".errors")

    @contextmanager
    def _opened(self) -> Iterator[subprocess.Popen[str]]:
        command = [str(self.installed.python), "-i", "-q", "-u"]
        with (
            self._errors.open("w", encoding="utf-8") as errors,
            subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
            ) as process,
        ):
            try:
                yield process
            finally:
                process.kill()


class HBaseUser(NewUser):
    """Starts the server of the page on ports and in a folder of its own; runs programs as files."""

    def follow(self, page: Iterable[Block]) -> None:
        """Paste every block, and stop the server at the end."""
        try:
            super().follow(page)
        finally:
            self.run("hbase-orm", "server", "stop")

    def python(self, text: str) -> str:
        """Run a program as a file; return what it prints."""
        (self.folder / "program.py").write_text(text, encoding="utf-8")
        return self.run(str(self.installed.python), "program.py")

    def command(self, line: str) -> str:
        """Run a command; the server's URL is the one that it prints."""
        if line.startswith("hbase-orm server start"):
            url = super().command(f"{line} --port 0 --thrift2-port 0")
            self.environment["HBASE_ORM_URL"] = url.strip()
        if line.startswith(("pip install", "hbase-orm server start", "export HBASE_ORM_URL=")):
            return ""
        return super().command(line)
