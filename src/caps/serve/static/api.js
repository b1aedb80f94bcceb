// Talks to the service; refusals become errors with a problem and a remedy.
const KEY = "caps-token";

class Refused extends Error {
  constructor(status, { problem, remedy }) {
    super(problem);
    Object.assign(this, { status, problem, remedy });
  }
}

const askToken = () => new Promise((resolve) => {
  const dialog = document.getElementById("token-dialog");
  const input = document.getElementById("token");
  input.value = "";
  dialog.showModal();
  dialog.addEventListener("close", () => {
    sessionStorage.setItem(KEY, input.value);
    resolve();
  }, { once: true });
});
let asking = null;

const refusal = async (answer) => {
  const content = await answer.json().catch(() => ({}));
  return new Refused(answer.status, {
    problem: content.problem ?? `the service answered ${answer.status}`, remedy: content.remedy ?? "try again",
  });
};

const send = async (path, options) => {
  const token = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  try {
    return await fetch(path, { ...options, headers });
  } catch {
    throw new Refused(0, { problem: "the service does not answer", remedy: "check that it runs" });
  }
};

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const request = async (path, options = {}) => {
  for (let tries = 0; ; tries += 1) {
    const answer = await send(path, options);
    if (answer.ok) return answer;
    if (answer.status === 401) {
      asking ??= askToken().finally(() => { asking = null; });
      await asking;
    } else if (answer.status === 429 && (options.method ?? "GET") === "GET" && tries < 5) {
      await pause(1000 * Number(answer.headers.get("Retry-After") ?? 1));
    } else throw await refusal(answer);
  }
};

const query = (parameters) => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) search.append(name, each);
  return search.size ? `?${search}` : "";
};

export const get = async (path, parameters = {}) => (await request(path + query(parameters))).json();
const sending = (method) => async (path, body) => (await request(path, {
  method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
})).json();
export const put = sending("PUT");
export const post = sending("POST");
export const remove = (path) => request(path, { method: "DELETE" });

const slug = (name) => name.toLowerCase().replace(/\.(csv|txt|tsv)(\.gz)?$/, "")
  .replace(/[^a-z0-9._-]+/g, "-").replace(/^[^a-z0-9]+/, "").slice(0, 56) || "series";

// Uploads a file under a name that is free, with what is said of how it is written.
export const upload = async (file, written = {}) => {
  const taken = new Set((await get("/v1/series")).map((each) => each.name));
  const base = slug(file.name);
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
  const packed = file.name.endsWith(".gz") ? { "Content-Encoding": "gzip" } : {};
  const answer = await request(`/v1/series${query({ name, file: file.name.slice(0, 200), ...written })}`, {
    method: "POST", headers: { "Content-Type": "text/csv", ...packed }, body: file,
  });
  return answer.json();
};

export const download = async (path, parameters = {}) => {
  const answer = await request(path + query(parameters));
  const [, name] = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition")) ?? [null, "file"];
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
};
