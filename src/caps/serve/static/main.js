// Shows the view that the address names: the start, a series to learn from, or a model at work.
import { attempt, alert } from "./elements.js";
import { start } from "./start.js";
import { setup } from "./setup.js";
import { found } from "./found.js";

const views = [
  [/^#\/series\/([^/]+)$/, setup],
  [/^#\/models\/([^/]+)(?:\/([^/]+))?$/, found],
  [/^/, start],
];
let leave = null;
let visit = 0;

const route = async () => {
  const mine = (visit += 1);
  leave?.();
  leave = null;
  alert(null);
  const main = document.getElementById("main");
  const [pattern, view] = views.find(([each]) => each.test(location.hash));
  const [, ...names] = pattern.exec(location.hash);
  const left = await attempt(() => view(main, ...names));
  if (mine === visit) leave = left ?? null;
  else left?.();
};

addEventListener("hashchange", () => {
  if (location.hash !== "#main") route();
});
route();
