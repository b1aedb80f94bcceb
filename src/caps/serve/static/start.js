// The start: drop a file, or go on with what is there.
import { get, remove, upload } from "./api.js";
import { attempt, counted, fill, h } from "./elements.js";

const take = async (main, file) => {
  fill(main, h("section", { class: "card waiting", "aria-busy": "true" },
    h("h1", {}, `Reading ${file.name}`), h("progress", { "aria-label": "Reading the file" }),
    h("p", { class: "soft" }, `${(file.size / 1e6).toFixed(1)} MB`)));
  const series = await attempt(() => upload(file));
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
    dropZone(main), list("Models", models_), list("Series", files));
};
