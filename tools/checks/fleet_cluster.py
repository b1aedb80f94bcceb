"""Fit a fleet on the local engine and on two Ray nodes, one of which is killed half-way.

Fails unless every model is there and equal, byte for byte, on both. Needs the extras ray and
parquet. The overhead is all CPU, start-up included, that was not spent inside a fit that counted.

    .venv/bin/python tools/checks/fleet_cluster.py --series 60
    .venv/bin/python tools/checks/fleet_cluster.py --series 60 --small   # a busy machine
"""

import argparse
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from caps.fleet import FleetResult, find_series, fit_fleet
from caps.network.config import DetectorConfig
from caps.scoring import FitOptions

RAY = Path(sys.executable).with_name("ray")
TICKS = os.sysconf("SC_CLK_TCK")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # nodes of this check are on loopback only
# The same work in less time: fewer references, one network, fewer steps.
SMALL = FitOptions(alarms="1/day", references=24, detector=DetectorConfig(members=1, steps=30))


def write_series(folder: Path, count: int, rows: int) -> None:
    folder.mkdir()
    time_column = pd.date_range("2024-03-01", periods=rows, freq="h")
    for number in range(count):
        rng = np.random.default_rng(number)
        values = np.sin(np.arange(rows) * 2 * np.pi / 24 + rng.uniform(0, 6))
        values += rng.uniform(0.05, 0.3) * rng.standard_normal(rows)
        values[rows - 40 : rows - 28] += rng.uniform(2, 5)
        frame = pd.DataFrame({"time": time_column, "load": values})
        frame.to_csv(folder / f"host-{number:03d}.csv", index=False)


def process_tree(root: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def cpu_seconds(pids: list[int]) -> float:
    """CPU used by processes and by their children that have ended."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15])
    return total / TICKS


class Node:
    """`ray start --block` and everything it starts."""

    def __init__(self, *options: str) -> None:
        # Ray's workers are nice to others by 15; on a busy machine that is a standstill.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}
        command = [str(RAY), "start", "--block", "--num-cpus=1", "--disable-usage-stats", *options]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.used = 0.0

    def kill(self) -> None:
        tree = process_tree(self.process.pid)
        self.used = cpu_seconds(tree)
        for pid in tree:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def nodes_alive(address: str) -> int:
    options = f"address={address!r}, log_to_driver=False, logging_level='ERROR'"
    code = f"import ray; ray.init({options}); print(sum(n['Alive'] for n in ray.nodes()))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return int(told.stdout.split()[-1]) if told.returncode == 0 and told.stdout.split() else 0


@contextmanager
def cluster(home: Path) -> Iterator[tuple[str, Node, Node]]:
    address = f"127.0.0.1:{free_port()}"
    head = Node(
        "--head",
        "--node-ip-address=127.0.0.1",
        f"--port={address.rsplit(':', 1)[1]}",
        "--include-dashboard=false",
        f"--temp-dir={home}",
    )
    nodes = [head]
    try:
        wait_until(lambda: nodes_alive(address) == 1, "the head")
        nodes.append(Node(f"--address={address}", "--node-ip-address=127.0.0.1"))
        wait_until(lambda: nodes_alive(address) == 2, "the second node")
        yield address, head, nodes[1]
    finally:
        for node in nodes:
            if node.process.poll() is None:
                node.kill()


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not start in {seconds:.0f} s")
        time.sleep(1)


def own_cpu() -> float:
    return sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def overhead(result: FleetResult, used: float) -> dict[str, float]:
    """All CPU that was not spent inside a fit that counted."""
    fits = sum(each["fit_cpu_seconds"] for each in result.done)
    return {
        "wall_seconds": round(result.seconds, 1),
        "cpu_seconds": round(used, 1),
        "fit_cpu_seconds_each": round(fits / len(result.done), 2),
        "overhead_cpu_seconds_each": round((used - fits) / len(result.done), 2),
        "overhead_share": round((used - fits) / fits, 3),
    }


def models(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in (out / "models").rglob("*")
        if path.is_file()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=60)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--small", action="store_true", help="smaller models")
    given = parser.parse_args()
    settings = SMALL if given.small else FitOptions(alarms="1/day")
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        told = check(Path(folder), given.series, given.rows, settings)
    print(json.dumps({"series": given.series, "small": given.small, **told}, indent=2))
    if not told["equal"]:
        raise SystemExit(1)


def check(home: Path, count: int, rows: int, settings: FitOptions) -> dict[str, object]:
    write_series(home / "series", count, rows)
    entries = find_series(home / "series", train="0.8")
    before = own_cpu()
    local = fit_fleet(entries, home / "local", settings, workers=2, progress=say("local"))
    by_local = overhead(local, own_cpu() - before)
    print(json.dumps(by_local), file=sys.stderr, flush=True)
    with cluster(home / "ray") as (address, head, second):
        before = own_cpu()
        killed_at = 0

        def progress(text: str, share: float) -> None:
            nonlocal killed_at
            say("ray")(text, share)
            if share == 1:
                # Now: Ray does not account for its workers any more once they have ended.
                head.used = cpu_seconds(process_tree(head.process.pid))
            if share >= 0.5 and not killed_at:
                killed_at = round(share * count)
                second.kill()
                print(f"killed a node after {killed_at} series", file=sys.stderr, flush=True)

        cluster_result = fit_fleet(
            entries,
            home / "cluster",
            settings,
            engine="ray",
            ray_address=address,
            progress=progress,
        )
        by_ray = overhead(cluster_result, own_cpu() - before + head.used + second.used)
    return {
        "local": by_local,
        "ray": by_ray,
        "killed_after": killed_at,
        "tried_again": sum(each["attempts"] > 1 for each in cluster_result.done),
        "models": len(cluster_result.done),
        "equal": len(cluster_result.done) == count
        and models(home / "local") == models(home / "cluster"),
    }


def say(engine: str) -> Callable[[str, float], None]:
    return lambda text, share: print(f"{engine}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
