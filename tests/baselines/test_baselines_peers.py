"""The adapter to TSB-AD's own models: files in and out, a time limit, output kept."""

import sys
from pathlib import Path

import numpy as np
import pytest

from caps.baselines import METHODS, Method
from caps.baselines.peers import (
    CONFIGURATIONS,
    ON_ITSELF,
    PYTHON_VARIABLE,
    Peer,
    PeerError,
    peers_python,
)
from caps.errors import InputError

ROOT = Path(__file__).parents[2]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
NAMES = ["omnianomaly", "usad", "tranad", "anomaly-transformer", "timesnet", "fits"]


def fake_python(folder: Path, code: str) -> Path:
    """An executable that is called like the peers' Python and does something else."""
    script, program = folder / "fake.py", folder / "python"
    script.write_text(f"import sys, json, time, numpy as np\nfrom pathlib import Path\n{code}\n")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$4"\n')
    program.chmod(0o755)
    return program


def peer(folder: Path, code: str, limit: float = 60.0) -> Peer:
    python = fake_python(folder, code)
    return Peer(CONFIGURATIONS["usad"], 7, python=python, limit=limit)


def wave(rows: int, channels: int = 1) -> np.ndarray:
    return np.sin(np.arange(rows * channels) / 5).reshape(rows, channels)


def test_arrays_and_settings_reach_the_child_and_scores_come_back(tmp_path: Path) -> None:
    code = """
folder = Path(sys.argv[1])
order = json.loads((folder / "order.json").read_text())
assert order == {"model": "USAD", "settings": {"win_size": 100, "lr": 0.001}, "seed": 7}, order
train, series = np.load(folder / "train.npy"), np.load(folder / "series.npy")
assert train.shape == (30, 2) and np.isfinite(train).all()
np.save(folder / "scores.npy", series[:, 0] + train.mean())
"""
    train = wave(30, 2)
    train[3] = np.nan
    scores = peer(tmp_path, code).fit(train).score(wave(20, 2))
    assert scores.shape == (20,)
    assert np.ptp(scores - wave(20, 2)[:, 0]) < 1e-12


@pytest.mark.parametrize(
    ("name", "settings"),
    [("kshapead-tsb", {"window": 31}), ("poly-tsb", {"window": 31, "power": 4})],
)
def test_a_model_that_learns_from_the_series_gets_its_period(
    tmp_path: Path, name: str, settings: dict[str, int]
) -> None:
    code = f"""
folder = Path(sys.argv[1])
assert json.loads((folder / "order.json").read_text())["settings"] == {settings}
np.save(folder / "scores.npy", np.load(folder / "series.npy")[:, 0])
"""
    model = Peer(ON_ITSELF[name], 0, python=fake_python(tmp_path, code)).fit(wave(30))
    assert model.score(wave(400)).shape == (400,)
    several = Peer(ON_ITSELF[name], 0, python=tmp_path / "python").fit(wave(30, 2))
    with pytest.raises(InputError, match="one channel"):
        several.score(wave(400, 2))


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("print('out of luck'); sys.exit(3)", r"status 3[\s\S]*out of luck"),
        ("raise KeyError('model')", r"status 1[\s\S]*KeyError"),
        ("print('Model function is not defined.')", r"no scores[\s\S]*not defined"),
        ("(Path(sys.argv[1]) / 'scores.npy').write_text('garbage')", "no scores"),
        ("np.save(sys.argv[1] + '/scores.npy', np.zeros(3))", r"shape \(3,\) for 20 rows"),
        ("np.save(sys.argv[1] + '/scores.npy', np.array(['error'] * 20))", "U5 scores"),
        ("np.save(sys.argv[1] + '/scores.npy', np.full(20, np.nan))", "not finite"),
    ],
)
def test_a_peer_that_fails_says_how(tmp_path: Path, code: str, complaint: str) -> None:
    with pytest.raises(PeerError, match=complaint):
        peer(tmp_path, code).fit(wave(30)).score(wave(20))


def test_a_peer_that_hangs_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="more than 1 s"):
        peer(tmp_path, "time.sleep(60)", limit=1.0).fit(wave(30)).score(wave(20))


def test_a_missing_environment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PYTHON_VARIABLE, raising=False)
    with pytest.raises(InputError, match="make peers"):
        METHODS["tranad"](0).fit(wave(30))
    monkeypatch.setenv(PYTHON_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="nowhere"):
        peers_python()
    broken = tmp_path / "broken"
    broken.write_text("no program")
    with pytest.raises(InputError, match="cannot be started"):
        Peer(CONFIGURATIONS["fits"], 0, python=broken).fit(wave(30)).score(wave(20))


def test_every_peer_is_among_the_methods() -> None:
    for name in [*NAMES, "omnianomaly-tsb", *ON_ITSELF]:
        method = METHODS[name](0)
        assert isinstance(method, Method)
        with pytest.raises(InputError, match="call fit first"):
            method.score(wave(10))


def test_a_second_name_has_other_settings() -> None:
    for name in CONFIGURATIONS:
        if name.endswith("-tsb"):
            assert CONFIGURATIONS[name] != CONFIGURATIONS[name.removesuffix("-tsb")]


@pytest.mark.slow
@pytest.mark.skipif(not PEERS.is_file(), reason="no .venv-peers: run `make peers`")
@pytest.mark.parametrize("channels", [1, 3])
def test_a_real_peer_scores_every_row(channels: int) -> None:
    series = wave(260, channels)
    first, second = (
        Peer(CONFIGURATIONS["fits"], 0, python=PEERS).fit(wave(600, channels)).score(series)
        for _ in range(2)
    )
    assert first.shape == (260,)
    assert np.array_equal(first, second)


@pytest.mark.slow
@pytest.mark.skipif(not PEERS.is_file(), reason="no .venv-peers: run `make peers`")
@pytest.mark.parametrize("name", list(ON_ITSELF))
def test_a_real_light_peer_scores_every_row(name: str) -> None:
    scores = Peer(ON_ITSELF[name], 0, python=PEERS).fit(wave(100)).score(wave(1500))
    assert scores.shape == (1500,)
