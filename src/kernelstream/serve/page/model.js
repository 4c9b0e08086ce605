// A model's section: what it is, how it does, what it holds, and a form to try it.

import { Chart } from "./chart.js";
import { TryIt } from "./form.js";
import {
  NONE, bytes, count, element, metricName, metricValue, milliseconds, moment, plural, rate, say, sentence,
} from "./words.js";

const OVER = 5; // seconds that rows per second are taken over
const MOST_SNAPSHOTS = 5;
const FACTS = {
  rows: "Rows learned", rate: "Rows per second", all: "", newest: "", drifts: "Drifts", size: "Size", takes: "Takes",
  waiting: "Wait for labels", given: "Given up", queued: "Wait to be learned", log: "Log", snapshots: "Snapshots",
};

export class ModelSection {
  constructor(described, ask) {
    this.name = described.name;
    this.made = described.made;
    this.ask = ask;
    this.seen = false; // whether it is on the screen
    this.moments = []; // when so many rows were learned
    this.drawn = ""; // the history that the chart shows
    this.busy = false;
    this.build();
    new IntersectionObserver((entries) => {
      this.seen = entries[entries.length - 1].isIntersecting;
      this.follow();
    }, { rootMargin: "600px" }).observe(this.element);
  }

  build() {
    const heading = element("h2", { id: `model-${this.name}` }, this.name);
    this.lead = element("p");
    this.title = element("b");
    const chart = element("div", { class: "chart" });
    const readout = element("p", { class: "readout" });
    this.figure = element("figure", {}, element("figcaption", {}, this.title,
      "Over all rows so far, and over the newest, where a change of the data shows at once."), chart, readout);
    this.chart = new Chart(chart, readout);
    this.facts = {};
    this.names = {};
    const list = element("dl", { class: "facts" });
    for (const [key, words] of Object.entries(FACTS)) {
      this.names[key] = element("dt", {}, words);
      this.facts[key] = element("dd", {}, NONE);
      list.append(element("div", {}, this.names[key], this.facts[key]));
    }
    this.form = new TryIt(this.name, this.ask);
    this.first = element("div", { class: "card" }, element("p"), element("pre", { tabindex: "0" }, element("code")));
    this.element = element("section", { "aria-labelledby": heading.id }, heading, this.lead,
      element("div", { class: "panels" }, element("div", {}, this.figure, this.first), list), this.form.element);
  }

  get rate() {
    if (this.moments.length < 2) return null;
    const [first, last] = [this.moments[0], this.moments[this.moments.length - 1]];
    return last.at > first.at ? (last.rows - first.rows) / (last.at - first.at) : null;
  }

  // After a pause nothing is known of the rate.
  begin() {
    this.moments = [];
  }

  // at: the service's clock.
  show(described, at) {
    this.described = described;
    this.count(described.rows_learned, at);
    const { error, log } = described, marks = error.drifts;
    const metric = sentence(metricName(error.metric));
    const ready = described.ready ? "" : ", not ready";
    say(this.lead, `${described.task} by ${described.algorithm.name}, ` +
      `${plural(described.rows_learned, "row")} learned, made ${moment(described.made)}${ready}`);
    say(this.title, `${metric} against rows`);
    say(this.names.all, `${metric}, all rows`);
    say(this.names.newest, error.window ? `${metric}, newest ${count(error.window)}` : `${metric}, newest rows`);
    const { behind_seconds: behind } = described.published;
    const told = {
      rows: count(described.rows_learned),
      rate: rate(this.rate),
      all: metricValue(error.metric, error.all),
      newest: metricValue(error.metric, error.newest),
      drifts: marks.length ? `${count(error.risen)}, the last at row ${count(marks[marks.length - 1])}` : "none",
      size: described.size ? `${count(described.size)} ${held(described.algorithm)}, ${bytes(described.bytes)}` : NONE,
      takes: described.features ? plural(described.features, "feature") : NONE,
      waiting: plural(described.rows_waiting, "row"),
      given: plural(described.rows_given_up, "row"),
      queued: plural(described.rows_queued, "row") +
        (behind > 0 ? `, predictions ${milliseconds(1000 * behind)} behind` : ""),
      log: `${plural(log.records, "record")}, ${bytes(log.bytes)}`,
    };
    for (const [key, text] of Object.entries(told)) say(this.facts[key], text);
    this.keep(described.snapshots);
    this.form.show(described);
    this.figure.hidden = error.rows === 0;
    this.first.hidden = error.rows > 0;
    if (error.rows === 0) this.wait(described);
    this.follow();
  }

  // Nothing was learned, or by a file that does not say how well.
  wait(described) {
    const [words, example] = this.first.children;
    say(words, described.rows_learned ? "Its errors are shown from the next row on."
      : "Nothing was learned yet. A row, for example:");
    example.hidden = described.rows_learned > 0;
    say(example.firstChild, firstRow(described));
  }

  count(rows, at) {
    const last = this.moments[this.moments.length - 1];
    if (last && (rows < last.rows || at < last.at)) this.moments = [];
    this.moments.push({ at, rows });
    while (this.moments.length > 2 && this.moments[1].at <= at - OVER) this.moments.shift();
  }

  keep(snapshots) {
    const key = JSON.stringify(snapshots);
    if (key === this.kept) return;
    this.kept = key;
    if (!snapshots.length) {
      this.facts.snapshots.replaceChildren("none");
      return;
    }
    const newest = [...snapshots].sort((a, b) => b.made - a.made).slice(0, MOST_SNAPSHOTS);
    const items = newest.map((one) => element("li", {}, one.name,
      element("span", { class: "unit" }, ` ${plural(one.rows_learned, "row")}, ${moment(one.made)}`)));
    const rest = snapshots.length - items.length;
    if (rest > 0) items.push(element("li", {}, `and ${count(rest)} more`));
    this.facts.snapshots.replaceChildren(count(snapshots.length), element("ul", {}, ...items));
  }

  // Ask for the history while it is looked at and has changed.
  async follow() {
    if (!this.seen || this.busy || !this.described || !this.described.error.rows) return;
    const { rows, all, risen } = this.described.error;
    const key = JSON.stringify([rows, all, risen]);
    if (key === this.drawn) return;
    this.busy = true;
    try {
      const response = await this.ask(`/v2/models/${encodeURIComponent(this.name)}/history`);
      if (response.ok) {
        this.chart.show(await response.json(), this.described.error);
        this.drawn = key;
      }
    } catch {
      // The stream of events says that the service does not answer.
    } finally {
      this.busy = false;
    }
  }
}

function held(algorithm) {
  const points = "budget" in algorithm, features = "n_components" in algorithm;
  return points === features ? "points or features" : points ? "points" : "features";
}

function firstRow({ name, task, classes }) {
  const label = task === "regression" ? 1.5 : classes ? classes[0] : "a";
  const body = JSON.stringify({ rows: [{ amount: 12.5, country: "PT" }], labels: [label] });
  return `curl ${location.origin}/v2/models/${name}/learn \\\n` +
    `  -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`;
}

// For a shell.
export function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
