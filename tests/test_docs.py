"""The pages of `docs/` lead to each other: no link is dead, and no page is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def _text(page: Path) -> str:
    """The page without its blocks of code."""
    return _FENCE.sub("", page.read_text("utf-8"))


def _anchors(page: Path) -> set[str]:
    """What its headings are called in links."""
    headings = _HEADING.findall(_text(page))
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in _LINK.findall(_text(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        is_there = target.exists() and (not anchor or anchor in _anchors(target))
        if not is_there and not link.startswith("http"):
            dead.append(link)
    assert not dead


def test_the_site_has_every_page_once() -> None:
    listed = re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    assert sorted(listed) == sorted(
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")
    )


def test_the_index_of_the_design_notes_has_every_note() -> None:
    folder = DOCS / "design"
    notes = {page.name for page in folder.glob("*.md")} - {"README.md"}
    assert set(_LINK.findall(_text(folder / "README.md"))) >= notes


def test_the_first_page_leads_to_every_guide() -> None:
    guides = {page.relative_to(DOCS).as_posix() for page in (DOCS / "guide").glob("*.md")}
    assert set(_LINK.findall(_text(DOCS / "index.md"))) >= guides
