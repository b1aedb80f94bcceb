"""Refits of the service by a schedule: a model is fitted again when its series is a newer one.

The service keeps what was uploaded, so there is something to learn only where a file was uploaded
in place of the one that a model learned from. The new fit is kept beside the one in force, both are
compared on the new file, the comparison goes to the audit, and then the new one takes over.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from caps.errors import CapsError
from caps.serve.requests import Asked
from caps.serve.service import Service

log = logging.getLogger("caps.serve")
LOOK = 60.0  # seconds between looks
AGAIN = {"train": "all", "skip": 0, "replace": True, "review": True}


class Schedule:
    """Asks for fits that are due, and compares them when they have ended."""

    def __init__(self, service: Service, clock: Callable[[], float] = time.time) -> None:
        self.service, self.clock = service, clock
        self.asked: set[str] = set()  # models whose fit this schedule waits for
        self.every, self.review = service.settings.refit_every, service.settings.refit_review

    async def run(self) -> None:
        """Look now and then, until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                await self.look()
            except Exception:  # a damaged entry must not end the schedule
                log.exception("refits by schedule")

    async def look(self) -> None:
        """Ask for what is due, and put in force what has ended."""
        for name in [each for each in self.asked if each not in self.service.fits.active]:
            self.asked.discard(name)
            await self._end(name)
        for name in self.service.models.names():
            try:
                if self._is_due(name):
                    self._ask(name)
            except CapsError as error:
                log.error("no refit of %s: %s", name, error)

    def _is_due(self, name: str) -> bool:
        models = self.service.models
        record, pending = models.record(name), models.pending(name)
        if self.every is None or record is None or pending is not None:
            return False  # also where the last fit failed: somebody has to look at it
        newest = max((_seconds(each.made) for each in models.fits(name).values()), default=0.0)
        if record.request.series not in self.service.series.names():
            return False
        uploaded = _seconds(self.service.series.facts(record.request.series).uploaded)
        return uploaded > newest and self.clock() - newest >= self.every

    def _ask(self, name: str) -> None:
        record = self.service.models.ready(name)
        request: dict[str, Any] = record.request.model_dump() | AGAIN
        # Rows were counted in another file; moments stay.
        request["known"] = [
            span for span in request["known"] if all(isinstance(each, str) for each in span)
        ]
        self.service.fits.ask(name, request | {"alarms": record.budget})
        self.asked.add(name)

    async def _end(self, name: str) -> None:
        models = self.service.models
        record = models.ready(name)
        if models.pending(name) is not None or not record.kept:
            return  # it failed, which the page says
        fit = record.kept[-1]
        change, _ = await self.service.compare(name, Asked(alarms=None), fit)
        models.note(name, "compared", version=fit, before=record.fit, change=change.to_dict())
        if not self.review:
            models.put_in_force(name, fit)


def _seconds(moment: str | None) -> float:
    """Since 1970; 0 where it is not known."""
    return 0.0 if moment is None else datetime.fromisoformat(moment).timestamp()
