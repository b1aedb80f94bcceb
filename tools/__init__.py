"""What only this repository's developers run: `python -m tools --list`, see docs/studies.md."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the oracles, which parity compares with
