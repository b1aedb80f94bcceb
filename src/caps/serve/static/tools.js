// Buttons and keys that move a chart.
import { h } from "./elements.js";

const TOUCH = "The buttons zoom; tap an event to open it.";

export const tools = (chart, modes, extra = []) => {
  const hinted = ({ brushing, hint }) => (chart.touch && !brushing ? TOUCH : hint);
  const act = {
    Home: () => chart.show(), "+": () => chart.zoom(0.5), "-": () => chart.zoom(2),
    ArrowLeft: () => chart.zoom(1, -0.5), ArrowRight: () => chart.zoom(1, 0.5),
  };
  const button = (text, key, label) => h("button", {
    type: "button", "aria-label": label, title: label, onclick: () => act[key]() }, text);
  const radios = modes.map((mode, index) => h("label", { class: "mode" },
    h("input", { type: "radio", name: "mode", value: mode.name, checked: index === 0,
      onchange: () => { chart.setBrushing(mode.brushing); hintPlace.textContent = hinted(mode); } }),
    h("span", {}, mode.name)));
  const hintPlace = h("p", { class: "hint soft" }, hinted(modes[0]));
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
