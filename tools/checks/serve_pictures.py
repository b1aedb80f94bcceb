"""Take the pictures of the service's page that the docs show.

    python tools/checks/serve_pictures.py docs/images

Starts `caps serve`, gives it two metrics of the simulated month of `caps demo`, fits, and opens the
strongest event in Debian's chromium, wide and as a phone shows it.
"""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
from playwright.sync_api import sync_playwright
from serve_load import ask, serving

from caps.simulate.telemetry import month_of_telemetry

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


def fit(address: str) -> None:
    telemetry = month_of_telemetry(seed=0)
    table = pd.DataFrame(telemetry.values, columns=list(telemetry.metrics))[METRICS]
    table.insert(0, "time", telemetry.time)
    text = table.to_csv(index=False)
    ask(address, "POST", "/v1/series?name=telemetry", text.encode())
    asked = {"series": "telemetry", "train": str(telemetry.train_end), "alarms": "1/week"}
    ask(address, "PUT", "/v1/models/telemetry", json.dumps(asked).encode())
    while (facts := ask(address, "GET", "/v1/models/telemetry"))["fit"] is not None:
        if facts["fit"]["state"] == "failed":
            raise SystemExit(facts["fit"]["problem"])
        time.sleep(1)


def take(address: str, folder: Path) -> None:
    browser_path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        for name, options in SIZES.items():
            page = browser.new_context(**options).new_page()
            page.goto(f"{address}/#/models/telemetry")
            page.locator(".event-row").first.wait_for()
            scores = list(map(float, page.locator(".event-row .event-score").all_inner_texts()))
            page.locator(".event-row").nth(scores.index(max(scores))).click()
            page.locator(".event .js-line").first.wait_for()
            if "is_mobile" not in options:
                page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / name)
        browser.close()


def main(folder: Path) -> int:
    with serving() as (address, _):
        fit(address)
        take(address, folder)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1])))
