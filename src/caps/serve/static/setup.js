// Choosing what to learn from: channels, the training part, the alarm budget.
import { get, put } from "./api.js";
import { Chart } from "./chart.js";
import { drawn } from "./drawn.js";
import { attempt, counted, fill, h } from "./elements.js";
import { chartPlace, tools } from "./tools.js";

const STEPS = 1000; // of the sliders

export const setup = async (main, name) => {
  const series = await get(`/v1/series/${name}`);
  document.title = `${series.file} · CAPS`;
  const chosen = new Set(series.channels);
  const place = chartPlace("The series, and the part to learn from.");
  let training = null;

  const chart = new Chart(place, {
    load: (left, right, points) => get(`/v1/series/${name}/lines`, {
      left, right, points, channels: columns.names() }),
    brushed: (left, right) => choose(left, right),
  });

  const columns = drawn(series.channels, [], () => attempt(() => chart.show(...chart.view)));
  const summary = h("p", { class: "summary", "aria-live": "polite" });
  const sliders = ["First row", "Last row"].map((label, end) => h("input", {
    type: "range", min: 0, max: STEPS, value: end ? STEPS / 2 : 0, "aria-label": `${label} to learn from`,
    oninput: () => slide() }));
  const whole = () => chart.lines.extent;
  const slide = () => {
    const [left, right] = sliders.map((each) => Number(each.value)).sort((one, other) => one - other);
    const [first, last] = whole();
    choose(first + (left / STEPS) * (last - first), first + (right / STEPS) * (last - first), false);
  };
  let asked = 0;
  const propose = () => attempt(async () => {
    const before = asked;
    const proposed = await get(`/v1/series/${name}/training`, { channels: [...chosen] });
    if (asked !== before) return; // the user was faster
    await choose(...proposed.extent);
    if (asked !== before + 1) return;
    summary.textContent += ` (proposed${proposed.why && `: ${proposed.why}`})`;
  });
  const choose = (left, right, follow = true) => attempt(async () => {
    const mine = (asked += 1);
    chart.mark([{ extent: [left, right], role: "--training", edge: "--accent", name: "training" }]);
    if (follow) {
      const [first, last] = whole();
      [left, right].forEach((edge, end) => {
        sliders[end].value = Math.round((STEPS * (edge - first)) / (last - first));
      });
    }
    const rows = await get(`/v1/series/${name}/rows`, { left, right });
    if (mine !== asked) return;
    training = rows;
    const when = rows.first === null ? "" : `, ${rows.first} to ${rows.last}`;
    summary.textContent = `Learn from ${counted(rows.end - rows.start, "row")}${when}`;
  });

  const budgets = h("select", { id: "budget" }, (series.step === null
    ? [["1/1000", "1 in 1,000 rows"], ["1/100", "1 in 100 rows"], ["1/10000", "1 in 10,000 rows"]]
    : [["1/day", "1 a day"], ["1/hour", "1 an hour"], ["1/week", "1 a week"], ["1/month", "1 a month"]])
    .map(([value, text]) => h("option", { value }, text)));
  const go = h("button", { type: "submit", class: "primary" }, "Fit");

  const boxes = series.channels.map((value) => h("input", { type: "checkbox", value, checked: true,
    onchange: () => choosing() }));
  const choosing = () => {
    for (const box of boxes) {
      if (box.checked) chosen.add(box.value);
      else chosen.delete(box.value);
    }
    go.disabled = chosen.size === 0;
  };
  const all = (text, checked) => h("button", { type: "button", class: "quiet", onclick: () => {
    for (const box of boxes) box.checked = checked;
    choosing();
  } }, text);
  const chips = h("fieldset", { class: "chips" }, h("legend", {}, "Columns to learn from"),
    boxes.length > 2 ? [all("All", true), all("None", false)] : null,
    boxes.map((box) => h("label", {}, box, h("span", {}, box.value))));

  const fit = (event) => {
    event.preventDefault();
    attempt(async () => {
      const request = {
        series: name, columns: series.channels.filter((each) => chosen.has(each)), alarms: budgets.value,
        skip: training.start, train: training.end - training.start,
      };
      const models = new Set((await get("/v1/models")).map((each) => each.name));
      let model = name;
      for (let number = 2; models.has(model); number += 1) model = `${name}-${number}`;
      await put(`/v1/models/${model}`, request);
      location.hash = `#/models/${model}`;
    });
  };

  fill(main,
    h("section", { class: "head" },
      h("p", { class: "eyebrow" }, "New model"), h("h1", {}, series.file),
      h("p", { class: "soft" }, [counted(series.rows, "row"), series.step && `one every ${series.step}`,
        series.start && `${series.start.replace("T", " ")} to ${series.end.replace("T", " ")}`]
        .filter(Boolean).join(" · "))),
    h("form", { class: "setup", onsubmit: fit }, chips,
      h("section", { class: "card" },
        tools(chart, [
          { name: "Choose", brushing: true, hint: "Drag over a span that is mostly normal: CAPS learns from it." },
          { name: "Zoom", brushing: false, hint: "Drag to zoom in, double-click for everything." }]),
        place,
        h("div", { class: "sliders" }, sliders), columns.place),
      h("div", { class: "row" }, summary,
        h("label", { class: "field" }, "False alarms you accept", budgets), go)),
    series.notes.length ? h("details", { class: "notes" }, h("summary", {}, counted(series.notes.length, "remark")),
      h("ul", {}, series.notes.map((note) => h("li", {}, note)))) : null);
  chart.setBrushing(true);
  await chart.show();
  await propose();
  return () => chart.close();
};
