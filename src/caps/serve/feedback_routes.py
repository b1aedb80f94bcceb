"""Endpoints for what people decide: feedback on events, and which fit is in force."""

from threading import Lock
from typing import Annotated

from fastapi import APIRouter, Query

from caps.errors import InputError
from caps.events import AlarmChange as Changed, Feedback
from caps.serve.answers import BODY, AlarmChange, FeedbackAnswer, Judged, VersionFacts, router_of
from caps.serve.found import Found
from caps.serve.lines import Axis
from caps.serve.refusals import missing
from caps.serve.requests import Asked, ChosenVersion, Judgement, Name
from caps.serve.service import Service


def feedback_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/models/{name}/feedback."""
    router = router_of("models/{name}/feedback", 404, 409)
    writing = Lock()  # ids are counted: one at a time

    @router.get("")
    async def list_feedback(name: Name) -> list[Judged]:
        """What people said of events of a model, also what was revoked."""
        service.models.ready(name)
        return [_judged(each) for each in service.models.feedback(name)]

    @router.post("", responses=BODY)
    async def give_feedback(name: Name, request: Judgement) -> FeedbackAnswer:
        """Say that an event was no incident, or that it was one: events like it follow.

        With `dry_run` nothing is kept; the answer shows the alarms gained and lost.
        """

        def judge(found: Found) -> FeedbackAnswer:
            with writing:
                model = service.model(name, request.alarms, request.series)
                verdict, said = request.verdict, {"note": request.note, "kind": request.kind}
                book = found.analysis.judge(
                    request.event, verdict, service.models.feedback(name), **said
                )
                change, entry = model.change_by(found.analysis, book), book.entries[-1]
                if not request.dry_run:
                    facts = _judged(entry).model_dump()
                    service.models.set_feedback(name, book, "feedback", **facts)
            return _answer(entry, change, found.axis, taken=not request.dry_run)

        return await service.query(name, request, judge, fit=request.fit, quick=False)

    @router.delete("/{id}")
    async def revoke_feedback(
        name: Name, id: str, asked: Annotated[Asked, Query()], dry_run: bool = False
    ) -> FeedbackAnswer:
        """Take feedback back: all is as if it had not been given."""

        def revoke(found: Found) -> FeedbackAnswer:
            with writing:
                model = service.model(name, asked.alarms, asked.series)
                try:
                    book = service.models.feedback(name).revoke(id)
                except InputError:
                    raise missing("feedback", id[:40]) from None
                change = model.change_by(found.analysis, book)
                entry = next(each for each in book if each.id == id)
                if not dry_run:
                    facts = _judged(entry).model_dump()
                    service.models.set_feedback(name, book, "revoked", **facts)
            return _answer(entry, change, found.axis, taken=not dry_run)

        return await service.query(name, asked, revoke, quick=False)

    return router


def version_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/models/{name}/versions."""
    router = router_of("models/{name}/versions", 404, 409)

    def listed(name: str) -> list[VersionFacts]:
        record = service.models.ready(name)
        return [
            VersionFacts(
                fit=fit,
                in_force=fit == record.fit,
                before=fit == record.before,
                **facts.model_dump(include={"made", "train", "learned", "data", "seconds"}),
            )
            for fit, facts in service.models.fits(name).items()
        ]

    @router.get("")
    async def list_versions(name: Name) -> list[VersionFacts]:
        """The fits of a model that are kept: what they learned from, and which is in force."""
        return listed(name)

    @router.put("", responses=BODY)
    async def choose_version(name: Name, request: ChosenVersion) -> list[VersionFacts]:
        """Put a fit in force that is kept: a new one that was reviewed, or an older one again."""
        service.models.put_in_force(name, request.fit)
        return listed(name)

    @router.get("/{fit}/changes")
    async def compare_version(
        name: Name, fit: str, asked: Annotated[Asked, Query()]
    ) -> AlarmChange:
        """The alarms of the last month that a fit gains and loses beside the one in force."""
        if fit not in service.models.fits(name):
            raise missing("version", fit[:40])
        return change_of(*await service.compare(name, asked, fit))

    return router


def change_of(change: Changed, axis: Axis) -> AlarmChange:
    """Alarms gained and lost, in the words of the API: times as the series has them."""
    facts = change.to_dict()
    for each in (*facts["gained"], *facts["lost"]):
        each["start"] = axis.moment(each["start_row"])
        each["end"] = axis.moment(each["end_row"] - 1)
    return AlarmChange(**facts, said=str(change))


def _judged(entry: Feedback) -> Judged:
    return Judged(**{name: getattr(entry, name) for name in Judged.model_fields})


def _answer(entry: Feedback, change: Changed, axis: Axis, *, taken: bool) -> FeedbackAnswer:
    return FeedbackAnswer(feedback=_judged(entry), change=change_of(change, axis), taken=taken)
