// A model at work: progress of its fit, then what it finds in the series of the fit or in another.
import { get, remove } from "./api.js";
import { alert, attempt, fill, h } from "./elements.js";
import { looking } from "./looking.js";
import { lasting } from "./moments.js";
import { head, results } from "./results.js";

const EVERY = 700; // milliseconds between polls of a fit

export const found = async (main, name, series) => {
  document.title = `${name} · CAPS`;
  const path = `/v1/models/${name}`;
  const place = h("div");
  const progress = h("div");
  fill(main, progress, place);
  let shown = null;
  let timer = null;
  let gone = false;

  const show = async (model) => {
    shown?.close();
    fill(place, h("section", { class: "card waiting", "aria-busy": "true" }, h("h1", {}, model.name),
      h("progress", { "aria-label": "Looking at the series" }), h("p", { class: "soft" }, "Looking at the series")));
    const other = await looking(main, model, () => fill(main, progress, place));
    try {
      shown = await results(place, model, { path, series, followFit, other, anew: async () => show(await get(path)) });
    } catch (error) { // its series was deleted, or another lacks a column: a new file can be given
      alert(error.problem ?? `${error.message}`, error.remedy ?? "");
      fill(place, head(model, series), other);
      shown = { close: () => {}, stale: false };
    }
    if (gone) shown.close();
  };
  const poll = async () => {
    clearTimeout(timer);
    const model = await get(path);
    if (gone) return;
    const under = model.fit && model.fit.state !== "failed";
    fill(progress, model.fit ? fitCard(model) : null);
    if (model.ready && (shown === null || (!under && shown.stale))) await show(model);
    if (under && !gone) {
      if (shown) shown.stale = true;
      timer = setTimeout(() => attempt(poll), EVERY);
    }
  };
  const followFit = () => { shown.stale = true; return poll(); };
  const cancel = (model) => attempt(async () => {
    await remove(model.ready ? `${path}/fit` : path);
    if (!model.ready) location.hash = `#/series/${model.series}`;
    else await poll();
  });

  const fitCard = (model) => {
    const { fit } = model;
    if (fit.state === "failed") return h("section", { class: "card failed" },
      h("h1", {}, model.ready ? "The new fit failed" : "The fit failed"),
      h("p", {}, fit.problem), h("p", { class: "soft" }, fit.remedy),
      h("div", { class: "actions" },
        model.series ? h("a", { class: "button", href: `#/series/${model.series}` }, "Change the request") : null,
        model.ready ? h("button", { type: "button", onclick: () => cancel(model) }, "Dismiss") : null));
    const left = fit.left === null ? "" : ` · about ${lasting(fit.left)} left`;
    return h("section", { class: "card waiting", "aria-busy": "true" },
      h("h1", {}, model.ready ? `Learning ${model.name} again` : `Learning ${model.name}`),
      h("progress", { max: 1, ...(fit.state === "running" && fit.share > 0 ? { value: fit.share } : {}), "aria-label": "Progress of the fit" }),
      h("p", { class: "soft", role: "status" }, fit.state === "waiting" ? "waiting for another fit to end"
        : `${fit.stage} · ${Math.round(100 * fit.share)} %${left}`),
      model.ready ? h("p", { class: "soft" }, "What is shown below is by the model as it was; it stays if you cancel.") : null,
      h("div", { class: "actions" }, h("button", { type: "button", onclick: () => cancel(model) }, "Cancel")));
  };

  await poll();
  return () => { gone = true; clearTimeout(timer); shown?.close(); };
};
