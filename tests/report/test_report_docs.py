"""The example in the documentation runs as printed."""

import doctest
from pathlib import Path

from caps.report import charts, page

PAGE = Path(__file__).parents[2] / "docs" / "report.md"


def test_the_example_on_the_page_runs_as_printed() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "report.md", str(PAGE), 0)
    assert len(test.examples) >= 8
    output: list[str] = []
    result = doctest.DocTestRunner().run(test, out=output.append)
    assert result.failed == 0, "".join(output)


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"more than {charts.MOST_POINTS:,} points" in text
    assert f"shows the {charts.MOST_CHANNELS} that carry" in text
    assert f"The {page.MOST_PANELS} strongest" in text
    assert f"the {page.MOST_ROWS:,} strongest in the table" in text
