// The error of a model along its stream, over all rows and over the newest, with marks where it rose.

import { count, drawn, isShare, metricName, metricValue, number, say } from "./words.js";

const TOP = 20, BOTTOM = 40, LEFT = 52, RIGHT = 84; // room around the lines, in pixels
const BLOCK = 32; // height of a line's label
const LABEL = 92; // width of a mark's label
const SETTLED = 0.1; // what comes before this share of the rows is chance, and may leave the picture
let charts = 0;

export class Chart {
  constructor(host, readout) {
    this.host = host;
    this.readout = readout;
    this.clip = `clip-${++charts}`;
    this.shown = null;
    this.at = null; // the point that is read out
    new ResizeObserver(() => this.draw()).observe(host);
    host.addEventListener("pointermove", (event) => this.point(event));
    host.addEventListener("pointerleave", () => this.select(null));
    host.addEventListener("keydown", (event) => this.step(event));
  }

  // history: what /history tells; error: the newest of it, which an event told.
  show(history, error) {
    const points = history.points.filter((point) => point.every(Number.isFinite));
    const last = points.length ? points[points.length - 1][0] : 0;
    if (error.rows > last && error.all !== null) points.push([error.rows, error.all, error.newest]);
    this.shown = { metric: history.metric, window: error.window, points, drifts: history.drifts };
    this.draw();
  }

