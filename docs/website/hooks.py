"""Gives the site the files outside `docs/` that its pages link to, such as the examples.

A program becomes a page with its code, and a Markdown file a page as it is. Links to them are
changed on the way, so that the pages of `docs/` link to plain files, as a checkout has them.
"""  # noqa: INP001  # loaded by MkDocs, no package

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_FOLDER = "files"
"""The folder of the site with the files from outside."""
_FOUND_LAST = "---\nsearch: { boost: 0.1 }\n---\n\n"
"""What makes the search name a program after the pages that explain it."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside `docs/` that a page links to, directly or by another one."""
    root = Path(config.docs_dir).parent
    waiting = [each.src_uri for each in files.documentation_pages()]
    seen: set[str] = set()
    while waiting:
        uri = waiting.pop()
        text = (Path(config.docs_dir) / uri) if not uri.startswith("../") else root / uri[3:]
        for outside in _outside_links(text.read_text(encoding="utf-8"), uri):
            if outside in seen or not (root / outside[3:]).is_file():
                continue
            seen.add(outside)
            files.append(_page_of(outside, root, config))
            if outside.endswith(".md"):
                waiting.append(outside)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page's text with links to the pages that stand for files outside `docs/`."""
    del config
    at = page.file.src_uri
    origin = _origin(at) if at.startswith(f"{_FOLDER}/") else at

    def changed(link: re.Match[str]) -> str:
        target = _joined(origin, link[1])
        uri = _page_uri(target) if target.startswith("../") else target
        if files.get_file_from_path(uri) is None:
            return link[0]
        return f"]({posixpath.relpath(uri, posixpath.dirname(at))}{link[2] or ''})"

    return _LINK.sub(changed, markdown)


def _outside_links(text: str, uri: str) -> Iterator[str]:
    """Yield the files outside `docs/` that a text links to, relative to `docs/`."""
    for link in _LINK.finditer(text):
        target = _joined(uri, link[1])
        if target.startswith("../"):
            yield target


def _joined(uri: str, link: str) -> str:
    """Return what a link in the file at `uri` means, relative to `docs/`."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(uri), link))
    return joined.removeprefix("../docs/")


def _page_uri(outside: str) -> str:
    """Return the place in the site of a file outside `docs/`."""
    inner = outside.removeprefix("../")
    return f"{_FOLDER}/{inner}" if inner.endswith(".md") else f"{_FOLDER}/{inner}.md"


def _origin(uri: str) -> str:
    """Return the file outside `docs/` that a page of the site stands for."""
    inner = uri.removeprefix(f"{_FOLDER}/")
    return f"../{inner.removesuffix('.md')}" if ".py.md" in inner else f"../{inner}"


def _page_of(outside: str, root: Path, config: MkDocsConfig) -> File:
    text = (root / outside[3:]).read_text(encoding="utf-8")
    if not outside.endswith(".md"):
        text = f"{_FOUND_LAST}# {outside[3:]}\n\n````python\n{text}````\n"
    page = File.generated(config, _page_uri(outside), content=text)
    page.inclusion = page.inclusion.NOT_IN_NAV
    return page
