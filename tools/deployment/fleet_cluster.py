"""A fleet on the local engine and on two Ray nodes, one of which is killed half-way.

Needs the extras ray and parquet. The overhead is all CPU, start-up included, that was not spent
inside a fit that counted.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.fleet import FleetResult, find_series, fit_fleet
from caps.network import DetectorConfig
from caps.scoring import FitOptions
from tools.machine import free_port, machine, processor_seconds

RAY = Path(sys.executable).with_name("ray")
TICKS = os.sysconf("SC_CLK_TCK")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # nodes of this check are on loopback only
# The same work in less time: fewer references, one network, fewer steps.
SMALL = FitOptions(alarms="1/day", references=24, detector=DetectorConfig(members=1, steps=30))
SERIES, QUICK_SERIES, ROWS = 60, 6, 600


def fleet_cluster(run: StudyRun) -> Report:
    """Fails unless every model is there and equal, byte for byte, on both."""
    count = QUICK_SERIES if run.quick else SERIES
    settings = SMALL if run.quick else FitOptions(alarms="1/day", detector="auto")
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        home = Path(folder)
        _write_series(home / "series", count, ROWS)
        entries = find_series(home / "series", train="0.8")

        def say(text: str, share: float) -> None:
            run.say(text)

        before = processor_seconds(own=True)
        local = fit_fleet(entries, home / "local", settings, workers=2, progress=say)
        rows = [_overhead("local, two processes", local, processor_seconds(own=True) - before)]
        with _cluster(home / "ray") as (address, head, second):
            before = processor_seconds(own=True)
            killed_after = 0

            def progress(text: str, share: float) -> None:
                nonlocal killed_after
                run.say(text)
                if share == 1:
                    # Now: Ray does not account for its workers any more once they have ended.
                    head.used = _cpu_seconds(_process_tree(head.process.pid))
                if share >= 0.5 and not killed_after:
                    killed_after = round(share * count)
                    second.kill()
                    run.say(f"killed a node after {killed_after} series")

            on_ray = fit_fleet(
                entries,
                home / "cluster",
                settings,
                engine="ray",
                ray_address=address,
                progress=progress,
            )
            used = processor_seconds(own=True) - before + head.used + second.used
        rows.append(_overhead("Ray, one of two nodes killed half-way", on_ray, used))
        equal = len(on_ray.done) == count and _models(home / "local") == _models(home / "cluster")
    again = sum(each["attempts"] > 1 for each in on_ray.done)
    note = f"A node was killed after {killed_after} series; {again} were fitted again."
    header = ["engine", "wall, s", "CPU of a fit, s", "other CPU a series, s", "share"]
    return Report(
        "A fleet on a cluster",
        [
            f"{count} series of {ROWS} rows; {'small' if run.quick else 'full-size'} models. "
            f"{machine()}."
        ],
        [Table("fleet cluster", "Engines", header, rows, [note])],
        wanted="all models are there, byte for byte those of the local engine",
        passed=equal,
    )


def _overhead(engine: str, result: FleetResult, used: float) -> list[Entry]:
    """All CPU that was not spent inside a fit that counted."""
    fits = sum(each["fit_cpu_seconds"] for each in result.done)
    return [
        engine,
        figure(result.seconds, digits=1),
        figure(fits / len(result.done)),
        figure((used - fits) / len(result.done)),
        f"{(used - fits) / fits:.1%}",
    ]


def _write_series(folder: Path, count: int, rows: int) -> None:
    folder.mkdir()
    time_column = pd.date_range("2024-03-01", periods=rows, freq="h")
    for number in range(count):
        rng = np.random.default_rng(number)
        values = np.sin(np.arange(rows) * 2 * np.pi / 24 + rng.uniform(0, 6))
        values += rng.uniform(0.05, 0.3) * rng.standard_normal(rows)
        values[rows - 40 : rows - 28] += rng.uniform(2, 5)
        frame = pd.DataFrame({"time": time_column, "load": values})
        frame.to_csv(folder / f"host-{number:03d}.csv", index=False)


def _process_tree(root: int) -> list[int]:
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


def _cpu_seconds(pids: list[int]) -> float:
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
        tree = _process_tree(self.process.pid)
        self.used = _cpu_seconds(tree)
        for pid in tree:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


def _nodes_alive(address: str) -> int:
    options = f"address={address!r}, log_to_driver=False, logging_level='ERROR'"
    code = f"import ray; ray.init({options}); print(sum(n['Alive'] for n in ray.nodes()))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return int(answer.stdout.split()[-1]) if answer.returncode == 0 and answer.stdout.split() else 0


@contextmanager
def _cluster(home: Path) -> Iterator[tuple[str, Node, Node]]:
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
        _wait_until(lambda: _nodes_alive(address) == 1, "the head")
        nodes.append(Node(f"--address={address}", "--node-ip-address=127.0.0.1"))
        _wait_until(lambda: _nodes_alive(address) == 2, "the second node")
        yield address, head, nodes[1]
    finally:
        for node in nodes:
            if node.process.poll() is None:
                node.kill()


def _wait_until(holds: Callable[[], bool], what: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not start in {seconds:.0f} s")
        time.sleep(1)


def _models(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in (out / "models").rglob("*")
        if path.is_file()
    }
