"""`import caps` is instant and offers exactly the names it lists."""

import subprocess
import sys

import pytest

import caps


def test_public_names_are_listed_in_order() -> None:
    assert caps.__all__ == sorted(caps.__all__, key=lambda name: (not name.isupper(), name))
    assert dir(caps) == sorted(caps.__all__)
    assert len(caps.__all__) == len(set(caps.__all__))


@pytest.mark.parametrize("name", caps.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(caps, name) is not None


def test_a_name_means_the_same_at_the_top_and_at_home() -> None:
    from caps.metrics import evaluate
    from caps.series import Series, read

    assert (caps.evaluate, caps.read, caps.Series) == (evaluate, read, Series)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="detect_everything"):
        _ = caps.detect_everything


def test_import_caps_loads_neither_numpy_nor_torch() -> None:
    code = (
        "import sys, caps; print(sorted({'numpy', 'torch', 'pandas', 'cyclopts'} & {*sys.modules}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
