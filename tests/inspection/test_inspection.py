"""`caps inspect` draws a pretraining: every figure, one page that needs nothing else, figures."""

import json
import struct
import sys
from base64 import b64encode
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import caps.realize.pretrain
from caps.cli.offline import inspect
from caps.errors import ArtifactError, InputError
from caps.inspection import PAGE, SAMPLERS, inspect_pretrained
from caps.inspection.tables import (
    MODE_GOALS,
    NOISE,
    REPRESENTATION_GOALS,
    ROUTER_GOAL,
    STRUCTURE,
    spelled,
)
from caps.inspection.views import (
    code_clouds,
    expert_samples,
    neighbour_share,
    originals,
    recombined,
    view,
)
from caps.realize import Mode, Pretrained, Sampler, preset_named
from caps.realize.experts import Denoiser, ResidualVae
from caps.realize.modes import Router
from caps.realize.pretrain import Pretraining
from caps.realize.source import encode_source, mode_sources, organise
from caps.represent import Representation
from caps.simulate import FAMILIES, simulate_pairs

TINY = preset_named("tiny")
DOCS = Path(__file__).parents[2] / "docs" / "inspect.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny pretraining, its checks on few pairs to save time."""
    folder = tmp_path_factory.mktemp("inspected") / "tiny"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caps.realize.pretrain, "CHECKED", 120)
        assert Pretraining(TINY, folder, workers=1).result() is not None
    return folder


@pytest.fixture(scope="module")
def out(folder: Path) -> Path:
    """Where the tiny pretraining is drawn."""
    return folder.with_name("look")


@pytest.fixture(scope="module")
def figures(folder: Path, out: Path) -> dict[str, Any]:
    """What `caps inspect --json` prints of the tiny pretraining."""
    printed = StringIO()
    with redirect_stdout(printed):
        inspect(folder, out=out, pairs=60, json_output=True)
    return dict(json.loads(printed.getvalue()))


@cache
def untrained(*, mechanism: str = "diffusion", clusters: int = 0) -> Pretrained:
    """Networks with random weights: enough to draw, and made in no time."""
    realize = replace(TINY.realize, mechanism=mechanism, clusters=clusters)
    preset = replace(TINY, realize=realize)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        representation = Representation(preset.represent).eval().requires_grad_(False)
        source = encode_source(representation, simulate_pairs(300, seed=0))
        modes = organise(source.pairs.family, source.semantic_code.numpy(), clusters, seed=0)
        fitted = mode_sources(source, modes, pool=16, seed=0)
        experts = [
            ResidualVae(preset.represent)
            if mechanism == "vae"
            else Denoiser(realize, preset.represent)
            for _ in fitted
        ]
        sizes = preset.represent.structure, preset.represent.semantic
        router = Router(*sizes, len(modes), realize.router_hidden).eval()
    parts = zip(modes.names, fitted, experts, strict=True)
    return Pretrained(
        preset=preset,
        representation=representation,
        code_scale=source.code_scale,
        modes=tuple(
            Mode(name, mode.prior, mode.pool, expert.eval().requires_grad_(False), mode.scale)
            for name, mode, expert in parts
        ),
        router=router,
    )


