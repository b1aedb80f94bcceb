"""All colours, by role: charts name roles, the page, the notebook or matplotlib fills them in."""

from typing import Any

LIGHT = {
    "--page": "#fbfaf8",
    "--card": "#ffffff",
    "--ink": "#1c2330",
    "--soft": "#5a6475",
    "--line": "#e3e1db",
    "--grid": "rgba(28, 35, 48, 0.07)",
    "--accent": "#24508c",
    "--series": "#2f5f9e",
    "--normal": "#c77700",
    "--past": "#2e8b62",
    "--score": "#5b4a8a",
    "--score-fill": "rgba(91, 74, 138, 0.14)",
    "--event": "#b8323f",
    "--band": "rgba(200, 52, 66, 0.15)",
    "--band-edge": "rgba(200, 52, 66, 0.45)",
    "--training": "rgba(90, 100, 117, 0.08)",
    "--mark": "rgba(199, 119, 0, 0.16)",
    "--mark-edge": "rgba(199, 119, 0, 0.6)",
    "--good": "#1d7d46",
    "--hover": "#ffffff",
}
DARK = {
    "--page": "#12151b",
    "--card": "#191d25",
    "--ink": "#e7e9ee",
    "--soft": "#a2abba",
    "--line": "#2c323d",
    "--grid": "rgba(231, 233, 238, 0.08)",
    "--accent": "#8fb8f2",
    "--series": "#79a9ea",
    "--normal": "#eaa64a",
    "--past": "#6cc9a0",
    "--score": "#b7a6ea",
    "--score-fill": "rgba(183, 166, 234, 0.16)",
    "--event": "#f3808a",
    "--band": "rgba(240, 100, 112, 0.20)",
    "--band-edge": "rgba(240, 100, 112, 0.55)",
    "--training": "rgba(162, 171, 186, 0.10)",
    "--mark": "rgba(234, 166, 74, 0.18)",
    "--mark-edge": "rgba(234, 166, 74, 0.6)",
    "--good": "#62c48c",
    "--hover": "#20252f",
}
NEUTRAL = "#8a8f98"
# For things that have no role; far apart also for colour-blind readers.
DISTINCT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#444444")
FAMILY_COLOURS = {
    "point": LIGHT["--event"],
    "periodic": LIGHT["--series"],
    "trend": LIGHT["--good"],
}


def palette_css() -> str:
    """The colours as properties of a style sheet, for light and dark."""
    light, dark = (
        " ".join(f"{role}: {colour};" for role, colour in roles.items()) for roles in (LIGHT, DARK)
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def painted(spec: Any, palette: dict[str, str]) -> Any:
    """A chart in which every role has become its colour.

    >>> painted({"line": {"color": "--ink", "width": 1}, "name": "--ink"}, LIGHT)
    {'line': {'color': '#1c2330', 'width': 1}, 'name': '--ink'}
    """
    if isinstance(spec, list):
        return [painted(part, palette) for part in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        # Only of colours: text of users may look like a role.
        name: palette.get(part, part)
        if name.endswith("color") and isinstance(part, str)
        else painted(part, palette)
        for name, part in spec.items()
    }
