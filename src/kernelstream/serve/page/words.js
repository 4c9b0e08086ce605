// Numbers as people read them (report/words.py), and elements: all that comes from elsewhere becomes text nodes.

export const NONE = "-";

const NAMES = { rmse: "RMSE" };

export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

export function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Change a text only where it differs: what somebody has selected stays selected.
export function say(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

export function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function rate(value) {
  if (value === null) return NONE;
  return value >= 100 || value === 0 ? count(value) : value.toLocaleString("en-US", { maximumSignificantDigits: 2 });
}

export function bytes(value) {
  let left = value;
  for (const prefix of ["", "k", "M", "G", "T"]) {
    if (left < 999.5 || prefix === "T") return `${Number(left.toPrecision(3))} ${prefix}B`;
    left /= 1000;
  }
  return NONE;
}

export function milliseconds(value) {
  return value < 1000 ? `${Number(value.toPrecision(3))} ms` : `${Number((value / 1000).toPrecision(3))} s`;
}

export function number(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(3);
  return value.toLocaleString("en-US", { maximumSignificantDigits: 5 });
}

export function isShare(metric) {
  return metric.endsWith("_rate");
}

export function metricName(metric) {
  return NAMES[metric] ?? metric.replaceAll("_", " ");
}

export function metricValue(metric, value) {
  if (value === null || !Number.isFinite(value)) return NONE;
  return isShare(metric) ? `${(100 * value).toFixed(2)} %` : number(value);
}

export function sentence(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export function moment(seconds) {
  return new Date(1000 * seconds).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
