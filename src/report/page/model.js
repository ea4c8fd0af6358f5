"use strict";
/* model.js: the decoded data of the page, and values derived from it. Draws nothing. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const FLAG = { failed: 1, late: 2, plain: 4, value: 8 };
const OPERATIONS = DATA.operations.map(([name, object, effect, failed, second, keys]) =>
  ({ name, object, effect, failed, second, keys }));

/* An element with attributes and children. Strings become text, never markup. */
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? "" : value);
  }
  for (const c of children.flat()) if (c !== null && c !== undefined) e.append(c);
  return e;
}

function svg(tag, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
  return e;
}

/* Text with `names` in backticks, as children of an element. */
const prose = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));

const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const baseName = (file) => file.slice(file.lastIndexOf("/") + 1);
const colourOf = (thread) => `var(--t${thread.index % 8})`;

/* The position of the last entry of the sorted list that is at most `limit`, or -1. */
function lastUpTo(list, limit, key = (x) => x) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/* One run of the program: its steps, the arrows between them, and the values known at each step. */
class Run {
  constructor(data, entry, isShown) {
    this.name = data.name;
    this.leftOut = data.left_out;
    this.isShown = isShown; /* the finding shows this run: its places and notes belong to it */
    this.threads = data.threads.map(([name, called, run], index) => ({ index, name, called, run }));
    this.places = data.places.map(([file, line, fn, source]) => ({ file, line, fn, source }));
    this.objects = data.objects.map(([name, address]) => ({ name: name || address, named: Boolean(name), address }));
    this.shorten();
    this.steps = data.events.map((e, i) => this.step(e, i));
    this.notes(entry.finding);
    this.ends(entry);
    this.byThread = this.threads.map(() => []);
    for (const s of this.steps) this.byThread[s.thread].push(s.index);
    this.edges = this.findEdges();
    this.history = this.follow();
    this.switches = this.steps.filter((s, i) => i > 0 && s.thread !== this.steps[i - 1].thread).length;
  }

  step(e, index) {
    const op = OPERATIONS[e[1]];
    const flags = e[4] || 0, payload = e[7] || [];
    const fields = Object.fromEntries(op.keys.map((key, i) => [key, payload[i] ?? null]));
    return {
      index, thread: e[0], op, object: e[2] || 0, place: e[3] ? this.places[e[3] - 1] : null,
      plain: Boolean(flags & FLAG.plain), failed: Boolean(flags & FLAG.failed), late: Boolean(flags & FLAG.late),
      effect: flags & FLAG.failed ? op.failed : op.effect,
      from: (e[5] || 0) - 1 - this.leftOut, value: flags & FLAG.value ? e[6] : null,
      fields, found: fields.found ?? null, choice: e[8] || null, holders: e[9] || null,
      number: this.leftOut + index + 1, mark: null, note: null, end: null,
    };
  }

  /* Shortens addresses to their last digits where these are unique. */
  shorten() {
    const unnamed = this.objects.filter((o) => !o.named), ends = new Map();
    for (const o of unnamed) ends.set(o.address.slice(-5), (ends.get(o.address.slice(-5)) || 0) + 1);
    for (const o of unnamed) if (ends.get(o.address.slice(-5)) === 1 && o.address.length > 8) o.name = `\u2026${o.address.slice(-5)}`;
  }

  notes(finding) {
    if (!this.isShown) return;
    for (const n of finding.notes || []) {
      const s = this.steps[n.event - 1 - this.leftOut];
      if (s) s.note = n.text;
    }
  }

  threadNamed(name) { return this.threads.find((t) => t.name === name); }

  /* Adds the end of the run, which has no event of its own, as a step. */
  ends(entry) {
    const finding = entry.finding;
    if (!this.isShown) {
      const last = this.steps[this.steps.length - 1];
      if (last) this.addEnd(last.thread, null, `the same finding: ${finding.kind}`, "fails");
      return;
    }
    for (const p of finding.where) {
      const thread = this.threadNamed(p.thread);
      if (!thread) continue;
      const place = { file: p.file, line: p.line || 0, fn: p.function, source: entry.files[p.file] };
      if (p.role === "waits") {
        const what = p.object ? `waits for ${p.object}` : "waits";
        this.addEnd(thread.index, place, what + (p.held_by && p.held_by !== p.object ? `, held by ${p.held_by}` : ""), "waits");
      } else if (p.role === "at") {
        const last = this.steps[this.steps.length - 1];
        if (last && last.thread === thread.index && last.op.name === p.operation && last.place && last.place.line === p.line)
          last.mark = "fails";
        else this.addEnd(thread.index, place, finding.text || finding.title, "fails");
      } else if (p.role === "previous") {
        for (let i = this.steps.length - 1; i >= 0; i--) {
          const s = this.steps[i];
          if (s.thread !== thread.index || !s.place || s.place.line !== p.line || s.op.object !== "memory") continue;
          s.mark = "races";
          break;
        }
      }
    }
  }

  /* "12 / 56"; an end comes after the last event. */
  position(s) {
    let k = this.steps.length;
    while (k && this.steps[k - 1].number === null) k--;
    const events = k ? this.steps[k - 1].number : 0;
    return s.number === null ? `${events} / ${events}, ${s.mark}` : `${s.number} / ${events}`;
  }

