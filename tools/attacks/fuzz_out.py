"""Every command with an `--out` of some kind, pointed at everything a path can be.

Files, folders of others, links, named pipes, sockets and device nodes, all in a private folder (the
devices need root). Each case is a fork of one warm process with a small detector. A case fails if
the command ends with another code than 0 or 2, prints a traceback, hangs, changes or removes what
it did not write, or leaves hidden files behind.
"""

import hashlib
import multiprocessing
import os
import random
import shutil
import socket
import stat
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import chdir, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from small_series import write_series

from caps import CAPS
from caps.artifacts import write_folder
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.cli.main import main
from untrained_weights import noisy_wave, save_untrained_weights

PATIENCE = 300.0  # seconds for one case
ROWS = 400
# Names that commands write in their folders; each is a named pipe in one of the targets.
INSIDE = (
    "report.html", "scores.csv", "events.csv", "telemetry.csv", "overview.png", "model", "models",
    "manifest.json", "told", "fleet.json", "series.parquet", "summary.html", "index.html", "cells",
    "tables", "results", "score", "metrics", "pairs.safetensors",
)  # fmt: skip


WARM = [f"caps.cli.{name}" for name in ("demo", "deploy", "detect", "fleet", "offline", "watch")]


@dataclass(frozen=True)
class Command:
    """A command line; TARGET stands for what is fuzzed."""

    name: str
    line: str
    what: str = "file"  # file, folder (replaced as a whole) or room (files are added)
    suffix: str = ""


COMMANDS = [
    Command("score", "score MODEL FILE --out TARGET", suffix=".csv"),
    Command("score to parquet", "score MODEL FILE --out TARGET", suffix=".parquet"),
    Command("events", "events MODEL FILE --out TARGET --pretrained WEIGHTS", suffix=".csv"),
    Command("export", "export MODEL --onnx TARGET", suffix=".onnx"),
    Command("gallery", "simulate --gallery TARGET", suffix=".png"),
    Command("fit", "fit FILE --out TARGET --pretrained WEIGHTS", "folder"),
    Command("detect", "detect FILE --out TARGET --pretrained WEIGHTS", "folder"),
    Command("demo", "demo --out TARGET --pretrained WEIGHTS", "folder"),
    Command("simulate", "simulate --pairs 60 --out TARGET", "folder"),
    Command(
        "pretrain",
        "pretrain --preset tiny --pairs 60 --steps 2 --check-pairs 60 --workers 1 --out TARGET",
        "folder",
    ),
    Command("fleet fit", "fleet fit FLEET --workers 1 --out TARGET --pretrained WEIGHTS", "room"),
    Command(
        "fleet score",
        "fleet score FLEET --models MODELS --workers 1 --out TARGET --pretrained WEIGHTS",
        "room",
    ),
    Command(
        "bench run", "bench run --data BENCH --methods ones --save-scores --out TARGET", "room"
    ),
    Command("bench scores", "bench scores CELLS --submission TARGET", "room"),
    Command("bench study", "bench study latent --quick --weights PRETRAINED --out TARGET", "room"),
    Command("inspect", "inspect PRETRAINED --pairs 30 --out TARGET", "room"),
    Command("watch", "watch CAUSAL --input FILE --state TARGET", "room"),
]


def fuzz_out(run: StudyRun) -> Report:
    """Every command on every target; a quick one takes every sixth pair."""
    rng, failures = random.Random(run.seeds[0]), []
    rows: list[list[Entry]] = []
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory(prefix="caps-fuzz-") as folder:
        home = Path(folder).resolve() / "inputs"
        home.mkdir()
        inputs = _prepare(home)
        before = _snapshot(home)
        targets = list((TARGETS | BELOW).items())
        for number, command in enumerate(COMMANDS):
            codes = Counter[int | str]()
            for target, make in targets[number % 6 :: 6] if run.quick else targets:
                code, wrong = _case(home, command, inputs, target, make, rng)
                codes[code] += 1
                if wrong:
                    failures.append(f"{command.name} to {target}: {wrong}")
                    run.say(f"FAILED {failures[-1]}")
            assert _snapshot(home) == before, f"{command.name} changed its inputs"
            rows.append([command.name, *(str(codes[code]) for code in (0, 2))])
            run.say(f"{command.name}: {dict(codes)}")
    return Report(
        "Outputs that point anywhere",
        [f"{len(COMMANDS)} commands, up to {len(targets)} targets each, seed {run.seeds[0]}."],
        [Table("fuzz out", "Cases by exit code", ["command", "done (0)", "refused (2)"], rows)],
        wanted="; ".join(["no case fails", *failures]),
        passed=not failures,
    )


