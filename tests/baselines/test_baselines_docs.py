import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "baselines.md"


def test_the_example_in_the_page_runs() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 4
    assert result.failed == 0


def test_the_page_names_every_method() -> None:
    from caps.baselines import METHODS

    text = PAGE.read_text(encoding="utf-8")
    for name in METHODS:
        stem = name.removesuffix("-tsb")
        short = "-" + stem.rsplit("-", 1)[-1] if stem.startswith("tcn-supervised-") else stem
        assert f"`{short}`" in text, name
