"""A command run in this process."""

import pytest

from caps.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """What it printed, or where it is to end with another code what it said was wrong."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    assert stop.value.code == code, shown.err
    return shown.out if code == 0 else shown.err
