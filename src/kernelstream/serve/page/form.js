// Try it: a row is typed in, and the model says what it makes of it.

import { NONE, count, element, number } from "./words.js";

const MOST_FIELDS = 40; // with more names, a row is typed in as JSON
const MOST_BARS = 8;
let fields = 0;

export class TryIt {
  // ask: (path, options) -> Response, with the token.
  constructor(model, ask) {
    this.path = `/v2/models/${encodeURIComponent(model)}/predict`;
    this.ask = ask;
    this.built = "";
    this.asked = 0;
    this.inputs = [];
    this.fields = element("div", { class: "fields" });
    this.answer = element("div", { class: "answer", role: "status", "aria-live": "polite" });
    this.form = element("form", { class: "rows", autocomplete: "off", novalidate: "" }, this.fields,
      element("button", { type: "submit" }, "Predict"));
    this.form.addEventListener("submit", (event) => this.predict(event));
    this.element = element("section", { class: "try" }, element("h3", {}, "Try it"),
      element("div", { class: "panels" }, this.form, this.answer));
    this.element.setAttribute("aria-label", `Try ${model}`);
  }

  // Fields for the inputs that a description names; what was typed stays.
  show(described) {
    const known = described.named ? described.inputs.length > 0 : described.named === false && described.features > 0;
    this.element.hidden = !known;
    const key = JSON.stringify([described.named, described.inputs, described.dates]);
    if (key === this.built || !known) return;
    this.built = key;
    const typed = new Map(this.inputs.map((input) => [input.name, input.field.value]));
    const focused = this.inputs.find((input) => input.field === document.activeElement)?.name;
    const one = !described.named || described.inputs.length > MOST_FIELDS;
    this.read = !described.named ? readList : one ? readJson : readFields;
    this.inputs = one ? [wide(described)] : described.inputs.map((input) => narrow(input, described.dates));
    this.fields.classList.toggle("one", one);
    this.fields.replaceChildren(...this.inputs.map((input) => input.element));
    for (const input of this.inputs) {
      input.field.value = typed.get(input.name) ?? "";
      if (input.name === focused) input.field.focus();
    }
  }

  async predict(event) {
    event.preventDefault();
    const asked = ++this.asked;
    try {
      const body = JSON.stringify({ rows: [this.read(this.inputs)] });
      const headers = { "Content-Type": "application/json" };
      const response = await this.ask(this.path, { method: "POST", headers, body });
      const told = await response.json();
      if (asked !== this.asked) return;
      if (response.ok) this.tell(told);
      else this.refuse(told.error ?? `The service answered ${response.status}.`);
    } catch (error) {
      const reason = error instanceof Unreadable ? error.message : "The service does not answer.";
      if (asked === this.asked) this.refuse(reason);
    }
  }

  refuse(reason) {
    this.answer.replaceChildren(element("p", { class: "problem" }, reason));
  }

  tell({ predictions, scores, probabilities, classes }) {
    const said = typeof predictions[0] === "number" ? number(predictions[0]) : predictions[0];
    const head = element("p", {}, "Prediction ", element("span", { class: "said" }, said));
    this.answer.replaceChildren(head);
    if (!probabilities) {
      const shown = scores[0].map((score) => (score === null ? NONE : number(score)));
      if (shown[0] !== String(said)) head.append(`, scores ${shown.join(", ")}`);
      return;
    }
    const chances = probabilities[0].map((chance, k) => [chance, String(classes[k])]).sort((a, b) => b[0] - a[0]);
    const bars = chances.slice(0, MOST_BARS).map(([chance, name]) => {
      const bar = element("span");
      bar.style.width = `${100 * Math.min(1, Math.max(0, chance))}%`;
      return element("li", {}, element("span", { class: "name" }, name), `${(100 * chance).toFixed(1)} %`,
        element("span", { class: "track", "aria-hidden": "true" }, bar));
    });
    this.answer.append(element("ul", { class: "bars" }, ...bars));
    const rest = chances.length - bars.length;
    if (rest > 0) this.answer.append(element("p", {}, `${count(rest)} more are less probable.`));
  }
}

class Unreadable extends Error {}

function labelled(text, field, about) {
  field.id = `field-${++fields}`;
  const label = element("label", { for: field.id }, text);
  if (about) label.append(element("span", { class: "unit" }, ` ${about}`));
  return element("div", {}, label, field);
}

function narrow({ name, datatype }, dates) {
  const number = datatype !== "BYTES";
  const field = element("input", { type: number ? "number" : "text", spellcheck: "false" });
  if (number) field.step = "any";
  const about = number ? "" : dates.includes(name) ? "date" : "word";
  return { name, number, field, element: labelled(name, field, about) };
}

function wide({ named, inputs, features }) {
  const field = element("textarea", { spellcheck: "false", rows: named || features > 8 ? 4 : 1 });
  if (named) {
    field.placeholder = '{"name": 1.5, "other": "word"}';
    const about = `of ${count(inputs.length)} names; those left out are missing`;
    return { name: "", field, element: labelled("A row as JSON", field, about) };
  }
  field.placeholder = "0.5, 1, -2.25";
  const about = `${count(features)} numbers, with commas or spaces between`;
  return { name: "", features, field, element: labelled("A row", field, about) };
}

// A name may be any word, so that the row has no prototype.
function readFields(inputs) {
  const row = Object.create(null);
  for (const { name, number, field } of inputs) {
    if (field.validity.badInput) throw new Unreadable(`What stands in ${name} is no number.`);
    if (field.value !== "") row[name] = number ? Number(field.value) : field.value;
  }
  if (!Object.keys(row).length) {
    throw new Unreadable("Fill in one field at least; what is left empty counts as missing.");
  }
  return row;
}

function readJson([{ field }]) {
  try {
    return JSON.parse(field.value);
  } catch {
    throw new Unreadable('This is no JSON object; write {"name": value, ...}.');
  }
}

function readList([{ field, features }]) {
  const parts = field.value.replace(/^[\s[]+|[\s\]]+$/g, "").split(/[\s,;]+/).filter(Boolean);
  const strange = parts.find((part) => !Number.isFinite(Number(part)));
  if (strange !== undefined) throw new Unreadable(`${strange} is no number.`);
  if (parts.length !== features) {
    throw new Unreadable(`There are ${count(parts.length)} numbers; this model takes ${count(features)}.`);
  }
  return parts.map(Number);
}
