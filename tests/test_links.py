"""Links between files outside of `docs/`, whose own links the build of the site checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
FOUND = (page.relative_to(ROOT) for page in ROOT.glob("tests/**/README.md"))
PAGES = ["README.md", *sorted(page.as_posix() for page in FOUND if "node_modules" not in page.parts)]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    """A link of a README's leads to a file that is there."""
    path = ROOT / page
    lost = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()]
    assert not lost


def test_the_readme_leads_into_the_documentation() -> None:
    """The README links to pages in `docs/`; so the pattern above finds links."""
    assert any(link.startswith("docs/") for link in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
