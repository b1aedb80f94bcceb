// One event: its kind, its reason, and its normal counterpart under what was measured.
import { colour, heading, style, timeAxis, valueAxis } from "./chart.js";
import { h, legend } from "./elements.js";
import { moment } from "./moments.js";

const HEIGHT = 150, BETWEEN = 26;

const fact = (name, ...text) => h("div", {}, h("dt", {}, name), h("dd", {}, ...text));

const bars = (shares) => h("ul", { class: "bars" }, Object.entries(shares)
  .filter(([, share]) => share >= 0.01).slice(0, 6).map(([name, share]) => h("li", {},
    h("span", {}, name), h("meter", { min: 0, max: 1, value: share, "aria-label": name }),
    h("span", {}, `${Math.round(100 * share)} %`))));

const effect = (explanation) => {
  const words = { up: "above normal", down: "below normal", both: "above and below normal" };
  if (explanation.size === null) return words[explanation.direction] ?? "unknown";
  return `${words[explanation.direction] ?? "off normal"} by ${explanation.size.toPrecision(2)} local standard deviations`;
};

const draw = (place, explanation, lines) => {
  const { dated } = lines;
  const total = explanation.channels.length * (HEIGHT + BETWEEN) - BETWEEN;
  const data = [], annotations = [], axes = {};
  explanation.channels.forEach((view, number) => {
    const top = total - number * (HEIGHT + BETWEEN);
    const name = number ? `${number + 1}` : "";
    axes[`yaxis${name}`] = valueAxis([(top - HEIGHT) / total, top / total]);
    annotations.push(heading(view.name, top / total));
    const x = view.x.map((each) => moment(dated, each));
    // A line through one row alone would not be seen.
    const mode = (y) => (y.filter((each) => each !== null).length < 3 ? "lines+markers" : "lines");
    const line = (label, y, looks) => ({ type: "scatter", mode: mode(y), name: label, x, y, yaxis: `y${name}`, line: looks, hovertemplate: "%{y}" });
    data.push(
      line("normal", view.counterpart, { color: colour("--normal"), width: 2.2, dash: "dot" }),
      line("measured", view.values, { color: colour("--series"), width: 1.4 }));
  });
  const [left, right] = explanation.event.extent;
  return Plotly.react(place, data, {
    ...style(), ...axes, annotations, height: total + 62, margin: { l: 52, r: 12, t: 22, b: 40 }, dragmode: false,
    xaxis: { ...timeAxis(lines, place), fixedrange: true, anchor: `y${explanation.channels.length > 1 ? explanation.channels.length : ""}` },
    shapes: [{ type: "rect", layer: "below", yref: "paper", y0: 0, y1: 1, x0: moment(dated, left),
      x1: moment(dated, right), fillcolor: colour("--band"), line: { color: colour("--band-edge"), width: 1 } }],
  }, { responsive: true, displayModeBar: false });
};

export const eventCard = (explanation, lines, { judge, close }) => {
  const { event } = explanation;
  const place = h("div", { class: "chart small", role: "img",
    "aria-label": "What was measured during the event, and what would have been normal." });
  const [from, to] = event.start === null ? [`row ${event.start_row}`, event.end_row - 1] : [event.start, event.end];
  const when = event.end_row - event.start_row > 1 ? `${from} to ${to}` : from;
  const card = h("article", { class: "card event", id: "event", tabindex: "-1", "aria-labelledby": "event-title" },
    h("div", { class: "event-head" },
      h("h2", { id: "event-title" }, h("span", { class: "badge" }, event.number), " ", explanation.kind
        ? `${explanation.kind[0].toUpperCase()}${explanation.kind.slice(1)} anomaly` : "Anomaly",
        event.alarm ? null : h("span", { class: "tag" }, "no alarm")),
      h("button", { type: "button", class: "quiet", onclick: close }, "Close")),
    h("p", { class: "soft when" }, `${when} · ${event.lasting}`),
    h("p", { class: "reason" }, explanation.reason),
    h("div", { class: "event-body" },
      h("div", {},
        legend([["series", "measured"], ["normal", "normal counterpart: what was expected"], ["band", "event"]]),
        place),
      h("dl", {},
        explanation.meaning ? fact("Kind", `${explanation.kind}: ${explanation.meaning}`) : fact("Kind", "not certain enough to be named"),
        fact("Effect", effect(explanation)),
        fact("Score", `${event.score.toFixed(3)}; normal data have an event as strong ${explanation.rarity}`),
        fact("Channels", bars(explanation.contributions)))),
    judge);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => draw(place, explanation, lines);
  dark.addEventListener("change", paint);
  const purge = () => {
    dark.removeEventListener("change", paint);
    Plotly.purge(place);
  };
  return { card, paint, purge };
};
