"""`caps watch --config FILE` by a clock that a test sets: run as a process that can be killed."""

import sys
from pathlib import Path

from caps.cli.watch import load_models
from caps.watch import Watch, read_config

if __name__ == "__main__":
    config, clock = map(Path, sys.argv[1:])
    Watch(
        read_config(config),
        load_models,
        lambda line: print(line, flush=True),
        clock=lambda: float(clock.read_text()),
    ).run()
