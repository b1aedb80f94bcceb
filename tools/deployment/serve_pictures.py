"""The pictures of the service's page that the docs show, taken in Debian's chromium.

A service gets two metrics of the simulated month of `caps demo`, fits, and the strongest event is
opened, wide and as a phone shows it.
"""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
from playwright.sync_api import sync_playwright

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.errors import InputError
from caps.simulate.telemetry import month_of_telemetry
from tools.deployment.service import fit, serving, upload

METRICS = ["requests", "cpu"]
SIZES: dict[str, dict[str, Any]] = {
    "serve.png": {"viewport": {"width": 1280, "height": 1250}},
    "serve-phone.png": {
        "viewport": {"width": 390, "height": 844},
        "is_mobile": True,
        "has_touch": True,
        "color_scheme": "dark",
    },
}


def serve_pictures(run: StudyRun) -> Report:
    """Two pictures in the subfolder `pictures`."""
    folder = run.out / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    telemetry = month_of_telemetry(seed=0)
    table = pd.DataFrame(telemetry.values, columns=list(telemetry.metrics))[METRICS]
    table.insert(0, "time", telemetry.time)
    with serving() as (address, _):
        upload(address, "telemetry", table.to_csv(index=False))
        train = str(telemetry.train_end)
        fit(address, "telemetry", series="telemetry", train=train, alarms="1/week")
        _take(address, folder)
    rows: list[list[Entry]] = [
        [name, f"{(folder / name).stat().st_size / 1e3:.0f} kB"] for name in SIZES
    ]
    return Report(
        "Pictures of the service",
        [f"Metrics {' and '.join(METRICS)} of the simulated month of `caps demo`."],
        [Table("serve pictures", "Pictures", ["file", "size"], rows)],
    )


def _take(address: str, folder: Path) -> None:
    browser_path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if browser_path is None:
        raise InputError("no chromium is installed", "install Debian's chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        for name, options in SIZES.items():
            page = browser.new_context(**options).new_page()
            page.goto(f"{address}/#/models/telemetry")
            page.locator(".event-row").first.wait_for()
            told = page.locator(".event-row .event-score").all_inner_texts()
            scores = [float(each.split()[0]) for each in told]  # then comes the severity
            page.locator(".event-row").nth(scores.index(max(scores))).click()
            page.locator(".event .js-line").first.wait_for()
            if "is_mobile" not in options:
                page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / name)
        browser.close()
