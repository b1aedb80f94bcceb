// A model at work: progress of its fit, then score, events, budget, marks and downloads.
import { download, get, put, remove } from "./api.js";
import { Chart } from "./chart.js";
import { attempt, counted, fill, h } from "./elements.js";
import { eventCard } from "./event.js";
import { lasting } from "./moments.js";
import { chartPlace, tools } from "./tools.js";

const EVERY = 700; // milliseconds between polls of a fit
const MOST_LISTED = 200;

export const found = async (main, name) => {
  document.title = `${name} · CAPS`;
  const path = `/v1/models/${name}`;
  const place = h("div");
  const progress = h("div");
  fill(main, progress, place);
  let shown = null;
  let timer = null;
  let gone = false;

  const poll = async () => {
    const model = await get(path);
    if (gone) return;
    const under = model.fit && model.fit.state !== "failed";
    fill(progress, model.fit ? fitCard(model) : null);
    if (model.ready && (shown === null || (!under && shown.stale))) {
      shown?.close();
      shown = await results(place, model, path, followFit);
      if (gone) shown.close();
    }
    if (under) {
      if (shown) shown.stale = true;
      timer = setTimeout(() => attempt(poll), EVERY);
    }
  };
  const followFit = () => { shown.stale = true; return poll(); };
  const cancel = () => attempt(async () => { await remove(path); location.hash = "#/"; });

  const fitCard = (model) => {
    const { fit } = model;
    if (fit.state === "failed") return h("section", { class: "card failed" },
      h("h1", {}, model.ready ? "The new fit failed" : "The fit failed"),
      h("p", {}, fit.problem), h("p", { class: "soft" }, fit.remedy),
      model.series ? h("div", { class: "actions" }, h("a", { class: "button", href: `#/series/${model.series}` }, "Change the request")) : null);
    const left = fit.left === null ? "" : ` · about ${lasting(fit.left)} left`;
    return h("section", { class: "card waiting", "aria-busy": "true" },
      h("h1", {}, model.ready ? `Learning ${model.name} again` : `Learning ${model.name}`),
      h("progress", { max: 1, ...(fit.state === "running" && fit.share > 0 ? { value: fit.share } : {}), "aria-label": "Progress of the fit" }),
      h("p", { class: "soft", role: "status" }, fit.state === "waiting" ? "waiting for another fit to end"
        : `${fit.stage} · ${Math.round(100 * fit.share)} %${left}`),
      model.ready ? null : h("div", { class: "actions" }, h("button", { type: "button", onclick: cancel }, "Cancel")));
  };

  await poll();
  return () => { gone = true; clearTimeout(timer); shown?.close(); };
};