def png_size(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


@pytest.mark.slow
def test_every_figure_is_drawn_and_the_page_holds_it(out: Path, figures: dict[str, Any]) -> None:
    page = (out / PAGE).read_text(encoding="utf-8")
    names = {path.name for path in out.iterdir()}
    experts = {f"expert-{family}.png" for family in FAMILIES}
    others = {"codes.png", "losses.png", "recombination.png", "recombination-decoder.png"}
    assert names == {PAGE, "router.png"} | experts | others
    assert {Path(path).name for path in figures["figures"]} == names - {PAGE}
    for path in map(Path, figures["figures"]):
        width, height = png_size(path)
        assert 300 < width < 2000
        assert 200 < height < 2000
        assert b64encode(path.read_bytes()).decode() in page


@pytest.mark.slow
def test_the_page_asks_for_nothing_else_and_holds_the_tables(
    out: Path, figures: dict[str, Any]
) -> None:
    page = (out / PAGE).read_text(encoding="utf-8")
    assert not any(word in page for word in ("http:", "https:", "<script", "<link", "@import"))
    assert page.count("src=") == page.count('src="data:image/png') == len(figures["figures"])
    assert "prefers-color-scheme: dark" in page
    captions = ("Stages", "Representation, on unseen pairs", "Experts and router", "Sizes")
    assert all(f"<caption>{caption}" in page for caption in captions)
    accuracy = figures["checks"]["realization"]["router"]["accuracy"]
    assert f"{accuracy:.3f} {'✓' if accuracy >= ROUTER_GOAL[0] else '✗'}" in page


@pytest.mark.slow
def test_json_holds_what_the_page_shows(folder: Path, figures: dict[str, Any]) -> None:
    keys = {"page", "figures", "pairs", "seed", "modes", "neighbours", "router", "checks"}
    assert set(figures) == keys
    assert Path(figures["page"]).is_file()
    assert figures["seed"] == 1
    assert np.array(figures["router"]["confusion"]).sum(axis=1).tolist() == [20, 20, 20]
    assert figures["checks"] == Pretrained.load(folder).facts["checks"]


@pytest.mark.slow
def test_the_same_seed_draws_the_same_page_and_tells_its_progress(
    folder: Path, figures: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inspect(folder, out=tmp_path, pairs=60, seed=1)
    assert (tmp_path / PAGE).read_bytes() == Path(figures["page"]).read_bytes()
    captured = capsys.readouterr()
    assert f"open {tmp_path / PAGE}" in captured.out
    assert f"drawn {tmp_path / 'router.png'}" in captured.err


@pytest.mark.slow
def test_every_goal_names_a_check_of_the_manifest(figures: dict[str, Any]) -> None:
    checks = figures["checks"]
    assert set(REPRESENTATION_GOALS) <= set(checks["representation"])
    for family in FAMILIES:
        assert {*MODE_GOALS, NOISE, STRUCTURE} <= set(checks["realization"][family])


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "clusters"), [("vae", 0), ("sequence", 0), ("diffusion", 7)])
def test_other_mechanisms_and_modes_are_drawn(
    mechanism: str, clusters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rasters are most of the time, and those of the default have been looked at.
    monkeypatch.setattr(
        "caps.inspection.page.write_png", lambda figure, path: path.write_bytes(b"")
    )
    pretrained = untrained(mechanism=mechanism, clusters=clusters)
    figures = inspect_pretrained(pretrained, tmp_path, pairs=90)
    assert len(figures["modes"]) == (clusters or 3)
    assert np.array(figures["router"]["confusion"]).shape == (len(figures["modes"]),) * 2
    expected = {
        f"expert-{mode.replace(' ', '-')}.png"
        for row, mode in zip(figures["router"]["confusion"], figures["modes"], strict=True)
        if sum(row)
    }
    assert expected == {path.name for path in tmp_path.glob("expert-*.png")}
    assert "no loss curves" in (tmp_path / PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize("clusters", [0, 5])
def test_recombination_reuses_a_code_and_keeps_the_background(clusters: int) -> None:
    seen = view(untrained(clusters=clusters), simulate_pairs(90, seed=3))
    made, decoded = recombined(seen, seed=0)
    for grid in (made, decoded):
        framed = [[panel.framed for panel in row] for row in grid.panels]
        assert framed == np.eye(3, dtype=bool).tolist()
    for row in made.panels:
        for panel in row:
            outside = ~panel.support
            assert np.array_equal(panel.counterpart[outside], panel.reference[outside])
            assert (panel.counterpart != panel.reference)[panel.support].any()
        assert all(np.array_equal(panel.reference, row[0].reference) for panel in row)
    for column in zip(*made.panels, strict=True):
        assert all(np.array_equal(panel.support, column[0].support) for panel in column)


def test_recombination_starts_from_one_pair_of_each_family_on_different_series() -> None:
    pairs = simulate_pairs(300, seed=4)
    chosen = originals(pairs)
    assert pairs.family[chosen].tolist() == [0, 1, 2]
    assert len(set(pairs.generator[chosen])) == 3


def test_samples_of_an_expert_stand_beside_their_own_pair() -> None:
    seen = view(untrained(), simulate_pairs(90, seed=3))
    grid = expert_samples(seen, 1, seed=0)
    assert grid is not None
    assert len(grid.rows) == 5
    assert len(set(grid.rows)) == 5
    rows = [np.flatnonzero((seen.pairs.normal == row[0].reference).all(1)) for row in grid.panels]
    for row, (simulated, *drawn) in zip(rows, grid.panels, strict=True):
        assert (seen.pairs.family[row] == 1).any()
        assert any(np.array_equal(simulated.counterpart, seen.pairs.anomalous[i]) for i in row)
        assert not np.array_equal(drawn[1].counterpart, drawn[2].counterpart)


def test_neighbours_are_counted_outside_the_own_group() -> None:
    rng = np.random.default_rng(0)
    codes, label = rng.normal(size=(40, 3)), rng.integers(2, size=40)
    group = np.tile(np.arange(20), 2)
    codes[20:] = codes[:20] + 1e-3 * rng.normal(size=(20, 3))  # partners are the nearest
    scaled = (codes - codes.mean(0)) / codes.std(0)
    shares = []
    for i in range(40):
        distance = np.square(scaled - scaled[i]).sum(1)
        distance[group == group[i]] = np.inf
        shares.append(np.mean(label[np.argsort(distance)[:15]] == label[i]))
    assert neighbour_share(codes, label, group) == pytest.approx(np.mean(shares))


@pytest.mark.slow
def test_codes_that_know_the_family_show_it() -> None:
    pairs = simulate_pairs(90, seed=3)
    seen = view(untrained(), pairs)
    shifted = seen.source.semantic_code + 50 * torch.from_numpy(pairs.family).float().unsqueeze(1)
    source = replace(seen.source, semantic_code=shifted)
    _, shares = code_clouds(replace(seen, source=source), seed=0)
    assert shares["same family among neighbours in z_a"] == 1


@pytest.mark.slow
def test_samplers_within_the_steps_of_the_diffusion_are_compared(tmp_path: Path) -> None:
    samplers = (Sampler("dpm++", 3), Sampler("ddpm", 200))
    figures = inspect_pretrained(untrained(clusters=1), tmp_path, pairs=60, samplers=samplers)
    (row,) = figures["samplers"]
    assert (row["sampler"], row["steps"], row["mode"]) == ("dpm++", 3, "cluster 1")
    assert figures["router"]["confusion"] == [[60]]
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert "<caption>Samplers" in page
    assert f"{row['rms ratio']:.3f}" in page


def test_what_cannot_be_inspected_is_refused_with_a_remedy(tmp_path: Path) -> None:
    pretrained = replace(untrained(), facts={"seed": 7})
    with pytest.raises(InputError, match="choose another seed"):
        inspect_pretrained(pretrained, tmp_path, seed=7)
    with pytest.raises(InputError, match="30 or more"):
        inspect_pretrained(pretrained, tmp_path, pairs=4)
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="is a file"):
        inspect_pretrained(pretrained, tmp_path / "taken")
    with pytest.raises(InputError, match="leave the samplers out"):
        inspect_pretrained(untrained(mechanism="vae"), tmp_path, samplers=SAMPLERS)


def test_folders_without_a_pretraining_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        inspect(tmp_path / "missing")
    with pytest.raises(ArtifactError, match=r"has no manifest\.json"):
        inspect(tmp_path)


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"caps-tsad\[plots\]"):
        inspect_pretrained(untrained(), tmp_path, pairs=30)


def test_the_page_of_the_docs_gives_every_goal() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for check, goal in {**REPRESENTATION_GOALS, **MODE_GOALS}.items():
        assert f"| {check} | {spelled(goal)} |" in text
    assert f"| router accuracy | {spelled(ROUTER_GOAL)} |" in text
