"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report-data").textContent);
  const overview = document.getElementById("overview-chart");
  const touch = matchMedia("(pointer: coarse)").matches;
  const config = { responsive: true, displayModeBar: false, showTips: false, doubleClick: "reset" };

  // Plotly reads numbers on a date axis in the reader's own time zone; text it takes as it stands.
  const moment = (position) =>
    report.dated ? new Date(position).toISOString().replace("Z", "") : position;
  const position = (edge) => (typeof edge === "string" ? Date.parse(utc(edge)) : edge);
  const utc = (text) => text.replace(" ", "T") + (text.length > 10 ? "Z" : "");
  const positions = (array) => {
    const bytes = Uint8Array.from(atob(array.bdata), (letter) => letter.charCodeAt(0));
    return Array.from(new Float64Array(bytes.buffer), moment);
  };

  const painted = (part, roles) => {
    if (Array.isArray(part)) return part.map((each) => painted(each, roles));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([name, value]) =>
      name.endsWith("color") && typeof value === "string" && value.startsWith("--")
        ? [name, roles.getPropertyValue(value).trim()] : [name, painted(value, roles)]));
  };
  const colours = (part) => painted(part, getComputedStyle(document.documentElement));

  const dated = (mark) => {
    if (mark.xref === "paper") return mark;
    for (const name of ["x", "x0", "x1"]) if (name in mark) mark[name] = moment(mark[name]);
    return mark;
  };
  for (const { data, layout } of Object.values(report.charts)) {
    for (const trace of data) trace.x = positions(trace.x);
    layout.xaxis.range = layout.xaxis.range.map(moment);
    layout.shapes.forEach(dated);
    layout.annotations.forEach(dated);
    if (touch) layout.dragmode = false; // a finger scrolls the page; the buttons zoom
  }
  for (const budget of report.budgets) budget.bands.forEach(dated);

  // As many ticks, and as many numbers above events, as do not overlap at this width.
  const TICK = 75, LABEL = 22; // pixels
  const ticks = (place) => Math.max(2, Math.floor(place.clientWidth / TICK));
  const labels = (place, { annotations, xaxis }) => {
    const [left, right] = xaxis.range.map(position);
    const least = (LABEL * (right - left)) / place.clientWidth;
    const kept = []; // they come in order of strength
    return annotations.filter((each) => {
      if (each.name !== "event") return true;
      const at = position(each.x);
      const free = at >= left && at <= right && kept.every((other) => Math.abs(other - at) >= least);
      if (free) kept.push(at);
      return free;
    });
  };
  const draw = (place) => {
    const { data, layout } = report.charts[place.dataset.chart];
    place.dataset.drawn = "yes";
    layout.xaxis.nticks = ticks(place);
    const shown = { ...layout, annotations: labels(place, layout) };
    return Plotly.react(place, colours(data), colours(shown), config);
  };
  const places = [...document.querySelectorAll("[data-chart]")];
  const drawLater = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      drawLater.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "600px" });
  for (const place of places) {
    place.style.minHeight = `${report.charts[place.dataset.chart].layout.height}px`;
    if (place !== overview) drawLater.observe(place);
  }

  const whole = report.charts.overview.layout.xaxis.range.map(position);
  const view = () => overview.layout.xaxis.range.map(position);
  const show = ([left, right]) => {
    const range = [Math.max(whole[0], left), Math.min(whole[1], right)].map(moment);
    report.charts.overview.layout.xaxis.range = range;
    return Plotly.relayout(overview, { "xaxis.range": range });
  };
  const spans = Object.values(report.events).sort((one, other) => one[0] - other[0]);
  const around = ([left, right]) => {
    const margin = Math.max(2 * (right - left), (whole[1] - whole[0]) / 60);
    return [left - margin, right + margin];
  };
  const centre = ([left, right]) => (left + right) / 2;
  let visited = null;
  const visit = (span) => {
    visited = centre(span);
    return show(around(span));
  };
  const visitNext = () => visit(
    spans.find((span) => visited === null || centre(span) > visited) ?? spans[0]);
  const visitPrevious = () => visit(
    spans.findLast((span) => visited === null || centre(span) < visited) ?? spans.at(-1));
  const scaled = (factor, shift) => {
    const [left, right] = view();
    const middle = (left + right) / 2 + shift * (right - left);
    const half = ((right - left) / 2) * factor;
    return show([middle - half, middle + half]);
  };
  const views = {
    all: () => { visited = null; return show(whole); },
    in: () => scaled(0.5, 0),
    out: () => scaled(2, 0),
    earlier: () => scaled(1, -0.5),
    later: () => scaled(1, 0.5),
    previous: visitPrevious,
    next: visitNext,
  };
  for (const button of document.querySelectorAll("[data-view]"))
    button.addEventListener("click", views[button.dataset.view]);
  for (const link of document.querySelectorAll("[data-event]"))
    link.addEventListener("click", () => visit(report.events[link.dataset.event]));

  const slider = document.getElementById("budget");
  const inForce = report.charts.overview.layout.shapes.filter((shape) => shape.name === "event");
  const tryBudget = () => {
    const budget = report.budgets[slider.value];
    const layout = report.charts.overview.layout;
    const rows = document.querySelectorAll(".budgets tbody tr");
    rows.forEach((row, index) => row.classList.toggle("current", index === Number(slider.value)));
    document.querySelector("output[for=budget]").textContent =
      `${budget.name}: ${budget.found} ${budget.found === 1 ? "alarm" : "alarms"} here, above ${
        rows[slider.value].cells[1].textContent}`;
    slider.setAttribute("aria-valuetext", budget.name);
    const events = budget.bands.length || budget.found === 0 ? budget.bands : inForce;
    const others = layout.shapes.filter((shape) => shape.name !== "event");
    layout.shapes = [...events, ...others].map((shape) => shape.name === "threshold"
      ? { ...shape, y0: budget.threshold, y1: budget.threshold } : shape);
    return Plotly.relayout(overview, { shapes: colours(layout.shapes) });
  };

  draw(overview).then(() => {
    overview.on("plotly_relayout", (change) => {
      if (change.annotations) return;
      const { layout } = report.charts.overview;
      layout.xaxis.range = overview.layout.xaxis.range;
      Plotly.relayout(overview, { "xaxis.nticks": ticks(overview), annotations: colours(labels(overview, layout)) });
    });
    document.querySelector(".tools").hidden = false;
    if (!slider) return;
    slider.closest(".slider").hidden = false;
    slider.addEventListener("input", tryBudget);
    tryBudget();
  });
  const repaint = () => places.filter((place) => place.dataset.drawn).forEach(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", () => places.forEach(draw));
})();
