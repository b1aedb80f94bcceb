"""The `caps` command. Exit codes: 0 done, 1 failed, 2 bad input (the message names the remedy)."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import App, CycloptsError, UnknownCommandError

import caps
from caps.cli.wording import in_options
from caps.errors import CapsError, InputError
from caps.jobs import set_default_threads

INTERRUPTED = 130  # what shells report for Ctrl-C

# The help of each command, in the order of `caps --help`; its code is imported when it runs.
COMMANDS = {
    "detect": "Find the anomalies of a series and write a report.\n\n"
    "Example: caps detect metrics.csv --train 2024-03-15 --alarms 1/day --out found/",
    "fit": "Learn from a file and save the model.\n\n"
    "Example: caps fit metrics.csv --train 0.5 --out model/",
    "score": "Score every row of a file by a saved model.\n\n"
    "Example: caps score model/ metrics.csv --out scores.csv",
    "events": "List the events of a file by a saved model.\n\n"
    "Example: caps events model/ metrics.csv --alarms 1/week",
    "fleet": "Fit or score thousands of series, one model each.\n\n"
    "Example: caps fleet fit metrics/ --train 0.5 --out fleet/",
    "watch": "Follow a file or Prometheus and tell events as they happen.\n\n"
    "Example: caps watch model/ --input metrics.csv --follow --state watch/",
    "feedback": "Say whether events were incidents, which changes what alarms.\n\n"
    "Example: caps feedback dismiss model/ metrics.csv 3 --note 'nightly backup'",
    "model": "Versions of a model: compare, put in force, roll back.\n\n"
    "Example: caps model refit versions/ recent.csv --every 7d",
    "config": "Check caps.toml, or print the dashboard for Grafana.\n\n"
    "Example: caps config check caps.toml",
    "export": "Write a saved model as one ONNX file, scored without torch.\n\n"
    "Example: caps export model/ --onnx model.onnx",
    "serve": "Serve models over HTTP, with a page.\n\nExample: caps serve models/ --port 8100",
    "demo": "Run on a simulated month of telemetry; needs no files.\n\n"
    "Example: caps demo --out caps-demo",
    "evaluate": "Print the metrics of anomaly scores against 0/1 labels.\n\n"
    "Example: caps evaluate scores.csv --score score --label label --value value",
    "bench": "Compare all methods on TSB-AD data, with the paper's tables.\n\n"
    "Example: caps bench run --data TSB-AD-U.zip --methods caps,lof --out results/",
    "simulate": "Simulate matched normal and anomalous windows.\n\n"
    "Example: caps simulate --pairs 48000 --out pairs/ --workers 2",
    "pretrain": "Learn representation, experts and router from simulation.\n\n"
    "Example: caps pretrain --preset tiny --out pretrained/",
    "inspect": "Draw pretrained weights at work: figures and one HTML page.\n\n"
    "Example: caps inspect pretrained/ --out inspect/",
}
MODULES = {  # where they are, if not in a module of their own name
    **dict.fromkeys(("fit", "score", "events"), "detect"),
    **dict.fromkeys(("simulate", "pretrain", "inspect"), "offline"),
    **dict.fromkeys(("export", "serve"), "deploy"),
}

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
for index, (name, text) in enumerate(COMMANDS.items()):
    module = f"caps.cli.{MODULES.get(name, name)}"
    app.command(f"{module}:{name}", name=name, help=text, sort_key=index)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    set_default_threads()  # before a command imports numpy and torch
    try:
        try:
            app(arguments)
        finally:
            sys.stdout.flush()
    except CapsError as error:
        _fail(
            *in_options((error.problem, error.remedy)),
            code=2 if isinstance(error, InputError) else 1,
        )
    except UnknownCommandError as error:
        # Its own text would import every command to look for similar names.
        wanted = (error.unused_tokens or ["?"])[0]
        _fail(f"there is no command {wanted!r}", f"choose one of {', '.join(COMMANDS)}", code=2)
    except CycloptsError as error:
        command = " ".join(["caps", *(error.command_chain or ()), "--help"])
        _fail(str(error), f"see {command}", code=2)
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


def _fail(problem: str, remedy: str, *, code: int) -> NoReturn:
    print(f"error: {problem}\n  fix: {remedy}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
