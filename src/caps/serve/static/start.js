// The start: drop a file, or go on with what is there.
import { get, remove } from "./api.js";
import { attempt, confirmed, counted, fill, h, listed } from "./elements.js";
import { dropZone, howWritten, take } from "./taking.js";

const state = (model) => {
  if (model.fit?.state === "running") return `fitting, ${Math.round(100 * model.fit.share)} %`;
  if (model.fit?.state === "waiting") return "waiting to be fitted";
  if (model.ready) return `alarm budget ${model.alarms}`;
  return "the fit failed";
};

const entry = (main, path, name, text, address, lost) => {
  const forget = async () => {
    if (!await confirmed(`Delete ${name}? ${lost}`, "Delete")) return;
    await remove(path);
    await start(main);
  };
  return h("li", {},
    h("a", { href: address }, h("strong", {}, name), h("span", { class: "soft" }, text)),
    h("button", { type: "button", class: "quiet", "aria-label": `Delete ${name}`, onclick: () => attempt(forget) }, "Delete"));
};

const list = (title, entries) =>
  entries.length ? h("section", {}, h("h2", {}, title), h("ul", { class: "entries" }, entries)) : null;

export const start = async (main) => {
  document.title = "CAPS";
  const [models, series] = await Promise.all([get("/v1/models"), get("/v1/series")]);
  const models_ = models.map((each) => entry(main, `/v1/models/${each.name}`, each.name,
    `${each.columns.length ? `${listed(each.columns, 6)} · ` : ""}${state(each)}`, `#/models/${each.name}`,
    "What it learned, its marks and its streams are gone then."));
  const files = series.map((each) => entry(main, `/v1/series/${each.name}`, each.name,
    each.rows ? `${counted(each.rows, "row")} · ${counted(each.channels.length, "channel")}` : each.notes.join(" "),
    `#/series/${each.name}`, "Models fitted on it stay, but cannot show it any more."));
  const read = async (file) => {
    const series = await take(main, file);
    if (series) location.hash = `#/series/${series.name}`;
    else await start(main);
  };
  fill(main,
    h("section", { class: "intro" },
      h("h1", {}, "Find what is unusual in a series"),
      h("p", { class: "soft" }, "CAPS learns from a span that is mostly normal and points out what is anomalous. "
        + "It needs no labels, and your data stay on this machine.")),
    dropZone(read), howWritten(), list("Models", models_), list("Series", files));
};
