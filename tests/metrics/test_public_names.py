import subprocess
import sys

import caps.metrics


def test_every_public_name_exists():
    assert all(hasattr(caps.metrics, name) for name in caps.metrics.__all__)


def test_metrics_load_nothing_heavier_than_numpy():
    code = (
        "import sys; from caps.metrics import *; "
        "print({'torch', 'pandas', 'scipy', 'sklearn'} & {*sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
