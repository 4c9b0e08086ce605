// The page of a service: it follows what /v2/events tells, and asks again when the connection is lost.

import { ModelSection, quoted } from "./model.js";
import { NONE, count, element, metricValue, milliseconds, rate, say } from "./words.js";

const TOKEN = "kernelstream token";
const SILENCE = 10_000; // milliseconds without an event after which a connection is given up
const WAITS = [500, 1000, 2000, 5000]; // milliseconds before the next try
const at = (id) => document.getElementById(id);
const sections = new Map(); // by name
let wake = () => {};

async function ask(path, options = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  return fetch(path, { ...options, headers, cache: "no-store" });
}

// The connection.

function tell(words, kind) {
  say(at("status"), words);
  at("status").className = `status ${kind}`;
}

function pause(milliseconds) {
  return new Promise((resolve) => {
    const timer = milliseconds === null ? null : setTimeout(resolve, milliseconds);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

// Follow one connection to its end; the answer's status.
async function follow(heard) {
  const control = new AbortController();
  const stop = () => document.hidden && control.abort();
  let timer = setTimeout(() => control.abort(), SILENCE);
  document.addEventListener("visibilitychange", stop);
  try {
    const response = await ask("/v2/events", { signal: control.signal });
    if (!response.ok) return { status: response.status, error: (await response.json()).error };
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", first = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { status: 0 };
      clearTimeout(timer);
      timer = setTimeout(() => control.abort(), SILENCE);
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const lines = event.split("\n").filter((line) => line.startsWith("data:"));
        const data = lines.map((line) => line.slice(5)).join("\n");
        if (!data) continue;
        try {
          heard(JSON.parse(data), first);
        } catch (error) {
          reportError(error); // a fault of the page, not of the connection
        }
        first = false;
      }
    }
  } catch {
    return { status: 0 }; // gone, or silent for too long
  } finally {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", stop);
    control.abort();
  }
}

async function watch() {
  let tries = 0;
  for (;;) {
    // A browser has few connections for a service: a page that nobody sees leaves its own to others.
    if (document.hidden) await pause(null);
    const { status, error } = await follow((told, first) => {
      tries = 0;
      tell("Live", "live");
      at("ask").hidden = true;
      at("forget").hidden = !sessionStorage.getItem(TOKEN);
      at("metrics").hidden = !at("forget").hidden; // a link sends no token
      show(told, first);
    });
    if (status === 401 || status === 403) {
      wanted(status === 403 ? error : "This token is not known here.");
      await pause(null);
    } else if (!document.hidden) {
      tell(error ? `Not connected: ${error} Trying again.` : "Not connected. Trying again.", "off");
      await pause(WAITS[Math.min(tries++, WAITS.length - 1)]);
    }
  }
}

// The token.

function wanted(reason) {
  say(at("asked"), sessionStorage.getItem(TOKEN) ? reason : "");
  sessionStorage.removeItem(TOKEN);
  for (const id of ["empty", "service", "forget", "metrics"]) at(id).hidden = true;
  arrange([]);
  tell("Not connected: a token is needed.", "off");
  at("ask").hidden = false;
  at("token").value = "";
  at("token").focus();
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = at("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    say(at("asked"), "A token is one word of letters, digits, dashes and underscores.");
    return;
  }
  sessionStorage.setItem(TOKEN, token);
  tell("Connecting.", "");
  wake();
});
at("forget").addEventListener("click", () => {
  sessionStorage.removeItem(TOKEN);
  location.reload();
});
for (const [target, event] of [[window, "online"], [document, "visibilitychange"]]) {
  target.addEventListener(event, () => {
    if (!document.hidden && at("ask").hidden) wake();
  });
}

// What is shown.

function show({ at: now, models, latency }, first) {
  at("empty").hidden = models.length > 0;
  at("service").hidden = models.length === 0;
  if (!models.length) say(at("first"), firstModel());
  arrange(models);
  for (const model of models) {
    if (first) sections.get(model.name).begin();
    sections.get(model.name).show(model, now);
  }
  at("models").hidden = models.length < 2;
  fill(at("models"), ["model", "learner", "rows", "rows/s", "error", "newest"], models.map((model) => [
    element("a", { href: `#model-${model.name}` }, model.name), model.algorithm.name, count(model.rows_learned),
    rate(sections.get(model.name).rate), metricValue(model.error.metric, model.error.all),
    metricValue(model.error.metric, model.error.newest),
  ]));
  fill(at("times"), ["time to answer", "p50", "p99", "a second"], Object.entries(latency).map(([name, times]) => [
    name, ...(times ? [milliseconds(times.p50), milliseconds(times.p99), rate(times.a_second)] : [NONE, NONE, NONE]),
  ]));
}

function arrange(models) {
  const wanted = new Map(models.map((model) => [model.name, model]));
  for (const [name, section] of sections) {
    if (wanted.get(name)?.made === section.made) continue;
    section.element.remove();
    sections.delete(name);
  }
  models.forEach((model, i) => {
    if (!sections.has(model.name)) sections.set(model.name, new ModelSection(model, ask));
    const { element } = sections.get(model.name), there = at("sections").children[i];
    if (there !== element) at("sections").insertBefore(element, there ?? null);
  });
}

// A table whose cells change in place.
function fill(host, head, rows) {
  let table = host.querySelector("table");
  if (!table) {
    const names = head.map((name) => element("th", { scope: "col" }, name));
    table = element("table", {}, element("thead", {}, element("tr", {}, ...names)), element("tbody"));
    host.append(table);
  }
  const body = table.tBodies[0];
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, i) => {
    const row = body.rows[i] ?? body.insertRow();
    cells.forEach((cell, k) => {
      const there = row.cells[k] ?? row.appendChild(k ? element("td") : element("th", { scope: "row" }));
      if (!(cell instanceof Node)) say(there, cell);
      else if (there.textContent !== cell.textContent) there.replaceChildren(cell);
    });
  });
}

function firstModel() {
  const token = sessionStorage.getItem(TOKEN) ? ' \\\n  -H "Authorization: Bearer $TOKEN"' : "";
  const model = `${location.origin}/v2/models/payments`;
  const made = JSON.stringify({ task: "binary", classes: ["no", "yes"] });
  const rows = JSON.stringify({
    rows: [{ amount: 12.5, country: "PT" }, { amount: 990, country: "SE" }], labels: ["no", "yes"],
  });
  return `curl -X PUT ${model} -d ${quoted(made)}${token}\n` +
    `curl ${model}/learn -H 'Content-Type: application/json' \\\n  -d ${quoted(rows)}${token}`;
}

at("copy").hidden = !navigator.clipboard;
at("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(at("first").textContent);
    say(at("copy"), "Copied");
  } catch {
    getSelection().selectAllChildren(at("first"));
  }
});

watch();
