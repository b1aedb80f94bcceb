"""What an environment with `caps-tsad[serve]` must do: fit, find and serve.

Run by the Python of that environment, outside this repository: nothing but CAPS and the standard
library is imported. `make wheel` and the suite do so.
"""

import json
import math
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ROWS, INCIDENT = 1000, range(700, 703)
PATIENCE = 600  # tries, half a second each


def main() -> None:
    caps = Path(sys.executable).with_name("caps")
    command = [str(caps), "serve", "served", "--port", "0", "--json"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert service.stdout is not None
        address = json.loads(service.stdout.readline())["address"].rstrip("/")
        ask(address, "GET", "/ready")
        ask(address, "POST", "/v1/series?name=load", series().encode())
        request = {"series": "load", "train": "500"}
        ask(address, "PUT", "/v1/models/load", json.dumps(request).encode())
        for _ in range(PATIENCE):
            model = ask(address, "GET", "/v1/models/load")
            if not model["fit"]:
                break
            assert model["fit"]["state"] != "failed", model["fit"]["problem"]
            time.sleep(0.5)
        events = ask(address, "GET", "/v1/models/load/events")["events"]
        rows = [range(event["start_row"], event["end_row"]) for event in events]
        assert any(INCIDENT.start in found for found in rows), events
        with urllib.request.urlopen(f"{address}/") as page:
            assert b"CAPS" in page.read()
        print(f"served {len(events)} event{'s' * (len(events) != 1)}")
    finally:
        service.terminate()
        service.wait(60)


def series() -> str:
    """A wave with an incident, as CSV."""
    rows = (
        math.sin(row / 4) + 0.1 * math.sin(row * row) + 4 * (row in INCIDENT) for row in range(ROWS)
    )
    return "load\n" + "".join(f"{value}\n" for value in rows)


def ask(address: str, method: str, path: str, body: bytes | None = None) -> Any:
    request = urllib.request.Request(address + path, body, method=method)
    request.add_header("Content-Type", "application/json" if method == "PUT" else "text/csv")
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main()
