"""Endpoints for versions: the fits of a model that are kept, compared and put in force."""

from typing import Annotated

from fastapi import APIRouter, Query

from caps.serve.answers import BODY, AlarmChange, VersionFacts, router_of
from caps.serve.feedback_routes import change_of
from caps.serve.refusals import missing
from caps.serve.requests import Asked, ChosenVersion, Name
from caps.serve.service import Service


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
