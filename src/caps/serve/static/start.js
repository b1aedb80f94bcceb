// The start: drop a file, or go on with what is there.
import { get, remove, upload } from "./api.js";
import { attempt, counted, fill, h } from "./elements.js";

// The fields of an upload beside its name, called as remedies call them; kept for the next try.
const written = {};
const TICKS = ["sort", "no_time"];
const CHOICES = {
  duplicates: ["", "first", "last", "keep"], decimal: ["", ",", "."], thousands: ["", ",", "."],
  delimiter: ["", ",", ";", "tab", "|"], unit: ["", "s", "ms", "us", "ns"],
};
const TEXTS = { time: "name of the column", exclude: "name of a column", time_format: "%d.%m.%Y %H:%M",
  timezone: "Europe/Berlin", encoding: "cp1252" };

const keep = (name, value) => {
  if (value) written[name] = value;
  else delete written[name];
};

const howWritten = () => {
  const label = (name) => name.replace("_", " ");
  const ticks = TICKS.map((name) => h("label", {}, h("input", { type: "checkbox", checked: Boolean(written[name]),
    onchange: (event) => keep(name, event.target.checked) }), label(name)));
  const choices = Object.entries(CHOICES).map(([name, values]) => h("label", { class: "field" }, label(name),
    h("select", { onchange: (event) => keep(name, event.target.value) }, values.map((value) =>
      h("option", { value, selected: (written[name] ?? "") === value }, value || "as found")))));
  const texts = Object.entries(TEXTS).map(([name, example]) => h("label", { class: "field" }, label(name),
    h("input", { type: "text", placeholder: example, value: written[name] ?? "",
      onchange: (event) => keep(name, event.target.value.trim()) })));
  return h("details", { class: "notes", open: Object.keys(written).length > 0 },
    h("summary", {}, "How the file is written (found by itself if left alone)"),
    h("fieldset", { class: "chips" }, h("legend", { class: "visually-hidden" }, "Rows"), ticks),
    h("div", { class: "row" }, choices, texts));
};

const take = async (main, file) => {
  fill(main, h("section", { class: "card waiting", "aria-busy": "true" },
    h("h1", {}, `Reading ${file.name}`), h("progress", { "aria-label": "Reading the file" }),
    h("p", { class: "soft" }, `${(file.size / 1e6).toFixed(1)} MB`)));
  const series = await attempt(() => upload(file, written));
  if (series) location.hash = `#/series/${series.name}`;
  else await start(main);
};

const dropZone = (main) => {
  const input = h("input", { type: "file", id: "file", class: "visually-hidden",
    accept: ".csv,.txt,.tsv,.gz,text/csv", onchange: () => input.files[0] && take(main, input.files[0]) });
  const zone = h("label", { class: "drop", for: "file" },
    h("span", { class: "drop-title" }, "Drop a CSV file here"),
    h("span", { class: "soft" }, "one row for each moment, one column for each metric"),
    h("span", { class: "button primary" }, "Choose a file"));
  for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) take(main, event.dataTransfer.files[0]);
  });
  return h("div", { class: "drop-place" }, input, zone);
};

const state = (model) => {
  if (model.fit?.state === "running") return `fitting, ${Math.round(100 * model.fit.share)} %`;
  if (model.fit?.state === "waiting") return "waiting to be fitted";
  if (model.ready) return `alarm budget ${model.alarms}`;
  return "the fit failed";
};

const entry = (main, path, name, text, address) => h("li", {},
  h("a", { href: address }, h("strong", {}, name), h("span", { class: "soft" }, text)),
  h("button", { type: "button", class: "quiet", "aria-label": `Delete ${name}`,
    onclick: () => attempt(async () => { await remove(path); await start(main); }) }, "Delete"));

const list = (title, entries) =>
  entries.length ? h("section", {}, h("h2", {}, title), h("ul", { class: "entries" }, entries)) : null;

export const start = async (main) => {
  document.title = "CAPS";
  const [models, series] = await Promise.all([get("/v1/models"), get("/v1/series")]);
  const models_ = models.map((each) => entry(main, `/v1/models/${each.name}`, each.name,
    `${each.columns.join(", ")} · ${state(each)}`, `#/models/${each.name}`));
  const files = series.map((each) => entry(main, `/v1/series/${each.name}`, each.name,
    each.rows ? `${counted(each.rows, "row")} · ${counted(each.channels.length, "channel")}` : each.notes.join(" "), `#/series/${each.name}`));
  fill(main,
    h("section", { class: "intro" },
      h("h1", {}, "Find what is unusual in a series"),
      h("p", { class: "soft" }, "CAPS learns from a span that is mostly normal and points out what is anomalous. "
        + "It needs no labels, and your data stay on this machine.")),
    dropZone(main), howWritten(), list("Models", models_), list("Series", files));
};