  draw() {
    const width = Math.floor(this.host.clientWidth);
    if (!this.shown || width < 160) return;
    const height = width < 480 ? 250 : 360;
    const { metric, points, drifts } = this.shown;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: 0 });
    svg.setAttribute("aria-label", this.inWords());
    if (points.length < 2) {
      const place = { x: width / 2, y: height / 2, "text-anchor": "middle" };
      svg.append(drawn("text", place, "The lines begin with the second row."));
      this.place(svg);
      return;
    }
    const [low, high] = range(points);
    const right = width - RIGHT, bottom = height - BOTTOM;
    const x = (rows) => LEFT + ((right - LEFT) * rows) / points[points.length - 1][0];
    const y = (value) => bottom - ((bottom - TOP) * (value - low)) / (high - low);
    this.scales = { x, y, bottom };

    for (const value of ticks(low, high, height < 300 ? 4 : 6)) {
      svg.append(line("grid", LEFT, y(value), right, y(value)));
      const text = isShare(metric) ? `${Number((100 * value).toPrecision(4))} %` : number(value);
      svg.append(drawn("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    const rows = ticks(0, points[points.length - 1][0], width < 480 ? 3 : 6).filter(Number.isInteger);
    for (const value of rows) {
      svg.append(line("axis", x(value), bottom, x(value), bottom + 4));
      svg.append(drawn("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, count(value)));
    }
    svg.append(line("axis", LEFT, bottom, right, bottom), line("axis", LEFT, TOP, LEFT, bottom));
    svg.append(drawn("text", { x: (LEFT + right) / 2, y: height - 4, "text-anchor": "middle" }, "rows"));
    this.mark(svg, drifts, right);

    const clip = drawn("clipPath", { id: this.clip });
    clip.append(drawn("rect", { x: LEFT, y: TOP - 2, width: right - LEFT + 4, height: bottom - TOP + 4 }));
    const lines = drawn("g", { "clip-path": `url(#${this.clip})` });
    for (const [kind, column] of [["all", 1], ["newest", 2]]) {
      const path = points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[column]).toFixed(1)}`).join("");
      lines.append(drawn("path", { class: kind, d: path }));
    }
    svg.append(clip, lines);
    this.label(svg, right);
    this.cursor = drawn("g", {});
    svg.append(this.cursor);
    this.place(svg);
    this.select(this.at);
  }

  // The old picture's focus is the new one's.
  place(svg) {
    const focused = this.host.contains(document.activeElement);
    this.host.replaceChildren(svg);
    if (focused) svg.focus({ preventScroll: true });
  }

  mark(svg, drifts, right) {
    const { x, bottom } = this.scales;
    let free = right + RIGHT; // labels end before the next one begins
    for (const drift of [...drifts].reverse()) {
      const at = x(drift);
      const mark = drawn("g", {});
      mark.append(drawn("title", {}, `The error had risen at row ${count(drift)}`));
      mark.append(line("drift", at, TOP, at, bottom));
      mark.append(drawn("path", { class: "drift", d: `M${at} ${bottom - 9}l-4.5 8h9z` }));
      svg.append(mark);
      if (at + LABEL / 2 > free || at - LABEL / 2 < 0) continue;
      const place = { class: "drift", x: at, y: TOP - 7, "text-anchor": "middle" };
      svg.append(drawn("text", place, `drift at ${count(drift)}`));
      free = at - LABEL / 2;
    }
  }

  // Names and values at the lines' ends, moved apart where they would meet.
  label(svg, right) {
    const { metric, window, points } = this.shown;
    const { y, bottom } = this.scales;
    const last = points[points.length - 1];
    const ends = [
      { kind: "all", name: "all rows", value: last[1] },
      { kind: "newest", name: `newest ${count(window)}`, value: last[2] },
    ].sort((a, b) => b.value - a.value);
    const places = ends.map((end) => Math.min(bottom - 8, Math.max(TOP + 8, y(end.value))));
    const missing = BLOCK - (places[1] - places[0]);
    if (missing > 0) {
      places[0] = Math.max(TOP + 8, places[0] - missing / 2);
      places[1] = places[0] + BLOCK;
      if (places[1] > bottom - 8) [places[0], places[1]] = [bottom - 8 - BLOCK, bottom - 8];
    }
    ends.forEach((end, i) => {
      const x = right + 9, value = metricValue(metric, end.value);
      svg.append(drawn("circle", { class: end.kind, cx: right, cy: Math.max(TOP, y(end.value)), r: 3 }));
      svg.append(drawn("text", { class: end.kind, x, y: places[i] - 3 }, end.name));
      svg.append(drawn("text", { class: `${end.kind} value`, x, y: places[i] + 12 }, value));
    });
  }

  inWords() {
    const { metric, window, points, drifts } = this.shown;
    if (!points.length) return `${metricName(metric)}: nothing was learned yet.`;
    const [rows, all, newest] = points[points.length - 1];
    const marks = drifts.length ? ` The error had risen at row ${drifts.slice(-5).map(count).join(", ")}.` : "";
    return `${metricName(metric)} after ${count(rows)} rows: ${metricValue(metric, all)} of all, ` +
      `${metricValue(metric, newest)} of the newest ${count(window)}.${marks} Arrow keys read out points.`;
  }

  point(event) {
    if (!this.scales || !this.shown) return;
    const at = event.clientX - this.host.getBoundingClientRect().left;
    const { points } = this.shown;
    let best = 0;
    points.forEach((point, i) => {
      if (Math.abs(this.scales.x(point[0]) - at) < Math.abs(this.scales.x(points[best][0]) - at)) best = i;
    });
    this.select(best);
  }

  step(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way || !this.shown || this.shown.points.length < 2) return;
    event.preventDefault();
    const most = this.shown.points.length - 1;
    this.select(this.at === null ? most : Math.max(0, Math.min(most, this.at + way)));
  }

  select(at) {
    if (!this.shown || !this.cursor) return;
    const { metric, points } = this.shown;
    this.at = at === null || at >= points.length ? null : at;
    this.cursor.replaceChildren();
    if (this.at === null) {
      say(this.readout, "");
      return;
    }
    const [rows, all, newest] = points[this.at];
    const { x, y, bottom } = this.scales;
    this.cursor.append(line("cursor", x(rows), TOP, x(rows), bottom));
    for (const [kind, value] of [["all", all], ["newest", newest]]) {
      if (y(value) >= TOP - 2) this.cursor.append(drawn("circle", { class: kind, cx: x(rows), cy: y(value), r: 4 }));
    }
    const [ofAll, ofNewest] = [all, newest].map((value) => metricValue(metric, value));
    say(this.readout, `At row ${count(rows)}: ${ofAll} of all, ${ofNewest} of the newest.`);
  }
}

function line(kind, x1, y1, x2, y2) {
  return drawn("line", { class: kind, x1, y1, x2, y2 });
}

// From 0, but for lines that lie far above it.
function range(points) {
  const from = SETTLED * points[points.length - 1][0];
  const values = points.filter((point) => point[0] >= from).flatMap((point) => [point[1], point[2]]);
  const most = Math.max(...values), least = Math.min(...values);
  if (most === 0) return [0, 1];
  if (most === least || least < 0.5 * most) return [0, 1.06 * most];
  const room = 0.08 * (most - least);
  return [least - room, most + room];
}

// Round numbers from low to high, about so many.
function ticks(low, high, about) {
  const rough = (high - low) / about, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5].find((factor) => factor * unit >= rough) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12); i++) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}
