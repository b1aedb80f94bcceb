"""Endpoints for models: fit, score, events, alarm budget, report."""

import logging
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import ValidationError

from caps.errors import ArtifactError, InputError
from caps.scoring import FitOptions, alarm_rate
from caps.series import Series, read
from caps.serve.files import NAME
from caps.serve.found import Found, events_of
from caps.serve.lines import Axis, listed
from caps.serve.refusals import Refusal, taken
from caps.serve.schemas import (
    Alarms,
    BudgetFacts,
    Events,
    Explained,
    FitRequest,
    FitState,
    Lines,
    ModelFacts,
    Name,
    ScoreRequest,
    Scores,
    problems,
)
from caps.serve.series_routes import Channels, Edge, Points, drawn
from caps.serve.service import Service

SeriesName = Annotated[
    str | None,
    Query(pattern=NAME, max_length=64, description="a stored series; that of the fit if left out"),
]
BudgetName = Annotated[
    str | None,
    Query(min_length=1, max_length=40, description="an alarm budget; the model's own if left out"),
]
LEAST_CALIBRATION = 32  # rows a fit needs at the least

log = logging.getLogger("caps.serve")


def model_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/models."""
    router = APIRouter(
        prefix="/v1/models", tags=["models"], responses=problems(401, 403, 421, 422, 429, 500, 503)
    )
    known = problems(404, 409)
    body = problems(400, 408, 413, 415, 507)

    @router.get("")
    async def list_models() -> list[ModelFacts]:
        """All models, and those being fitted."""
        return [listed_model(service, name) for name in service.models.names()]

    @router.get("/{name}", responses=problems(404))
    async def show_model(name: Name) -> ModelFacts:
        """One model, with the progress of its fit."""
        return describe(service, name)

    @router.put("/{name}", status_code=202, responses=known | body)
    async def fit_model(name: Name, request: FitRequest) -> ModelFacts:
        """Fit a model in the background; an older one stays in use until the new one is ready."""
        there = name in service.models.names()
        if there and service.models.record(name) is not None and not request.replace:
            raise taken(f"there is a model {name!r} already", "give replace=true to fit it again")
        if request.alarms is None:
            record = service.models.record(name) if there else None
            request.alarms = str(FitOptions().alarms) if record is None else service.budget(name)
        await service.query_series(request.series, lambda axis: check_fit(axis.series, request))
        service.fits.ask(name, request.model_dump())
        return describe(service, name)

    @router.delete("/{name}", status_code=204, responses=problems(404))
    async def delete_model(name: Name) -> Response:
        """Delete a model; a fit under way is ended."""
        service.models.existing(name)
        await service.fits.cancel(name)
        service.models.delete(name)
        return Response(status_code=204)

    @router.put("/{name}/alarms", responses=known | body)
    async def set_alarms(name: Name, request: Alarms) -> ModelFacts:
        """Change the alarm budget; nothing is fitted again."""
        model = await service.scorers.run(lambda: service.loaded(name))
        alarm_rate(request.alarms, model.fitted_.step)
        service.models.set_alarms(name, request.alarms)
        return describe(service, name)

    @router.post("/{name}/score", responses=known | body)
    async def score(name: Name, request: ScoreRequest) -> Scores:
        """Score rows sent with the request."""
        return await service.scorers.run(lambda: score_rows(service, name, request))

    @router.get("/{name}/lines", responses=known)
    async def model_lines(
        name: Name,
        series: SeriesName = None,
        channels: Channels = None,
        left: Edge = None,
        right: Edge = None,
        points: Points = 2_000,
    ) -> Lines:
        """Channels and score of a stored series as a chart shows them."""

        def draw(found: Found) -> Lines:
            names = list(found.model.fitted_.names) if channels is None else channels
            return found.lines(drawn(found.axis, names), left, right, points)

        return await service.draw(name, series, draw)

    @router.get("/{name}/events", responses=known)
    async def list_events(
        name: Name, series: SeriesName = None, alarms: BudgetName = None
    ) -> Events:
        """The events of a stored series."""
        return await service.query(name, series, lambda found: found.events, alarms=alarms)

    @router.get("/{name}/events/{number}", responses=known)
    async def explain_event(
        name: Name,
        number: Annotated[int, Path(ge=1, le=10**9)],
        series: SeriesName = None,
        alarms: BudgetName = None,
        fit: Annotated[
            str | None, Query(max_length=64, description="as listed; refused if it has changed")
        ] = None,
    ) -> Explained:
        """One event, numbered as the list under the same budget has it: kind, reason, channels,
        normal counterpart and the nearest subsequence of the past."""
        return await service.query(
            name, series, lambda found: found.explain(number), alarms=alarms, fit=fit
        )

    @router.get("/{name}/budgets", responses=known)
    async def list_budgets(name: Name, series: SeriesName = None) -> list[BudgetFacts]:
        """What other alarm budgets would give on a stored series."""
        return await service.query(name, series, lambda found: found.budgets, quick=False)

    @router.get("/{name}/events.csv", responses=known | _file("text/csv"), response_class=Response)
    async def events_file(
        name: Name, series: SeriesName = None, alarms: BudgetName = None
    ) -> Response:
        """The events with their explanations as CSV."""
        text = await service.query(name, series, Found.events_csv, alarms=alarms, quick=False)
        return _download(text, "text/csv; charset=utf-8", f"{name}-events.csv")

    @router.get("/{name}/scores.csv", responses=known | _file("text/csv"), response_class=Response)
    async def scores_file(
        name: Name, series: SeriesName = None, alarms: BudgetName = None
    ) -> Response:
        """Score, p-value, flag and event of every row as CSV."""
        text = await service.query(name, series, Found.scores_csv, alarms=alarms, quick=False)
        return _download(text, "text/csv; charset=utf-8", f"{name}-scores.csv")

    @router.get("/{name}/report", responses=known | _file("text/html"), response_class=Response)
    async def report(name: Name, series: SeriesName = None, alarms: BudgetName = None) -> Response:
        """The report: one HTML file that opens offline."""
        text = await service.query(
            name, series, lambda found: found.report(name), alarms=alarms, quick=False
        )
        return _download(text, "text/html; charset=utf-8", f"{name}-report.html")

    return router


def listed_model(service: Service, name: str) -> ModelFacts:
    """A model, or what is wrong with it: one damaged entry must not hide the others."""
    try:
        return describe(service, name)
    except (ArtifactError, Refusal) as error:
        log.error("the model %s is damaged: %s", name, error)
        state = FitState(state="failed", problem=error.problem, remedy=error.remedy)
        return ModelFacts(
            name=name, ready=False, series="", columns=[], known=[], alarms="", notes=[], fit=state
        )


def describe(service: Service, name: str) -> ModelFacts:
    """A model as the list shows it."""
    models = service.models
    record, pending, fit = models.record(name), models.pending(name), service.fits.active.get(name)
    state = None
    if fit is not None:
        state = FitState(
            state="waiting" if fit.started is None else "running",
            stage=fit.stage,
            share=fit.share,
            seconds=fit.seconds,
            left=fit.left,
        )
    elif pending is not None:
        problem, remedy = service.fits.failure(name, pending)
        state = FitState(state="failed", problem=problem, remedy=remedy)
    of = record or pending
    request = of.request if of is not None else {}
    facts = {} if record is None else models.facts(name, record)
    try:
        return ModelFacts(
            name=name,
            ready=record is not None,
            series=request.get("series", ""),
            columns=facts.get("channels") or request.get("columns") or [],
            train=facts.get("train"),
            known=request.get("known", []),
            alarms=(record.alarms if record else None) or request.get("alarms", ""),
            notes=facts.get("notes", []),
            seconds=facts.get("seconds"),
            fit=state,
        )
    except ValidationError:
        raise ArtifactError(f"the files of the model {name!r} are odd", "delete it") from None


def check_fit(series: Series, request: FitRequest) -> None:
    """Refuse now what the fit would refuse later."""
    if request.skip >= len(series):
        raise InputError(
            f"{request.skip} of {len(series)} rows are skipped", "leave some rows to learn from"
        )
    kept = series[request.skip :].select(*(request.columns or series.channels))
    train = kept.training_part(request.train)
    if len(train) < LEAST_CALIBRATION:
        raise InputError(f"{len(train)} rows to learn from", "give a longer training part")
    alarm_rate(request.alarms or FitOptions().alarms, train.sampling.step)
    for each in request.known:
        for bound in each:
            if isinstance(bound, int) and not request.skip <= bound <= len(series):
                raise InputError(
                    f"the known anomaly {each[0]}..{each[1]} lies outside of the rows in use",
                    f"name rows from {request.skip} to {len(series)}",
                )


def score_rows(service: Service, name: str, request: ScoreRequest) -> Scores:
    """Score the rows of a request."""
    model = service.model(name)
    table: dict[str, object] = dict(request.columns)
    time: str | bool = False
    if request.time is not None:
        time = next(f"time{mark}" for mark in ("", "_", "__") if f"time{mark}" not in table)
        table[time] = request.time
    series = read(table, time=time, columns=list(request.columns), minimum_rows=1)
    analysis = model.analyze(series)
    service.monitor.rows.inc(len(series))
    return Scores(
        score=listed(analysis.score),
        p_value=listed(analysis.p_value),
        flag=analysis.flag.tolist(),
        threshold=analysis.threshold,
        events=events_of(analysis, Axis(series)),
    )


def _file(kind: str) -> dict[int | str, dict[str, object]]:
    return {200: {"content": {kind: {"schema": {"type": "string"}}}, "description": "The file."}}


def _download(text: str, kind: str, name: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=disposition)
