"""The pages lead somewhere, are listed in one place, read well in a terminal, and make a site."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlparse

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
WIDEST = 119
TOOLS = ("mkdocs", "material", "mkdocstrings_handlers")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def listed_pages() -> list[str]:
    return re.findall(r"\]\((\w[\w-]*\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", prose)
    files = [link for link in links if not urlparse(link).scheme]
    assert [link for link in files if not page.parent.joinpath(link).exists()] == []


def test_every_page_is_listed_once() -> None:
    pages = {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    assert sorted(listed_pages()) == sorted(pages)


def test_the_reference_has_every_package_with_an_interface() -> None:
    named = re.findall(r"^\| `caps\.(\w+)` \|", (DOCS / "reference.md").read_text("utf-8"), re.M)
    roots = sorted((ROOT / "src" / "caps").glob("*/__init__.py"))
    public = {path.parent.name for path in roots if "__getattr__" in path.read_text("utf-8")}
    assert public - set(named) == set()
    assert all(importlib.util.find_spec(f"caps.{name}") for name in named)


# A table's row, an image and a page that `caps bench study` writes are as wide as they are.
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name != "results"], ids=name_of
)
def test_lines_are_below_120_characters(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > WIDEST and not line.startswith(("|", "!["))] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    missing = [tool for tool in TOOLS if importlib.util.find_spec(tool) is None]
    if missing:
        pytest.skip(f"the site needs {', '.join(missing)}: pip install -c constraints.txt '.[dev]'")
    folder = tmp_path_factory.mktemp("site")
    outcome = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return folder


@pytest.mark.slow
def test_the_site_has_every_page_in_the_order_of_the_index(site: Path) -> None:
    navigation = (site / "index.html").read_text("utf-8").partition('aria-label="Navigation"')[2]
    links = re.findall(r'<a href="([\w-]+)\.html" class="md-nav__link"', navigation)
    assert [f"{link}.md" for link in links] == listed_pages()


@pytest.mark.slow
def test_the_reference_is_made_of_docstrings(site: Path) -> None:
    for page in (site / "reference").glob("*.html"):
        module, text = importlib.import_module(page.stem), page.read_text("utf-8")
        names = getattr(module, "__all__", ())
        assert [name for name in names if f'id="{page.stem}.{name}"' not in text] == []
    assert "&gt;&gt;&gt; " in (site / "reference" / "caps.html").read_text("utf-8"), "examples"


class Fetched(HTMLParser):
    """Addresses that a browser loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "link") and given.get("rel") != "canonical":
            self.addresses += filter(None, (given.get("src"), given.get("href")))


def foreign_addresses(site: Path) -> Iterator[str]:
    for page in site.rglob("*.html"):
        parser = Fetched()
        parser.feed(page.read_text("utf-8"))
        yield from (address for address in parser.addresses if urlparse(address).netloc)
    for sheet in site.rglob("*.css"):
        yield from re.findall(r"url\([\"']?((?:https?:)?//[^)]+)", sheet.read_text("utf-8"))


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert list(foreign_addresses(site)) == []
