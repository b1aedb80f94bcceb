"""The examples in the documentation run as printed."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "series.md"


def test_the_examples_on_the_page_run_as_printed() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "series.md", str(PAGE), 0)
    assert len(test.examples) >= 8
    output: list[str] = []
    result = doctest.DocTestRunner().run(test, out=output.append)
    assert result.failed == 0, "".join(output)