def _case(
    home: Path,
    command: Command,
    inputs: dict[str, str],
    target: str,
    make: Callable[[Path], None],
    rng: random.Random,
) -> tuple[int | str, str]:
    """The exit code of one command on one target, and what is wrong with the outcome."""
    ground, output = home.with_name("ground"), home.with_name("output")
    ground.mkdir()
    name = f"target{command.suffix}"
    try:
        with chdir(ground):
            make(ground / name)
            pointed = ground / name
            if target in BELOW:
                pointed = pointed / "deep" / f"new{command.suffix}"
            before = _snapshot(ground)
            words = {**inputs, "TARGET": _spelled(pointed, rng)}
            code = _ended([words.get(word, word) for word in command.line.split()], output)
            text = output.read_text(errors="replace")
            wrong = _judged(command, target, code, text, before, _snapshot(ground), name)
    finally:
        shutil.rmtree(ground)
    last = " / ".join(text.splitlines()[-3:])
    return code, f"{'; '.join(wrong)} ({last})" if wrong else ""


def _foreign(folder: Path) -> None:
    """What somebody else keeps: a manifest of another program, files, folders."""
    folder.mkdir()
    (folder / "manifest.json").write_text('{"name": "a browser extension", "version": 3}')
    (folder / "thesis.doc").write_text("precious")
    (folder / "deep").mkdir()
    (folder / "deep" / "photo.jpg").write_bytes(bytes(range(256)))


def _empty_file(path: Path) -> None:
    path.write_text("replaceable")


def _bound_socket(path: Path) -> None:
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path.name)  # the names of sockets are short


