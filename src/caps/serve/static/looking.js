// Other data by a model: a stored series, or a file that is sent now and read as that of the fit was.
import { get } from "./api.js";
import { h } from "./elements.js";
import { dropZone, howWritten, take } from "./taking.js";

export const looking = async (main, model, again) => {
  const stored = await get("/v1/series");
  const others = stored.filter((each) => each.rows && each.name !== model.series);
  const like = stored.find((each) => each.name === model.series)?.name; // not if it was deleted
  const go = (name) => { location.hash = `#/models/${model.name}${name ? `/${name}` : ""}`; };
  const read = async (file) => {
    const series = await take(main, file, { like });
    if (series) go(series.name);
    else {
      fields.open = true;
      again();
    }
  };
  const fields = howWritten();
  const choose = h("select", { id: "other", onchange: () => choose.value && go(choose.value) },
    h("option", { value: "" }, "choose a series"), others.map((each) => h("option", { value: each.name }, each.name)));
  return h("section", { class: "card" },
    h("h2", {}, "Other data"),
    h("p", { class: "soft" }, "The model scores a new file as it is: nothing is learned again."),
    others.length ? h("label", { class: "field", for: "other" }, "Uploaded before", choose) : null,
    dropZone(read), fields);
};
