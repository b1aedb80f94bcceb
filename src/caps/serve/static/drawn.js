// Which columns a chart draws, where there are more than it can show.
import { h } from "./elements.js";

const AT_FIRST = 8, MOST = 16;

// The first few of `ranked`; `changed` is told the choice in the order of `columns`.
export const drawn = (columns, ranked, changed) => {
  const chosen = new Set([...new Set([...ranked, ...columns])].slice(0, AT_FIRST));
  const names = () => columns.filter((name) => chosen.has(name));
  const summary = h("summary", {});
  const tell = (most = "") => {
    summary.textContent = `${chosen.size} of ${columns.length} columns are drawn${most}; choose which`;
  };
  const pick = ({ target }) => {
    const full = target.checked && chosen.size >= MOST;
    const last = !target.checked && chosen.size === 1;
    if (full || last) target.checked = !target.checked;
    else if (target.checked) chosen.add(target.value);
    else chosen.delete(target.value);
    tell(full ? `, and ${MOST} are the most` : "");
    if (!full && !last) changed();
  };
  tell();
  const place = columns.length > 1 ? h("details", { class: "notes drawn" }, summary, h("fieldset", { class: "chips" },
    h("legend", { class: "visually-hidden" }, "Columns that are drawn"), columns.map((name) => h("label", {},
      h("input", { type: "checkbox", value: name, checked: chosen.has(name), onchange: pick }), h("span", {}, name))))) : null;
  return { names, place };
};
