// Taking a file: where it is dropped, and how it is written.
import { upload } from "./api.js";
import { attempt, fill, h } from "./elements.js";

// The fields of an upload beside its name, called as remedies call them; kept for the next try.
const written = {};
let refused = false; // the last file: then the fields are open
const TICKS = ["sort", "no_time", "no_header"];
const CHOICES = {
  duplicates: ["", "first", "last", "keep"], decimal: ["", ",", "."], thousands: ["", ",", "."],
  delimiter: ["", ",", ";", "tab", "|"], unit: ["", "s", "ms", "us", "ns"],
};
const TEXTS = { time: "name of the column", columns: "names, with commas", exclude: "names, with commas", time_format: "%d.%m.%Y %H:%M",
  timezone: "Europe/Berlin", encoding: "cp1252" };

const NAMES = ["columns", "exclude"];

const keep = (name, value) => {
  if (value) written[name] = NAMES.includes(name) ? value.split(/\s*,\s*/) : value;
  else delete written[name];
};

export const howWritten = () => {
  const label = (name) => name.replace("_", " ");
  const ticks = TICKS.map((name) => h("label", {}, h("input", { type: "checkbox", checked: Boolean(written[name]),
    onchange: (event) => keep(name, event.target.checked) }), label(name)));
  const choices = Object.entries(CHOICES).map(([name, values]) => h("label", { class: "field" }, label(name),
    h("select", { onchange: (event) => keep(name, event.target.value) }, values.map((value) =>
      h("option", { value, selected: (written[name] ?? "") === value }, value || "as found")))));
  const texts = Object.entries(TEXTS).map(([name, example]) => h("label", { class: "field" }, label(name),
    h("input", { type: "text", placeholder: example, value: written[name] ?? "",
      onchange: (event) => keep(name, event.target.value.trim()) })));
  return h("details", { class: "notes", open: refused || Object.keys(written).length > 0 },
    h("summary", {}, "How the file is written (found by itself if left alone)"),
    h("fieldset", { class: "chips" }, h("legend", { class: "visually-hidden" }, "Rows"), ticks),
    h("div", { class: "row" }, choices, texts));
};

// Sends a file and shows that; nothing is returned where it was refused.
export const take = async (main, file, how = {}) => {
  fill(main, h("section", { class: "card waiting", "aria-busy": "true" },
    h("h1", {}, `Reading ${file.name}`), h("progress", { "aria-label": "Reading the file" }),
    h("p", { class: "soft" }, `${(file.size / 1e6).toFixed(1)} MB`)));
  const { no_header, ...fields } = written;
  const series = await attempt(() => upload(file, { ...fields, ...(no_header ? { header: false } : {}), ...how }));
  refused = !series;
  return series;
};

export const dropZone = (read) => {
  const input = h("input", { type: "file", id: "file", class: "visually-hidden",
    accept: ".csv,.txt,.tsv,.gz,text/csv", onchange: () => {
      const [file] = input.files;
      if (file) read(file);
      input.value = ""; // the same file can be chosen again
    } });
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
    if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
  });
  return h("div", { class: "drop-place" }, input, zone);
};
