"""The blocks of the tutorial, in the order of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"```(python|console)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")
_COMMAND = re.compile(r"^\$ (.*?)(?: +# .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the page.

    Attributes:
        kind: `python` or `console`.
        text: What the reader pastes.
        shown: What the page says that it prints; empty if it shows nothing.
    """

    kind: str
    text: str
    shown: str

    @property
    def file(self) -> str:
        """The file that the block goes into; empty if it is a program or has commands."""
        named = _FILE.match(self.text)
        return named[1] if named and self.kind == "python" else ""

    @property
    def commands(self) -> list[str]:
        """The commands of a console, without prompts and comments."""
        return _COMMAND.findall(self.text) if self.kind == "console" else []


def blocks() -> Iterator[Block]:
    """Yield every block that a reader pastes."""
    for kind, text, shown in _BLOCK.findall(PAGE):
        yield Block(kind, text, shown)
