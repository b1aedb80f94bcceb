"""Tables as Markdown, CSV, LaTeX and HTML."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from caps import plots
from caps.plots import Entry as Entry, Mark as Mark, Number as Number, Section, sections_page

NOTHING = "–"  # noqa: RUF001  # an undefined figure, never a zero

_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",  # noqa: RUF001
    "×": r"$\times$",  # noqa: RUF001
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header, with a title and what a reader must know to read them."""

    name: str  # of its CSV file
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    notes: Sequence[str] = ()


def figure(
    value: float,
    digits: int = 2,
    deviation: float | None = None,
    mark: Mark = "",
    interval: tuple[float, float] | None = None,
) -> Number:
    """A number, or the sign for none.

    >>> figure(12.345, deviation=0.5).text, ascii(figure(float("nan")).text)
    ('12.35 ± 0.50', "'\\\\u2013'")
    """
    if value != value:
        return Number(NOTHING, None)
    text = f"{value:.{digits}f}"
    beside: dict[str, float] = {}
    if deviation is not None and deviation == deviation:
        text += f" ± {deviation:.{digits}f}"
        beside["std"] = float(deviation)
    if interval is not None:
        text += f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"
        beside |= {"low": float(interval[0]), "high": float(interval[1])}
    return Number(text, float(value), mark, beside)


def frame_table(
    name: str,
    title: str,
    frame: pd.DataFrame,
    first: str,
    digits: Mapping[str, int],
    notes: Sequence[str],
) -> Table:
    """A frame, its index as the column `first`; numbers have two digits where none are told."""
    rows: list[list[Entry]] = [
        [
            str(label),
            *(
                entry if isinstance(entry, str) else figure(entry, digits.get(str(name), 2))
                for name, entry in values.items()
            ),
        ]
        for label, values in frame.iterrows()
    ]
    return Table(name, title, [first, *frame.columns], rows, notes)


def markdown(tables: Sequence[Table], title: str) -> str:
    """One page; best bold, second best in italics."""
    return f"# {title}\n\n" + "\n\n".join(_markdown(table) for table in tables) + "\n"


def latex(tables: Sequence[Table]) -> str:
    """Tables for a document that uses booktabs; best bold, second best underlined."""
    return "\n\n".join(_latex(table) for table in tables) + "\n"


def html_page(tables: Sequence[Table], title: str) -> str:
    """One page that needs nothing else; best bold, second best underlined."""
    sections = [
        Section(
            table.title,
            tables=[plots.Table("", table.header, table.rows)],
            notes=table.notes,
        )
        for table in tables
    ]
    return sections_page(title, sections, kind="CAPS bench")


def csv_text(table: Table) -> str:
    """The numbers as they are, empty where there is none.

    Standard deviations and ends of intervals have columns of their own, `VUS-PR, low`.

    >>> shares = figure(50.0, interval=(40.0, 60.0))
    >>> print(csv_text(Table("t", "T", ["method", "recall"], [["lof", shares]])), end="")
    method,recall,"recall, low","recall, high"
    lof,50.0,40.0,60.0
    """
    return pd.DataFrame(_records(table), columns=_columns(table)).to_csv(index=False)


def as_json(table: Table) -> dict[str, object]:
    """The table as JSON values, None where there is no number; columns as in CSV."""
    return {"title": table.title, "notes": list(table.notes), "rows": _records(table)}


def _columns(table: Table) -> list[str]:
    """The header, and after each heading what any of its numbers has beside it."""
    columns = []
    for place, heading in enumerate(table.header):
        entries = [row[place] for row in table.rows]
        figures = [entry for entry in entries if isinstance(entry, Number)]
        beside = dict.fromkeys(name for each in figures for name in each.beside)
        columns += [heading, *(f"{heading}, {name}" for name in beside)]
    return columns


def _records(table: Table) -> list[dict[str, str | float | None]]:
    rows, columns = [], _columns(table)
    for row in table.rows:
        values: dict[str, str | float | None] = dict.fromkeys(columns)
        for heading, entry in zip(table.header, row, strict=True):
            values[heading] = entry if isinstance(entry, str) else entry.value
            if isinstance(entry, Number):
                values |= {f"{heading}, {name}": value for name, value in entry.beside.items()}
        rows.append(values)
    return rows


def _shown(entry: Entry, escape: Callable[[str], str], marks: Mapping[Mark, str]) -> str:
    if isinstance(entry, str):
        return escape(entry)
    return marks[entry.mark].format(escape(entry.text))


def _markdown(table: Table) -> str:
    def escaped(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    marks: dict[Mark, str] = {"": "{}", "best": "**{}**", "second": "*{}*"}
    lines = [
        f"## {table.title}",
        "",
        "| " + " | ".join(table.header) + " |",
        "|".join(["", "---", *["---:"] * (len(table.header) - 1), ""]),
        *(
            "| " + " | ".join(_shown(entry, escaped, marks) for entry in row) + " |"
            for row in table.rows
        ),
    ]
    return "\n".join([*lines, *(f"\n{note}" for note in table.notes)])


def _latex(table: Table) -> str:
    def escaped(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in text)

    marks: dict[Mark, str] = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
    caption = escaped(". ".join([table.title, *table.notes]))
    lines = [
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{l{'c' * (len(table.header) - 1)}}}",
        r"\toprule",
        " & ".join(map(escaped, table.header)) + r" \\",
        r"\midrule",
        *(
            " & ".join(_shown(entry, escaped, marks) for entry in row) + r" \\"
            for row in table.rows
        ),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)
