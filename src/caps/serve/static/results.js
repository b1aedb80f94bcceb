// What a model finds in a series: chart, events, budget, marks and files.
import { download, get, put } from "./api.js";
import { Chart } from "./chart.js";
import { drawn } from "./drawn.js";
import { attempt, counted, fill, h, legend, listed } from "./elements.js";
import { eventCard } from "./event.js";
import { feedbackCard, judging } from "./judging.js";
import { lasting } from "./moments.js";
import { chartPlace, tools } from "./tools.js";
import { versionsCard } from "./versions.js";

const MOST_LISTED = 200;

export const head = (model, series = null) => h("section", { class: "head" },
  h("p", { class: "eyebrow" }, "Model"), h("h1", {}, series ? `${model.name} on ${series}` : model.name),
  h("p", { class: "soft" }, `${listed(model.columns, 8)} · ${model.learned || `learned from ${counted(model.train[1] - model.train[0], "row")}`} · ${lasting(model.seconds)}`
    + (model.known.length ? ` · ${model.known.length} known` : "")),
  series ? h("p", {}, h("a", { href: `#/models/${model.name}` }, "Back to the series it learned from")) : null);

// The columns that carry events, most events first.
const blamed = (events) => {
  const count = new Map();
  for (const { carriers } of events) for (const name of carriers) count.set(name, (count.get(name) ?? 0) + 1);
  return [...count.keys()].sort((one, other) => count.get(other) - count.get(one));
};