def _linked(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        make(path.with_name("elsewhere"))
        path.symlink_to("elsewhere")

    return link


def _node(kind: int, *numbers: int) -> Callable[[Path], None]:
    return lambda path: os.mknod(path, 0o600 | kind, os.makedev(*numbers))


def _pipes_inside(path: Path) -> None:
    path.mkdir()
    for name in INSIDE:
        os.mkfifo(path / name)


def _own_and_more(path: Path) -> None:
    shutil.copytree(os.environ["FUZZ_MODEL"], path)
    (path / "notes.txt").write_text("precious")


def _own_and_a_link(path: Path) -> None:
    shutil.copytree(os.environ["FUZZ_MODEL"], path)
    array = path / "channel-0.safetensors"
    array.rename(path.with_name("elsewhere"))
    array.symlink_to("../elsewhere")


def _own_of_another_kind(path: Path) -> None:
    write_folder(path, kind="caps.other", version=1, facts={}, arrays={})


TARGETS: dict[str, Callable[[Path], None]] = {
    "nothing": lambda path: None,
    "an empty folder": Path.mkdir,
    "a file": _empty_file,
    "a folder of others": _foreign,
    "a folder with pipes inside": _pipes_inside,
    "our model and a file": _own_and_more,
    "our model and a link": _own_and_a_link,
    "a folder of ours of another kind": _own_of_another_kind,
    "a link to a file": _linked(_empty_file),
    "a link to a folder of others": _linked(_foreign),
    "a link to an empty folder": _linked(Path.mkdir),
    "a link to nothing": _linked(lambda path: None),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a named pipe": os.mkfifo,
    "a link to a named pipe": _linked(os.mkfifo),
    "a socket": _bound_socket,
    "a character device": _node(stat.S_IFCHR, 1, 3),
    "a block device": _node(stat.S_IFBLK, 7, 250),
    "a link to a device": _linked(_node(stat.S_IFCHR, 1, 3)),
}
BELOW = {  # the target is a path below them
    "below a file": _empty_file,
    "below a named pipe": os.mkfifo,
    "below a device": _node(stat.S_IFCHR, 1, 3),
    "below a link to nothing": _linked(lambda path: None),
    "below a link to itself": lambda path: path.symlink_to(path.name),
    "below a folder of others": _foreign,
    "below a link to a folder of others": _linked(_foreign),
}


def _snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder; pipes and devices are not opened."""
    found: dict[str, tuple[object, ...]] = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            facts = path.lstat()
            mode, content = facts.st_mode, ""
            if stat.S_ISREG(mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            elif stat.S_ISLNK(mode):
                content = os.readlink(path)
            found[path.relative_to(folder).as_posix()] = (mode, facts.st_rdev, content)
    return found


def _spelled(path: Path, rng: random.Random) -> str:
    """The same path, written in one of several ways."""
    beside = path.parent.name
    return rng.choice(
        [str(path), f"{path.parent}//{path.name}", f"{path.parent}/./{path.name}",
         f"{path.parent}/../{beside}/{path.name}", os.path.relpath(path)]
    )  # fmt: skip


def _ended(line: list[str], output: Path) -> int | str:
    """Run a command in a fork; its exit code, or what happened to it."""
    child = multiprocessing.get_context("fork").Process(target=_run, args=(line, output))
    child.start()
    child.join(PATIENCE)
    if child.exitcode is not None:
        return child.exitcode
    os.killpg(child.pid, 9)
    child.join()
    return "hung"


def _run(line: list[str], output: Path) -> None:
    os.setsid()
    sink = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    main(line)


def _judged(
    command: Command, target: str, code: int | str, text: str, before: dict, after: dict, name: str
) -> list[str]:
    """What is wrong with the outcome."""
    wrong = []
    if code not in (0, 2):
        wrong.append(f"ended with {code}")
    if "Traceback" in text:
        wrong.append("a traceback")
    replaceable = {"a file": "file"}.get(target) == command.what
    for path, facts in before.items():
        if after.get(path) != facts and not (replaceable and path == name):
            wrong.append(f"touched {path}")
    hidden = [path for path in after if path not in before and path.split("/")[-1].startswith(".")]
    if hidden:
        wrong.append(f"left {hidden[0]}")
    if code == 2 and set(after) - set(before):
        wrong.append(f"refused, but wrote {sorted(set(after) - set(before))[0]}")
    return wrong


def _prepare(home: Path) -> dict[str, str]:
    """What the commands read: data, models, weights; small, and made once."""
    for name in (*WARM, "caps.realize.pretrain"):
        import_module(name)  # once, before the forks
    save_untrained_weights(home / "weights")
    values = noisy_wave(ROWS)
    values[350:360] += 9
    times = pd.date_range("2024-03-01", periods=ROWS, freq="h")
    frame = pd.DataFrame({"time": times, "load": values})
    (home / "fleet").mkdir()
    for path in (home / "metrics.csv", home / "fleet" / "host.csv"):
        frame.to_csv(path, index=False)
    for name, causal in (("model", False), ("causal", True)):
        CAPS(causal=causal, pretrained=home / "weights").fit(frame).save(home / name)
    (home / "models").mkdir()
    (home / "models" / "models").mkdir()
    shutil.copytree(home / "model", home / "models" / "models" / "host")
    (home / "bench").mkdir()
    write_series(home / "bench")
    cells = ["--data", str(home / "bench"), "--methods", "ones", "--out", str(home / "cells")]
    tiny = ["--preset", "tiny", "--pairs", "60", "--steps", "2", "--check-pairs", "60"]
    with suppress(SystemExit):
        main(["bench", "run", *cells, "--save-scores", "--json"])
    with suppress(SystemExit):
        main(["pretrain", *tiny, "--workers", "1", "--out", str(home / "pretrained"), "--json"])
    names = {
        "FILE": "metrics.csv", "MODEL": "model", "CAUSAL": "causal", "WEIGHTS": "weights",
        "PRETRAINED": "pretrained", "FLEET": "fleet", "MODELS": "models",
        "BENCH": "bench", "CELLS": "cells",
    }  # fmt: skip
    os.environ["FUZZ_MODEL"] = str(home / "model")
    return {key: str(home / name) for key, name in names.items()}