const results = async (main, model, path, followFit) => {
  const spot = chartPlace("Channels and score with the events.");
  const eventPlace = h("div", { class: "event-place" });
  const [ladder, first] = [await get(`${path}/budgets`), await get(`${path}/events`)];
  let found = first;
  let current = null; // the event looked at
  let tried = null; // the budget on the slider, until its events are here
  let marks = [];
  let card = null;

  const chart = new Chart(spot, {
    load: (left, right, points) => get(`${path}/lines`, { left, right, points }),
    picked: (at) => {
      const hit = found.events.find(({ extent }) => extent[0] <= at && at <= extent[1]);
      if (hit) attempt(() => open(hit));
    },
    brushed: (left, right) => addMark(left, right),
  });

  const band = (extent, name) => ({ extent, name, role: "--band", edge: "--band-edge" });
  const paint = () => chart.mark([
    ...(found.training ? [{ extent: found.training, role: "--training", name: "training" }] : []),
    ...marks.map(({ extent }) => ({ extent, name: "known", role: "--mark", edge: "--mark-edge" })),
    ...(tried?.extents ?? found.events.map((event) => event.extent)).map((extent) => band(extent, "event")),
    ...(current ? [{ extent: current.extent, name: "current", role: "--band", edge: "--event" }] : []),
  ], (tried ?? found).threshold);

  // Events
  const list = h("ol", { class: "events", "aria-label": "Events" });
  const title = h("h2", {});
  const open = async (event) => {
    const explanation = await get(`${path}/events/${event.number}`, { alarms: found.alarms, fit: found.fit });
    current = event;
    card?.purge();
    card = eventCard(explanation, chart.lines.dated, { mark: () => addMark(...event.extent), close: shut });
    fill(eventPlace, card.card);
    await card.paint();
    card.card.focus({ preventScroll: true });
    card.card.scrollIntoView({ block: "nearest" });
    listEvents();
    await chart.around(event.extent);
    paint();
  };
  const shut = () => {
    card?.purge();
    card = null;
    current = null;
    fill(eventPlace);
    listEvents();
    paint();
  };
  const walk = (step) => attempt(async () => {
    const { events } = found;
    if (!events.length) return;
    const at = current ? events.findIndex((each) => each.number === current.number) : (step > 0 ? -1 : 0);
    await open(events[(at + step + events.length) % events.length]);
  });
  const listEvents = () => {
    const { events } = found;
    title.textContent = events.length ? counted(events.length, "event") : "No events";
    const strongest = new Set([...events].sort((one, other) => other.score - one.score).slice(0, MOST_LISTED));
    fill(list, events.filter((event) => strongest.has(event)).map((event) => h("li", {}, h("button", {
      type: "button", class: "event-row", "aria-current": current?.number === event.number ? "true" : undefined,
      onclick: () => attempt(() => open(event)) },
      h("span", { class: "badge" }, event.number),
      h("span", { class: "event-when" }, event.start ?? `row ${event.start_row.toLocaleString("en")}`,
        h("small", { class: "soft" }, `${event.lasting}${model.columns.length > 1 ? ` · ${event.channel}` : ""}`)),
      h("span", { class: "event-score" }, event.score.toFixed(3))))));
    if (!events.length) fill(list, h("li", { class: "soft empty" },
      "No row scores above the threshold. Allow more false alarms to see what comes next."));
    if (events.length > MOST_LISTED) list.append(h("li", { class: "soft empty" },
      `The ${MOST_LISTED} strongest are listed; the file has all.`));
  };

  // Alarm budget
  const output = h("output", { for: "budget" });
  const slider = h("input", { type: "range", id: "budget", min: 0, max: ladder.length - 1, step: 1,
    value: ladder.findIndex((each) => each.name === found.alarms),
    oninput: () => tryBudget(), onchange: () => attempt(showBudget) });
  const keep = h("button", { type: "button", onclick: () => attempt(keepBudget) }, "Use for everyone");
  const tell = () => {
    const budget = ladder[slider.value];
    const expected = budget.expected < 0.01 ? "under 0.01" : budget.expected.toPrecision(2).replace(/\.?0+$/, "");
    output.textContent = `${budget.name}: ${counted(budget.found, "alarm")} here, about ${
      budget.expected >= 99.5 ? Math.round(budget.expected) : expected} expected by chance`;
    slider.setAttribute("aria-valuetext", output.textContent);
    keep.disabled = budget.name === model.alarms;
    return budget;
  };
  const tryBudget = () => {
    tried = tell();
    paint();
  };
  const keepBudget = async () => { // the others, and what is scored or streamed, follow this one
    model = await put(`${path}/alarms`, { alarms: ladder[slider.value].name });
    tell();
  };
  const showBudget = async () => {
    const chosen = ladder[slider.value];
    const answer = await get(`${path}/events`, { alarms: chosen.name });
    if (chosen !== ladder[slider.value]) return; // moved on since: the next answer counts
    [found, tried] = [answer, null];
    current = current && found.events.find((each) => each.extent[0] <= current.extent[1] && each.extent[1] >= current.extent[0]);
    if (!current) shut();
    else { listEvents(); paint(); }
  };

  // Known anomalies
  const markList = h("ul", { class: "marks", "aria-label": "Known anomalies" });
  const refit = h("button", { type: "button", class: "primary", onclick: () => attempt(fitAgain) });
  const addMark = (left, right) => attempt(async () => {
    const rows = await get(`/v1/series/${model.series}/rows`, { left, right });
    if (rows.end <= rows.start) return;
    marks = [...marks, { extent: [left, right], rows }].sort((one, other) => one.rows.start - other.rows.start);
    listMarks();
    paint();
  });
  const listMarks = () => {
    fill(markList, marks.map((mark) => h("li", {},
      h("span", {}, mark.rows.first === null ? `rows ${mark.rows.start} to ${mark.rows.end - 1}` : `${mark.rows.first} to ${mark.rows.last}`),
      h("button", { type: "button", class: "quiet", "aria-label": "Forget this mark",
        onclick: () => { marks = marks.filter((each) => each !== mark); listMarks(); paint(); } }, "Forget"))));
    refit.disabled = marks.length === 0;
    refit.textContent = marks.length ? `Fit again with ${counted(marks.length, "known anomaly").replace("anomalys", "anomalies")}` : "Fit again";
  };
  const fitAgain = async () => {
    const [start, end] = model.train;
    await put(path, { series: model.series, columns: model.columns, skip: start, train: end - start,
      alarms: ladder[slider.value].name, known: marks.filter(({ rows }) => rows.start >= start).map(({ rows }) => [rows.start, rows.end]), replace: true });
    await followFit();
    scrollTo({ top: 0, behavior: "smooth" });
  };

  const file = (text, end) => h("button", { type: "button", onclick: (event) => attempt(async () => {
    event.target.disabled = true;
    try { await download(`${path}/${end}`, { alarms: found.alarms }); } finally { event.target.disabled = false; }
  }) }, text);

  fill(main,
    h("section", { class: "head" },
      h("p", { class: "eyebrow" }, "Model"), h("h1", {}, model.name),
      h("p", { class: "soft" }, `${model.columns.join(", ")} · ${model.learned || `learned from ${counted(model.train[1] - model.train[0], "row")}`} · ${lasting(model.seconds)}`
        + (model.known.length ? ` · ${model.known.length} known` : ""))),
    h("section", { class: "card" },
      tools(chart, [
        { name: "Zoom", brushing: false, hint: "Drag to zoom in, double-click for everything, click an event to open it." },
        { name: "Mark", brushing: true, hint: "Drag over a span that you know to be anomalous." }], [
        h("button", { type: "button", onclick: () => walk(-1) }, "Previous event"),
        h("button", { type: "button", onclick: () => walk(1) }, "Next event")]),
      spot),
    h("div", { class: "columns" },
      h("div", {},
        h("section", { class: "card budget" },
          h("h2", {}, h("label", { for: "budget" }, "Alarm budget")),
          h("p", { class: "soft" }, "False alarms you accept. Nothing is learned again, and others see what they chose."),
          slider, h("div", { class: "ends soft" }, h("span", {}, "more alarms"), h("span", {}, "fewer alarms")), output,
          h("div", { class: "actions" }, keep)),
        h("section", { class: "card" }, title, list)),
      h("div", {},
        eventPlace,
        h("section", { class: "card" },
          h("h2", {}, "Known anomalies"),
          h("p", { class: "soft" }, "Mark some, and CAPS learns again: they choose what to look for, and are kept out of what counts as normal."),
          markList,
          h("div", { class: "actions" }, refit,
            h("button", { type: "button", onclick: () => addMark(...chart.view) }, "Mark what the chart shows"))),
        h("section", { class: "card" },
          h("h2", {}, "Take away"),
          h("div", { class: "actions" }, file("Events (CSV)", "events.csv"), file("Scores (CSV)", "scores.csv"), file("Report (HTML)", "report")),
          model.notes.length ? h("details", { class: "notes" }, h("summary", {}, counted(model.notes.length, "remark")),
            h("ul", {}, model.notes.map((note) => h("li", {}, note)))) : null))));
  listMarks();
  listEvents();
  tell();
  await chart.show();
  paint();
  return { close: () => { card?.purge(); chart.close(); }, stale: false };
};
