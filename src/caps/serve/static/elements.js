// Builds elements; text is always text, never markup.
export const h = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};

export const fill = (element, ...children) => {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};

export const counted = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 || noun === "series" ? "" : "s"}`;

// The first names, and how many there are besides.
export const listed = (names, most) => names.slice(0, most).join(", ")
  + (names.length > most ? ` and ${names.length - most} more` : "");

export const legend = (keys) => h("p", { class: "legend soft" },
  keys.map(([key, text]) => h("span", {}, h("i", { class: `key ${key}` }), text)));

// Asks before something is gone for good; Escape and the second button keep it.
export const confirmed = (question, action) => new Promise((resolve) => {
  const dialog = h("dialog", { "aria-label": question }, h("form", { method: "dialog" }, h("p", {}, question),
    h("div", { class: "actions" }, h("button", { value: "yes", class: "primary" }, action),
      h("button", { value: "", autofocus: true }, "Keep it"))));
  dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue === "yes");
  });
  document.body.append(dialog);
  dialog.showModal();
});

export const alert = (problem, remedy = "") => {
  const place = document.getElementById("alert");
  if (!problem) return place.replaceChildren();
  const close = h("button", { type: "button", class: "quiet", onclick: () => alert(null) }, "Dismiss");
  place.replaceChildren(h("div", { class: "alert" },
    h("p", {}, h("strong", {}, problem.replace(/\.?$/, ".")), remedy ? ` ${remedy[0].toUpperCase()}${remedy.slice(1)}.` : ""),
    close));
  return place;
};

// Runs what a person asked for; a refusal is shown instead of lost.
export const attempt = async (work) => {
  try {
    return await work();
  } catch (error) {
    alert(error.problem ?? `${error.message ?? error}`, error.remedy ?? "");
    return undefined;
  }
};
