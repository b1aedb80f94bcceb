"""The `caps` command. Exit codes: 0 done, 1 failed, 2 bad input (the message names the remedy)."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from cyclopts import App, CycloptsError, UnknownCommandError

import caps
from caps.errors import CapsError, InputError

INTERRUPTED = 130  # what shells report for Ctrl-C


@dataclass(frozen=True, slots=True)
class Command:
    """A command as the help shows it; its code is `caps.cli.<name>:<name>`, imported when run."""

    name: str
    summary: str
    example: str


# In the order of `caps --help`.
COMMANDS = (
    Command(
        "detect",
        "Find the anomalies of a series and write a report.",
        "caps detect metrics.csv --train 2024-03-15 --alarms 1/day --out found/",
    ),
    Command(
        "fit",
        "Learn from a file and save the model.",
        "caps fit metrics.csv --train 0.5 --out model/",
    ),
    Command(
        "score",
        "Score every row of a file by a saved model.",
        "caps score model/ metrics.csv --out scores.csv",
    ),
    Command(
        "events",
        "List the events of a file by a saved model.",
        "caps events model/ metrics.csv --alarms 1/week",
    ),
    Command(
        "fleet",
        "Fit or score thousands of series, one model each.",
        "caps fleet fit metrics/ --train 0.5 --out fleet/",
    ),
    Command(
        "watch",
        "Follow a growing file and print events as they happen.",
        "caps watch model/ --input metrics.csv --follow --state watch/",
    ),
    Command(
        "export",
        "Write a saved model as one ONNX file, scored without torch.",
        "caps export model/ --onnx model.onnx",
    ),
    Command(
        "serve",
        "Serve models over HTTP, with a page.",
        "caps serve models/ --port 8100",
    ),
    Command(
        "demo",
        "Run on a simulated month of telemetry; needs no files.",
        "caps demo --out caps-demo",
    ),
    Command(
        "evaluate",
        "Print the metrics of anomaly scores against 0/1 labels.",
        "caps evaluate scores.csv --score score --label label --value value",
    ),
    Command(
        "bench",
        "Compare all methods on TSB-AD data, with the paper's tables.",
        "caps bench run --data TSB-AD-U.zip --methods caps,lof --out results/",
    ),
    Command(
        "simulate",
        "Simulate matched normal and anomalous windows.",
        "caps simulate --pairs 48000 --out pairs/ --workers 2",
    ),
    Command(
        "pretrain",
        "Learn representation, experts and router from simulation.",
        "caps pretrain --preset tiny --out pretrained/",
    ),
    Command(
        "inspect",
        "Draw pretrained weights at work: figures and one HTML page.",
        "caps inspect pretrained/ --out inspect/",
    ),
)

app = App(
    name="caps",
    version=caps.__version__,
    help="Label-free anomaly detection for time series.",
    help_epilogue="Exit codes: 0 done, 1 failed, 2 bad input (the message names the remedy).",
    help_format="plaintext",
    print_error=False,
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
)
for index, command in enumerate(COMMANDS):
    app.command(
        f"caps.cli.{command.name}:{command.name}",
        name=command.name,
        help=f"{command.summary}\n\nExample: {command.example}",
        sort_key=index,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    try:
        _run(arguments)
    except CapsError as error:
        _fail(error.problem, error.remedy, code=2 if isinstance(error, InputError) else 1)
    except UnknownCommandError as error:
        # Its own text would import every command to look for similar names.
        wanted = (error.unused_tokens or ["?"])[0]
        names = ", ".join(command.name for command in COMMANDS)
        _fail(f"there is no command {wanted!r}", f"choose one of {names}", code=2)
    except CycloptsError as error:
        _fail(str(error), f"see {_help_command(error)}", code=2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) went away: not our failure, and no traceback for it. Python
        # flushes once more when it ends, into a place where nothing can break.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _fail(str(error), "check the path, its permissions and the free space", code=1)


def _run(arguments: Sequence[str] | None) -> None:
    try:
        app(arguments)
    finally:
        sys.stdout.flush()


def _fail(problem: str, remedy: str, *, code: int) -> NoReturn:
    print(f"error: {problem}\n  fix: {remedy}", file=sys.stderr)
    sys.exit(code)


def _help_command(error: CycloptsError) -> str:
    return " ".join(["caps", *(error.command_chain or ()), "--help"])


if __name__ == "__main__":
    main()
