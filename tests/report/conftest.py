import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from telemetry_report import telemetry_report

from caps.report import Report, write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def month() -> Report:
    return telemetry_report()


@pytest.fixture(scope="session")
def month_page(month: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(month, path)
    return path


@pytest.fixture(scope="session")
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
