"""Pages in a browser, watched: nothing may go wrong on them, or be fetched from elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from patience import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
Open = Callable[..., "Page"]


@contextmanager
def watched_pages(browser: "Browser") -> Iterator[Open]:
    """Open pages; afterwards, no error, no line of the console and no foreign request was seen."""
    faults: list[str] = []
    contexts = []

    def open_page(
        url: str, own: tuple[str, ...] = (), quiet: bool = True, **options: Any
    ) -> "Page":
        """Open a page that fetches what begins like itself, or like one of `own`."""
        contexts.append(browser.new_context(**{"viewport": DESKTOP, **options}))
        page = contexts[-1].new_page()
        page.set_default_timeout(1000 * PATIENCE)
        if quiet:
            page.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((url, *own)) else faults.append(request.url)
            ),
        )
        page.goto(url)
        return page

    yield open_page
    seen = [*faults]  # what is cut off by closing is no fault of the page
    for context in contexts:
        context.close()
    assert seen == [], seen
