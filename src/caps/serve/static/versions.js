// The fits of a model that are kept: compared with the one in force, and put in its place.
import { get, put } from "./api.js";
import { attempt, fill, h } from "./elements.js";
import { changeOf } from "./judging.js";

export const versionsCard = async (path, series, again) => {
  const all = await get(`${path}/versions`);
  if (all.length < 2) return null;
  const below = h("div");
  const use = (fit) => attempt(async () => {
    await put(`${path}/versions`, { fit });
    await again();
  });
  const compare = (each) => attempt(async () => {
    fill(below, h("p", { class: "soft", role: "status" }, "Comparing"));
    const change = await get(`${path}/versions/${each.fit}/changes`, { series });
    fill(below, h("div", { class: "judged" }, h("p", {}, "If that version took over:"), changeOf(change),
      h("div", { class: "actions" }, h("button", { type: "button", class: "primary", onclick: () => use(each.fit) }, "Put in force"),
        h("button", { type: "button", onclick: () => fill(below) }, "Leave it"))));
  });
  const made = (each) => each.made?.slice(0, 16).replace("T", " ") ?? each.fit;
  return h("section", { class: "card" }, h("h2", {}, "Versions"),
    h("ul", { class: "said", "aria-label": "Versions" }, [...all].reverse().map((each) => h("li", {},
      h("span", {}, `${made(each)}${each.in_force ? " · in force" : ""}${each.before ? " · before" : ""}`,
        h("small", { class: "soft" }, each.learned)),
      each.in_force ? null : h("button", { type: "button", class: "quiet", onclick: () => compare(each) }, "Compare")))), below);
};
