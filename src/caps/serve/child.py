"""The work of one fit, in a process of its own.

So that a fit can be ended, run out of memory or crash without harm to the service, and takes no
time from scoring.
"""

import contextlib
import logging
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caps.errors import CapsError
from caps.estimator import CAPS
from caps.events import FeedbackBook
from caps.jobs import report
from caps.refit import confirmed_spans, fitted_on
from caps.scoring import OPTIONS, FitOptions
from caps.series import read
from caps.serve.files import FACTS, MODEL, UNFINISHED, FitFacts
from caps.serve.refusals import FULL, disk_full, in_fields

log = logging.getLogger("caps.serve")


def fit(job: dict[str, Any]) -> dict[str, str]:
    """Do the job; what is returned is problem and remedy, if there is a problem."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(job["niceness"])
    try:
        fit_and_save(job, Path(job["out"]))
    except CapsError as error:
        problem, remedy = in_fields((error.problem, error.remedy))
        return {"problem": problem, "remedy": remedy}
    except Exception as error:
        log.exception("a fit")  # to the service's own log: both write to one stderr
        return _reason(error)
    return {}


def fit_and_save(job: dict[str, Any], out: Path) -> None:
    """Fit, and write model and facts to `out`, which appears as a whole."""
    started = time.monotonic()
    request = job["request"]
    given = {name: request[name] for name in OPTIONS if name in request} | job["estimator"]
    if request["detector"] is None:
        given["detector"] = None
    options = {name: OPTIONS[name].restored(value) for name, value in given.items()}
    report("reading", 0.0)
    series = read(job["data"], **job["options"])
    skip = request["skip"]
    kept = series[skip:].select(*(request["columns"] or series.channels))
    # Rows are counted after those skipped; moments stay.
    known = [
        tuple(bound - skip if isinstance(bound, int) else bound for bound in span)
        for span in request["known"]
    ]
    settings = FitOptions(
        **options, time=job["options"].get("time"), pretrained=job["pretrained"]
    ).for_own_rows()
    model = CAPS(**settings.parameters())
    confirmed = confirmed_spans(FeedbackBook.from_list(job["feedback"]), kept)
    model.fit(kept, known_anomalies=[*known, *confirmed], progress=report)
    report("saving", 1.0)
    learned = model.learned_.within(skip, len(series))
    model.fitted_.facts["learned"] = learned.to_dict()  # of the series as it is stored
    facts = FitFacts(
        channels=list(model.fitted_.names),
        train=(learned.start, learned.end),
        learned=in_fields([learned.sentence])[0],
        notes=in_fields(dict.fromkeys([*kept.notes(), *model.notes_, *_kept_out(confirmed)])),
        seconds=round(time.monotonic() - started, 1),
        made=datetime.now(UTC).isoformat(timespec="milliseconds"),
        data=fitted_on(model, kept)["data"],
    )
    staging = out.with_name(UNFINISHED + out.name)
    model.save(staging / MODEL)
    (staging / FACTS).write_text(facts.model_dump_json(), encoding="utf-8")
    staging.rename(out)


def _kept_out(confirmed: list[tuple[int, int]]) -> list[str]:
    """What is said of incidents that people confirmed."""
    count = len(confirmed)
    if not count:
        return []
    some = "1 confirmed incident was" if count == 1 else f"{count} confirmed incidents were"
    return [f"{some} kept out of what is normal; revoke the feedback and fit again to take it back"]


def _reason(error: Exception) -> dict[str, str]:
    """What is told of a fit that failed for no fault of its input."""
    if isinstance(error, OSError) and error.errno in FULL:
        return {"problem": disk_full().problem, "remedy": "make room there, then fit again"}
    if isinstance(error, MemoryError):
        return {"problem": "the fit ran out of memory", "remedy": "give fewer rows or channels"}
    problem = f"the fit broke off ({type(error).__name__}: {error})"
    return {"problem": problem[:500], "remedy": "see the service's log"}
