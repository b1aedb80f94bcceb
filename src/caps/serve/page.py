"""The page: its own files, the colours of the report, and plotly's script as installed."""

import re
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

from caps.plots import palette_css, plotly_script

KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
FRESH, STEADY = "no-cache", "private, max-age=86400"
UNUSED = "<!-- unused styles -->"


def page_routes() -> APIRouter:
    """`/` and everything it loads, read once."""
    router = APIRouter(include_in_schema=False)
    folder = files("caps.serve") / "static"
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}
    texts["palette.css"] = palette_css()
    texts["plotly.js"] = plotly = plotly_script()
    texts["index.html"] = texts["index.html"].replace(UNUSED, _placeholders(plotly))

    @router.get("/")
    async def index() -> Response:
        return _answer("index.html", texts["index.html"])

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in texts:
            return Response(status_code=404)
        return _answer(name, texts[name])

    return router


def _placeholders(plotly: str) -> str:
    """Elements by whose names the script takes the inline styles of its maps as there already.

    The page draws no maps, and its policy forbids inline styles.
    """
    names = sorted(set(re.findall(r'getElementById\("([0-9a-f]{64})"\)', plotly)))
    return "".join(f'<meta id="{name}" content="">' for name in names)


def _answer(name: str, text: str) -> Response:
    kind = KINDS[name[name.rindex(".") :]]
    caching = STEADY if name == "plotly.js" else FRESH
    return Response(text, media_type=f"{kind}; charset=utf-8", headers={"Cache-Control": caching})
