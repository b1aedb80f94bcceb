import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    import pandas as pd
    from playwright.sync_api import Browser

    from caps.network import Detector
    from small_detector import Pairs

# Set before torch is imported: idle OpenMP threads of one worker must not spin against another's,
# and sums in another order end in other last bits.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["NUMBA_NUM_THREADS"] = "1"  # else stumpy's sets those of torch too, in later tests
os.environ["NUMBA_DISABLE_JIT"] = "1"  # short series need no half minute of compiling stumpy

# No test depends on how busy the machine is.
settings.register_profile("caps", deadline=None)
settings.load_profile("caps")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


# Of a module: playwright keeps an event loop running in this thread, in which no other test's can.
@pytest.fixture(scope="module")
def running_browser() -> Iterator["Browser | None"]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS.split())
        yield browser
        browser.close()


@pytest.fixture
def browser(running_browser: "Browser | None", request: pytest.FixtureRequest) -> "Browser":
    if running_browser is None:
        pytest.skip(f"{request.node.name} needs a browser: install Debian's package chromium")
    return running_browser


@pytest.fixture(scope="session")
def day_waves() -> "pd.DataFrame":
    """Two metrics of an hour a row that follow the day, one of them odd for six hours."""
    import numpy as np
    import pandas as pd

    time = pd.date_range("2024-05-01", periods=700, freq="h", name="time")
    wave = np.sin(np.arange(700) * 2 * np.pi / 24)
    table = pd.DataFrame({"cpu": wave, "load": 2 * wave}, index=time)
    table += 0.1 * np.random.default_rng(0).standard_normal(table.shape)
    table.iloc[600:606, 0] += 4
    return table


@pytest.fixture(scope="session")
def pairs() -> "Pairs":
    """The pairs of a noisy wave."""
    import numpy as np

    from small_detector import pairs_with_levels

    return pairs_with_levels(np.random.default_rng(0))


@pytest.fixture(scope="session")
def detector(pairs: "Pairs") -> "Detector":
    """A small detector trained on them."""
    from caps.network import train_detector
    from small_detector import SMALL

    return train_detector(pairs, SMALL, seed=1)