// `series` is another than that of the fit, or undefined.
export const results = async (main, model, { path, series, followFit, other, anew }) => {
  const spot = chartPlace("Channels and score with the events.");
  const eventPlace = h("div", { class: "event-place" });
  let ladder = await get(`${path}/budgets`, { series });
  let found = await get(`${path}/events`, { series });
  let current = null; // the event looked at
  let tried = null; // the budget on the slider, until its events are here
  let marks = series ? [] : await get(`${path}/marks`);
  let card = null;

  const chart = new Chart(spot, {
    load: (left, right, points) => get(`${path}/lines`, { series, left, right, points, channels: columns.names() }),
    picked: (at) => {
      const hit = found.events.find(({ extent }) => extent[0] <= at && at <= extent[1]);
      if (hit) attempt(() => open(hit));
    },
    brushed: (left, right) => addMark(left, right),
  });

  const columns = drawn(model.columns, blamed(found.events), () => attempt(() => chart.show(...chart.view)));

  const band = (extent, name) => ({ extent, name, role: "--band", edge: "--band-edge" });
  const quiet = (extent, name) => ({ extent, name, role: "--quiet", ...(name === "planned" ? {} : { edge: "--quiet-edge" }) });
  const alarms = () => found.events.filter((event) => event.alarm);
  // Feedback counts at once: the events, what the budgets give, and the list of it are looked at anew.
  const lookAgain = async () => {
    const showing = current;
    [ladder, found] = [await get(`${path}/budgets`, { series }), await get(`${path}/events`, { series, alarms: found.alarms })];
    tell();
    await listFeedback();
    const same = showing && found.events.find((each) => each.start_row === showing.start_row);
    if (same) await open(same);
    else shut();
  };
  const paint = () => chart.mark([
    ...(found.training ? [{ extent: found.training, role: "--training", name: "training" }] : []),
    ...marks.map(({ extent }) => ({ extent, name: "known", role: "--mark", edge: "--mark-edge" })),
    ...(found.planned ?? []).map(({ extent }) => quiet(extent, "planned")),
    ...(tried?.extents ?? alarms().map((event) => event.extent)).map((extent) => band(extent, "event")),
    ...(tried ? [] : found.events.filter((event) => !event.alarm)).map(({ extent }) => quiet(extent, "silenced")),
    ...(current ? [{ extent: current.extent, name: "current", role: current.alarm ? "--band" : "--quiet", edge: "--event" }] : []),
  ], (tried ?? found).threshold);

  // Events
  const list = h("ol", { class: "events", "aria-label": "Events" });
  const title = h("h2", {});
  const open = async (event) => {
    const explanation = await get(`${path}/events/${event.number}`, { series, alarms: found.alarms, fit: found.fit });
    current = event;
    card?.purge();
    const judge = judging(path, explanation.event, { series, alarms: found.alarms, fit: found.fit },
      { mark: series ? null : () => addMark(...event.extent), again: lookAgain });
    card = eventCard(explanation, chart.lines, { judge, close: shut });
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
    const silenced = events.length - alarms().length;
    title.textContent = (events.length ? counted(events.length, "event") : "No events") + (silenced ? `, ${silenced} of them no alarm` : "");
    const strongest = new Set([...events].sort((one, other) => other.score - one.score).slice(0, MOST_LISTED));
    fill(list, events.filter((event) => strongest.has(event)).map((event) => h("li", {}, h("button", {
      type: "button", class: event.alarm ? "event-row" : "event-row silenced", "aria-current": current?.number === event.number ? "true" : undefined,
      onclick: () => attempt(() => open(event)) },
      h("span", { class: "badge" }, event.number),
      h("span", { class: "event-when" }, event.start ?? `row ${event.start_row.toLocaleString("en")}`,
        h("small", { class: "soft" }, `${event.lasting}${model.columns.length > 1 ? ` · ${listed(event.carriers, 2)}` : ""}`),
        event.alarm ? null : h("small", { class: "tag" }, event.silenced === "planned" ? `planned: ${event.silenced_by}` : `dismissed: ${event.silenced_by}`)),
      h("span", { class: "event-score" }, event.score.toFixed(3), h("small", {}, event.severity))))));
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
    const answer = await get(`${path}/events`, { series, alarms: chosen.name });
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
    if (rows.end > rows.start) await keepMarks([...marks, rows]);
  });
  const keepMarks = async (all) => { // the service keeps them, whatever becomes of this page and of fits
    marks = await put(`${path}/marks`, { marks: all.map(({ start, end }) => [start, end]) });
    listMarks();
    paint();
  };
  const listMarks = () => {
    fill(markList, marks.map((mark) => h("li", {},
      h("span", {}, mark.first === null ? `rows ${mark.start} to ${mark.end - 1}` : `${mark.first} to ${mark.last}`,
        usable(mark) ? null : h("small", { class: "soft" }, " before the rows it learns from: not used")),
      h("button", { type: "button", class: "quiet", "aria-label": "Forget this mark",
        onclick: () => attempt(() => keepMarks(marks.filter((each) => each !== mark))) }, "Forget"))));
    const { length } = marks.filter(usable);
    refit.textContent = length ? `Fit again with ${length} known ${length === 1 ? "anomaly" : "anomalies"}` : "Fit again";
  };
  const usable = (mark) => mark.start >= model.train[0];
  const fitAgain = async () => {
    const [start, end] = model.train;
    await put(path, { series: model.series, columns: model.columns, skip: start, train: end - start,
      alarms: ladder[slider.value].name, known: marks.filter(usable).map((mark) => [mark.start, mark.end]), replace: true });
    await followFit();
    scrollTo({ top: 0, behavior: "smooth" });
  };

  const feedbackPlace = h("div");
  const listFeedback = async () => fill(feedbackPlace, await feedbackCard(path, lookAgain));
  const versions = await versionsCard(path, series, anew);

  const file = (text, end) => h("button", { type: "button", onclick: (event) => attempt(async () => {
    event.target.disabled = true;
    try { await download(`${path}/${end}`, { series, alarms: found.alarms }); } finally { event.target.disabled = false; }
  }) }, text);

  fill(main,
    head(model, series),
    h("section", { class: "card" },
      tools(chart, [
        { name: "Zoom", brushing: false, hint: "Drag to zoom in, double-click for everything, click an event to open it." },
        ...(series ? [] : [{ name: "Mark", brushing: true, hint: "Drag over a span that you know to be anomalous." }])], [
        h("button", { type: "button", onclick: () => walk(-1) }, "Previous event"),
        h("button", { type: "button", onclick: () => walk(1) }, "Next event")]),
      h("div", { class: "budget" },
        h("label", { for: "budget" }, "Alarm budget", h("small", { class: "soft" }, "false alarms you accept")),
        h("div", {}, slider, h("div", { class: "ends soft" }, h("span", {}, "more alarms"), h("span", {}, "fewer alarms"))),
        output, keep),
      legend([["series", "measured"], ["range", `expected, and the range that holds ${+(100 * found.band_share).toPrecision(4)}% of normal rows`], ...(found.training ? [["training", "learned from"]] : []), ["band", "alarm"], ["quiet", "planned, or no alarm"],
        ...(series ? [] : [["mark", "marked as known"]]), ["score", "score: how unusual, 0 to 1"], ["threshold", "alarm threshold"]]),
      spot, columns.place),
    h("div", { class: "columns" },
      h("section", { class: "card" }, title, list),
      h("div", {},
        eventPlace,
        feedbackPlace,
        versions,
        series ? null : h("section", { class: "card" },
          h("h2", {}, "Known anomalies"),
          h("p", { class: "soft" }, "Mark some, and CAPS learns again: they choose what to look for, and are kept out of what counts as normal."),
          markList,
          h("div", { class: "actions" }, refit,
            h("button", { type: "button", onclick: () => addMark(...chart.view) }, "Mark what the chart shows"))),
        h("section", { class: "card" },
          h("h2", {}, "Take away"),
          h("div", { class: "actions" }, file("Events (CSV)", "events.csv"), file("Scores (CSV)", "scores.csv"), file("Report (HTML)", "report")),
          model.notes.length ? h("details", { class: "notes" }, h("summary", {}, counted(model.notes.length, "remark")),
            h("ul", {}, model.notes.map((note) => h("li", {}, note)))) : null),
        other)));
  listMarks();
  listEvents();
  await listFeedback();
  tell();
  await chart.show();
  paint();
  return { close: () => { card?.purge(); chart.close(); }, stale: false };
};
