"""Texts of errors that the docs quote are texts of the library."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
AFTER_AN_ERROR = re.compile(r'`\w+Error`:? "([^"]+)"')
"""A quotation that follows the name of an error class."""


def library_texts() -> str:
    """Return every text in the library's source; adjoining literals are one text."""
    sources = (REPOSITORY / "hbase_orm").rglob("*.py")
    nodes = (node for path in sources for node in ast.walk(ast.parse(path.read_text())))
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    return "\n".join(text for text in constants if isinstance(text, str))


def quotations() -> list[tuple[str, str]]:
    """Return the name of a page and what it quotes, for each quotation of an error."""
    return [
        (page.name, quoted) for page in PAGES for quoted in AFTER_AN_ERROR.findall(page.read_text())
    ]


def test_the_docs_quote_errors() -> None:
    assert len(quotations()) >= 5


@pytest.mark.parametrize(("page", "quoted"), quotations())
def test_a_quoted_error_is_one_of_the_library(page: str, quoted: str) -> None:
    assert quoted in library_texts(), page
