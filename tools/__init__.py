"""What only this repository's developers run: `python -m tools --list`, see docs/studies.md."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Attacks and parity use the small models, inputs and oracles of the tests.
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("", "bench", "cli")]
