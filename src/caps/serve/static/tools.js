// Buttons and keys that move a chart.
import { h } from "./elements.js";

export const tools = (chart, modes, extra = []) => {
  const act = {
    Home: () => chart.show(), "+": () => chart.zoom(0.5), "-": () => chart.zoom(2),
    ArrowLeft: () => chart.zoom(1, -0.5), ArrowRight: () => chart.zoom(1, 0.5),
  };
  const button = (text, key, label) => h("button", {
    type: "button", "aria-label": label, title: label, onclick: () => act[key]() }, text);
  const radios = modes.map(({ name, brushing, hint }, place) => h("label", { class: "mode" },
    h("input", { type: "radio", name: "mode", value: name, checked: place === 0,
      onchange: () => { chart.setBrushing(brushing); hintPlace.textContent = hint; } }), h("span", {}, name)));
  const hintPlace = h("p", { class: "hint soft" }, modes[0].hint);
  chart.place.addEventListener("keydown", (event) => {
    const key = event.key === "=" ? "+" : event.key;
    if (!act[key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act[key]();
  });
  return h("div", { class: "tools-place" },
    h("div", { class: "tools", role: "group", "aria-label": "Zoom" },
      button("Everything", "Home", "Show everything"), button("+", "+", "Zoom in"), button("−", "-", "Zoom out"),
      button("←", "ArrowLeft", "Move to earlier times"), button("→", "ArrowRight", "Move to later times"), ...extra,
      h("span", { class: "modes", role: "radiogroup", "aria-label": "What dragging does" }, radios)),
    hintPlace);
};

export const chartPlace = (label) => h("div", { class: "chart", tabindex: "0", role: "group", "aria-label":
  `${label} Arrow keys move, plus and minus zoom, Home shows everything.` });
