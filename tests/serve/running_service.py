"""A service on a tiny detector, and the CSV files it is given."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
from fastapi import FastAPI

from caps.serve import Settings, create_app
from caps.serve.run import listener, run_service, server
from caps.serve.service import Service
from patience import PATIENCE
from untrained_weights import FAST, noisy_wave

ROWS, TRAIN = 1200, 900
LEVEL = slice(1050, 1080)
ESTIMATOR = {"detector": FAST.to_dict(), "construction": "injection", "references": 48}


def broken_table(rows: int = ROWS) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "time": pd.date_range("2024-03-01", periods=rows, freq="10min"),
            "load": noisy_wave(rows),
            "heat": noisy_wave(rows, seed=1),
        }
    )
    frame.loc[LEVEL.start : LEVEL.stop - 1, "load"] += 6
    frame.loc[300:304, "load"] = np.nan
    return frame


def csv_of(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def settings(folder: Path, weights: Path, **options: Any) -> Settings:
    chosen = {
        "pretrained": weights,
        "estimator": ESTIMATOR,
        "grace_seconds": 1.0,
        "fit_niceness": 0,
    }
    return Settings(folder, **chosen | options)


def wait_for_fit(client: httpx.Client, name: str, seconds: float = 600) -> dict[str, Any]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        facts = client.get(f"/v1/models/{name}").json()
        if facts["fit"] is None or facts["fit"]["state"] == "failed":
            return facts
        time.sleep(0.1)
    raise AssertionError(f"the fit of {name} did not end")


def fit_pump(address: str) -> None:
    """A service's first model, fitted."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        uploaded = client.post("/v1/series?name=pump&file=pump.csv", content=csv_of(broken_table()))
        assert uploaded.status_code == 201, uploaded.text
        asked = client.put(
            "/v1/models/pump", json={"series": "pump", "train": TRAIN, "alarms": "1/day"}
        )
        assert asked.status_code == 202, asked.text
        facts = wait_for_fit(client, "pump")
        assert facts["ready"], facts


class Client(httpx.Client):
    """A client of a service in this process."""

    service: Service


@contextmanager
def answering(folder: Path, **options: Any) -> Iterator[Client]:
    """A service that fits nothing, and its client."""
    chosen = settings(folder, folder, **{"fits": 0, **options})
    app = create_app(chosen)
    with listening(chosen, app) as address, Client(base_url=address, timeout=PATIENCE) as client:
        client.service = app.state.service
        yield client


@contextmanager
def listening(chosen: Settings, app: FastAPI | None = None) -> Iterator[str]:
    """The service on a port of its own, in a thread; its address."""
    running = server(app or create_app(chosen), chosen)
    with listener("127.0.0.1", 0) as door:
        port = door.getsockname()[1]
        thread = threading.Thread(target=running.run, args=([door],), daemon=True)
        thread.start()
        while not running.started:
            assert thread.is_alive(), "the service did not start"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
        running.should_exit = True
        thread.join(30)
    assert not thread.is_alive(), "the service did not stop"


if __name__ == "__main__":
    run_service(settings(Path(sys.argv[1]), Path(sys.argv[2]), port=int(sys.argv[3])))
