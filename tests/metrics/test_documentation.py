import doctest
from pathlib import Path


def test_the_example_in_the_metrics_page_runs():
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0
