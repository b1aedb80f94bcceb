"""The `caps` command. Exit codes: 0 done, 1 failed, 2 bad input (the message names the remedy)."""

import sys
from collections.abc import Sequence

from cyclopts import App

import caps
from caps.errors import CapsError, InputError

app = App(
    name="caps",
    version=caps.__version__,
    help="Label-free anomaly detection for time series.",
    help_epilogue="Exit codes: 0 done, 1 failed, 2 bad input (the message names the remedy).",
)
app.command(
    "caps.cli.evaluate:evaluate",
    name="evaluate",
    help="Print the metrics of anomaly scores against 0/1 labels.\n\n"
    "Example: caps evaluate scores.csv --score score --label label --value value",
)
app.command("caps.cli.simulate:simulate", name="simulate")


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        app(arguments)
    except CapsError as error:
        print(f"error: {error.problem}\n  fix: {error.remedy}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except BrokenPipeError:
        # The reader (head, less) went away: not our failure, and no traceback for it.
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
