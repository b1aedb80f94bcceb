"""One HTML page from sections of text, tables and pictures; it opens offline, without scripts."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

STYLE = """
:root { color-scheme: light dark; --ink: #20242a; --soft: #5b626d; --line: #dfe3e9;
  --page: #fbfcfd; --card: #ffffff; --met: #1d7d46; --missed: #b3382a; --link: #2457a6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a3abb8; --line: #353b45;
  --page: #14171c; --card: #1b1f26; --met: #62c48c; --missed: #f08a7c; --link: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 2rem 1.25rem 4rem; background: var(--page);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.25rem; margin: 0 0 .4rem; }
a { color: var(--link); } p { max-width: 78ch; margin: .4rem 0; } .soft { color: var(--soft); }
nav { margin: 1rem 0 0; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; }
section { margin-top: 2.6rem; padding-top: 1.3rem; border-top: 1px solid var(--line); }
.expect { border-left: 3px solid var(--link); padding-left: .8rem; }
figure { margin: 1.1rem 0; }
figcaption { color: var(--soft); font-size: .92rem; margin-top: .35rem; }
img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 8px; padding: 8px; }
.table { overflow-x: auto; margin: 1.1rem 0; }
table { border-collapse: collapse; background: var(--card); font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .35rem; }
th, td { border: 1px solid var(--line); padding: .28rem .7rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.met { color: var(--met); } .missed { color: var(--missed); font-weight: 600; }
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell; `met` colours a figure that has a goal."""

    text: str
    met: bool | None = None
    number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, a header and rows of cells."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG file and what it shows."""

    path: Path
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: what it shows, what should be seen, then pictures and tables."""

    title: str
    text: str
    expect: str = ""
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def render_page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """The whole page as HTML, with the pictures inside it."""
    links = "".join(
        f'<a href="#part-{k}">{escape(section.title)}</a>' for k, section in enumerate(sections)
    )
    body = "".join(_section(section, f"part-{k}") for k, section in enumerate(sections))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>'
        f"<nav>{links}</nav></header>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _section(section: Section, anchor: str) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>\n<p>{escape(section.text)}</p>\n"]
    if section.expect:
        parts.append(
            f'<p class="expect"><strong>When it works:</strong> {escape(section.expect)}</p>\n'
        )
    parts += [_picture(picture) for picture in section.pictures]
    parts += [_table(table) for table in section.tables]
    return f'<section id="{anchor}">\n{"".join(parts)}</section>\n'


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.path.read_bytes()).decode("ascii")
    caption = escape(picture.caption)
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{caption}">'
        f"<figcaption>{caption} ({escape(picture.path.name)})</figcaption></figure>\n"
    )


def _table(table: Table) -> str:
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in table.rows)
    return (
        f'<div class="table"><table><caption>{escape(table.caption)}</caption>\n'
        f"<thead><tr>{header}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )


def _cell(cell: Cell) -> str:
    classes = ["number"] if cell.number else []
    text = escape(cell.text)
    if cell.met is not None:
        classes.append("met" if cell.met else "missed")
        text += " ✓" if cell.met else " ✗"
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    return f"<td{attribute}>{text}</td>"
