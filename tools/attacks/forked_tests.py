"""Runs of pytest, each in a fork of a process that has imported what tests take seconds to import.

A line of standard input is a JSON list of pytest's arguments; the answer is a line with its exit
code and what it printed. Nothing of CAPS is imported before a fork: each run reads it anew.
"""

import json
import os
import signal
import sys
import tempfile
from importlib import import_module

import pytest

HEAVY = ("einops", "pandas", "scipy.signal", "scipy.special", "sklearn.base", "torch")
PATIENCE = 900  # seconds for one run


def outcome_of(arguments: list[str]) -> tuple[int, str]:
    """Exit code and output; a run that hangs ends by a signal, a negative code."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            signal.alarm(PATIENCE)
            os._exit(int(pytest.main(arguments)))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return code, output.read().decode(errors="replace")


if __name__ == "__main__":
    for name in HEAVY:
        import_module(name)
    for line in sys.stdin:
        print(json.dumps(outcome_of(json.loads(line))), flush=True)
