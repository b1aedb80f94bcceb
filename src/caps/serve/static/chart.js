// A chart of channels and score that asks the service for just the points the zoom can show.
import { moment, position } from "./moments.js";

const TOP = 22, BOTTOM = 36, BETWEEN = 26, SCORE = 104, MOST_BANDS = 500, TICK = 75; // pixels, but for the bands
const CONFIG = { responsive: true, displayModeBar: false, showTips: false, doubleClick: false, scrollZoom: false };
const DAY = 86_400_000;
const TICKS = [
  { dtickrange: [null, 1000], value: "%H:%M:%S.%L\n%b %-d" },
  { dtickrange: [1000, 60_000], value: "%H:%M:%S\n%b %-d" },
  { dtickrange: [60_000, DAY - 1], value: "%H:%M\n%b %-d" },
  { dtickrange: [DAY, null], value: "%b %-d\n%Y" },
];

export const colour = (role) =>
  getComputedStyle(document.documentElement).getPropertyValue(role).trim();
const shown = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

export const style = () => ({
  paper_bgcolor: colour("--card"), plot_bgcolor: colour("--card"), showlegend: false,
  font: { family: "system-ui, sans-serif", size: 12, color: colour("--soft") },
  hovermode: "x unified", hoversubplots: "axis",
  hoverlabel: { bgcolor: colour("--hover"), bordercolor: colour("--line"),
    font: { color: colour("--ink") }, namelength: -1 },
});
export const timeAxis = ({ dated, hover }, place) => ({
  ...(dated ? { type: "date", tickformatstops: TICKS } : { type: "linear" }), hoverformat: hover,
  gridcolor: colour("--grid"), zeroline: false, tickangle: 0, ticklabelstandoff: 5, automargin: true,
  nticks: Math.max(2, Math.floor(place.clientWidth / TICK)), // as many as do not overlap
});
export const valueAxis = (domain) => ({
  domain, fixedrange: true, gridcolor: colour("--grid"), zeroline: false, nticks: 4, automargin: true, hoverformat: ".5~g",
});
export const heading = (text, y) => ({
  text: `<b>${shown(text)}</b>`, xref: "paper", x: 0, xanchor: "left", yref: "paper", y, yanchor: "bottom",
  showarrow: false, font: { color: colour("--soft"), size: 12 },
});

// The range that counts as normal, and a line of what was expected; both lie under what was measured.
const range = ({ name, x, y, lower, upper, outline }, dated, yaxis) => {
  const trace = { type: "scatter", mode: "lines", xaxis: "x", yaxis, connectgaps: false };
  const across = (positions) => positions.map((each) => moment(dated, each));
  return [
    { ...trace, name: `${shown(name)}, range`, x: across(outline.x), y: outline.y, fill: "toself", hoverinfo: "skip",
      fillcolor: colour("--range"), line: { width: 0 } },
    { ...trace, name: `${shown(name)}, expected`, x: across(x), y, line: { color: colour("--expected"), width: 1 },
      customdata: lower.map((each, index) => [each, upper[index]]), hovertemplate: "%{y} (%{customdata[0]:.5~g} to %{customdata[1]:.5~g})" },
  ];
};

export class Chart {
  // `load(left, right, points)` gives lines, `picked(position)` is told clicks, `brushed(left, right)` brushes.
  constructor(place, { load, picked = () => {}, brushed = () => {} }) {
    Object.assign(this, { place, load, picked, brushed });
    this.bands = [];
    this.threshold = null;
    this.brushing = false;
    this.asked = 0;
    this.touch = matchMedia("(pointer: coarse)").matches;
    this.brush = document.createElement("div");
    this.brush.className = "brush";
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.drawn && this.draw();
    this.dark.addEventListener("change", this.repaint);
    this.place.addEventListener("pointerdown", (event) => this.brushing && this.beginBrush(event), true);
  }

  close() {
    this.dark.removeEventListener("change", this.repaint);
    clearTimeout(this.timer);
    this.asked += 1;
    if (this.drawn) Plotly.purge(this.place);
  }

  // Shows a span, or everything.
  async show(left = null, right = null) {
    clearTimeout(this.timer); // a zoom not yet asked for must not undo this one
    if (left !== null && this.lines) {
      const [first, last] = this.lines.extent;
      const least = 4 * this.lines.step;
      if (right - left < least) [left, right] = [(left + right - least) / 2, (left + right + least) / 2];
      [left, right] = [Math.max(first, left), Math.min(last, right)];
      if (left <= first && right >= last) [left, right] = [null, null];
    }
    const mine = (this.asked += 1);
    this.place.classList.add("loading");
    const points = Math.min(4000, Math.max(600, 2 * this.place.clientWidth));
    try {
      const lines = await this.load(left, right, Math.round(points));
      if (mine !== this.asked) return;
      this.lines = lines;
      this.view = left === null ? lines.extent : [left, right];
      await this.draw();
    } finally {
      if (mine === this.asked) this.place.classList.remove("loading");
    }
  }

  zoom(factor, shift = 0) {
    const [left, right] = this.view;
    const middle = (left + right) / 2 + shift * (right - left);
    const half = ((right - left) / 2) * factor;
    return this.show(middle - half, middle + half);
  }

  around([left, right]) {
    const [first, last] = this.lines.extent;
    const margin = Math.max(3 * (right - left), Math.min(150 * this.lines.step, (last - first) / 20));
    return this.show(left - margin, right + margin);
  }

