"""The installed `caps` command: help, errors with a remedy, exit codes, nothing heavy at start."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import caps
import caps.cli.demo
from caps.cli.main import COMMANDS, main
from caps.errors import ArtifactError

CAPS = Path(sys.executable).with_name("caps")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command in this process; that it starts from a shell is checked once."""

    def call(*arguments: str) -> "subprocess.CompletedProcess[str]":
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        code = int(stop.value.code or 0)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return call


def ends_with_remedy(outcome: "subprocess.CompletedProcess[str]", code: int = 2) -> str:
    """Check that the command failed in two lines, and return the remedy."""
    assert outcome.returncode == code
    assert outcome.stdout == ""
    error, fix = outcome.stderr.splitlines()
    assert error.startswith("error: ")
    return fix.removeprefix("  fix: ")


def test_help_lists_every_command_in_order(run: Run) -> None:
    outcome = run("--help")
    assert outcome.returncode == 0
    found = [re.search(rf"^\W*{name} ", outcome.stdout, re.MULTILINE) for name in COMMANDS]
    positions = [each.start() if each else -1 for each in found]
    assert positions == sorted(positions)
    assert all(text.splitlines()[0] in outcome.stdout for text in COMMANDS.values())
    assert "Exit codes" in outcome.stdout


def test_version_is_the_version_also_from_a_shell(run: Run, tmp_path: Path) -> None:
    shells = [
        subprocess.run([*start, "--version"], capture_output=True, text=True, cwd=tmp_path)
        for start in ([CAPS], [sys.executable, "-m", "caps"])
    ]
    for outcome in (*shells, run("--version")):
        assert (outcome.returncode, outcome.stdout.strip()) == (0, caps.__version__)


def test_a_refusal_from_a_shell_has_its_exit_code(tmp_path: Path) -> None:
    line = [CAPS, "evaluate", "scores.csv", "--score", "a", "--label", "b"]
    outcome = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert ends_with_remedy(outcome)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["evalute"]])
def test_help_version_and_typos_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom caps.cli.main import main\n"
        f"try:\n    main({arguments})\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'scipy', 'torch', 'matplotlib'}\n"
        "print('loaded', sorted(heavy & {*sys.modules}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "loaded []"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_shows_its_example_and_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    example = COMMANDS[name].splitlines()[-1]
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    assert example.startswith(f"Example: caps {name} ")
    assert example in shown
    assert "--json" in shown


def test_an_unknown_command_names_those_there_are(run: Run) -> None:
    remedy = ends_with_remedy(run("evalute", "scores.csv"))
    assert remedy == f"choose one of {', '.join(COMMANDS)}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate"],
        ["evaluate", "scores.csv", "--score", "a", "--label", "b", "--window", "wide"],
        ["evaluate", "scores.csv", "--score", "a", "--label", "b", "--protocol", "best"],
        ["evaluate", "scores.csv", "--score", "a", "--label", "b", "--quietly"],
    ],
)
def test_arguments_that_do_not_parse_point_to_the_help(run: Run, arguments: list[str]) -> None:
    assert ends_with_remedy(run(*arguments)) == "see caps evaluate --help"


@pytest.mark.parametrize(
    ("lines", "remedy"),
    [
        (["0.1,0"] * 4 + ["0.9,1"], "give more than 100 points or a smaller window"),
        (["0.1,0"] * 200 + [",1"], "score every point"),
        (["0.1,0"] * 200, "name the column that holds the labels"),
        (None, "score, label"),
    ],
    ids=["five rows", "missing score", "no positives", "missing column"],
)
def test_unusable_scores_end_with_a_remedy(
    run: Run, tmp_path: Path, lines: list[str] | None, remedy: str
) -> None:
    (tmp_path / "scores.csv").write_text("\n".join(["score,label", *(lines or ["0.1,0"] * 200)]))
    label = "label" if lines else "truth"
    outcome = run("evaluate", "scores.csv", "--score", "score", "--label", label)
    assert remedy in ends_with_remedy(outcome)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ArtifactError("the folder is cut off", "write it again"), 1, "fix: write it again"),
        (OSError(28, "No space left on device"), 1, "free space"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["artifact", "disk", "interrupt"],
)
def test_what_goes_wrong_inside_a_command_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    error: BaseException,
    code: int,
    message: str,
) -> None:
    def fail(seed: int) -> None:
        raise error

    monkeypatch.setattr(caps.cli.demo, "month_of_telemetry", fail)
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--out", str(tmp_path)])
    assert stop.value.code == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err


def test_a_mistake_of_ours_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(seed: int) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(caps.cli.demo, "month_of_telemetry", fail)
    with pytest.raises(ZeroDivisionError):
        main(["demo", "--out", str(tmp_path)])


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "scores.csv", "--json"]])
def test_a_reader_that_went_away_is_no_error(tmp_path: Path, arguments: list[str]) -> None:
    rows = ["score,label", *["0.1,0"] * 200, "0.9,1"]
    (tmp_path / "scores.csv").write_text("\n".join(rows))
    columns = ["--score", "score", "--label", "label"] if len(arguments) > 1 else []
    process = subprocess.Popen(
        [CAPS, *arguments, *columns],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()
