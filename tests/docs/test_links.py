"""Every link of a page leads to a file and a heading, and newcomers find what they want first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *DOCS.rglob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *(ROOT / name for name in ("examples/README.md", "benchmarks/RESULTS.md")),
    ]
)
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")

FIRST_WANTED = {
    "install it and run a first program": "tutorial.md#1-a-server-and-a-connection",
    "declare a model": "models.md",
    "choose a row key": "choosing-a-row-key.md",
    "write, change and delete rows": "writing.md",
    "query rows": "queries.md",
    "find rows by another field": "indexes.md",
    "page through results": "how-to/page.md",
    "configure gateways, pool and timeouts": "how-to/deploy.md",
    "test the program": "testing.md",
    "change a table in use": "changing-models.md",
}
"""What newcomers want first, and the page where they find it."""
MOST_CLICKS = 2


def prose(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return re.sub(
        r"^ *(```+).*?^ *\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )


def anchors(page: Path) -> list[str]:
    """Return the anchors of a page: those of headings, and those of names in the reference."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    shown = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in heads)
    plain = (head.replace("`", "").strip().lower().replace(" ", "-") for head in shown)
    return [re.sub(r"[^\w-]", "", head) for head in plain] + re.findall(
        r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE
    )


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each link of a page that leads into the repository."""
    for link in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", link):
            file, _, anchor = link.partition("#")
            yield ((page.parent / file).resolve() if file else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    wrong = [
        f"{file.relative_to(ROOT)}#{anchor}"
        for file, anchor in links(page)
        if not file.exists() or (anchor and anchor not in anchors(file))
    ]
    pictures = [each for each in PICTURE.findall(prose(page)) if not (page.parent / each).is_file()]

    assert wrong == []
    assert pictures == []


def test_links_are_seen() -> None:
    assert sum(1 for page in PAGES for _ in links(page)) > 300


@pytest.mark.parametrize("page", [*DOCS.rglob("*.md")], ids=lambda page: page.stem)
def test_no_page_of_the_docs_has_a_heading_twice(page: Path) -> None:
    """The second one's anchor would be another one on the site."""
    all_of_it = anchors(page)

    linked = {anchor for other in PAGES for file, anchor in links(other) if file == page}
    assert {each for each in linked if all_of_it.count(each) > 1} == set()


def listed_in_navigation() -> set[str]:
    return {*re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))}


def test_the_navigation_of_the_site_has_every_page() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}

    assert listed_in_navigation() == pages


def reached(clicks: int) -> set[str]:
    """Return the pages, with and without anchors, that some clicks lead to from the front page."""
    pages, found = {DOCS / "index.md"}, {"index.md"}
    for _ in range(clicks):
        following = [each for page in pages for each in links(page) if DOCS in each[0].parents]
        names = {(str(file.relative_to(DOCS)), anchor) for file, anchor in following}
        found |= {name for name, _ in names} | {f"{name}#{anchor}" for name, anchor in names}
        pages = {file for file, _ in following if file.suffix == ".md"}
    return found


@pytest.mark.parametrize("wanted", FIRST_WANTED)
def test_what_newcomers_want_first_is_two_clicks_from_the_front_page(wanted: str) -> None:
    target = FIRST_WANTED[wanted]
    page, _, anchor = target.partition("#")

    assert page in reached(MOST_CLICKS)
    assert not anchor or anchor in anchors(DOCS / page)


def test_the_front_page_lists_ten_things() -> None:
    listed = re.findall(r"^\d+\. \[", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)

    assert len(listed) == len(FIRST_WANTED) == 10