  mark(bands, threshold = this.threshold) {
    Object.assign(this, { bands, threshold });
    if (this.drawn) return Plotly.relayout(this.place, { shapes: this.shapes(), annotations: this.annotations });
    return undefined;
  }

  setBrushing(on) {
    this.brushing = on;
    this.place.classList.toggle("brushing", on);
    if (this.drawn) Plotly.relayout(this.place, { dragmode: this.dragmode() });
  }

  dragmode() {
    return this.brushing || this.touch ? false : "zoom"; // a finger scrolls the page; the buttons zoom
  }

  async draw() {
    const { lines, expected = [], score, dated, label } = this.lines;
    const rows = lines.map((line) => ({ line, role: "--series" }));
    if (score) rows.push({ line: score, role: "--score" });
    const each = lines.length > 4 ? 84 : lines.length > 1 ? 120 : 240;
    const heights = rows.map(({ line }) => (line === score ? SCORE : each));
    const total = heights.reduce((one, other) => one + other, 0) + BETWEEN * (heights.length - 1);
    const data = [];
    const axes = {};
    this.annotations = [];
    let top = total;
    rows.forEach(({ line, role }, index) => {
      const domain = [(top - heights[index]) / total, top / total];
      top -= heights[index] + BETWEEN;
      const number = index ? `${index + 1}` : "";
      axes[`yaxis${number}`] = valueAxis(domain);
      this.annotations.push(heading(line === score ? "score" : line.name, domain[1]));
      const usual = line === score ? null : expected.find((each) => each.name === line.name);
      if (usual) data.push(...range(usual, dated, `y${number}`));
      data.push({
        type: "scatter", mode: "lines", name: shown(line.name), x: line.x.map((x) => moment(dated, x)), y: line.y,
        xaxis: "x", yaxis: `y${number}`, connectgaps: false, hovertemplate: "%{y}", line: { color: colour(role), width: 1.3 },
        ...(line === score ? { fill: "tozeroy", fillcolor: colour("--score-fill") } : {}),
      });
    });
    const last = rows.length > 1 ? `${rows.length}` : "";
    this.scoreAxis = score ? `y${last}` : null;
    if (score) Object.assign(axes[`yaxis${last}`], { range: [0, 1.04], tickvals: [0, 0.5, 1], ticktext: ["0", "0.5", "1"], hoverformat: ".3f" });
    const layout = {
      ...style(), ...axes, height: total + TOP + BOTTOM, margin: { l: 52, r: 12, t: TOP, b: BOTTOM },
      dragmode: this.dragmode(), annotations: this.annotations,
      xaxis: { ...timeAxis(this.lines, this.place), anchor: `y${last}`, range: this.view.map((edge) => moment(dated, edge)),
        ...(label ? { title: { text: shown(label), standoff: 4 } } : {}) },
    };
    layout.shapes = this.shapes();
    this.place.style.minHeight = `${layout.height}px`;
    await Plotly.react(this.place, data, layout, CONFIG);
    if (this.drawn) return;
    this.drawn = true;
    this.place.append(this.brush);
    this.place.on("plotly_relayout", (change) => this.relayouted(change));
    this.place.on("plotly_doubleclick", () => { this.show(); });
    this.place.on("plotly_click", ({ points }) => points[0] && this.picked(position(points[0].x)));
  }

  relayouted(change) {
    const edges = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (edges[0] === undefined) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show(...edges.map(position)).catch(() => {}), 60);
  }

  shapes() {
    const { dated } = this.lines;
    const [left, right] = this.view;
    const seen = this.bands.filter(({ extent }) => extent[1] >= left && extent[0] <= right).slice(0, MOST_BANDS);
    const shapes = seen.map(({ extent, role, edge, name }) => ({
      type: "rect", name, layer: "below", yref: "paper", y0: 0, y1: 1,
      x0: moment(dated, extent[0]), x1: moment(dated, extent[1]), fillcolor: colour(role),
      line: edge ? { color: colour(edge), width: 1 } : { width: 0 },
    }));
    if (this.scoreAxis && this.threshold !== null) shapes.push({
      type: "line", name: "threshold", xref: "paper", x0: 0, x1: 1, yref: this.scoreAxis,
      y0: this.threshold, y1: this.threshold, line: { color: colour("--event"), width: 1.3, dash: "dash" },
    });
    return shapes;
  }

  // Where a pointer is on the axis.
  at(event) {
    const { l, w } = this.place._fullLayout._size;
    const share = (event.clientX - this.place.getBoundingClientRect().left - l) / w;
    const [left, right] = this.view;
    return left + Math.min(1, Math.max(0, share)) * (right - left);
  }

  beginBrush(event) {
    if (!this.drawn || event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    const from = this.at(event);
    const { l, t, w, h } = this.place._fullLayout._size;
    const [left, right] = this.view;
    const paint = (to) => {
      const edges = [from, to].sort((one, other) => one - other);
      const [start, end] = edges.map((edge) => l + ((edge - left) / (right - left)) * w);
      Object.assign(this.brush.style, { left: `${start}px`, width: `${end - start}px`, top: `${t}px`, height: `${h}px` });
      return edges;
    };
    const move = (each) => paint(this.at(each));
    const end = (each) => {
      removeEventListener("pointermove", move);
      const edges = paint(this.at(each));
      this.brush.style.width = "0";
      if (each.type === "pointerup" && edges[1] - edges[0] >= this.lines.step / 2) this.brushed(...edges);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
    addEventListener("pointercancel", end, { once: true });
  }
}
