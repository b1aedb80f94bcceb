"""Endpoints for models: fit, score, events, alarm budget, report."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from caps.errors import CapsError, InputError
from caps.scoring import FitOptions, alarm_rate, rows_to_learn, spans_of
from caps.series import Series, read
from caps.serve.answers import (
    BODY,
    BudgetFacts,
    Events,
    Explained,
    FitState,
    Lines,
    Mark,
    ModelFacts,
    Scores,
    problems,
    router_of,
)
from caps.serve.files import Marks
from caps.serve.found import Found, events_of
from caps.serve.lines import Axis, bands_of, listed
from caps.serve.refusals import missing, taken
from caps.serve.requests import (
    Alarms,
    Asked,
    AskedOfFit,
    AskedScores,
    FitRequest,
    Marked,
    ModelWindow,
    Name,
    Place,
    ScoreRequest,
    SeriesName,
)
from caps.serve.service import Service

LEAST_CALIBRATION = 32  # rows a fit needs at the least


def model_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/models."""
    router, known = router_of("models"), problems(404, 409)

    @router.get("")
    async def list_models() -> list[ModelFacts]:
        """All models, and those being fitted."""
        return service.models.described(lambda name: describe(service, name), _damaged)

    @router.get("/{name}", responses=problems(404))
    async def show_model(name: Name) -> ModelFacts:
        """One model, with the progress of its fit."""
        return describe(service, name)

    @router.put("/{name}", status_code=202, responses=known | BODY)
    async def fit_model(name: Name, request: FitRequest) -> ModelFacts:
        """Fit a model in the background; an older one stays in use until the new one is ready."""
        record = service.models.record(name) if name in service.models.names() else None
        if record is not None and not request.replace:
            raise taken(f"there is a model {name!r} already", "give replace=true to fit it again")
        if request.alarms is None:
            request.alarms = str(FitOptions().alarms) if record is None else record.budget
        await service.query_series(request.series, lambda axis: check_fit(axis.series, request))
        service.fits.ask(name, request.model_dump())
        return describe(service, name)

    @router.delete("/{name}", status_code=204, responses=problems(404))
    async def delete_model(name: Name) -> None:
        """Delete a model; a fit under way is ended."""
        service.models.existing(name)
        await service.fits.cancel(name)
        service.models.delete(name)

    @router.delete("/{name}/fit", responses=problems(404))
    async def cancel_fit(name: Name) -> ModelFacts:
        """Cancel a fit under way, or forget one that failed; an older one stays in force."""
        service.models.existing(name)
        await service.fits.cancel(name)
        service.models.dismiss(name)
        return describe(service, name)

    @router.get("/{name}/marks", responses=known)
    async def list_marks(name: Name) -> list[Mark]:
        """What people marked as known anomalies; those of the fit if nobody did so far."""
        record, marks = service.models.ready(name), service.models.marked(name)
        series = record.request.series
        spans = marks.spans if marks and marks.series == series else record.request.known
        return await service.query_series(series, lambda axis: marks_on(axis, spans))

    @router.put("/{name}/marks", responses=known | BODY)
    async def set_marks(name: Name, request: Marked) -> list[Mark]:
        """Mark known anomalies, in place of those marked so far; the next fit may be given them."""
        series = service.models.ready(name).request.series
        marked = await service.query_series(series, lambda axis: marks_on(axis, request.marks))
        service.models.set_marks(name, Marks(series=series, spans=request.marks))
        return marked

    @router.put("/{name}/alarms", responses=known | BODY)
    async def set_alarms(name: Name, request: Alarms) -> ModelFacts:
        """Change the alarm budget; nothing is fitted again."""
        model = await service.scorers.run(lambda: service.loaded(name))
        alarm_rate(request.alarms, model.fitted_.step)
        service.models.set_alarms(name, request.alarms)
        return describe(service, name)

    @router.post("/{name}/score", responses=known | BODY)
    async def score(name: Name, request: ScoreRequest) -> Scores:
        """Score rows sent with the request."""
        return await service.scorers.run(lambda: score_rows(service, name, request))

    @router.get("/{name}/lines", responses=known)
    async def model_lines(name: Name, window: Annotated[ModelWindow, Query()]) -> Lines:
        """Channels and score of a stored series as a chart shows them."""
        return await service.draw(name, window.series, lambda found: found.lines(window))

    @router.get("/{name}/events", responses=known)
    async def list_events(name: Name, asked: Annotated[Asked, Query()]) -> Events:
        """The events of a stored series."""
        return await service.query(name, asked, lambda found: found.events)

    @router.get("/{name}/events/{number}", responses=known)
    async def explain_event(
        name: Name,
        number: Annotated[int, Path(ge=1, le=10**9)],
        asked: Annotated[AskedOfFit, Query()],
    ) -> Explained:
        """One event, numbered as the list under the same budget has it: kind, reason, channels,
        normal counterpart and the nearest subsequence of the past."""
        return await service.query(name, asked, lambda found: found.explain(number), fit=asked.fit)

    @router.get("/{name}/budgets", responses=known)
    async def list_budgets(name: Name, series: SeriesName = None) -> list[BudgetFacts]:
        """What other alarm budgets would give on a stored series."""
        asked = Asked(series=series, alarms=None)
        return await service.query(name, asked, lambda found: found.budgets, quick=False)

    @router.get("/{name}/events.csv", responses=known | _file("text/csv"), response_class=Response)
    async def events_file(name: Name, asked: Annotated[Asked, Query()]) -> Response:
        """The events with their explanations as CSV."""
        text = await service.query(name, asked, Found.events_csv, quick=False)
        return _download(text, "text/csv", f"{name}-events.csv")

    @router.get("/{name}/scores.csv", responses=known | _file("text/csv"), response_class=Response)
    async def scores_file(name: Name, asked: Annotated[AskedScores, Query()]) -> Response:
        """Score, p-value, flag and event of every row as CSV, with bands if asked for."""
        text = await service.query(
            name, asked, lambda found: found.scores_csv(bands=asked.bands), quick=False
        )
        return _download(text, "text/csv", f"{name}-scores.csv")

    @router.get("/{name}/report", responses=known | _file("text/html"), response_class=Response)
    async def report(name: Name, asked: Annotated[Asked, Query()]) -> Response:
        """The report: one HTML file that opens offline."""
        title = name if asked.series is None else f"{name} on {asked.series}"
        text = await service.query(name, asked, lambda found: found.report(title), quick=False)
        return _download(text, "text/html", f"{name}-report.html")

    return router


