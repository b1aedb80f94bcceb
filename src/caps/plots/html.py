"""One HTML page that opens offline: its frame, and sections of text, tables and pictures."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from caps.plots.style import palette_css

Mark = Literal["", "met", "missed", "best", "second"]


@dataclass(frozen=True, slots=True)
class Number:
    """In a table; marked if it has met or missed a goal, or is the best of its column."""

    text: str  # as shown
    value: float | None  # as it is, None for an undefined one
    mark: Mark = ""
    beside: Mapping[str, float] = field(default_factory=dict)  # its std, or the ends of an interval


Entry = str | Number


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, a header and rows."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Entry]]


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG file and what it shows."""

    path: Path
    caption: str

    @property
    def data(self) -> str:
        """The file as text."""
        return base64.b64encode(self.path.read_bytes()).decode("ascii")


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: what it shows, what should be seen, pictures, tables, remarks."""

    title: str
    text: str = ""
    expect: str = ""
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: Sequence[str] = ()


def sections_page(
    title: str, sections: Sequence[Section], *, kind: str, facts: Mapping[str, str] | None = None
) -> str:
    """A page of sections, with the pictures inside it and without scripts.

    >>> page = sections_page("Mine", [Section("One", "a < b")], kind="CAPS test")
    >>> "<title>Mine · CAPS test</title>" in page, "<p>a &lt; b</p>" in page
    (True, True)
    """
    parts = {f"part-{number}": section.title for number, section in enumerate(sections)}
    return render_page(
        "plots/sections.html.j2",
        title=title, kind=kind, facts=facts or {}, parts=parts, sections=sections,
    )  # fmt: skip


def render_page(
    template: str,
    *,
    title: str,
    kind: str,
    parts: Mapping[str, str],
    facts: Mapping[str, str],
    lead: str = "",
    **content: Any,
) -> str:
    """A template of a package, such as `report/report.html.j2`, that extends `plots/page.html.j2`.

    `kind` says what page it is, `lead` the whole of it in a sentence, `facts` a few more things;
    `parts` are the anchors of its sections with their names, "" for those that it lacks.
    """
    environment = _environment(template.split("/")[0])
    frame = {"title": title, "kind": kind, "lead": lead, "facts": facts, "parts": parts}
    return environment.get_template(template).render(
        **frame, **content, palette=Markup(palette_css())
    )


@cache
def plotly_script() -> str:
    """The script that draws the charts, as installed."""
    return str(get_plotlyjs())


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=PrefixLoader({name: PackageLoader(f"caps.{name}") for name in ("plots", package)}),
        autoescape=True,  # everything: names of channels and files are the user's
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
