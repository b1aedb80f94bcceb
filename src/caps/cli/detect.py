"""`caps detect`, and the same in steps: `caps fit`, `caps score` and `caps events`."""

import json
import sys
from pathlib import Path

from caps.artifacts import writing_together
from caps.cli import results
from caps.cli.options import (
    Bands,
    Budget,
    Json,
    Known,
    Model,
    PlannedFile,
    Queries,
    Step,
    TimeColumn,
    answer,
    spans_in,
    takes_fit_options,
    takes_read_options,
)
from caps.cli.progress import progress_line
from caps.cli.wording import in_options
from caps.errors import InputError
from caps.replacing import check_folder
from caps.scoring import FitOptions
from caps.series import ReadOptions

RESULTS, VERSION = "caps.results", 1  # of the folder


@takes_read_options()
@takes_fit_options
def detect(
    file: Path,
    *,
    options: FitOptions,
    known: Known = (),
    planned: PlannedFile = None,
    out: Path | None = None,
    format: results.TableFormat = "csv",
    bands: Bands = False,
    json_output: Json = False,
) -> None:
    """Find the anomalies of a series: fit, score, threshold, events and report.

    Args:
        file: CSV or Parquet file with one row for each moment and one column for each metric.
        out: Folder for report.html, scores, events and the model; named after the file if left out.
        format: Of scores and events: csv or parquet.
    """
    folder = Path(f"{file.stem}-caps") if out is None else out
    check_folder(folder, kind=RESULTS)
    if folder.resolve() in file.resolve().parents:
        raise InputError(f"{file} lies in {folder}, which is replaced", "name another --out")
    run = results.Run.of(file, options, title=file.name, known=spans_in(known), planned=planned)
    scores, events = f"scores.{format}", f"events.{format}"
    from caps.report import write_report  # plotly: a tenth of a second before anything is read

    with writing_together(folder, kind=RESULTS, version=VERSION) as staging:
        write_report(run.report(), staging / "report.html")
        results.write_scores(run.analysis, staging / scores, bands=bands)
        results.write_events(run.analysis, run.explained, staging / events)
        run.model.save(staging / "model")
    files = [folder / name for name in ("report.html", scores, events, "model")]
    if json_output:
        print(json.dumps({**run.facts(), "files": [str(path) for path in files]}, indent=2))
    else:
        results.print_summary(run, files)


@takes_read_options()
@takes_fit_options
def fit(
    file: Path | None = None,
    *,
    out: Path,
    options: FitOptions,
    known: Known = (),
    prometheus: str | None = None,
    query: Queries = (),
    step: Step = None,
    since: str | None = None,
    json_output: Json = False,
) -> None:
    """Learn from a file, or from Prometheus, and save the model.

    Args:
        file: CSV or Parquet file with one row for each moment and one column for each metric.
        out: Folder for the model; with --prometheus for one model of each series, by its id.
        prometheus: Address of a Prometheus server; its series are fitted for `caps watch`.
        since: How far back to read from Prometheus, such as 7d, which is taken if it is left out.
    """
    if (file is None) == (prometheus is None):
        given = "nothing to learn from" if file is None else "a file and --prometheus at once"
        raise InputError(given, "name a file, or give --prometheus URL --query PROMQL")
    if prometheus is not None:
        from caps.cli.prometheus import fit_queries  # half a second that files are read without

        said = fit_queries(prometheus, query, step, since, out, options, spans_in(known))
        answer(said[0], json_output, *said[1])
        if said[0]["refused"]:
            sys.exit(1)
        return
    assert file is not None
    from caps.scoring import KIND  # a tenth of a second that --help does without

    check_folder(out, kind=KIND)
    spans = spans_in(known)
    with progress_line() as progress:
        model, series = results.fitted_on(file, options, spans, progress, **options.reading.given())
    model.save(out)
    names, learned = model.fitted_.names, model.learned_
    notes = in_options(dict.fromkeys([*series.notes(), *model.notes_]))
    facts = {
        "model": str(out),
        "channels": list(names),
        "learned": results.learned_line(model),
        "train": [learned.start, learned.end],
        "train_rows": len(learned),
        "alarms": options.alarms,
        "threshold": model.threshold_,
        "expected_alarms": model.expected_alarms_,
        "notes": notes,
    }
    expected = ", ".join(f"{rate:.3g} {per}" for per, rate in model.expected_alarms_.items())
    answer(
        facts,
        json_output,
        results.learned_line(model),
        f"channels {', '.join(names)}",
        *(f"note: {note}" for note in notes),
        f"alarm budget {options.alarms}: {expected} to expect on normal data",
        f"written {out}; score new rows with: caps score {out} FILE --out scores.csv",
    )


@takes_read_options()
def score(
    model: Model,
    file: Path,
    *,
    out: Path,
    time: TimeColumn = None,
    reading: ReadOptions,
    alarms: Budget = None,
    planned: PlannedFile = None,
    bands: Bands = False,
    json_output: Json = False,
) -> None:
    """Score every row of a file by a saved model.

    Args:
        file: CSV or Parquet file with the metrics the model was fitted on.
        out: File for score, p_value, flag and event of each row: .csv or .parquet.
    """
    results.check_table(out, file)
    fitted, analysis = results.analyze_file(
        model, file, alarms=alarms, time=time, reading=reading, planned=planned
    )
    results.write_scores(analysis, out, bands=bands)
    facts = {
        "rows": len(analysis.series),
        "flagged": int(analysis.flag.sum()),
        "events": len(analysis.events),
        "alarms": fitted.alarms,
        "threshold": fitted.threshold_,
        "file": str(out),
    }
    answer(
        facts,
        json_output,
        f"{facts['rows']} rows, {facts['flagged']} of them in {facts['events']} events "
        f"at an alarm budget of {facts['alarms']}",
        f"written {out}",
    )


@takes_read_options()
def events(
    model: Model,
    file: Path,
    *,
    out: Path | None = None,
    time: TimeColumn = None,
    reading: ReadOptions,
    alarms: Budget = None,
    planned: PlannedFile = None,
    pretrained: Path | None = None,
    json_output: Json = False,
) -> None:
    """List the events of a file by a saved model, each with its reason.

    Args:
        file: CSV or Parquet file with the metrics the model was fitted on.
        out: File for the events: .csv or .parquet; none if left out.
        pretrained: Folder of the weights that the model was fitted with, if not the shipped ones:
            they name the kinds of events.
    """
    if out is not None:
        results.check_table(out, file)
    fitted, analysis = results.analyze_file(
        model,
        file,
        alarms=alarms,
        time=time,
        reading=reading,
        planned=planned,
        pretrained=pretrained,
    )
    explained = analysis.explanations()
    if out is not None:
        results.write_events(analysis, explained, out)
    if json_output:
        print(json.dumps([results.event_facts(each) for each in explained], indent=2))
    else:
        chance = analysis.alarms(fitted.alarms).expected
        results.print_events(explained, analysis.series, results.headline(explained, chance))