def describe(service: Service, name: str) -> ModelFacts:
    """A model as the list shows it."""
    models = service.models
    record, pending = models.record(name), models.pending(name)
    facts = models.facts(name, record) if record else None
    shown = record or pending
    if shown is None:  # deleted a moment ago
        raise missing("model", name)
    fitted = facts.model_dump(include={"train", "learned", "notes", "seconds"}) if facts else {}
    return ModelFacts(
        name=name,
        ready=record is not None,
        series=shown.request.series,
        columns=facts.channels if facts else shown.request.columns or [],
        known=shown.request.known,
        alarms=shown.budget,
        fit=service.fits.state(name, pending),
        **{"notes": [], **fitted},
    )


def marks_on(axis: Axis, spans: Sequence[tuple[Place, Place]]) -> list[Mark]:
    """Marked rows or moments, in order of time."""
    return [axis.mark(*span) for span in sorted(spans_of(axis.series, spans))]


def _damaged(name: str, error: CapsError) -> ModelFacts:
    state = FitState(state="failed", problem=error.problem, remedy=error.remedy)
    return ModelFacts(
        name=name, ready=False, series="", columns=[], known=[], alarms="", notes=[], fit=state
    )


def check_fit(series: Series, request: FitRequest) -> None:
    """Refuse now what the fit would refuse later."""
    if request.skip >= len(series):
        raise InputError(
            f"{request.skip} of {len(series)} rows are skipped", "leave some rows to learn from"
        )
    kept = series[request.skip :].select(*(request.columns or series.channels))
    learned = rows_to_learn(kept, FitOptions(train=request.train))
    if len(learned) < LEAST_CALIBRATION:
        raise InputError(f"{len(learned)} rows to learn from", "give a longer training part")
    train = kept[learned.start : learned.end]
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
        bands=bands_of(analysis.fitted.names, analysis.band) if request.bands else None,
    )


def _file(kind: str) -> dict[int | str, dict[str, object]]:
    return {200: {"content": {kind: {"schema": {"type": "string"}}}, "description": "The file."}}


def _download(text: str, kind: str, name: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=disposition)
