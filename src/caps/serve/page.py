"""The page: its own files, the colours of the report, and plotly's script as installed."""

from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

from caps.report.palette import DARK, LIGHT

KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
FRESH = {"Cache-Control": "no-cache"}


def page_routes() -> APIRouter:
    """`/` and everything it loads, read once."""
    router = APIRouter(include_in_schema=False)
    folder = files("caps.serve") / "static"
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}
    texts["palette.css"] = palette()
    texts["plotly.js"] = _plotly()

    @router.get("/")
    async def index() -> Response:
        return _answer("index.html", texts["index.html"])

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in texts:
            return Response(status_code=404)
        return _answer(name, texts[name])

    return router


def palette() -> str:
    """The colours by role, for light and dark."""
    light, dark = (
        " ".join(f"{role}: {colour};" for role, colour in roles.items()) for roles in (LIGHT, DARK)
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _answer(name: str, text: str) -> Response:
    kind = KINDS[name[name.rindex(".") :]]
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=FRESH)
