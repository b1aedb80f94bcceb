// What people say of events: no incident, or one. What it changes is shown before it is taken.
import { get, post, remove } from "./api.js";
import { attempt, counted, fill, h, listed } from "./elements.js";

const MOST_LISTED = 5;
const LONGEST = 200; // characters

const alarms = (name, events) => (events.length ? h("li", {}, `${counted(events.length, "alarm")} ${name}: `,
  listed(events.map((event) => event.start ?? `row ${event.start_row.toLocaleString("en")}`), MOST_LISTED)) : null);

// Alarms gained and lost, in words and in a list.
export const changeOf = (change) => h("div", { class: "change", role: "status" },
  h("p", {}, change.since ? `Of the alarms since ${change.since}:` : "Of the alarms in all rows:"),
  h("ul", {}, alarms("fewer", change.lost), alarms("more", change.gained),
    change.lost.length || change.gained.length ? null : h("li", {}, "none is gained or lost"),
    h("li", {}, `${change.kept} ${change.kept === 1 ? "stays as it is" : "stay as they are"}`)));

// The buttons of an event, and what opens below them. `again` looks at the events anew.
export const judging = (path, event, asked, { mark, again }) => {
  const below = h("div");
  const judge = (body) => post(`${path}/feedback`, { event: event.number, ...asked, ...body });
  const ask = (verdict) => attempt(async () => {
    const incident = verdict === "incident";
    const { change } = await judge({ verdict, dry_run: true });
    const kind = h("input", { type: "text", maxlength: LONGEST, placeholder: "such as disk full" });
    const note = h("input", { type: "text", maxlength: LONGEST, placeholder: "such as nightly backup" });
    const take = () => attempt(async () => {
      const kinds = incident && kind.value.trim() ? { kind: kind.value.trim() } : {};
      await judge({ verdict, note: note.value.trim(), ...kinds });
      if (incident && mark) await mark();
      await again();
    });
    fill(below, h("div", { class: "judged" },
      h("p", {}, incident ? "Events like this one will be alarms, whatever else was dismissed."
        : "Events like this one, in shape, level and size, will be scored but no alarms."),
      changeOf(change),
      incident ? h("label", { class: "field" }, "Kind, if you know it", kind) : null,
      h("label", { class: "field" }, "Note", note),
      h("div", { class: "actions" }, h("button", { type: "button", class: "primary", onclick: take }, "Take it"),
        h("button", { type: "button", onclick: () => fill(below) }, "Leave it"))));
    (incident ? kind : note).focus({ preventScroll: true });
    below.scrollIntoView({ block: "nearest" });
  });
  const revoke = () => attempt(async () => {
    await remove(`${path}/feedback/${event.silenced_by}`);
    await again();
  });
  return h("div", {}, h("div", { class: "actions" },
    event.alarm ? h("button", { type: "button", onclick: () => ask("normal") }, "No incident") : null,
    event.silenced === "feedback" ? h("button", { type: "button", onclick: revoke }, `Revoke ${event.silenced_by}`) : null,
    h("button", { type: "button", onclick: () => ask("incident") }, "This was an incident")), below);
};

// All feedback on a model, each with a way back.
export const feedbackCard = async (path, again) => {
  const all = await get(`${path}/feedback`);
  if (!all.length) return null;
  const words = { normal: "no incident", incident: "incident" };
  return h("section", { class: "card" }, h("h2", {}, "Feedback"),
    h("ul", { class: "said", "aria-label": "Feedback" }, all.map((each) => h("li", { class: each.revoked ? "soft" : "" },
      h("span", {}, `${each.id} ${words[each.verdict]}${each.kind ? ` (${each.kind})` : ""}: ${each.note || "no note"}`,
        h("small", { class: "soft" }, each.start?.replace("T", " ") ?? `row ${each.row}`, each.revoked ? " · revoked" : "")),
      each.revoked ? null : h("button", { type: "button", class: "quiet", "aria-label": `Revoke ${each.id}`,
        onclick: () => attempt(async () => { await remove(`${path}/feedback/${each.id}`); await again(); }) }, "Revoke")))));
};