  addEnd(thread, place, text, mark) {
    const index = this.steps.length;
    this.steps.push({
      index, thread, op: OPERATIONS[0], object: 0, place, plain: false, failed: false, late: false, from: -1,
      effect: "", value: null, fields: {}, found: null, choice: null, holders: null, number: null, mark, note: null, end: text,
    });
  }

  objectName(s) {
    if (!s.object) return "";
    return s.op.object === "thread" ? this.threads[s.object - 1].name : this.objects[s.object - 1].name;
  }

  /* Describes a step: [verb, object, rest]. */
  words(s) {
    if (s.end) return [s.end, "", ""];
    if (s.note) return ["note", "", s.note];
    const object = s.op.name === "start" || s.op.name === "exit" ? "" : this.objectName(s);
    const f = s.fields;
    let rest = "";
    if (s.found !== null) rest = s.failed ? `found ${s.found}` : `${s.found} \u2192 ${s.value}`;
    else if (s.value !== null) rest = `= ${s.value}`;
    else if ("woke" in f) rest = f.woke ? `wakes ${this.threads[f.woke - 1].name}` : "wakes no thread";
    else if ("woken" in f) rest = f.woken ? `wakes ${f.woken}` : "wakes no thread";
    else if (f.mutex) rest = `releases ${this.objects[f.mutex - 1].name}`;
    else if ("had" in f) rest = `had ${f.had}`;
    else if (s.choice) rest = `outcome ${s.choice}`;
    else if (!s.object && f.order) rest = f.order;
    if (s.failed && s.found === null) rest = (rest ? rest + ", " : "") + "failed";
    return [s.op.name.replace(/^(volatile|atomic)-(read|write|load|store|rmw|cas)$/, "$1 $2"), object, rest];
  }

  sentence(s) {
    const where = s.place && s.place.file ? ` at ${baseName(s.place.file)}:${s.place.line}` : "";
    return `${this.threads[s.thread].name} ${this.words(s).filter(Boolean).join(" ")}${where}`;
  }

  /* The first step of a thread after step i, or -1. */
  after(thread, i) {
    const list = this.byThread[thread];
    return list[lastUpTo(list, i) + 1] ?? -1;
  }

  findEdges() {
    const edges = [];
    const waiting = new Map(); /* object to the threads that wait there */
    const wake = (from, thread) => {
      const to = this.after(thread, from);
      if (to >= 0) edges.push({ from, to, kind: "wakes" });
    };
    for (const s of this.steps) {
      for (const set of waiting.values()) set.delete(s.thread);
      const f = s.fields;
      if (s.effect === "queue" || (s.op.second === "queue" && !s.failed)) {
        if (!waiting.has(s.object)) waiting.set(s.object, new Set());
        waiting.get(s.object).add(s.thread);
      } else if (f.woke) {
        wake(s.index, f.woke - 1);
      } else if (f.woken) {
        for (const t of waiting.get(s.object) || []) wake(s.index, t);
      }
      const from = this.steps[s.from];
      if (!from || from.thread === s.thread) continue;
      /* A plain access reads a value, but is not ordered by that; nor by state of the process. */
      const ordered = !["memory", "state"].includes(s.op.object) || s.op.keys.includes("order") && s.fields.order || s.op.second === "queue";
      edges.push({ from: s.from, to: s.index, kind: ordered ? "orders" : "sees" });
    }
    return edges;
  }

  /* The history of each object: lists of {at, text, by}. */
  follow() {
    const history = this.objects.map(() => []);
    const tell = (object, s, text) => history[object - 1].push({ at: s.index, text, by: s.thread });
    const change = { post: 1, take: -1, look: 0 };
    for (const s of this.steps) {
      const kind = s.op.object;
      if (s.object && kind === "memory") {
        if (s.effect === "free") tell(s.object, s, "freed");
        else if (s.value !== null) tell(s.object, s, s.value);
      } else if (s.object && kind === "sem" && s.effect in change) {
        tell(s.object, s, String(s.fields.had + change[s.effect]));
      } else if (s.effect === "queue") {
        tell(s.object, s, `${this.threads[s.thread].name} waits`);
      } else if (s.effect === "notify" || s.effect === "notify-all") {
        tell(s.object, s, s.fields.woke || s.fields.woken ? "signalled" : "signalled, no thread waiting");
      }
      if (s.holders && s.holders[0]) {
        const names = s.holders.slice(1).map((t) => this.threads[t].name);
        tell(s.holders[0], s, names.length ? `held by ${names.join(", ")}` : "free");
      }
    }
    return history;
  }

  /* The objects with a known state at step i, as {object, text, by, at}. */
  valuesAt(i) {
    const all = [];
    this.history.forEach((list, k) => {
      const last = lastUpTo(list, i, (h) => h.at);
      if (last >= 0) all.push({ object: this.objects[k], number: k + 1, before: last ? list[last - 1].text : null, ...list[last] });
    });
    return all;
  }

  /* The location of each thread at step i: its last step that has a place; null before its start and after its end. */
  placesAt(i) {
    return this.threads.map((t) => {
      const list = this.byThread[t.index];
      let k = lastUpTo(list, i);
      if (k < 0 || this.steps[list[k]].op.name === "exit") return null;
      while (k >= 0 && !(this.steps[list[k]].place && this.steps[list[k]].place.file)) k--;
      return k < 0 ? null : this.steps[list[k]].place;
    });
  }
}
