"""The site's navigation, from the table in docs/index.md, and the pages that no file holds."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).parents[2] / "docs"
SECTION = re.compile(r"^\| \*\*(.+?)\*\* \| \|$")
ENTRY = re.compile(r"^\| \[(.+?)\]\((.+?\.md)\) \|")
PACKAGE = re.compile(r"^\| `(caps[.\w]*)` \|", re.MULTILINE)
REFERENCE, RESULTS = "reference.md", "results/index.md"

Navigation = list[dict[str, object]]


def navigation(index: str, packages: list[str]) -> Navigation:
    """Sections and pages in the order of the index; the packages stand below the reference."""
    nav: Navigation = [{"Start": "index.md"}]
    pages = nav
    for line in index.splitlines():
        if section := SECTION.match(line):
            pages = []
            nav.append({section[1]: pages})
        elif entry := ENTRY.match(line):
            pages.append({entry[1]: entry[2]})
    nav.append({"Packages": [{name: page_of(name)} for name in packages]})
    return nav


def page_of(package: str) -> str:
    return f"reference/{package}.md"


def packages() -> list[str]:
    return PACKAGE.findall((DOCS / REFERENCE).read_text(encoding="utf-8"))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation((DOCS / "index.md").read_text(encoding="utf-8"), packages())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    pages = {page_of(name): f"# `{name}`\n\n::: {name}\n" for name in packages()}
    results = sorted(path.stem for path in (DOCS / "results").glob("*.md"))
    pages[RESULTS] = "# Results\n\n" + "\n".join(f"- [{name}]({name}.md)" for name in results)
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Folders, which a forge shows as lists, and packages become links to pages made here."""
    if page.file.src_uri == REFERENCE:
        return PACKAGE.sub(lambda found: f"| [`{found[1]}`]({page_of(found[1])}) |", markdown)
    return markdown.replace("](results/)", f"]({RESULTS})")
